"""Weights are there while a pool that is open needs them, and no longer, also where an answer is kept."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from helpers import assert_sound
from small_checkpoints import MADE, saved

from kvnb import Lab
from kvnb.errors import KvnbError
from kvnb.models.pretrained import Pretrained
from kvnb.session import Session


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    saved(tmp_path / "model", MADE["llama"]())
    return tmp_path / "model"


def model_of(lab: Lab) -> Pretrained:
    assert lab.worker is not None
    assert isinstance(lab.worker.model, Pretrained)
    return lab.worker.model


def started(session: Session, name: str, **settings: Any) -> Lab:
    lab, _ = session.new(30, name=name, device="cpu", **settings)
    lab.admit("a", "hello")
    return lab


def test_they_go_with_the_last_pool_that_is_closed_though_its_answer_is_kept(folder: Path) -> None:
    session = Session()
    kept = started(session, "one", model=str(folder)).generate("a", 2, ignore_eos=True)
    model = model_of(session.lab("one"))
    assert model_of(started(session, "other", model=str(folder))) is model
    session.close("one")
    assert model.is_loaded
    session.close("other")
    assert not model.is_loaded
    assert len(kept.tokens) == 2


def test_a_pool_of_another_model_that_takes_the_name_lets_them_go(folder: Path) -> None:
    session = Session()
    lab = started(session, "pool", model=str(folder))
    model = model_of(lab)
    assert model_of(started(session, "pool", model=str(folder))) is model
    assert model.is_loaded
    started(session, "pool")
    assert not model.is_loaded


def test_a_closed_pool_that_is_asked_again_reads_them_again(folder: Path) -> None:
    session = Session()
    lab = started(session, "pool", model=str(folder))
    model = model_of(lab)
    session.close("pool")
    assert not model.is_loaded
    assert lab.prove("a").holds
    assert model.is_loaded
    assert_sound(lab)
    lab.close()
    again = Lab(30, device="cpu", model=folder)
    assert model_of(again) is model
    assert model.is_loaded
    again.close()
    shutil.rmtree(folder)
    with pytest.raises(KvnbError, match="cannot be read"):
        lab.prove("a")

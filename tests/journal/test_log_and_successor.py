"""A log stays whole while another pool tries to take its place, and a log that is gone is noticed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from helpers import seed_lab

from kvnb.errors import JournalError, KvnbError
from kvnb.session import Session


@pytest.mark.parametrize("settings", [{"num_blocks": 0}, {"num_blocks": 11, "sliding_window": 1}, {"num_blocks": 11, "log": "/"}])
def test_a_refused_new_does_not_touch_the_running_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, object]
) -> None:
    session = Session()
    session.new(11, log=tmp_path / "run.jsonl")[0].admit("r0", "ABCDE")
    cuts: list[int] = []
    monkeypatch.setattr(os, "ftruncate", lambda descriptor, size: cuts.append(size))
    with pytest.raises(KvnbError):
        session.new(**settings)
    assert cuts == []


def test_a_log_that_was_removed_is_noticed_by_the_next_step(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lab = seed_lab(2, log=path)
    digest = lab.digest
    path.unlink()
    with pytest.raises(JournalError, match=r"run.jsonl was removed or replaced .*: save the journal to another file"):
        lab.release("r0")
    assert lab.digest == digest
    assert lab.save(tmp_path / "kept.jsonl").exists()


def test_a_pool_needs_a_name() -> None:
    for name in ("", 5, None):
        with pytest.raises(KvnbError, match="give a text that is not empty"):
            Session().new(11, name=name)

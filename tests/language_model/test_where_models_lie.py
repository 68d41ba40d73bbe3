"""A checkpoint's path: relative, with spaces, gone after it was read; and what a loaded journal takes for its model."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import assert_sound
from small_checkpoints import MADE, saved

from kvnb import Lab
from kvnb.cli import main
from kvnb.errors import CommandError, SettingError

FOLDER = "ein Mo dell"


@pytest.fixture(scope="module")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "small"
    saved(folder, MADE["llama"]())
    return folder


@pytest.fixture
def lab(small_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """A pool of a model that was named by a relative path."""
    shutil.copytree(small_model, tmp_path / FOLDER)
    monkeypatch.chdir(tmp_path)
    lab = Lab(30, block_size=4, device="cpu", model=FOLDER)
    lab.admit("a", "hello you there")
    lab.generate("a", 4, ignore_eos=True)
    lab.save("run.jsonl")
    yield lab
    lab.close()


def test_a_relative_path_holds_when_the_working_folder_changes(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / FOLDER / "chat_template.jinja").write_text("{{ messages[0]['content'] }}")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert lab.admit("b", "user: hi", chat=True).num_tokens == 2
    assert lab.fork("other", num_blocks=40).prove("a").holds
    lab.undo(2)
    assert lab.prove("a").holds
    assert_sound(lab)


def test_a_model_that_was_read_is_not_looked_for_again(lab: Lab) -> None:
    shutil.rmtree(FOLDER)
    lab.undo(2)
    lab.append("a", "more")
    assert lab.prove("a").holds
    assert lab.fork("other", num_blocks=40).generate("a", 3, ignore_eos=True).tokens


def test_a_journal_whose_model_is_gone_says_what_can_be_given(lab: Lab, small_model: Path) -> None:
    shutil.rmtree(FOLDER)
    with pytest.raises(SettingError, match=r"model cannot be read: .*; or give --model PATH or --device none"):
        Lab.load("run.jsonl", copy=True)
    assert Lab.load("run.jsonl", copy=True, model=small_model).prove("a").holds
    assert Lab.load("run.jsonl", copy=True, device="none").digest == lab.digest


def test_the_small_random_model_is_not_taken_for_a_checkpoint_nor_the_reverse(lab: Lab, small_model: Path) -> None:
    Lab(30, device="cpu").save("tiny.jsonl")
    for path, model in (("run.jsonl", "tiny"), ("tiny.jsonl", small_model)):
        with pytest.raises(SettingError, match="is another model than the journal's"):
            Lab.load(path, copy=True, model=model)


def test_a_journal_of_block_ids_gets_the_model_that_is_given(lab: Lab, small_model: Path) -> None:
    ids_only = Lab(30, block_size=4, device="none", model=small_model)
    ids_only.admit("a", "hello you there")
    ids_only.save("ids.jsonl")
    again = Lab.load("ids.jsonl", copy=True, model=small_model)
    assert again.generate("a", 4, ignore_eos=True).tokens == tuple(lab._recorder.engine.scheduler.find("a").token_ids[-4:])
    Lab(30, device="none").save("chars.jsonl")
    with pytest.raises(SettingError, match="has another tokenizer than the journal"):
        Lab.load("chars.jsonl", copy=True, model=small_model)


def test_a_fork_takes_a_path_as_a_pool_does(lab: Lab, small_model: Path) -> None:
    assert lab.fork("other", model=small_model).prove("a").holds


def test_half_a_surrogate_pair_is_refused_in_a_line(lab: Lab) -> None:
    digest = lab.digest
    for refused in (lambda: lab.admit("b", "x\ud800"), lambda: lab.append("a", "x", draft="\udfff")):
        with pytest.raises(CommandError, match="half a surrogate pair"):
            refused()
    assert lab.digest == digest


def test_a_model_of_no_name_is_unknown() -> None:
    with pytest.raises(SettingError, match="unknown model ''"):
        Lab(30, model="")


def test_in_a_shell_a_proof_takes_the_path_of_a_model_that_was_moved(
    lab: Lab, small_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(FOLDER)
    assert main(["prove", "run.jsonl", "a"]) == 2
    assert "give --model PATH" in capsys.readouterr().err
    assert main(["prove", "run.jsonl", "a", "--model", str(small_model)]) == 0
    assert capsys.readouterr().out.startswith("a is proved")

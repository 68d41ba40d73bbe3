"""The history of a pool with a language model: what is recorded, and what a loaded, forked or exported one can do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conversations import asked
from helpers import ROOT, assert_sound
from small_checkpoints import MADE, saved

from kvnb import Lab
from kvnb.errors import SettingError
from kvnb.export.leaving import export
from kvnb.models.checkpoint import Checkpoint


@pytest.fixture
def spoken(pool: Callable[..., Lab]) -> Lab:
    """After a question, its answer and another question that shares its beginning."""
    lab = pool(20)
    lab.admit("r0", chat=asked("What is the capital of France?"))
    lab.generate("r0", 12)
    lab.admit("r1", chat=asked("What is the capital of Italy?"))
    return lab


def test_a_conversation_is_recorded_as_its_tokens_and_an_answer_as_what_the_model_made(spoken: Lab) -> None:
    first, second = spoken.journal.steps[:2]
    assert set(first.command.args) == {"name", "tokens"}
    assert spoken._tokenizer.text(list(first.command.args["tokens"])).startswith("system\nYou answer")
    assert second.origin == {"model": "SmolLM2-135M-Instruct.Q4_1"}
    assert spoken.verify().holds


def test_the_digest_is_the_same_without_the_model(spoken: Lab, smollm2: Checkpoint) -> None:
    ids_only = Lab(20, model=smollm2.source, device="none")
    for step in spoken.journal.steps:
        ids_only._change(step.command.verb, **step.command.args)
    assert ids_only.digest == spoken.digest


def test_a_saved_journal_goes_on_with_its_model(spoken: Lab, smollm2: Checkpoint, tmp_path: Path) -> None:
    path = spoken.save(tmp_path / "run.jsonl")
    again = Lab.load(path)
    assert again.prove("r0").holds
    assert again.prove("r1").holds
    assert again.generate("r1", 12).text == spoken.generate("r1", 12).text
    elsewhere = Lab.load(path, model=smollm2.folder)
    assert elsewhere.prove("r1").holds
    assert_sound(elsewhere)


def test_where_the_model_is_not_it_loads_as_block_ids(spoken: Lab, tmp_path: Path) -> None:
    path = spoken.save(tmp_path / "run.jsonl")
    path.write_text(path.read_text().replace(spoken.memory.model, "/moved/away.gguf"))
    with pytest.raises(SettingError, match="no such folder or GGUF file"):
        Lab.load(path)
    lab = Lab.load(path, device="none")
    assert lab.digest == spoken.digest
    assert lab.worker is None


def test_another_model_is_not_taken_for_it(spoken: Lab, tmp_path: Path) -> None:
    path = spoken.save(tmp_path / "run.jsonl")
    saved(tmp_path / "other", MADE["llama"]())
    with pytest.raises(SettingError, match="is another model than the journal's"):
        Lab.load(path, model=tmp_path / "other")


def test_a_fork_has_the_model_and_other_blocks(spoken: Lab) -> None:
    fork = spoken.fork("small", num_blocks=12, block_size=8)
    assert fork.worker is not None
    assert fork.worker.model is spoken.worker.model  # type: ignore[union-attr]
    assert fork.prove("r1").holds
    assert fork.generate("r1", 12).text == spoken.generate("r1", 12).text


def test_a_script_makes_it_again_without_the_model(spoken: Lab, tmp_path: Path) -> None:
    script = export(spoken, tmp_path / "run.py")
    done = subprocess.run([sys.executable, script], cwd=ROOT, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    assert spoken.digest in done.stdout


def test_undo_of_an_answer_computes_the_rest_again(spoken: Lab) -> None:
    tokens = spoken.generate("r1", 6).tokens
    spoken.undo(len(tokens))
    assert spoken.prove("r1").holds
    assert spoken.generate("r1", 6).tokens == tokens


def test_two_pools_share_the_weights(pool: Callable[..., Lab]) -> None:
    one, other = pool(8), pool(9, block_size=4)
    assert one.worker.model is other.worker.model  # type: ignore[union-attr]


def test_typed_conversations_are_those_that_python_gives(pool: Callable[..., Lab]) -> None:
    lab = pool(20)
    lab.admit("typed", "system: You answer in one short sentence.\nuser: What is the capital of France?", chat=True)
    given = lab.admit("given", chat=asked("What is the capital of France?"))
    assert lab.journal.steps[0].command.args["tokens"] == lab.journal.steps[1].command.args["tokens"]
    assert given.num_hit_tokens == (given.num_tokens - 1) // 16 * 16

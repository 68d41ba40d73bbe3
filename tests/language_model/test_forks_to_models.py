"""A history of the small random model, or of block ids, run again with a checkpoint's model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers import assert_sound
from small_checkpoints import MADE, SIZES, saved

from kvnb import Lab
from kvnb.errors import JournalError
from kvnb.manager.command import Command


@pytest.fixture(scope="module")
def begins_with_a_token(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose tokenizer puts a BOS token before each text."""
    from tokenizers import Tokenizer, processors

    folder = tmp_path_factory.mktemp("made")
    saved(folder, MADE["llama"]())
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.add_special_tokens(["<s>"])
    bos = tokenizer.token_to_id("<s>")
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", bos)])
    tokenizer.save(str(folder / "tokenizer.json"))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "bos_token_id": bos}))
    return folder


def test_texts_are_cut_as_the_model_has_them_at_the_beginning_and_behind(begins_with_a_token: Path) -> None:
    lab = Lab(40, block_size=4, device="cpu")
    lab.admit("a", "hello you")
    lab.append("a", "x", draft="yz")
    fork = lab.fork("spoken", model=begins_with_a_token)
    typed = Lab(40, block_size=4, device="cpu", model=begins_with_a_token)
    typed.admit("a", "hello you")
    typed.append("a", "x", draft="yz")
    assert [step.command for step in fork.journal.steps] == [step.command for step in typed.journal.steps]
    assert fork.journal.steps[0].command.args["tokens"][0] == typed.memory.vocab_size - (SIZES["vocab_size"] - 256)
    assert fork.prove("a").holds
    assert_sound(fork)


def test_what_the_model_cannot_do_is_refused_step_by_step(begins_with_a_token: Path) -> None:
    lab = Lab(300, block_size=4, device="cpu")
    lab.admit("short", "hello you")
    lab.admit("long", "x" * SIZES["max_position_embeddings"])
    lab.reweight(3)
    lab.append("short", "x" * SIZES["max_position_embeddings"])
    fork = lab.fork("spoken", model=begins_with_a_token)
    assert fork.journal.forked is not None
    assert [(left.number, left.why.partition(",")[0]) for left in fork.journal.forked.refused] == [
        (2, "513 tokens in a request"), (3, "the weights are those of made0"), (4, "521 tokens in a request"),
    ]  # fmt: skip
    assert fork.prove("short").holds


def test_a_step_of_many_tokens_that_cannot_be_run_again_is_named_in_a_short_line(tmp_path: Path) -> None:
    lab = Lab(300, block_size=4, device="cpu")
    lab.admit("a\x1b", tokens=[7] * 500)
    path = lab.save(tmp_path / "run.jsonl")
    text = path.read_text().replace('"vocab_size": 256', '"vocab_size": 5').replace('"vocab_size":256', '"vocab_size":5')
    path.write_text(text)
    with pytest.raises(JournalError, match="cannot be run again") as refused:
        Lab.load(path, copy=True)
    assert len(str(refused.value)) < 250
    assert str(refused.value).isprintable()


def test_a_command_in_an_error_is_cut_and_escaped() -> None:
    assert Command("release", {"names": ["a\x1b\n"]}).short() == "release 'a\\x1b\\n'"
    assert len(Command("admit", {"name": "a", "tokens": list(range(99))}).short()) == 80

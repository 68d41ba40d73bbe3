"""Tokens that a model makes, and proofs that the cache changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from helpers import SEED_PROMPTS, assert_sound, needs, snapshot
from memory_labs import hashes, small, worker_of

from kvnb import Lab
from kvnb.errors import KvnbError, OutOfBlocks, SettingError


def test_ten_tokens_and_ten_more_are_the_same_twenty() -> None:
    for how in ({}, {"temperature": 1.0, "seed": 7}):
        once, twice = small(), small()
        for lab in (once, twice):
            lab.admit("r0", SEED_PROMPTS["r0"])
        tokens = once.generate("r0", 20, **how).tokens  # type: ignore[arg-type]
        first, second = (twice.generate("r0", 10, **how).tokens for _ in range(2))  # type: ignore[arg-type]
        assert tokens == first + second
        assert once.digest == twice.digest


def test_another_seed_draws_other_tokens() -> None:
    lab = small()
    lab.admit("a", "ABC")
    lab.admit("b", "ABC")
    assert lab.generate("a", 8, temperature=1.0, seed=1).tokens != lab.generate("b", 8, temperature=1.0, seed=2).tokens


def test_generated_tokens_are_appends_in_the_journal_with_the_model_as_their_origin() -> None:
    lab = small()
    lab.admit("r0", "ABC")
    made = lab.generate("r0", 2, temperature=0.5, seed=3)
    assert [step.command.to_dict() for step in made.steps] == [
        {"verb": "append", "name": "r0", "tokens": [token]} for token in made.tokens
    ]
    assert {tuple(step.origin.items()) for step in made.steps if step.origin} == {
        (("model", "tiny"), ("temperature", 0.5), ("seed", 3))
    }
    assert (made.num_forward_tokens, made.block_table, made.digest) == (2, (1, 2), lab.digest)
    assert_sound(lab)


def test_tokens_that_would_not_fit_are_refused_before_the_first() -> None:
    lab = small(4)
    lab.admit("r0", "ABCDE")
    before = snapshot(lab)
    lab.admit("r1", "x")
    with pytest.raises(OutOfBlocks, match="r0 needs 1 block, 0 free: release or preempt one of r1"):
        lab.generate("r0", 4)
    lab.release("r1")
    assert snapshot(lab)[1]["requests"] == before[1]["requests"]
    assert len(lab.generate("r0", 7).tokens) == 7


def test_a_resumed_request_generates_as_if_it_had_never_been_preempted() -> None:
    one, other = small(), small()
    for lab in (one, other):
        lab.admit("r0", SEED_PROMPTS["r0"])
        lab.generate("r0", 4)
    other.preempt("r0")
    other.admit("r0")
    assert one.generate("r0", 6).tokens == other.generate("r0", 6).tokens


def test_the_model_goes_on_from_an_accepted_draft() -> None:
    plain, drafted = small(), small()
    plain.admit("r0", "ABCDx")
    drafted.admit("r0", "ABC")
    drafted.append("r0", "D", draft="xyz")
    drafted.accept("r0", 1)
    assert plain.generate("r0", 3).tokens == drafted.generate("r0", 3).tokens


@pytest.mark.parametrize("act", ["generate", "prove", "reweight"])
def test_what_needs_a_model_says_so_where_there_is_none(act: str) -> None:
    lab = Lab(11, device="none")
    lab.admit("r0", "ABC")
    given = {"generate": ("r0", 1), "prove": ("r0",), "reweight": (1,)}[act]
    with pytest.raises(SettingError, match=f"{act} needs memory and a model, this pool has none .it was made with --device none"):
        getattr(lab, act)(*given)


@pytest.mark.parametrize(
    ("act", "line"),
    [
        (lambda lab: lab.generate("r0", 0), "r0 cannot make 0 tokens: give 1 or more"),
        (lambda lab: lab.generate("r9", 1), "no request r9"),
        (lambda lab: lab.generate("r0", 1, temperature=-1), "the temperature is -1"),
        (lambda lab: lab.generate("waits", 1), "waits has 3 tokens to be computed: step first"),
        (lambda lab: lab.generate("gone", 1), "gone is preempted and cannot be appended to"),
        (lambda lab: lab.prove(None), "None is no request name"),
        (lambda lab: lab.reweight(10**30), "the seed is 1000000000000000000000000000000: give 0 to"),
        (lambda lab: lab.generate("r0", 1000), "r0 needs 251 blocks, the pool has 10: can never fit, make a pool of 252"),
        (lambda lab: lab.prove("gone"), "gone is preempted and holds no block"),
        (lambda lab: lab.prove("waits"), "waits has tokens that are not computed yet: step first"),
        (lambda lab: lab.admit("r1", "x", tokens=[1]), "give a text, or tokens"),
        (lambda lab: lab.admit("r1", tokens=[1, 256]), "token 256 is not in the model's vocabulary (0 to 255)"),
        (lambda lab: lab.append("r0", tokens=[1], draft=[300]), "token 300 is not in the model's vocabulary"),
    ],
)
def test_what_cannot_be_computed_is_refused_and_changes_nothing(act: Any, line: str) -> None:
    lab = small()
    lab.admit("r0", "ABC")
    lab.admit("gone", "ABC")
    lab.preempt("gone")
    lab.admit("waits", "xyz", defer=True)
    before = snapshot(lab), hashes(lab)
    with pytest.raises(KvnbError) as caught:
        act(lab)
    assert str(caught.value).startswith(line)
    assert (snapshot(lab), hashes(lab)) == before


def test_whoever_shares_is_proved_and_new_weights_are_not_until_reset() -> None:
    lab = small()
    lab.admit("r0", SEED_PROMPTS["r0"])
    lab.admit("r1", SEED_PROMPTS["r1"])
    assert lab.prove("r1").holds
    lab.reweight(1)
    assert not lab.prove("r1").holds
    lab.release("r0", "r1")
    lab.admit("r1", SEED_PROMPTS["r1"])
    assert not lab.prove("r1").holds, "it shares what the old weights made"
    lab.release("r1")
    lab.reset()
    lab.admit("r1", SEED_PROMPTS["r1"])
    assert lab.prove("r1").holds


def test_the_first_weights_come_back_with_their_seed() -> None:
    lab = small()
    lab.admit("r0", SEED_PROMPTS["r0"])
    lab.reweight(1)
    lab.reweight(0)
    assert lab.prove("r0").holds


def test_a_proof_only_looks() -> None:
    lab = small()
    lab.admit("r0", SEED_PROMPTS["r0"])
    before = snapshot(lab), hashes(lab)
    lab.prove("r0")
    assert (snapshot(lab), hashes(lab)) == before


def test_check_sees_a_slot_that_nobody_wrote_a_table_that_is_not_the_managers_and_a_written_null_block() -> None:
    lab = small()
    lab.admit("r0", SEED_PROMPTS["r0"])
    store = worker_of(lab).store
    with torch.inference_mode():
        store.fill([2])
        worker_of(lab).block_table.append("r0", [9])
        lab.kv[0] = 1.0
    assert [equation.says for equation in lab.check() if not equation.holds] == [
        "the worker's block tables = the manager's", "every computed token has its K and V", "block 0 is never written",
    ]  # fmt: skip


def test_a_tokenizer_in_a_file_reads_and_writes_for_the_model(tmp_path: Path) -> None:
    tokenizers = needs("tokenizers")
    words = {"[UNK]": 900, "hello": 0, "world": 1}
    model = tokenizers.models.WordLevel(words, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    lab = small(tokenizer=str(tmp_path / "tokenizer.json"))
    lab.admit("a", "hello world hello unknown")
    lab.append("a", "world", draft="hello")
    lab.accept("a", 1)
    assert lab.prove("a").holds
    made = lab.generate("a", 3)
    assert all(0 <= token <= 900 for token in made.tokens)
    lab.undo()
    lab.release("a")
    lab.reset()
    lab.save(tmp_path / "run.jsonl")
    assert hashes(Lab.load(tmp_path / "run.jsonl")) == hashes(lab)

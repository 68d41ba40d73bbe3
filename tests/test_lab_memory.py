"""A Lab with memory: what it costs, what is in it, what a model makes of it, and what becomes of it when things go wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers import SEED_PROMPTS, assert_sound, needs, run_python, snapshot

from kvnb import Lab
from kvnb.errors import ComputeFailed, JournalError, KvnbError, OutOfBlocks, RequestError, SettingError
from kvnb.journal import jsonl, recorder
from kvnb.tensors.worker import Worker

torch = needs("torch")


def small(num_blocks: int = 11, **settings: Any) -> Lab:
    """A pool on the CPU, blocks of 4 tokens."""
    return Lab(num_blocks, **{"block_size": 4, "device": "cpu", **settings})


def worker_of(lab: Lab) -> Worker:
    assert lab.worker is not None
    return lab.worker


def hashes(lab: Lab) -> dict[int, str]:
    """The bytes of every block, hashed."""
    return {block_id: worker_of(lab).store.block_hash(block_id) for block_id in range(lab.behaviour.num_blocks)}


def changed(lab: Lab, before: dict[int, str]) -> set[int]:
    """The blocks whose bytes are not what they were."""
    return {block_id for block_id, value in hashes(lab).items() if value != before[block_id]}


# --- the memory ----------------------------------------------------------------------------------------------


def test_block_5_is_a_slice_of_one_tensor() -> None:
    lab = small()
    assert tuple(lab.kv.shape) == (11, 2, 2, 4, 2, 16)
    assert lab.kv.isnan().all()
    lab.admit("r0", SEED_PROMPTS["r0"])
    assert not lab.kv[3].isnan().any()
    assert lab.kv[4, :, :, 3].isnan().all()


def test_the_bytes_of_every_block_through_the_seeds_walkthrough() -> None:
    lab = small()
    writes = []
    for verb, name in [("admit", "r0"), ("admit", "r1"), ("release", "r0"), ("release", "r1"), ("admit", "r2"), ("admit", "r3")]:
        before = hashes(lab)
        lab.admit(name, SEED_PROMPTS[name]) if verb == "admit" else lab.release(name)
        writes.append(changed(lab, before))
    # Shared blocks are written once; a release touches nothing; an eviction shows only when the new owner takes the block.
    assert writes == [{1, 2, 3, 4}, {5, 6}, set(), set(), {6, 4, 7, 8, 9}, {10, 5}]
    assert_sound(lab)


def test_a_freed_block_keeps_its_contents_until_a_new_owner_takes_it_and_then_is_nan_before_it_is_written() -> None:
    lab = small()
    lab.admit("r0", SEED_PROMPTS["r0"])
    lab.release("r0")
    assert not lab.kv[4, :, :, :3].isnan().any()
    lab.admit("next", "z", defer=True)
    assert lab.kv[4].isnan().all()
    lab.step()
    assert not lab.kv[4, :, :, 0].isnan().any()
    assert lab.kv[4, :, :, 1:].isnan().all()


def test_a_hit_computes_nothing() -> None:
    lab = small()
    assert lab.admit("r0", SEED_PROMPTS["r0"]).num_forward_tokens == 15
    assert lab.admit("r1", SEED_PROMPTS["r1"]).num_forward_tokens == 14 - 8
    assert worker_of(lab).num_forward_tokens == lab.num_forward_tokens == 21


def test_without_memory_the_same_tokens_are_counted() -> None:
    lab = Lab(11, block_size=4, device="none")
    lab.admit("r0", SEED_PROMPTS["r0"])
    assert lab.admit("r1", SEED_PROMPTS["r1"]).num_forward_tokens == 6


def test_memory_stays_outside_the_digest() -> None:
    pools = [small(), small(dtype="bfloat16", layers=1), Lab(11, block_size=4, device="none", tokenizer="bytes")]
    for lab in pools:
        lab.admit("r0", SEED_PROMPTS["r0"])
        lab.append("r0", "P")
    assert len({lab.digest for lab in pools}) == 1


def test_the_tokenizer_is_bytes_where_a_model_may_read_it() -> None:
    assert small().behaviour.tokenizer == "bytes"
    assert small(tokenizer="chars").behaviour.tokenizer == "chars"
    assert Lab(11, device="none").behaviour.tokenizer == "chars"


def test_so_much_memory_gives_so_many_blocks() -> None:
    assert Lab(memory="64KiB", block_size=4, device="cpu").behaviour.num_blocks == 32
    assert Lab(memory="2GiB", block_size=16, device="none", shape="llama-3.1-8b", dtype="bfloat16").behaviour.num_blocks == 1024


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"full_hit": True}, "a full hit leaves the model nothing to compute: leave --full-hit out, or add --device none"),
        ({"memory": "2GiB"}, "give the number of blocks, or --memory such as 2GiB: one of them"),
        ({"num_blocks": None}, "give the number of blocks, or --memory such as 2GiB: one of them"),
        ({"dtype": "int8"}, "unknown dtype 'int8'"),
        ({"model": "huge"}, "unknown model 'huge': there is tiny"),
        ({"shape": "lama-3.1-8b"}, "unknown model 'lama-3.1-8b': did you mean llama-3.1-8b or"),
        ({"layers": 0}, "layers is 0: give a whole number, 1 or more"),
        ({"num_blocks": None, "memory": "90%", "device": "none"}, "a percentage is of a device's free memory"),
        ({"num_blocks": None, "memory": "2GiB", "block_size": 0}, "block_size is 0"),
        ({"device": "cuda"}, "this machine has no CUDA device: use --device cpu"),
    ],
)
def test_memory_that_cannot_be_is_refused_in_one_line(settings: dict[str, Any], line: str) -> None:
    if settings.get("device") == "cuda" and torch.cuda.is_available():
        settings = {"device": "tpu"}
        line = "unknown device 'tpu'"
    with pytest.raises(SettingError) as caught:
        small(**{"num_blocks": 11, **settings})
    assert str(caught.value).startswith(line)


def test_too_many_blocks_for_the_memory_says_how_many_would_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvnb.tensors.store.free_bytes", lambda device: 100 * 2048 + 2047)
    with pytest.raises(SettingError, match="100 blocks would fit"):
        small(101)


def test_without_torch_auto_has_no_memory_and_says_what_would_bring_it() -> None:
    code = """
import sys
sys.modules["torch"] = None
from kvnb import Lab, KvnbError
lab = Lab(11, block_size=4)
print(lab.worker, lab.behaviour.tokenizer, lab.admit("r0", "ABCDE").new_blocks)
for attempt in (lambda: lab.prove("r0"), lambda: Lab(11, device="cpu")):
    try:
        attempt()
    except KvnbError as error:
        print(error)
"""
    assert run_python(code).splitlines() == [
        "None bytes (1, 2)",
        "prove needs memory and a model, this pool has none (torch is not installed: pip install torch)",
        "--device cpu needs torch: pip install torch",
    ]


# --- what the model makes ------------------------------------------------------------------------------------


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


# --- proofs --------------------------------------------------------------------------------------------------


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


# --- when things go wrong ------------------------------------------------------------------------------------


def breaking(lab: Lab, error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next forward pass of ``lab`` writes its K and V, and then fails."""
    model = worker_of(lab).model

    def fail(rows: object) -> None:
        monkeypatch.undo()
        raise error

    monkeypatch.setattr(model, "logits", fail)


def test_a_pass_that_fails_is_a_step_its_request_is_preempted_and_can_resume(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = small()
    lab.admit("r0", SEED_PROMPTS["r0"])
    breaking(lab, RuntimeError("the device is gone"), monkeypatch)
    with pytest.raises(ComputeFailed) as caught:
        lab.admit("r1", SEED_PROMPTS["r1"])
    assert str(caught.value) == (
        "step 2, the forward pass failed ('the device is gone'): r1 preempted, hashes of what was not computed dropped; "
        "`admit r1` resumes"
    )
    assert lab.journal.steps[-1].command.args["fail"] is True
    assert (lab.state.requests["r1"].state, lab.cached) == ("preempted", {1, 2, 3})
    assert_sound(lab)
    assert lab.verify().holds
    lab.admit("r1")
    assert lab.prove("r1").holds


def test_a_token_whose_pass_fails_is_kept_and_computed_when_its_request_resumes(monkeypatch: pytest.MonkeyPatch) -> None:
    lab, undisturbed = small(), small()
    for each in (lab, undisturbed):
        each.admit("r0", "ABC")
    breaking(lab, RuntimeError("no"), monkeypatch)
    with pytest.raises(ComputeFailed):
        lab.generate("r0", 3)
    lab.admit("r0")
    lab.generate("r0", 2)
    undisturbed.generate("r0", 3)
    said = [each._recorder.engine.scheduler.find("r0").token_ids for each in (lab, undisturbed)]
    assert said[0] == said[1]


def test_a_failed_pass_is_played_again_as_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lab = small(log=tmp_path / "log.jsonl")
    lab.admit("r0", SEED_PROMPTS["r0"])
    breaking(lab, RuntimeError("no"), monkeypatch)
    with pytest.raises(ComputeFailed):
        lab.admit("r1", SEED_PROMPTS["r1"])
    lab.close()
    again = Lab.load(tmp_path / "log.jsonl", copy=True)
    assert (snapshot(again), hashes(again)) == (snapshot(lab), hashes(lab))


def test_a_step_that_cannot_be_logged_leaves_the_memory_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = small(log=tmp_path / "log.jsonl")
    lab.admit("r0", SEED_PROMPTS["r0"])
    before = snapshot(lab), hashes(lab)
    monkeypatch.setattr("kvnb.journal.log_file.LogFile.commit", full_disk)
    with pytest.raises(OSError, match="No space left"):
        lab.admit("r1", SEED_PROMPTS["r1"])
    monkeypatch.undo()
    assert (snapshot(lab), hashes(lab)) == before
    assert_sound(lab)
    lab.admit("r1", SEED_PROMPTS["r1"])
    assert lab.prove("r1").holds


def full_disk(*args: object) -> None:
    raise OSError(28, "No space left on device")


def test_undo_brings_the_memory_back_byte_for_byte() -> None:
    lab = small()
    lab.admit("r0", SEED_PROMPTS["r0"])
    lab.release("r0")
    before = hashes(lab)
    lab.admit("r1", "zzzzzzzzz")
    lab.undo()
    assert hashes(lab) == before
    assert lab.admit("r0", SEED_PROMPTS["r0"]).num_hit_tokens == 12
    assert lab.prove("r0").holds


def test_undo_takes_new_weights_back() -> None:
    lab = small()
    lab.admit("r0", SEED_PROMPTS["r0"])
    lab.reweight(1)
    lab.undo()
    assert lab.prove("r0").holds


def test_load_computes_the_memory_again_and_goes_on(tmp_path: Path) -> None:
    lab = small(dtype="bfloat16", layers=1, sliding_window=6)
    lab.admit("r0", SEED_PROMPTS["r0"])
    lab.generate("r0", 5)
    lab.save(tmp_path / "run.jsonl")
    again = Lab.load(tmp_path / "run.jsonl")
    assert (again.digest, hashes(again), tuple(again.kv.shape)) == (lab.digest, hashes(lab), tuple(lab.kv.shape))
    assert again.generate("r0", 3).tokens == lab.generate("r0", 3).tokens
    assert again.journal.steps[1].origin == {"model": "tiny"}


def test_a_journal_can_be_loaded_without_its_memory(tmp_path: Path) -> None:
    lab = small()
    lab.admit("r0", SEED_PROMPTS["r0"], defer=True)
    lab.step()
    lab.save(tmp_path / "run.jsonl")
    again = Lab.load(tmp_path / "run.jsonl", device="none")
    assert (again.worker, again.digest) == (None, lab.digest)


def test_what_would_take_too_long_to_compute_again_is_refused_with_a_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "MOST_AGAIN", 20)
    lab = small()
    lab.admit("r0", SEED_PROMPTS["r0"])
    lab.admit("r1", SEED_PROMPTS["r1"])
    lab.append("r1", "y")
    before = snapshot(lab), hashes(lab)
    with pytest.raises(
        JournalError, match="going back one step would compute 21 tokens again, more than 20: save FILE, then load"
    ):
        lab.undo()
    assert (snapshot(lab), hashes(lab)) == before
    lab.save(tmp_path / "run.jsonl")
    with pytest.raises(JournalError, match="would compute 22 tokens again, more than 20: --device none loads the blocks alone"):
        Lab.load(tmp_path / "run.jsonl")
    assert Lab.load(tmp_path / "run.jsonl", device="none").digest == lab.digest


@pytest.mark.parametrize("memory", [{"device": "cpu"}, {"device": "abacus", "shape": [1, 1, 2]}, 3, {"shape": 5}])
def test_a_header_with_an_impossible_memory_is_refused_in_one_line(tmp_path: Path, memory: object) -> None:
    lab = small()
    lab.save(tmp_path / "run.jsonl")
    journal = jsonl.read(tmp_path / "run.jsonl").journal
    journal.memory = memory  # type: ignore[assignment]
    jsonl.save(journal, tmp_path / "run.jsonl")
    with pytest.raises(SettingError) as caught:
        Lab.load(tmp_path / "run.jsonl")
    assert "\n" not in str(caught.value)


def test_a_deferred_request_cannot_be_released_and_says_what_to_do() -> None:
    lab = small()
    lab.admit("r0", "ABC", defer=True)
    with pytest.raises(RequestError, match="r0 has 3 tokens to be computed: step first"):
        lab.release(all=True)

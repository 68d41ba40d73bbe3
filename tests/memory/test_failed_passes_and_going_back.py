"""Passes that fail, steps that cannot be logged, undo and load: memory is always what the journal says."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import SEED_PROMPTS, assert_sound, snapshot
from memory_labs import hashes, small, worker_of

from kvnb import Lab
from kvnb.errors import ComputeFailed, JournalError, RequestError, SettingError
from kvnb.journal import jsonl, recorder


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
        JournalError, match="going back one step would compute 21 tokens again, more than 19: save FILE, then load"
    ):
        lab.undo()
    assert (snapshot(lab), hashes(lab)) == before
    lab.save(tmp_path / "run.jsonl")
    with pytest.raises(JournalError, match="would compute 22 tokens again, more than 19: --device none loads the blocks alone"):
        Lab.load(tmp_path / "run.jsonl")
    assert Lab.load(tmp_path / "run.jsonl", device="none").digest == lab.digest


@pytest.mark.parametrize(
    "memory",
    [
        {"device": "cpu"},
        {"device": "abacus", "shape": [1, 1, 2]},
        3,
        {"shape": 5},
        {"device": "cpu", "shape": [1, 1, 2], "vocab_size": "many"},
        {"device": "cpu", "shape": [1, 1, 2], "vocab_size": 10**13},
    ],
)
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


def test_larger_shapes_are_computed_again_less_far() -> None:
    assert worker_of(small(shape="smollm2-135m")).relative_cost > 4 * worker_of(small()).relative_cost


def test_a_journal_of_full_hits_cannot_be_loaded_with_a_model(tmp_path: Path) -> None:
    lab = Lab(11, block_size=4, full_hit=True, device="none")
    lab.admit("a", "ABCDEFGH")
    lab.save(tmp_path / "run.jsonl")
    with pytest.raises(SettingError, match="a full hit leaves the model nothing to compute"):
        Lab.load(tmp_path / "run.jsonl", device="cpu")


def test_a_closed_pool_has_given_its_memory_back_and_computes_it_again_for_whoever_asks() -> None:
    lab = small()
    lab.admit("r0", SEED_PROMPTS["r0"])
    before = hashes(lab)
    lab.close()
    assert lab._recorder.memory_bytes == 0
    assert hashes(lab) == before


def test_who_listens_is_told_of_an_undo_that_is_interrupted_while_memory_is_computed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lab, told = small(), list[int]()
    lab.admit("r0", "ABCDE")
    lab.append("r0", "F")
    lab.journal.listeners.append(lambda: told.append(len(lab.journal.steps)))
    breaking(lab, KeyboardInterrupt(), monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        lab.undo()
    assert told == [3], "the step is there"
    assert_sound(lab)

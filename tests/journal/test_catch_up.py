"""Computing a history again in few long passes leaves what the short ones left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers import assert_sound, needs

from kvnb import Lab
from kvnb.errors import ComputeFailed, JournalError, RequestError
from kvnb.tensors.tiny import TinyLlama

torch = needs("torch")


def grown() -> Lab:
    """Requests that share blocks, generate, wait, fail, end, come back."""
    lab = Lab(30, block_size=4, device="cpu")
    lab.admit("a", "ABCDEFGHIJKLMNO")
    lab.generate("a", 6)
    lab.admit("b", "ABCDEFGHIJxxxx", chunk=3)
    lab.prefill("b")
    lab.admit("c", "ABCDEFGH", defer=True)
    lab.append("a", "q", draft="rs")
    lab.accept("a", 1)
    lab.append("a", "t")
    lab.release("b")
    lab.admit("d", "zzzzzzzzz")
    lab.append("d", "!", fail=True)
    lab.admit("d")
    lab.preempt("a")
    lab.admit("a")
    return lab


def passes(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Filled with the tokens of each pass from now on."""
    assert lab.worker is not None
    sizes: list[int] = []
    forward = lab.worker.forward

    def counted(scheduled: Any) -> None:
        sizes.append(sum(len(run.token_ids) for run in scheduled))
        forward(scheduled)

    monkeypatch.setattr(lab.worker, "forward", counted)
    return sizes


def test_the_same_is_there_after_fewer_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = grown()
    assert lab.worker is not None
    before = lab.worker.store.kv.clone()
    lab.append("a", "x")
    short = passes(lab, monkeypatch)
    lab.undo()
    one_by_one = len(short)
    assert torch.equal(lab.worker.store.kv.nan_to_num(9), before.nan_to_num(9))
    lab.append("a", "x")
    short.clear()
    lab.worker.model.prefers_long_passes = True
    lab.undo()
    assert len(short) < one_by_one / 2
    assert torch.allclose(lab.worker.store.kv, before, atol=1e-5, equal_nan=True)
    assert all(lab.prove(name).holds for name in lab.requests)
    assert_sound(lab)


def test_decode_steps_become_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab(30, block_size=4, device="cpu")
    lab.admit("a", "ABCDEFGHIJ")
    made = lab.generate("a", 30)
    lab.append("a", "x")
    assert lab.worker is not None
    lab.worker.model.prefers_long_passes = True
    sizes = passes(lab, monkeypatch)
    lab.undo()
    assert sizes == [10 + 30]
    assert lab.generate("a", 3).tokens == next_three(made.tokens)


def next_three(tokens: tuple[int, ...]) -> tuple[int, ...]:
    """The next three tokens in a pool that computed one after the other."""
    lab = Lab(30, block_size=4, device="cpu")
    lab.admit("a", "ABCDEFGHIJ")
    assert lab.generate("a", 30).tokens == tokens
    return lab.generate("a", 3).tokens


def test_a_late_pass_that_fails_leaves_a_pool_that_is_computed_again_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = grown()
    assert lab.worker is not None
    lab.worker.model.prefers_long_passes = True
    lab.append("a", "x")
    errors: list[BaseException] = [KeyboardInterrupt(), RuntimeError("no")]
    forward = lab.worker.forward

    def failing_once(scheduled: Any) -> None:
        if errors:
            raise errors.pop(0)
        forward(scheduled)

    monkeypatch.setattr(lab.worker, "forward", failing_once)
    with pytest.raises(KeyboardInterrupt):
        lab.undo()
    error = errors.pop()
    assert_sound(lab)
    assert all(lab.prove(name).holds for name in lab.requests)
    errors.append(error)
    with pytest.raises(ComputeFailed):
        lab.append("a", "y")


def test_what_a_device_says_while_memory_is_computed_again_is_told_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = grown()
    assert lab.worker is not None
    model = lab.worker.model
    path = lab.save(tmp_path / "run.jsonl")
    errors: list[BaseException] = []
    forward = TinyLlama.forward

    def failing(self: Any, *arguments: Any) -> Any:
        if errors:
            raise errors[0]
        return forward(self, *arguments)

    monkeypatch.setattr(TinyLlama, "forward", failing)
    for error in (RuntimeError("CUDA error: out of memory\nCompile with"), torch.OutOfMemoryError("tried"), MemoryError()):
        for late in (False, True):
            model.prefers_long_passes = late
            lab.append("a", "x")
            errors.append(error)
            for failed in (lab.undo, lambda: lab.usage, lambda: Lab.load(path, copy=True)):
                with pytest.raises(JournalError, match="cannot be computed again") as told:
                    failed()
                assert "\n" not in str(told.value)
            errors.clear()
            errors.append(error)
            with pytest.raises(JournalError):
                lab.prove("a")
            errors.clear()
            assert lab.prove("a").holds
            errors.append(error)
            with pytest.raises(RequestError, match="the proof of a cannot be computed"):
                lab.prove("a")
            errors.clear()
            assert_sound(lab)

"""Ctrl-C in a forward pass, at whichever bytecode: the step is done, not done, or a step that failed; memory agrees."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from helpers import assert_sound, needs, snapshot
from test_interrupts import Interrupt, at_every_bytecode
from test_memory import SMALL, all_bytes

from kvnb import Lab
from kvnb.errors import ComputeInterrupted

needs("torch")


def prepared() -> Lab:
    """Seven blocks of 2 tokens: ``a`` runs, the contents of ``gone`` wait in the queue, block 5 is cached."""
    lab = Lab(7, block_size=2, **SMALL)
    lab.admit("gone", "ABCDE")
    lab.release("gone")
    lab.admit("a", "ABx")
    return lab


def deferred() -> Lab:
    """The same with ``b`` and ``c`` scheduled, ``c`` sharing a block of ``b`` that nobody has computed."""
    lab = prepared()
    lab.admit("b", "pqr", defer=True)
    lab.admit("c", "pqs", defer=True)
    return lab


CHANGES: dict[str, tuple[Callable[[], Lab], Callable[[Lab], object]]] = {
    "admit": (prepared, lambda lab: lab.admit("b", "ABCyz")),
    "append that fills a block": (prepared, lambda lab: lab.append("a", "y")),
    "step": (deferred, lambda lab: lab.step()),
    "admit that is deferred": (prepared, lambda lab: lab.admit("b", "ABCyz", defer=True)),
    "release": (prepared, lambda lab: lab.release("a")),
    "reweight": (prepared, lambda lab: lab.reweight(1)),
    "undo": (prepared, lambda lab: lab.undo()),
}


def outcomes(make: Callable[[], Lab], change: Callable[[Lab], object]) -> dict[str, tuple[object, list[bytes]]]:
    """Digest to state and memory: before the command, after it, and where it can fail after it failed."""
    lab = make()
    right = {lab.digest: (snapshot(lab)[1], all_bytes(lab))}
    change(lab)
    right[lab.digest] = (snapshot(lab)[1], all_bytes(lab))
    command = lab.journal.steps[-1].command
    if command.verb in ("admit", "append", "step") and not command.args.get("defer"):
        failed = make()
        given = dict(command.args)
        getattr(failed, command.verb)(*[given.pop(key) for key in ("name", "text") if key in given], **given, fail=True)
        right[failed.digest] = (snapshot(failed)[1], all_bytes(failed))
    return right


@pytest.mark.slow
@pytest.mark.parametrize("verb", CHANGES)
def test_an_interrupted_command_has_happened_has_not_or_is_a_step_that_failed(verb: str) -> None:
    make, change = CHANGES[verb]
    right, seen = outcomes(make, change), set()

    def judge(lab: Lab) -> None:
        assert_sound(lab)
        assert (snapshot(lab)[1], all_bytes(lab)) == right[lab.digest]
        seen.add(lab.digest)

    # All of them once took three minutes; 11 has no divisor in common with the loops of a pass.
    moments = at_every_bytecode(make, change, judge, every=11)
    print(f"\n{verb}: interrupted at {moments} bytecodes")
    # Python 3.11 tells every bytecode; newer ones tell about a fifth of them to a tracer.
    assert moments > 50
    assert seen == set(right)


def test_an_interrupt_of_a_pass_is_still_an_interrupt_and_says_what_became_of_the_request() -> None:
    lab = prepared()
    worker = lab.worker
    assert worker is not None
    worker.model.logits = interrupting  # type: ignore[method-assign]
    with pytest.raises(ComputeInterrupted) as caught:
        lab.admit("b", "ABCyz")
    assert isinstance(caught.value, KeyboardInterrupt)
    assert str(caught.value) == (
        "step 4, the forward pass was interrupted: b preempted, hashes of what was not computed dropped; `admit b` resumes"
    )
    assert (lab.state.requests["b"].state, lab.cached) == ("preempted", {1, 2})


def interrupting(*rows: object) -> None:
    raise KeyboardInterrupt


def test_the_interrupt_strikes_inside_the_worker_too() -> None:
    """The test above reaches the code that computes, not only the engine's."""
    lab, within = prepared(), []

    class Watching(Interrupt):
        def enter_frame(self, frame, event, argument):  # type: ignore[no-untyped-def]
            within.append(frame.f_code.co_qualname if hasattr(frame.f_code, "co_qualname") else frame.f_code.co_name)
            return super().enter_frame(frame, event, argument)

    with Watching(10**9):
        lab.admit("b", "ABCyz")
    assert {"forward", "write"} <= {name.rpartition(".")[2] for name in within}

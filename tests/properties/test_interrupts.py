"""Ctrl-C anywhere: whichever bytecode of kvnb an interrupt strikes, the pool is as before or as after the command."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from helpers import assert_sound, snapshot

import kvnb
from kvnb import Lab
from kvnb.journal import jsonl

HOME = str(Path(kvnb.__file__).parent)

Change = Callable[[Lab], object]


class Interrupt:
    """Raises KeyboardInterrupt at the ``moment``-th bytecode that kvnb's own code runs inside the ``with`` block."""

    def __init__(self, moment: int) -> None:
        self.left = moment
        self.struck = False

    def __enter__(self) -> Interrupt:
        self.previous = sys.gettrace()
        sys.settrace(self.enter_frame)
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> bool:
        sys.settrace(self.previous)
        return kind is not None and issubclass(kind, KeyboardInterrupt) and self.struck

    def enter_frame(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(HOME):
            return None
        frame.f_trace_opcodes = True
        return self.strike

    def strike(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode":
            self.left -= 1
            if self.left < 0 and not self.struck:
                self.struck = True
                raise KeyboardInterrupt
        return self.strike


def at_every_bytecode(make: Callable[[], Lab], act: Change, judge: Callable[[Lab], None], every: int = 1) -> int:
    """Interrupt ``act`` at its first bytecode, its second, and so on until it ends undisturbed; how many there were.

    every
        1: none is left out.
    """
    moment = 0
    while True:
        lab = make()
        with Interrupt(moment) as interrupt:
            act(lab)
        judge(lab)
        lab.close()
        if not interrupt.struck:
            return moment
        moment += every


def prepared(log: Path | None = None) -> Lab:
    """Eight blocks of 2 tokens: ``a`` runs, ``p`` is preempted, the queue is ``7 1* 4*``."""
    lab = Lab(8, block_size=2, log=log, device="none")
    lab.admit("p", "xyz")
    lab.preempt("p")
    lab.admit("gone", "ABCDEF")
    lab.release("gone")
    lab.admit("a", "ABCDi")
    lab.append("a", "jk")
    return lab


def emptied(log: Path | None = None) -> Lab:
    """The same pool with nothing running."""
    lab = prepared(log)
    lab.release("a")
    return lab


def undoable(log: Path | None = None) -> Lab:
    """Two steps and no more, since an undo runs them again."""
    lab = Lab(5, block_size=2, log=log, device="none")
    lab.admit("a", "ABC")
    lab.release("a")
    return lab


def drafting(log: Path | None = None) -> Lab:
    """``a`` has three drafts pending that fill a block."""
    lab = prepared(log)
    lab.append("a", "l", draft="mno")
    return lab


def in_chunks(log: Path | None = None) -> Lab:
    """``c`` has a chunk of its prompt scheduled, and the queue's front is cached."""
    lab = Lab(8, block_size=2, log=log, device="none")
    lab.admit("gone", "ABCDEF")
    lab.release("gone")
    lab.admit("c", "uvwxyz", chunk=3)
    return lab


def windowed(log: Path | None = None) -> Lab:
    """Eight blocks of 2 tokens under a window of 4: the next token of ``a`` makes two blocks leave."""
    lab = Lab(8, block_size=2, sliding_window=4, log=log, device="none")
    lab.admit("a", "ABCDEFGH")
    return lab


CHANGES: dict[str, tuple[Callable[..., Lab], Change]] = {
    "admit": (prepared, lambda lab: lab.admit("b", "ABCDEFGHI")),
    "append": (prepared, lambda lab: lab.append("a", "lmn")),
    "release": (prepared, lambda lab: lab.release("a", "p")),
    "preempt": (prepared, lambda lab: lab.preempt("a")),
    "resume": (prepared, lambda lab: lab.admit("p")),
    "evict": (prepared, lambda lab: lab.evict(1, 2, 3, 4)),
    "reset": (emptied, lambda lab: lab.reset()),
    "undo": (undoable, lambda lab: lab.undo()),
    "accept": (drafting, lambda lab: lab.accept("a", 2)),
    "admit in chunks": (prepared, lambda lab: lab.admit("b", "ABCDEF", salt="s", lora="ad=p", chunk=3)),
    "prefill": (in_chunks, lambda lab: lab.prefill("c", 2)),
    "append with drafts under a window": (windowed, lambda lab: lab.append("a", "IJ", draft="KLMNOP")),
}


def either_way(make: Callable[..., Lab], change: Change) -> dict[str, dict[str, Any]]:
    """Digest to state, before and after the undisturbed command."""
    lab = make()
    before = snapshot(lab)
    change(lab)
    return dict([before, snapshot(lab)])


def test_the_prepared_admission_hits_takes_and_evicts() -> None:
    result = prepared().admit("b", "ABCDEFGHI")
    assert (result.hit_blocks, result.new_blocks, result.evicted) == ((2, 3, 4), (7, 1), (1,))


def test_the_prepared_append_under_a_window_frees_and_takes() -> None:
    result = windowed().append("a", "IJ", draft="KLMNOP")
    assert result.block_table == (0, 0, 3, 4, 5, 6, 7, 2)
    assert result.evicted == (2,)


@pytest.mark.slow
@pytest.mark.parametrize("verb", CHANGES)
def test_an_interrupted_command_has_happened_or_has_not(verb: str) -> None:
    make, change = CHANGES[verb]
    right, seen = either_way(make, change), set()

    def judge(lab: Lab) -> None:
        assert_sound(lab)
        assert lab.state.columns() == right[lab.digest]
        seen.add(lab.digest)

    moments = at_every_bytecode(make, change, judge)
    print(f"\n{verb}: interrupted at {moments} bytecodes")
    # Python 3.11 tells every bytecode; newer ones tell about a fifth of them to a tracer.
    assert moments > 50
    assert seen == set(right)


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["admit", "undo"])
def test_the_log_of_an_interrupted_command_tells_what_happened(verb: str, tmp_path: Path) -> None:
    make, change = CHANGES[verb]
    right = either_way(make, change)
    path = tmp_path / "log.jsonl"

    def judge(lab: Lab) -> None:
        assert lab.state.columns() == right[lab.digest]
        read = jsonl.read(path)
        assert (read.torn, read.journal.digest) == (0, lab.digest)

    moments = at_every_bytecode(lambda: make(path), change, judge)
    print(f"\n{verb} with a log: interrupted at {moments} bytecodes")
    # Python 3.11 tells every bytecode; newer ones tell about a fifth of them to a tracer.
    assert moments > 50


@pytest.mark.slow
def test_an_interrupted_command_can_be_given_again() -> None:
    make, change = CHANGES["admit"]
    after = list(either_way(make, change))[1]

    def judge(lab: Lab) -> None:
        if lab.digest != after:
            change(lab)
        assert lab.digest == after

    assert at_every_bytecode(make, change, judge) > 50


def half_looked_at(log: Path | None = None) -> Lab:
    """The prepared pool, of which some steps are folded already and some are not."""
    lab = prepared(log)
    assert lab.state.num_cached == 5
    lab.release("a")
    lab.admit("b", "ABCDEFGHI")
    return lab


def half_looked_at_and_undone() -> Lab:
    """The same, with an undo as the last step."""
    lab = half_looked_at()
    lab.undo()
    return lab


@pytest.mark.slow
@pytest.mark.parametrize("make", [prepared, half_looked_at, half_looked_at_and_undone])
def test_an_interrupted_look_at_the_state_harms_nothing(make: Callable[[], Lab]) -> None:
    right = snapshot(make())

    def judge(lab: Lab) -> None:
        assert snapshot(lab) == right
        assert_sound(lab)

    moments = at_every_bytecode(make, lambda lab: lab.state, judge)
    print(f"\nstate: interrupted at {moments} bytecodes")
    assert moments > 100


@pytest.mark.slow
def test_an_interrupt_during_the_repair_after_an_interrupt_is_repaired_too() -> None:
    make, change = CHANGES["undo"]
    right = either_way(make, change)
    longest = at_every_bytecode(make, change, lambda lab: None)

    def torn() -> Lab:
        lab = make()
        with Interrupt(longest // 2):
            change(lab)
        return lab

    def judge(lab: Lab) -> None:
        assert lab.state.columns() == right[lab.digest]
        assert_sound(lab)

    assert at_every_bytecode(torn, lambda lab: lab.digest, judge) > 100


def test_the_interrupter_puts_the_earlier_trace_function_back() -> None:
    before = sys.gettrace()
    with Interrupt(3) as interrupt:
        Lab(5, device="none")
    assert interrupt.struck
    assert sys.gettrace() is before

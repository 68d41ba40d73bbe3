"""Any step of a journal, undos and all: found from a snapshot it is what its line folds to from the start."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_columns import played, scripts

from kvnb import Lab
from kvnb.core.events import Took
from kvnb.journal import Journal, State, past
from kvnb.journal.columns import Fold, walk
from kvnb.journal.events import Event, Restored
from kvnb.journal.journal import Step
from kvnb.journal.lines import Lines
from kvnb.journal.past import Moment, Past
from kvnb.manager.behaviour import Behaviour
from kvnb.manager.command import Command


@contextmanager
def snapshots(apart: int, most: int = past.MOST) -> Iterator[None]:
    """Snapshots this near to each other, at most so many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Past, "_apart", property(lambda self: max(self._spacing, apart)))
        patch.setattr(Past.__init__, "__defaults__", (apart,))
        patch.setattr(past, "MOST", most)
        yield


def everything(state: State) -> dict[str, Any]:
    """All that a state says, also what ``columns`` leaves out, with the order of what has one."""
    requests = [(name, request.hits, request) for name, request in state.requests.items()]
    numbers = state.num_cached, state.num_free_cached, state.num_shared, state.counters, len(state.queue), state.usage
    owners, copies = list(state.owners.items()), [(key, list(ids)) for key, ids in state.copies.items()]
    return {**state.columns(), "all": (requests, numbers, owners, copies)}


def searched(steps: list[Step]) -> list[int]:
    """The line of the last of these steps, found step by step."""
    line: list[int] = []
    for step in steps:
        restored = step.of(Restored)
        line = [number for number in line if number <= restored[0].k] if restored else [*line, step.number]
    return line


def folded(journal: Journal, k: int) -> State:
    """The state after step ``k``, folded from the start."""
    state = State(journal.behaviour.num_blocks)
    for number in searched(journal.steps[:k]):
        for event in journal.steps[number - 1].events:
            state.apply(event)
    return state


# --- steps that do nothing but follow each other -----------------------------------------------------------------


class Trail:
    """A fold that remembers which steps it was given."""

    def __init__(self, numbers: tuple[int, ...] = (), size: int = 1) -> None:
        self.numbers = numbers
        self.size = size

    def copy(self) -> Trail:
        return Trail(self.numbers, self.size)

    def add(self, step: Step) -> None:
        self.numbers += (step.number,)


def bare_steps(says: list[int | None]) -> list[Step]:
    """A step for each: it goes back to step ``k``, or it is one more."""
    events: list[tuple[Event, ...]] = [(Took((1,)),) if k is None else (Restored(k),) for k in says]
    return [Step(number, Command("reset", {}), event, "") for number, event in enumerate(events, start=1)]


histories = st.lists(st.one_of(st.none(), st.none(), st.integers(0, 40)), max_size=40).map(bare_steps)


@given(histories)
def test_a_line_is_what_is_left_when_the_undone_steps_are_struck_out(steps: list[Step]) -> None:
    lines = Lines(steps)
    assert [lines.line(k) for k in range(len(steps) + 1)] == [searched(steps[:k]) for k in range(len(steps) + 1)]


def test_a_lineage_takes_any_number_of_steps() -> None:
    journal = Journal(Behaviour(num_blocks=2, block_size=1), steps=bare_steps([None, None, 1, None]))
    assert [journal.lineage(k) for k in (None, 4, 99, 3, -1, 0)] == [[1, 4], [1, 4], [1, 4], [1], [1], []]


@given(histories, st.lists(st.integers(0, 40), max_size=20), st.integers(1, 9), st.integers(1, 5))
def test_whatever_was_asked_before_each_moment_holds_the_steps_of_its_line(
    steps: list[Step], asked: list[int], apart: int, most: int
) -> None:
    lines = Lines(steps)
    with snapshots(apart, most):
        found: Past[Trail] = Past(steps, lines, Trail, Trail.add)
        moment: Moment[Trail] | None = None
        for k in [min(k, len(steps)) for k in [*asked, *range(40, 0, -1), *range(40)]]:
            moment = found.reach(lines.end(k), moment)
            assert list(moment.thing.numbers) == lines.line(k)
            assert len(found._kept) <= most
            assert {number: snapshot.thing.numbers[-1] for number, snapshot in found._kept.items()} == {
                number: number for number in found._kept
            }


def test_the_sizes_of_all_snapshots_together_are_bounded() -> None:
    steps = bare_steps([None] * 4000)
    lines = Lines(steps)
    with snapshots(1):
        large: Past[Trail] = Past(steps, lines, lambda: Trail(size=past.ROOM // 9), Trail.add)
        large.reach(lines.end(4000))
    assert 4 <= len(large._kept) <= 9


def test_a_thing_too_large_for_any_snapshot_is_folded_all_the_same() -> None:
    steps = bare_steps([None] * 50)
    lines = Lines(steps)
    with snapshots(1):
        huge: Past[Trail] = Past(steps, lines, lambda: Trail(size=past.ROOM + 1), Trail.add)
        assert huge.reach(lines.end(50)).thing.numbers == tuple(range(1, 51))
    assert huge._kept == {}


def test_a_branch_that_is_made_again_and_again_does_not_spread_the_snapshots_of_the_others() -> None:
    steps = bare_steps([None] * 200 + [None, 200] * 500)
    lines = Lines(steps)
    with snapshots(3, most=100):
        found: Past[Trail] = Past(steps, lines, Trail, Trail.add)
        for k in range(len(steps) + 1):
            found.reach(lines.end(k))
    assert found._apart <= 12


# --- states ------------------------------------------------------------------------------------------------------


@given(scripts, scripts, st.integers(1, 30))
def test_a_copy_and_what_it_is_a_copy_of_go_on_independently(before: list, after: list, seed: int) -> None:
    journal = played([*before, *after]).journal
    line = journal.lineage()
    middle = seed % (len(line) + 1)
    state = folded(journal, 0)
    for number in line[:middle]:
        journal.advance(state, journal.steps[number - 1])
    then = everything(state.copy())
    copies = [state.copy(), state.copy()]
    last = copies[0].copy()
    for moved, still in ((state, copies), (copies[0], [copies[1], last]), (last, [copies[1]])):
        for number in line[middle:]:
            journal.advance(moved, journal.steps[number - 1])
        assert everything(moved) == everything(journal.state)
        assert [everything(other) for other in still] == [then] * len(still)


@given(scripts, st.integers(1, 40), st.integers(1, 6), st.lists(st.integers(0, 40), max_size=12))
def test_the_state_at_any_step_is_what_its_line_folds_to(script: list, apart: int, most: int, asked: list[int]) -> None:
    with snapshots(apart, most):
        journal = played(script).journal
        last = len(journal)
        right = [everything(folded(journal, k)) for k in range(last + 1)]
        for k in [*[min(k, last) for k in asked], *range(last + 1), *range(last, -1, -1)]:
            assert everything(journal.state_at(k)) == right[k]
        state = State(9)
        for step in journal.steps:
            state = journal.advance(state, step)
            assert everything(state) == right[step.number]


@given(scripts, st.integers(1, 20))
def test_columns_that_go_back_are_those_that_were_there(script: list, apart: int) -> None:
    journal = played([*script, ("undo",), *script, ("undo",), ("undo",)]).journal
    with snapshots(apart, 3):
        for k, fold, _ in walk(journal):
            right = Fold(9)
            for number in searched(journal.steps[:k]):
                right.apply(journal.steps[number - 1])
            assert (fold.kinds, fold.counts, fold.since, fold.last) == (right.kinds, right.counts, right.since, right.last)
            assert everything(fold.state) == everything(right.state)


def test_a_state_of_the_past_is_the_callers_own() -> None:
    journal = played([("admit", "a", "abab", ""), ("release", "a"), ("admit", "b", "yyyy", "")]).journal
    journal.advance(journal.state_at(1), journal.steps[1])
    assert journal.state_at(1).columns() == folded(journal, 1).columns()
    assert journal.state_at(3) is journal.state
    assert journal.state_at(3, own=True) is not journal.state


# --- how much is folded ------------------------------------------------------------------------------------------


def long_lab(num_steps: int = 3000) -> Lab:
    """A pool of eleven blocks that a request enters and leaves, again and again."""
    lab = Lab(11, block_size=4, device="none")
    for number in range(num_steps // 2):
        lab.admit("a", f"{number:08}")
        lab.release("a")
    return lab


@contextmanager
def counted() -> Iterator[list[Event]]:
    """The events that are folded inside the ``with`` block."""
    seen: list[Event] = []
    apply = State.apply
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(State, "apply", lambda state, event: (seen.append(event), apply(state, event))[1])
        yield seen


def test_to_look_at_any_step_folds_a_bounded_number_of_events() -> None:
    journal = long_lab().journal
    assert journal.state.num_blocks == 11
    for k in [*range(0, 3000, 71), *range(2999, 0, -97)]:
        with counted() as seen:
            journal.state_at(k)
        assert len(seen) <= past.NEAREST


def test_playing_forward_folds_each_step_once() -> None:
    journal = long_lab(600).journal
    journal.state_at(100)
    with counted() as seen:
        for k in range(100, 500):
            journal.state_at(k)
    assert len(seen) == sum(len(step.events) for step in journal.steps[100:499])


def test_what_is_undone_again_and_again_folds_no_more_than_from_the_last_snapshot() -> None:
    steps = long_lab(2000).journal.steps
    undos = [Step(2000 + n, Command("undo", {}), (Restored(2000 - n),), "") for n in range(1, 1001)]
    journal = Journal(Behaviour(num_blocks=11, block_size=4), steps=[*steps, *undos])
    state = journal.state_at(2000)
    with counted() as seen:
        for step in undos:
            state = journal.advance(state, step)
    assert state.columns() == folded(journal, 3000).columns()
    assert len(seen) <= 1000 * past.NEAREST / 2


def test_many_undos_at_once_are_one_way_back() -> None:
    lab = long_lab(200)
    for _ in range(50):
        lab.undo()
    journal = Journal(lab.behaviour, steps=lab.journal.steps)
    with counted() as seen:
        state = journal.state
    assert state.columns() == lab.state.columns()
    assert len(seen) == sum(len(step.events) for step in journal.steps[:150])


# --- two threads -------------------------------------------------------------------------------------------------


def test_a_second_thread_sees_right_states_and_lines_while_steps_are_added() -> None:
    lab = Lab(11, block_size=4, device="none")
    lab.admit("a", "abcd")
    journal, told, done = lab.journal, [], threading.Event()

    def tick() -> None:
        state, k = State(11), 0
        while not done.is_set():
            last = len(journal)
            for at in (last, last // 2, last - 1):
                told.append((at, journal.state_at(at, own=True).columns(), journal.lineage(at)))
            for step in journal.steps[k:last]:
                state, k = journal.advance(state, step), step.number
            told.append((k, state.columns(), journal.lineage(k)))

    ticker = threading.Thread(target=tick)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with snapshots(8, 4):
            ticker.start()
            for number in range(120):
                lab.admit("b", f"abcd{number:06}")
                assert lab.state.columns() == folded(journal, len(journal)).columns()
                lab.undo() if number % 3 == 0 else lab.release("b")
            done.set()
            ticker.join(60)
    finally:
        done.set()
        sys.setswitchinterval(before)
    assert len(told) > 8
    right = {k: (folded(journal, k).columns(), searched(journal.steps[:k])) for k in {k for k, *_ in told}}
    assert [(columns, line) for _, columns, line in told] == [right[k] for k, *_ in told]

"""Ctrl-C while a journal is run again: the pools are as they were, and the command can be given again."""

from __future__ import annotations

import pytest
from command_lines import run
from helpers import assert_sound, interrupted, snapshot

from kvnb.journal.execution import Execution
from kvnb.session import Session

STEPS = 25


@pytest.fixture
def pools(session: Session) -> Session:
    """The pool ``mine`` of some steps, an undo among them, that is also in ``mine.jsonl``; ``other`` is in use."""
    run(session, "new 11 --name mine --device none --log mine.jsonl", "admit r0 ABCDEFGHI", "undo", "admit r0 ABCDEFGHI")
    for number in range((STEPS - 3) // 2):
        run(session, f"admit n{number} ABCDxyz{number}", f"release n{number}")
    run(session, "new 11 --name other --device none", "admit q ABC")
    assert len(session.lab("mine").journal) == STEPS
    return session


@pytest.mark.parametrize("moment", [0, 1, STEPS // 2, STEPS - 3])
@pytest.mark.parametrize(
    "line",
    ["verify --pool mine", "replay --pool mine", "verify mine.jsonl", "load mine.jsonl --copy", "load mine.jsonl --name new"],
)
def test_an_interrupt_leaves_every_pool_as_it_was(pools: Session, line: str, moment: int) -> None:
    labs = dict(pools.labs)
    before = {name: snapshot(lab) for name, lab in labs.items()}
    with pytest.raises(KeyboardInterrupt) as caught, interrupted(Execution.run.__code__, moment):
        run(pools, line)
    assert type(caught.value) is KeyboardInterrupt
    assert (pools.labs, pools.current) == (labs, "other")
    for name, lab in labs.items():
        assert snapshot(lab) == before[name]
        assert_sound(lab)


@pytest.mark.parametrize("line", ["verify --pool mine", "replay --pool mine", "load mine.jsonl --copy"])
def test_what_was_interrupted_can_be_given_again(pools: Session, line: str) -> None:
    with pytest.raises(KeyboardInterrupt), interrupted(Execution.run.__code__, STEPS // 2):
        run(pools, line)
    assert f"{STEPS} steps" in str(run(pools, line))
    run(pools, "use mine", "admit again ABCD")
    assert_sound(pools.lab())


def test_a_lab_that_verifies_itself_is_interrupted_in_the_same_way(pools: Session) -> None:
    lab = pools.lab("mine")
    before = snapshot(lab)
    with pytest.raises(KeyboardInterrupt), interrupted(Execution.run.__code__, STEPS // 2):
        lab.verify()
    assert snapshot(lab) == before
    assert lab.verify().holds

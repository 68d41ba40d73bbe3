"""Ctrl-C at any bytecode of a look at the past: what is seen afterwards is right, snapshots and all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from helpers import assert_sound
from test_interrupts import at_every_bytecode

from kvnb import Lab
from kvnb.journal import past
from kvnb.journal.past import Past


def with_a_past() -> Lab:
    """Ten steps, two of them undos, the last three not yet folded."""
    lab = Lab(6, block_size=2, device="none")
    lab.admit("a", "ABC")
    lab.append("a", "D")
    lab.undo()
    lab.append("a", "EF")
    lab.release("a")
    lab.undo()
    lab.admit("b", "ABx")
    assert lab.state.num_blocks == 6
    lab.preempt("b")
    lab.admit("b")
    lab.release("a")
    return lab


def all_states(lab: Lab) -> list[dict[str, Any]]:
    """Every state of its past, forward and then backward."""
    last = len(lab.journal)
    return [lab.journal.state_at(k).columns() for k in [*range(last + 1), *range(last, -1, -1)]]


@pytest.mark.slow
@pytest.mark.parametrize(
    "look",
    [
        lambda lab: lab.journal.state_at(8), lambda lab: (lab.journal.state_at(2), lab.journal.state_at(4)),
        lambda lab: lab.state, lambda lab: lab.journal.state_at(10, own=True), lambda lab: lab.journal.lineage(),
    ],
)  # fmt: skip
def test_an_interrupted_look_at_the_past_harms_no_other_look(
    look: Callable[[Lab], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = all_states(with_a_past())
    # Snapshots so near and so few that some are made, and some dropped, in every look.
    monkeypatch.setattr(Past, "_apart", property(lambda self: max(self._spacing, 4)))
    monkeypatch.setattr(Past.__init__, "__defaults__", (4,))
    monkeypatch.setattr(past, "MOST", 2)

    def judge(lab: Lab) -> None:
        assert all_states(lab) == right
        assert_sound(lab)

    assert at_every_bytecode(with_a_past, look, judge) > 20

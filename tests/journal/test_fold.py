"""The state that events add up to: live, at any step, and after undos."""

from __future__ import annotations

import pytest
from helpers import assert_sound, seed_lab

from kvnb import Lab
from kvnb.errors import JournalError, UnknownName
from kvnb.journal import State
from kvnb.journal.events import Restored


def busy_lab() -> Lab:
    """Fourteen steps with every verb, undos among them."""
    lab = seed_lab(5)
    lab.undo()
    lab.admit("x", "ABCDEFGH")
    lab.append("x", "IJKLM")
    lab.preempt("x")
    lab.evict(1)
    lab.admit("x")
    lab.release("x")
    lab.reset()
    lab.undo()
    return lab


def test_the_journal_folds_to_the_live_pool_after_every_step_of_the_seed() -> None:
    for until in range(7):
        assert_sound(seed_lab(until))


def test_the_fold_knows_tables_owners_and_stars() -> None:
    state = seed_lab(2).state
    assert {name: request.table for name, request in state.requests.items()} == {"r0": [1, 2, 3, 4], "r1": [1, 2, 5, 6]}
    assert state.owners[1] == ("r0", "r1")
    assert state.owners[6] == ("r1",)
    assert list(state.queue) == [7, 8, 9, 10]
    assert state.num_cached == 4
    assert state.usage == pytest.approx(0.6)


def test_the_fold_counts_queries_hits_and_evictions() -> None:
    counters = seed_lab().state.counters
    assert (counters.queries, counters.hits) == (15 + 14 + 29 + 8, 8 + 12)
    assert counters.evicted_blocks == 1


def test_resumed_requests_are_counted_apart() -> None:
    lab = Lab(11, block_size=4, device="none")
    lab.admit("a", "ABCDEFGHI")
    lab.preempt("a")
    lab.admit("a")
    counters = lab.state.counters
    assert (counters.queries, counters.hits) == (9, 0)
    assert (counters.preempted_queries, counters.preempted_hits, counters.preemptions) == (9, 8, 1)


def test_without_prefix_caching_no_lookup_is_counted() -> None:
    assert seed_lab(6, prefix_caching=False).state.counters.queries == 0


def test_the_state_at_each_step_is_the_one_that_was_live_then() -> None:
    journal = seed_lab().journal
    for k in range(7):
        assert journal.state_at(k).columns() == seed_lab(k).state.columns()


def test_the_state_at_each_step_of_a_history_with_undos_is_the_one_that_was_live_then() -> None:
    whole = busy_lab()
    seen = {0: State(11).columns()}
    again = Lab(11, block_size=4, device="none")
    for step in whole.journal.steps:
        again._change(step.command.verb, **step.command.args) if step.command.verb != "undo" else again.undo()
        seen[step.number] = again.state.columns()
    assert len(seen) == 15
    assert {k: whole.journal.state_at(k).columns() for k in seen} == seen


@pytest.mark.parametrize("k", [-1, 7])
def test_a_step_that_is_not_there_is_named_with_those_that_are(k: int) -> None:
    with pytest.raises(UnknownName, match=rf"no step {k}: there are steps 0 to 6"):
        seed_lab().journal.state_at(k)


def test_looking_at_the_past_does_not_move_the_present() -> None:
    lab = seed_lab()
    before = lab.state.columns()
    lab.journal.state_at(2)
    assert lab.state.columns() == before


def test_undo_goes_back_one_step_and_the_journal_still_grows() -> None:
    lab = seed_lab(2)
    undone = lab.undo()
    assert undone.step.events == (Restored(1),)
    assert len(lab.journal) == 3
    assert lab.state.columns() == seed_lab(1).state.columns()
    assert lab.journal.lineage() == [1]


def test_undo_twice_goes_back_two_steps() -> None:
    lab = seed_lab(3)
    lab.undo()
    lab.undo()
    assert lab.journal.lineage() == [1]
    assert lab.block_table("r0") == (1, 2, 3, 4)


def test_the_lineage_leaves_out_what_was_undone() -> None:
    lab = seed_lab(2)
    lab.undo()
    lab.admit("other", "zz")
    assert lab.journal.lineage() == [1, 4]
    assert lab.journal.lineage(2) == [1, 2]
    assert lab.journal.lineage(3) == [1]
    assert lab.journal.lineage(0) == []


def test_everything_can_be_undone_but_no_more() -> None:
    lab = seed_lab(2)
    lab.undo()
    lab.undo()
    assert lab.state.columns() == State(11).columns()
    with pytest.raises(JournalError, match="nothing to undo: the pool is as it was made"):
        lab.undo()
    assert len(lab.journal) == 4


def test_a_command_after_an_undo_runs_as_if_the_undone_one_had_never_been() -> None:
    lab, never = seed_lab(4), seed_lab(4)
    lab.admit("x", "ABCDEFGHIJKLMNOPQRST")
    lab.undo()
    lab.admit("r2", "ABCDEFGHIJKL" + "y" * 17)
    never.admit("r2", "ABCDEFGHIJKL" + "y" * 17)
    assert lab.state.columns() == never.state.columns()
    assert lab.digest != never.digest


def test_an_undone_reset_brings_the_hashes_back() -> None:
    lab = seed_lab(4)
    lab.reset()
    assert lab.cached == frozenset()
    lab.undo()
    assert lab.cached == {1, 2, 3, 5}
    assert_sound(lab)


def test_a_busy_history_is_sound() -> None:
    lab = busy_lab()
    assert len(lab.journal) == 14
    assert_sound(lab)

"""Columns of a journal are what a recount of every state gives, undone and failed steps included."""

from __future__ import annotations

from contextlib import suppress

from helpers import seed_lab
from hypothesis import given
from hypothesis import strategies as st

from kvnb import Lab
from kvnb.errors import KvnbError
from kvnb.journal import State
from kvnb.journal.columns import CACHED, EMPTY, ONE, SHARED, Fold, Run, levels, num_evicted, queue_rows, runs, walk

names = st.sampled_from(["a", "b", "c"])
texts = st.sampled_from(["ab", "abab", "ababab", "abababx", "yyyy", "abyyyyyy"])
commands = st.one_of(
    st.tuples(st.just("admit"), names, texts, st.sampled_from(["", "", "", "defer", "fail"])),
    st.tuples(st.just("append"), names, texts, st.sampled_from(["", "defer", "fail"])),
    st.tuples(st.sampled_from(["release", "preempt", "resume"]), names),
    st.tuples(st.just("evict"), st.integers(1, 8)),
    st.tuples(st.sampled_from(["undo", "undo", "reset", "step"])),
)
scripts = st.lists(commands, min_size=1, max_size=24)


def played(script: list[tuple[str, ...]], **settings: object) -> Lab:
    """A small pool after these commands, the refused ones left out."""
    lab = Lab(9, block_size=2, device="none", **settings)  # type: ignore[arg-type]
    for verb, *args in script:
        with suppress(KvnbError):
            if verb in ("admit", "append"):
                name, text, how = args
                getattr(lab, verb)(name, text, **({how: True} if how else {}))
            else:
                getattr(lab, "admit" if verb == "resume" else verb)(*args)
    return lab


def kind_of(state: State, block_id: int) -> int:
    owners = len(state.owners.get(block_id, ()))
    if owners:
        return ONE if owners == 1 else SHARED
    return EMPTY if state.keys[block_id] is None else CACHED


@given(scripts, st.sampled_from([{}, {}, {"sliding_window": 3}, {"prefix_caching": False}, {"free_to": "back"}]))
def test_levels_are_a_recount_of_every_state(script: list[tuple[str, ...]], settings: dict[str, object]) -> None:
    journal = played(script, **settings).journal
    rows = levels(journal)
    assert len(rows) == len(journal) + 1
    for k in range(len(journal) + 1):
        state = journal.state_at(k)
        kinds = [kind_of(state, block_id) for block_id in range(1, 9)]
        counted = [rows.empty[k], rows.cached[k], rows.one[k], rows.shared[k]]
        assert counted == [kinds.count(kind) for kind in (EMPTY, CACHED, ONE, SHARED)]
        assert (rows.queries[k], rows.hits[k]) == (state.counters.queries, state.counters.hits)


@given(scripts)
def test_queue_and_lives_are_those_of_every_state(script: list[tuple[str, ...]]) -> None:
    journal = played(script).journal
    first = len(journal) // 2
    rows, lives = queue_rows(journal, first), runs(journal, first)
    assert [row.number for row in rows] == list(range(first, len(journal) + 1))
    for row in rows:
        state = journal.state_at(row.number)
        assert row.ids == list(state.queue)
        assert row.cached == [state.keys[block_id] is not None for block_id in row.ids]
        now = [run for run in lives if run.first <= row.number <= run.last]
        assert [run.block_id for run in now] == list(range(1, 9))
        for run in now:
            assert (run.kind, list(run.owners)) == (kind_of(state, run.block_id), list(state.owners.get(run.block_id, ())))


@given(scripts)
def test_a_walk_says_which_blocks_changed(script: list[tuple[str, ...]]) -> None:
    journal = played(script).journal
    before: list[tuple[object, ...]] = [()] * 9
    for k, fold, changed in walk(journal):
        state = journal.state_at(k)
        assert fold.state.columns() == state.columns()
        now = [(state.ref_cnt[i], state.keys[i], tuple(state.owners.get(i, ()))) for i in range(9)]
        assert {i for i in range(1, 9) if now[i] != before[i]} <= set(changed)
        before = now


def test_the_seeds_run_in_columns() -> None:
    rows = levels(seed_lab().journal)
    assert list(rows.one) == [0, 4, 4, 4, 0, 8, 10]
    assert list(rows.shared) == [0, 0, 2, 0, 0, 0, 0]
    assert list(rows.cached) == [0, 0, 0, 1, 4, 1, 0]
    assert list(rows.empty) == [10, 6, 4, 5, 6, 1, 0]
    assert list(rows.evicted) == [0, 0, 0, 0, 0, 0, 1]
    assert rows.hit_ratio(0) is None
    assert rows.hit_ratio(6) == 20 / 66


def test_the_life_of_one_block() -> None:
    lives = [run for run in runs(seed_lab().journal, 0) if run.block_id == 5]
    assert lives == [
        Run(5, 0, 1, EMPTY, ()), Run(5, 2, 3, ONE, ("r1",)), Run(5, 4, 5, CACHED, ()), Run(5, 6, 6, ONE, ("r3",)),
    ]  # fmt: skip


def test_columns_end_where_they_are_told_to() -> None:
    journal = seed_lab().journal
    assert len(levels(journal, 3)) == 4
    assert [row.number for row in queue_rows(journal, 2, 4)] == [2, 3, 4]
    assert max(run.last for run in runs(journal, 0, 2)) == 2


def test_a_fold_knows_since_when_a_block_is_free_and_whose_it_was() -> None:
    *_, (_, fold, _) = walk(seed_lab(5).journal)
    assert (fold.since[5], fold.last[5]) == (4, "r1")
    assert (fold.since[10], fold.last[10]) == (0, None)


def test_an_undo_takes_that_back_too() -> None:
    lab = seed_lab(4)
    lab.undo()
    *_, (_, fold, _) = walk(lab.journal)
    *_, (_, then, _) = walk(seed_lab(3).journal)
    assert (fold.since, fold.last) == (then.since, then.last)


def test_what_was_never_computed_is_not_evicted() -> None:
    lab = Lab(9, block_size=2, device="none")
    lab.admit("a", "abcd", fail=True)
    assert num_evicted(lab.journal.steps[-1]) == 0
    assert lab.state.counters.evicted_blocks == 0


def test_a_pool_of_the_null_block_alone_has_no_rows_of_blocks() -> None:
    fold = Fold(1)
    assert fold.counts == [0, 0, 0, 0]

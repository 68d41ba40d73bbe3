from __future__ import annotations

import copy

import pytest
from any_labs import HOSTILE, assert_survives, labs
from helpers import seed_lab
from hypothesis import given
from hypothesis import strategies as st

from kvnb import Lab
from kvnb.errors import UnknownName
from kvnb.journal import State
from kvnb.views.compare import compare
from kvnb.views.diffs import diff_html, diff_text


def diff(lab: Lab, a: int, b: int) -> str:
    return diff_text(lab.journal, a, b)


def columns(state: State, block_id: int) -> tuple[object, ...]:
    return state.ref_cnt[block_id], state.keys[block_id], sorted(state.owners.get(block_id, [])), block_id in state.queue


def test_the_seeds_first_request_finishes() -> None:
    assert diff(seed_lab(), 2, 3) == (
        "step 2 -> step 3: usage 0.60 -> 0.40, 6 -> 4 of 10 in use, 4 cached\n"
        "  r0: gone: 15 tokens, 4 blocks\n"
        "  blocks 1 2: r0 and r1, cached -> r1, cached\n"
        "  block 3: r0, cached -> free and cached (place 6)\n"
        "  block 4: r0 -> free and empty (place 1)"
    )


def test_an_eviction_between_two_steps_and_back() -> None:
    assert diff(seed_lab(), 5, 6) == (
        "step 5 -> step 6: usage 0.80 -> 1.00, 8 -> 10 of 10 in use, 8 -> 9 cached\n"
        "  r3: new: 8 tokens, 2 blocks\n"
        "  block 5: free and cached (place 2) -> r3, cached under another hash\n"
        "  block 10: free and empty (place 1) -> r3, cached\n"
        "  2 hashes gained in blocks 10 5\n"
        "  1 hash lost of block 5"
    )
    assert "  r3: gone: 8 tokens, 2 blocks\n" in diff(seed_lab(), 6, 5)
    assert "  1 hash gained in block 5\n" in diff(seed_lab(), 6, 5)


def test_a_step_and_itself_do_not_differ() -> None:
    assert diff(seed_lab(), 3, 3) == "step 3 -> step 3: nothing differs"
    assert "nothing differs" in assert_survives(diff_html(seed_lab().journal, 6, 6)).text


def test_what_became_of_a_request_is_told() -> None:
    lab = Lab(24, block_size=4, device="none")
    lab.admit("a", "ABCDEFGHI", chunk=5)
    lab.prefill("a")
    lab.append("a", "JKLM", draft="xy")
    lab.preempt("a")
    assert "  a: 2 -> 3 blocks, 5 -> 9 scheduled\n" in diff(lab, 1, 2)
    assert "  a: 9 -> 13 tokens, 3 -> 4 blocks, 9 -> 13 scheduled, 0 -> 2 drafts\n" in diff(lab, 2, 3)
    assert "  a: running -> preempted, 4 -> 0 blocks, 13 -> 0 scheduled, 2 -> 0 drafts\n" in diff(lab, 3, 4)


def test_a_block_that_only_lost_its_turn_is_told_and_those_that_moved_up_are_not() -> None:
    lab = seed_lab(4)
    lab.admit("again", "ABCDEFGHIJKLx")
    lab.release("again")
    assert diff(lab, 4, 6).splitlines()[1:] == [
        "  block 3: free and cached (place 7) -> free and cached, nearer the back (place 8)"
    ]


def test_a_step_that_is_not_there_is_refused() -> None:
    for a, b in ((0, 7), (-1, 2), (9, 1)):
        with pytest.raises(UnknownName, match="there are steps 0 to 6"):
            diff(seed_lab(), a, b)
        with pytest.raises(UnknownName):
            diff_html(seed_lab().journal, a, b)


# --- what must hold ------------------------------------------------------------------------------------------------


@given(labs(), st.data())
def test_exactly_the_blocks_whose_columns_differ_are_listed_and_without_them_the_queue_is_the_same(
    lab: Lab, data: st.DataObject
) -> None:
    a, b = (data.draw(st.integers(0, len(lab.journal))) for _ in "ab")
    was, now = lab.journal.state_at(a), lab.journal.state_at(b)
    found = compare(was, now)
    differ = {block_id for block_id in range(was.num_blocks) if columns(was, block_id) != columns(now, block_id)}
    moved = {change.block_id for change in found.blocks if change.moved}
    assert {change.block_id for change in found.blocks} - moved == differ
    rest = [[block_id for block_id in state.queue if block_id not in differ | moved] for state in (was, now)]
    assert rest[0] == rest[1]
    assert set(found.requests) == {
        name for name in {*was.requests, *now.requests} if was.requests.get(name) != now.requests.get(name)
    }
    assert set(found.gained) == set(now.copies) - set(was.copies)
    assert found.empty == (was.columns() == now.columns() or _only_counted(was, now))


def _only_counted(was: State, now: State) -> bool:
    """Copies may be entered in another order, and requests may stand in another one: neither is a difference."""
    one, other = was.columns(), now.columns()
    same = all(one[name] == other[name] for name in ("queue", "ref_cnt", "keys", "requests"))
    return same and {key: sorted(ids) for key, ids in one["copies"].items()} == {
        key: sorted(ids) for key, ids in other["copies"].items()
    }


@given(labs(), st.data())
def test_backwards_is_the_mirror_and_nothing_is_changed_by_looking(lab: Lab, data: st.DataObject) -> None:
    a, b = (data.draw(st.integers(0, len(lab.journal))) for _ in "ab")
    before = copy.deepcopy(lab.journal.state.columns())
    there, back = (compare(lab.journal.state_at(x), lab.journal.state_at(y)) for x, y in ((a, b), (b, a)))
    assert [change.block_id for change in there.blocks if not change.moved] == [
        change.block_id for change in back.blocks if not change.moved
    ]
    assert (there.gained, there.lost) == (back.lost, back.gained)
    assert compare(lab.journal.state_at(a), lab.journal.state_at(a)).empty
    assert_survives(diff_html(lab.journal, a, b))
    assert all(line.isprintable() for line in diff(lab, a, b).splitlines())
    assert lab.journal.state.columns() == before


def test_hostile_names_are_text() -> None:
    lab = Lab(24, block_size=4, device="none")
    lab.admit(HOSTILE, "ABCDE")
    lab.admit("b", "ABCDEF")
    assert "\\x1b[31m" in diff(lab, 0, 2)
    assert_survives(diff_html(lab.journal, 0, 2))


def test_a_thousand_requests_in_ten_thousand_blocks_are_told_by_kind() -> None:
    lab = Lab(10_000, block_size=16, device="none")
    for k in range(1000):
        lab.admit(f"r{k}", tokens=[k % 7] * 160 + [k] * 50)
    lab.release(*lab.requests[:100])
    for a, b in ((0, 1000), (1000, 1001), (500, 1001), (1001, 0)):
        assert len(diff_html(lab.journal, a, b).encode()) < 60_000
        assert len(diff(lab, a, b)) < 6_000
    assert "new: 1,000 requests with" in diff(lab, 0, 1000)
    assert "one owner, cached -> free and cached" in diff(lab, 1000, 1001)

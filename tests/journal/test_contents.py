"""Which token of whom stands in which slot, told by the journal alone."""

from __future__ import annotations

from typing import Any

from helpers import SEED_PROMPTS, seed_lab

from kvnb import Lab
from kvnb.journal.contents import Slot, Written, contents


def block(lab: Lab, block_id: int, k: int | None = None) -> list[Slot]:
    return contents(lab.journal, [block_id], k)[block_id]


def said(lab: Lab, block_id: int, k: int | None = None) -> str:
    """A block's tokens as letters, a dot for an unwritten slot."""
    return "".join(chr(slot.written.token) if slot.written else "." for slot in block(lab, block_id, k))


def kinds(lab: Lab, block_id: int, k: int | None = None) -> str:
    """The kinds of a block's slots, a letter each: l, c, s, u."""
    return "".join(slot.kind[0] for slot in block(lab, block_id, k))


def small(**settings: Any) -> Lab:
    return Lab(7, block_size=2, **settings, device="none")


def test_a_slot_knows_who_wrote_it_and_in_which_step() -> None:
    assert block(seed_lab(2), 5)[1] == Slot("live", Written("r1", 9, ord("J"), 2))


def test_a_shared_block_was_written_once_by_the_request_that_took_it() -> None:
    lab = seed_lab(2)
    assert {slot.written.name for slot in block(lab, 1) if slot.written} == {"r0"}


def test_the_seeds_walkthrough_block_by_block() -> None:
    lab = seed_lab(6)
    told = [(k, block_id, said(lab, block_id, k), kinds(lab, block_id, k)) for k, block_id in WATCHED]
    assert told == [
        (1, 4, "MNO.", "lllu"),
        (3, 4, "MNO.", "sssu"),
        (4, 6, "xx..", "ssuu"),
        (4, 5, "IJxx", "cccc"),
        (5, 6, "yyyy", "llll"),
        (5, 9, "y...", "luuu"),
        (6, 5, "zzzz", "llll"),
    ]


WATCHED = [(1, 4), (3, 4), (4, 6), (4, 5), (5, 6), (5, 9), (6, 5)]


def test_an_evicted_or_reset_block_is_stale_and_keeps_its_contents() -> None:
    lab = seed_lab(4)
    lab.evict(5)
    assert (said(lab, 5), kinds(lab, 5), kinds(lab, 1)) == ("IJxx", "ssss", "cccc")
    lab.reset()
    assert kinds(lab, 1) == "ssss"


def test_deferred_tokens_are_unwritten_until_the_step() -> None:
    lab = small()
    lab.admit("a", "ABC", defer=True)
    lab.admit("b", "ABx", defer=True)
    assert (said(lab, 1), kinds(lab, 1)) == ("..", "uu")
    lab.step()
    assert [said(lab, block_id) for block_id in (1, 2, 3)] == ["AB", "C.", "x."]
    assert {slot.written.step for slot in block(lab, 1) if slot.written} == {3}


def test_a_failed_pass_wrote_nothing_and_what_was_there_before_stays() -> None:
    lab = small()
    lab.admit("a", "ABC")
    lab.append("a", "D", fail=True)
    assert (said(lab, 2), kinds(lab, 2)) == ("C.", "su")


def test_a_rejected_draft_is_stale_and_an_accepted_one_lives() -> None:
    lab = small()
    lab.admit("a", "A")
    lab.append("a", "B", draft="CDE")
    assert (said(lab, 2), kinds(lab, 2), said(lab, 3)) == ("CD", "ll", "E.")
    lab.accept("a", 1)
    assert (said(lab, 2), kinds(lab, 2), kinds(lab, 3)) == ("CD", "ls", "su")
    lab.append("a", "x")
    assert (said(lab, 2), kinds(lab, 2)) == ("Cx", "ll")


def test_what_left_the_window_is_stale_or_cached_as_its_block_is() -> None:
    lab = small(sliding_window=2)
    lab.admit("a", "ABC")
    lab.append("a", "D")
    lab.append("a", "E")
    assert (lab.block_table("a")[0], said(lab, 1), kinds(lab, 1)) == (0, "AB", "cc")


def test_chunks_write_as_they_are_scheduled() -> None:
    lab = small()
    lab.admit("a", "ABCDE", chunk=3)
    assert [said(lab, block_id) for block_id in (1, 2, 3)] == ["AB", "C.", ".."]
    lab.prefill("a")
    assert [said(lab, block_id) for block_id in (1, 2, 3)] == ["AB", "CD", "E."]


def test_a_name_used_again_is_another_request() -> None:
    lab = small()
    lab.admit("a", "ABC")
    lab.release("a")
    lab.admit("a", "xyz")
    assert [slot.written.step for slot in block(lab, 2) if slot.written] == [3, 3]


def test_an_undone_step_wrote_nothing() -> None:
    lab = small()
    lab.admit("a", "ABC")
    lab.append("a", "D")
    lab.undo()
    assert said(lab, 2) == "C."


def test_a_resumed_request_writes_into_its_new_blocks() -> None:
    lab = seed_lab(1)
    lab.preempt("r0")
    lab.admit("other", "q")
    lab.admit("r0")
    assert SEED_PROMPTS["r0"][12:] == "MNO"
    assert said(lab, lab.block_table("r0")[3]) == "MNO."

"""Tokens that a draft model proposed: they have slots, they are hashed only once they are tokens."""

from __future__ import annotations

import pytest
from cores import assert_holds, hashes, refusal, starred, table
from helpers import do, engine

from kvnb.errors import NeverFits, OutOfBlocks, RequestError, UnknownName
from kvnb.manager.engine import EngineCore


def drafted(**settings: object) -> EngineCore:
    """Request ``a`` has the tokens A to G and the drafts H, I, J in slots behind them: ten slots in three blocks."""
    core = engine(**settings)  # type: ignore[arg-type]
    do(core, "admit", name="a", text="ABCDEF")
    do(core, "append", name="a", text="G", draft={"text": "HIJ"})
    return core


def test_drafts_get_slots_but_no_hash() -> None:
    core = drafted()
    assert table(core, "a") == (1, 2, 3)
    assert list(hashes(core)) == [1]
    assert core.scheduler.requests["a"].drafts == (72, 73, 74)
    assert core.scheduler.requests["a"].num_tokens == 7


def test_tokens_before_the_drafts_are_hashed_as_ever() -> None:
    core = engine()
    do(core, "admit", name="a", text="ABCDEF")
    do(core, "append", name="a", text="GH", draft={"text": "IJKL"})
    assert list(hashes(core)) == [1, 2]
    assert table(core, "a") == (1, 2, 3)


def test_drafts_may_be_given_as_tokens() -> None:
    core = engine()
    do(core, "admit", name="a", text="ABCDEF")
    do(core, "append", name="a", text="G", draft={"tokens": [1, 2]})
    assert core.scheduler.requests["a"].drafts == (1, 2)


def test_accepting_moves_no_block_and_hashes_nothing() -> None:
    core = drafted()
    queue = starred(core)
    do(core, "accept", name="a", k=3)
    assert (table(core, "a"), starred(core), list(hashes(core))) == ((1, 2, 3), queue, [1])
    assert core.scheduler.requests["a"].token_ids == [ord(letter) for letter in "ABCDEFGHIJ"]


def test_the_next_append_hashes_what_the_accepted_drafts_filled() -> None:
    core = drafted()
    do(core, "accept", name="a", k=3)
    do(core, "append", name="a", text="K")
    assert list(hashes(core)) == [1, 2]
    whole = engine()
    do(whole, "admit", name="a", text="ABCDEFGHIJK")
    assert hashes(whole) == hashes(core)


def test_a_block_filled_by_accepted_drafts_and_released_before_the_next_append_goes_to_the_front() -> None:
    core = drafted()
    do(core, "accept", name="a", k=1)
    assert core.scheduler.requests["a"].num_tokens == 8
    do(core, "release", names=["a"])
    assert starred(core) == "3 2 4 5 6 7 8 9 10 1*"


def test_rejected_drafts_leave_their_slots_to_the_tokens_to_come() -> None:
    core = drafted()
    do(core, "accept", name="a", k=0)
    assert table(core, "a") == (1, 2, 3)
    do(core, "append", name="a", text="wxyz")
    assert table(core, "a") == (1, 2, 3)
    assert core.scheduler.requests["a"].token_ids[-4:] == [ord(letter) for letter in "wxyz"]
    do(core, "append", name="a", text="12")
    assert table(core, "a") == (1, 2, 3, 4)


def test_a_part_of_the_drafts_is_accepted_from_the_first_on() -> None:
    core = drafted()
    do(core, "accept", name="a", k=2)
    request = core.scheduler.requests["a"]
    assert (request.token_ids[-2:], request.drafts) == ([ord("H"), ord("I")], ())


def test_append_with_drafts_pending_says_how_many_may_be_accepted() -> None:
    line = refusal(drafted(), RequestError, "append", name="a", text="x")
    assert line == "a has drafts pending: accept 0 to 3 of them first"


@pytest.mark.parametrize("k", [-1, 4])
def test_accepting_more_or_less_than_there_are_is_refused(k: int) -> None:
    assert refusal(drafted(), RequestError, "accept", name="a", k=k) == f"a has 3 drafts: accept 0 to 3, not {k}"


def test_without_drafts_there_is_nothing_to_accept() -> None:
    core = drafted()
    do(core, "accept", name="a", k=1)
    assert "a has no drafts: append a text with --draft first" in refusal(core, RequestError, "accept", name="a", k=0)
    assert "no request b: there is a" in refusal(core, UnknownName, "accept", name="b", k=0)


def test_prefill_while_drafts_are_pending_is_refused() -> None:
    assert "a has no prompt left to prefill" in refusal(drafted(), RequestError, "prefill", name="a", n=1)


def test_release_drops_the_drafts() -> None:
    core = drafted()
    do(core, "release", names=["a"])
    assert starred(core) == "3 2 4 5 6 7 8 9 10 1*"
    assert_holds(core)


def test_preempt_drops_the_drafts_and_the_request_resumes_without_them() -> None:
    core = drafted()
    do(core, "preempt", name="a")
    assert core.scheduler.requests["a"].drafts == ()
    assert "a is preempted and cannot accept drafts" in refusal(core, RequestError, "accept", name="a", k=1)
    do(core, "admit", name="a")
    assert (core.scheduler.requests["a"].drafts, len(table(core, "a"))) == ((), 2)


def test_drafts_need_blocks_as_tokens_do() -> None:
    core = engine(num_blocks=5)
    do(core, "admit", name="a", text="ABCD")
    do(core, "admit", name="b", text="wxyz")
    line = refusal(core, OutOfBlocks, "append", name="a", text="E", draft={"text": "123456789"})
    assert line == "a needs 3 blocks, 2 free: release or preempt one of b"
    line = refusal(core, NeverFits, "append", name="a", text="E", draft={"text": "x" * 12})
    assert "a needs 5 blocks, the pool has 4: can never fit" in line


def test_pending_drafts_are_not_hit_by_the_next_request() -> None:
    core = drafted()
    do(core, "admit", name="b", text="ABCDEFGHIJ")
    assert table(core, "b")[:1] == (1,)
    assert 2 not in table(core, "b")


def test_drafts_in_a_pool_without_caching_go_through() -> None:
    core = drafted(prefix_caching=False)
    do(core, "accept", name="a", k=3)
    do(core, "append", name="a", text="KLM", draft={"text": "N"})
    assert (table(core, "a"), hashes(core)) == ((1, 2, 3, 4), {})
    assert_holds(core)

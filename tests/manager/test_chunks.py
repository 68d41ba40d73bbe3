"""Prompts that come in chunks: slots and hashes for what is scheduled, room for the whole."""

from __future__ import annotations

import pytest
from cores import assert_holds, hashes, refusal, starred, table
from helpers import do, engine
from hypothesis import given
from hypothesis import strategies as st

from kvnb.errors import NeverFits, OutOfBlocks, RequestError
from kvnb.manager.engine import EngineCore

PROMPT = "ABCDEFGHIJKLMNO"


def chunked(chunk: int = 5) -> EngineCore:
    """Request ``a`` has 15 tokens, of which the first ``chunk`` are scheduled."""
    core = engine()
    do(core, "admit", name="a", text=PROMPT, chunk=chunk)
    return core


def scheduled(core: EngineCore, name: str = "a") -> int:
    return core.scheduler.requests[name].num_computed_tokens


def test_only_the_first_tokens_get_slots_and_hashes() -> None:
    core = chunked()
    assert (scheduled(core), core.scheduler.requests["a"].num_tokens) == (5, 15)
    assert (table(core, "a"), list(hashes(core))) == ((1, 2), [1])


def test_prefill_goes_on_from_there() -> None:
    core = chunked()
    do(core, "prefill", name="a", n=3)
    assert (scheduled(core), table(core, "a"), list(hashes(core))) == (8, (1, 2), [1, 2])
    do(core, "prefill", name="a", n=7)
    assert (scheduled(core), table(core, "a"), list(hashes(core))) == (15, (1, 2, 3, 4), [1, 2, 3])


@given(chunk=st.integers(1, 20), steps=st.lists(st.integers(1, 9), max_size=15))
def test_a_prompt_in_chunks_ends_as_one_admitted_at_once(chunk: int, steps: list[int]) -> None:
    core, whole = chunked(chunk), chunked(15)
    for n in [*steps, 15]:
        left = 15 - scheduled(core)
        if left:
            do(core, "prefill", name="a", n=min(n, left))
    assert table(core, "a") == table(whole, "a")
    assert hashes(core) == hashes(whole)
    assert starred(core) == starred(whole)


def test_a_chunk_larger_than_the_prompt_is_the_whole_prompt() -> None:
    core = chunked(99)
    assert scheduled(core) == 15
    assert "a has no prompt left to prefill: all its tokens are scheduled" in refusal(
        core, RequestError, "prefill", name="a", n=1
    )


def test_the_whole_prompt_must_fit_though_only_a_chunk_is_taken() -> None:
    core = engine(num_blocks=5)
    do(core, "admit", name="other", text="zz")
    line = refusal(core, OutOfBlocks, "admit", name="a", text=PROMPT, chunk=4)
    assert line == "a needs 4 blocks, 3 free: release or preempt one of other"
    line = refusal(core, NeverFits, "admit", name="a", text=PROMPT * 2, chunk=4)
    assert "a needs 8 blocks, the pool has 4: can never fit" in line


def test_a_later_chunk_may_find_the_pool_taken() -> None:
    core = engine(num_blocks=5)
    do(core, "admit", name="a", text=PROMPT, chunk=4)
    do(core, "admit", name="b", text="xxxxyyyyz")
    line = refusal(core, OutOfBlocks, "prefill", name="a", n=11)
    assert line == "a needs 3 blocks, 0 free: release or preempt one of b"
    do(core, "release", names=["b"])
    do(core, "prefill", name="a", n=11)
    assert_holds(core)


@pytest.mark.parametrize("n", [0, -2, 11])
def test_prefill_of_more_than_is_left_or_of_nothing_is_refused(n: int) -> None:
    line = refusal(chunked(), RequestError, "prefill", name="a", n=n)
    assert line == f"a has 10 tokens left to prefill: give 1 to 10, not {n}"


def test_a_chunk_of_no_token_makes_no_progress() -> None:
    assert "a chunk of 0 tokens makes no progress: give 1 or more" in refusal(
        engine(), RequestError, "admit", name="a", text="ABC", chunk=0
    )


def test_append_in_the_middle_of_a_prompt_is_refused() -> None:
    assert refusal(chunked(), RequestError, "append", name="a", text="x") == (
        "a has 10 tokens of its prompt unscheduled: prefill it first"
    )


def test_after_the_last_chunk_the_request_decodes() -> None:
    core = chunked()
    do(core, "prefill", name="a", n=10)
    do(core, "append", name="a", text="P")
    assert list(hashes(core)) == [1, 2, 3, 4]


def test_a_chunk_counts_the_tokens_after_the_hits() -> None:
    core = engine()
    do(core, "admit", name="first", text="ABCDEFGH")
    do(core, "admit", name="a", text=PROMPT, chunk=2)
    assert (scheduled(core), table(core, "a")) == (10, (1, 2, 3))


def test_hashes_of_a_chunk_are_hit_before_the_prompt_is_through() -> None:
    core = chunked(8)
    do(core, "admit", name="b", text=PROMPT)
    assert table(core, "b")[:2] == (1, 2)
    do(core, "prefill", name="a", n=7)
    assert table(core, "a")[2] != table(core, "b")[2]
    assert_holds(core)


def test_preempted_in_the_middle_it_resumes_with_what_is_cached() -> None:
    core = chunked(9)
    do(core, "preempt", name="a")
    assert scheduled(core) == 0
    assert "a is preempted and cannot be prefilled" in refusal(core, RequestError, "prefill", name="a", n=1)
    do(core, "admit", name="a", chunk=1)
    assert (scheduled(core), table(core, "a")) == (9, (1, 2, 3))
    do(core, "prefill", name="a", n=6)
    assert (scheduled(core), list(hashes(core))) == (15, [1, 2, 3])


def test_released_in_the_middle_it_leaves_the_partly_filled_block_in_front() -> None:
    core = chunked(9)
    do(core, "release", names=["a"])
    assert starred(core) == "3 4 5 6 7 8 9 10 2* 1*"

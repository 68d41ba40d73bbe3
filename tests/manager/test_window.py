"""Sliding windows: what leaves the window is given back and block 0 stands in its place.

A window of W tokens: the next token sees itself and the W - 1 before it.
"""

from __future__ import annotations

import pytest
from cores import assert_holds, hashes, refusal, starred, table
from helpers import do, engine

from kvnb import Lab
from kvnb.core.block import KVCacheBlock
from kvnb.core.events import Back, Dropped, Took
from kvnb.errors import NeverFits, OutOfBlocks, SettingError
from kvnb.manager.engine import EngineCore
from kvnb.manager.events import Nulled
from kvnb.manager.sliding_window import num_skipped_blocks, rightmost_run


def windowed(text: str = "ABCDEFGHIJKLM", window: int = 6, **settings: object) -> EngineCore:
    """Eleven blocks of 4 tokens, and request ``a`` under a window."""
    core = engine(sliding_window=window, **settings)  # type: ignore[arg-type]
    do(core, "admit", name="a", text=text)
    return core


def test_a_prompt_admitted_at_once_holds_all_its_blocks() -> None:
    assert table(windowed(), "a") == (1, 2, 3, 4)


def test_the_next_token_makes_blocks_before_its_window_block_0() -> None:
    core = windowed()
    do(core, "append", name="a", text="N")
    assert table(core, "a") == (0, 0, 3, 4)
    assert starred(core) == "5 6 7 8 9 10 2* 1*"
    assert_holds(core)


def test_what_left_the_window_can_be_taken_in_the_same_step() -> None:
    core = windowed("ABCDEFGH", window=2, num_blocks=3)
    do(core, "append", name="a", text="I")
    assert table(core, "a") == (0, 2, 1)
    assert 1 not in hashes(core)


def test_blocks_leave_before_new_ones_are_taken_the_last_of_them_first() -> None:
    lab = Lab(11, block_size=4, sliding_window=6, device="none")
    lab.admit("a", "ABCDEFGHIJKLMNOP")
    events = lab.append("a", "Q").step.events
    assert [event for event in events if isinstance(event, Nulled | Dropped | Back | Took)] == [
        Nulled("a", 0, 2), Dropped((2, 1)), Back((2, 1)), Took((5,)),
    ]  # fmt: skip


def test_a_block_stays_while_one_of_its_tokens_is_seen() -> None:
    core = windowed("ABCDEFGHI")
    assert num_skipped_blocks(8, 6, 4) == 0
    do(core, "append", name="a", text="J")
    assert num_skipped_blocks(9, 6, 4) == 1
    assert table(core, "a") == (0, 2, 3)


def test_a_window_of_two_keeps_the_block_of_the_last_token_and_the_one_to_come() -> None:
    core = windowed("ABCD", window=2)
    for letter in "EFGHIJKLMNOP":
        do(core, "append", name="a", text=letter)
        assert sum(block_id != 0 for block_id in table(core, "a")) <= 2
    assert table(core, "a")[:2] == (0, 0)
    assert_holds(core)


def test_a_window_of_one_token_is_refused() -> None:
    with pytest.raises(SettingError, match="sliding_window is 1: give 2 or more"):
        Lab(5, sliding_window=1, device="none")


def lookup_of(cached: str) -> tuple[list[bytes], list[KVCacheBlock | None]]:
    """``"x.x"``: three hashes, of which the first and the third are cached."""
    return [bytes([place]) for place in range(len(cached))], [
        KVCacheBlock(place + 1) if letter == "x" else None for place, letter in enumerate(cached)
    ]


@pytest.mark.parametrize(
    ("cached", "window", "hit"),
    [
        ("xxxx", 9, [0, 0, 3, 4]),  # (9 - 1) / 4 = 2 blocks are enough
        ("xxxx", 10, [0, 2, 3, 4]),  # 9 / 4: three
        ("xxxx", 2, [0, 0, 0, 4]),
        ("xxx.", 9, [0, 2, 3]),
        ("xx.x", 9, [1, 2]),
        ("x..x", 9, [1]),  # no run is long enough: what is cached from the first on
        (".xxx", 17, []),
        ("..x.", 5, [0, 0, 3]),
        ("....", 5, []),
        ("", 5, []),
    ],
)
def test_a_hit_is_the_first_run_from_the_right_that_fills_a_window(cached: str, window: int, hit: list[int]) -> None:
    keys, blocks = lookup_of(cached)
    found = rightmost_run(keys, lambda key: blocks[key[0]], window, 4, KVCacheBlock(0))
    assert [block.block_id for block in found] == hit


def test_a_hit_has_null_blocks_before_it_and_needs_none_of_what_left() -> None:
    core = windowed()
    do(core, "release", names=["a"])
    do(core, "evict", ids=[1])
    do(core, "admit", name="b", text="ABCDEFGHIJKLz")
    assert table(core, "b")[:3] == (0, 2, 3)
    assert_holds(core)


def test_blocks_from_cache_and_hit_tokens_are_counted_apart() -> None:
    lab = Lab(11, block_size=4, sliding_window=6, device="none")
    lab.admit("a", "ABCDEFGHIJKLMNOPQ")
    result = lab.admit("b", "ABCDEFGHIJKLMNOPQ")
    assert (result.hit_blocks, result.num_hit_tokens) == ((3, 4), 16)
    assert result.block_table[:4] == (0, 0, 3, 4)


def test_a_block_that_left_the_window_of_one_stays_with_the_other() -> None:
    core = windowed("ABCDEFGHI")
    do(core, "admit", name="b", text="ABCDEFGHx")
    assert table(core, "b")[:2] == (1, 2)
    do(core, "append", name="a", text="J")
    assert table(core, "a")[0] == 0
    assert table(core, "b")[0] == 1
    assert_holds(core)


def test_what_a_request_holds_at_once_must_fit_and_not_all_that_it_ever_held() -> None:
    core = engine(num_blocks=5, sliding_window=6)
    line = refusal(core, NeverFits, "admit", name="a", text="x" * 40)
    assert "a needs 10 blocks, the pool has 4: can never fit" in line
    do(core, "admit", name="a", text="x" * 40, chunk=4)
    for _ in range(9):
        do(core, "prefill", name="a", n=4)
    assert len(table(core, "a")) == 10
    assert_holds(core)


def test_a_window_too_large_for_the_pool_can_never_fit_whatever_the_chunk() -> None:
    core = engine(num_blocks=5, sliding_window=17)
    line = refusal(core, NeverFits, "admit", name="a", text="x" * 40, chunk=1)
    assert line == "a needs 6 blocks, the pool has 4: can never fit, make a pool of 7 or more"


def test_an_append_counts_what_it_holds_after_its_old_blocks_left() -> None:
    core = windowed("ABCDEFGHIJKL", num_blocks=5)
    line = refusal(core, NeverFits, "append", name="a", text="x" * 17)
    assert line == "a needs 7 blocks, the pool has 4: can never fit, make a pool of 8 or more"


def test_a_refused_append_has_freed_nothing() -> None:
    """A named difference: vLLM, refusing, has freed what left the window and keeps the new token."""
    core = windowed("ABCDEFGHIJKLMNOP", num_blocks=8)
    do(core, "admit", name="b", text="12345678")
    line = refusal(core, OutOfBlocks, "append", name="a", text="x" * 13)
    assert line == "a needs 4 blocks, 3 free: release or preempt one of b"
    assert table(core, "a") == (1, 2, 3, 4)
    assert core.scheduler.requests["a"].num_tokens == 16


def test_null_blocks_are_no_owners_in_the_equations() -> None:
    core = windowed()
    do(core, "append", name="a", text="N")
    says = [str(equation) for equation in core.scheduler.check()]
    assert "ok  free + referenced + null = N: 8 + 2 + 1 = 11, N = 11" in says
    assert "ok  ref_cnt = tables that hold the block: 2 owners counted, 2 places in tables" in says


def test_an_evicted_block_that_leaves_the_window_goes_to_the_front() -> None:
    core = windowed()
    do(core, "evict", ids=[1])
    do(core, "append", name="a", text="N")
    assert starred(core) == "1 5 6 7 8 9 10 2*"


def test_release_and_preempt_give_back_what_is_still_held() -> None:
    core = windowed()
    do(core, "append", name="a", text="N")
    do(core, "preempt", name="a")
    assert starred(core) == "4 5 6 7 8 9 10 2* 1* 3*"
    do(core, "admit", name="a")
    assert table(core, "a")[:3] == (0, 2, 3)
    do(core, "release", names=["a"])
    assert_holds(core)


def test_accepted_drafts_move_the_window_only_at_the_next_append() -> None:
    core = windowed("ABCDEFGH")
    do(core, "append", name="a", text="I", draft={"text": "JKLM"})
    do(core, "accept", name="a", k=4)
    assert table(core, "a") == (1, 2, 3, 4)
    do(core, "append", name="a", text="N")
    assert table(core, "a") == (0, 0, 3, 4)
    assert list(hashes(core)) == [1, 2, 3]


def test_a_block_that_accepted_drafts_filled_and_that_leaves_before_the_next_append_is_never_hashed() -> None:
    core = windowed("ABCDEF", window=2)
    do(core, "append", name="a", text="G", draft={"text": "HIJKLM"})
    do(core, "accept", name="a", k=6)
    do(core, "append", name="a", text="N")
    assert (table(core, "a"), list(hashes(core))) == ((0, 0, 0, 4), [1])
    assert starred(core) == "3 2 5 6 7 8 9 10 1*"
    assert_holds(core)


def test_under_a_window_without_caching_blocks_leave_too() -> None:
    core = windowed(prefix_caching=False)
    do(core, "append", name="a", text="N")
    assert (table(core, "a"), starred(core)) == ((0, 0, 3, 4), "2 1 5 6 7 8 9 10")

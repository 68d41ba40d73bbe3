"""What people who run such pools reported, retold on a small pool, with the right outcome.

Each test is named after its case; the report stands in its docstring. Cases about what a later version brings
(other policies, the loop that preempts, event streams that break off) are not here yet.
"""

from __future__ import annotations

from collections import Counter

import pytest
from helpers import assert_sound, snapshot

from kvnb import Lab
from kvnb.errors import NeverFits, OutOfBlocks
from kvnb.live.wire import kv_events


def starred(lab: Lab) -> str:
    """The queue as the seed prints it: ``4 5* 6``."""
    return " ".join(f"{block_id}{'*' if block_id in lab.cached else ''}" for block_id in lab.free_queue)


def test_tail_first() -> None:
    """llm-d/llm-d-inference-sim #704: the last block of a finished request is evicted, never its first."""
    lab = Lab(4, block_size=4, device="none")
    lab.admit("a", "ABCDEFGHIJKL")
    lab.release("a")
    assert lab.admit("new", "x").evicted == (3,)
    lab.release("new")
    assert lab.admit("sharer", "ABCDEFGHIJKL").hit_blocks == (1, 2)


def test_unreachable_middle() -> None:
    """LMCache #443: a chain whose second block is evicted is hit up to the gap, and the rest is no leak."""
    lab = Lab(12, block_size=4, device="none")
    lab.admit("a", "abcdefghijklmnop")
    lab.release("a")
    lab.evict(2)
    lookup = lab.admit("b", "abcdefghijklmnop")
    assert lookup.hit_blocks == (1,)
    assert_sound(lab)
    lab.release("b")
    whole_pool = lab.admit("c", "z" * 44)
    assert {3, 4} <= set(whole_pool.evicted)
    assert_sound(lab)


def two_prompts(free_to: str) -> Lab:
    """Four usable blocks, all free after two prompts that each left a full and a partly filled one."""
    lab = Lab(5, block_size=4, free_to=free_to, device="none")
    for name, text in (("a", "AAAAx"), ("b", "BBBBx")):
        lab.admit(name, text)
        lab.release(name)
    return lab


def test_front_or_back() -> None:
    """vllm PR #42656: the unhashed blocks are reused first, so that both prompts still hit."""
    lab = two_prompts("front-back")
    assert starred(lab) == "3 4 1* 2*"
    assert lab.admit("c", "CCCCx").evicted == ()
    lab.release("c")
    assert lab.admit("a", "AAAAx").num_hit_tokens == 4
    lab.release("a")
    assert lab.admit("b", "BBBBx").num_hit_tokens == 4


def test_front_or_back_under_the_older_rule() -> None:
    """vllm PR #42656: with every freed block at the back, an unhashed one outlives a cached one."""
    lab = two_prompts("back")
    assert starred(lab) == "2 1* 4 3*"
    assert lab.admit("c", "CCCCx").evicted == (1,)
    assert starred(lab) == "4 3*"


def test_lifo_when_off() -> None:
    """vllm PR #51482: without caching the same blocks come back, the last freed first."""
    lab = Lab(9, block_size=1, prefix_caching=False, device="none")
    first = lab.admit("a", "xyz").block_table
    lab.release("a")
    assert lab.admit("b", "uvw").block_table == first[::-1]


def test_full_hit() -> None:
    """nano-vllm PR #199, vllm PRs #11186, #17999: a prompt that is cached whole still computes its last block."""
    lab = Lab(11, block_size=16, device="none")
    lab.admit("a", "x" * 32)
    again = lab.admit("b", "x" * 32)
    assert (again.hit_blocks, again.new_blocks) == ((1,), (3,))
    assert again.num_hit_tokens == 16 < again.num_tokens
    key = lab.state.keys[2]
    assert key is not None
    assert list(lab.state.copies[key]) == [2, 3]


def test_hits_in_the_queue() -> None:
    """vllm #11562: blocks that a request hits in the queue are not counted as room for its new ones."""
    lab = Lab(7, block_size=4, device="none")
    lab.admit("other", "o")
    lab.admit("a", "ABCDEFGH")
    lab.release("a")
    assert len(lab.free_queue) == 5
    before = snapshot(lab)
    with pytest.raises(OutOfBlocks, match=r"needs 4 blocks, 5 free \(2 of them its own cache hits\): release"):
        lab.admit("b", "ABCDEFGH" + "y" * 16)
    assert snapshot(lab) == before
    lab.release("other")
    assert lab.admit("b", "ABCDEFGH" + "y" * 16).num_hit_tokens == 8


def test_counted_once() -> None:
    """vllm #43736: a lookup whose allocation fails and is retried counts once, when it is admitted."""
    lab = Lab(5, block_size=4, device="none")
    lab.admit("a", "ABCDE")
    lab.admit("other", "ooooo")
    for _ in range(5):
        with pytest.raises(OutOfBlocks):
            lab.admit("b", "ABCDE")
    lab.release("other")
    lab.admit("b", "ABCDE")
    counters = lab.state.counters
    assert (counters.queries, counters.hits) == (5 + 5 + 5, 4)


def test_usage_is_not_cache() -> None:
    """vllm #12077, #5176, sglang #6778: usage 0 % says nothing about what is cached."""
    lab = Lab(11, block_size=4, device="none")
    lab.admit("a", "ABCDEFGHI")
    lab.release("a")
    assert lab.usage == 0.0
    assert (lab.state.num_cached, lab.state.num_free_cached) == (2, 2)
    assert lab.admit("b", "ABCDEFGHI").num_hit_tokens == 8


def test_copies() -> None:
    """vllm PRs #55092, #48933: who follows the events must count copies, or loses a chain that is still there."""
    lab = Lab(21, block_size=4, device="none")
    first_three = "AAAABBBBCCCC"
    lab.admit("a", first_three)
    lab.admit("b", first_three)
    lab.append("b", "DDDDEEEEFFFFGGGG")
    third = lab.state.keys[lab.block_table("a")[2]]
    assert third is not None
    assert list(lab.state.copies[third]) == [3, 4]
    lab.evict(3)
    assert list(lab.state.copies[third]) == [4]
    scored = lab.admit("c", first_three + "DDDDEEEEFFFFGGGG" + "x")
    assert len(scored.hit_blocks) == 7
    first, copy, more, evicted, _ = [[key for event in step for key in event["block_hashes"]] for step in kv_events(lab.journal)]
    known = Counter([*first, *copy, *more])
    known.subtract(evicted)
    assert [known[key] for key in (*first, *more)] == [1] * 7


def test_below_a_block() -> None:
    """vllm #14686, #7414: prompts below one block share nothing; longer ones hit before anything is computed."""
    lab = Lab(21, block_size=16, device="none")
    lab.admit("a", "short text")
    assert lab.admit("b", "short text").hit_blocks == ()
    lab.admit("c", "x" * 40)
    assert len(lab.admit("d", "x" * 40).hit_blocks) == 2


@pytest.mark.parametrize("way", ["reuse", "evict", "reset"])
def test_hash_survives(way: str) -> None:
    """ovg-project/kvcached #362: whichever way a block loses its hash, it is cached again without a trace."""
    lab = Lab(4, block_size=4, device="none")
    lab.admit("a", "ABCDEFGH")
    lab.release("a")
    if way == "reuse":
        lab.admit("other", "z" * 11)
        lab.release("other")
        lab.reset()
    elif way == "evict":
        lab.evict(1, 2)
    else:
        lab.reset()
    assert lab.cached == frozenset()
    assert all(block.block_hash is None for block in lab.pool.blocks)
    again = lab.admit("b", "ABCDEFGH")
    assert again.hit_blocks == ()
    assert lab.cached == set(again.block_table)
    assert_sound(lab)


def test_never_fits() -> None:
    """vllm #39734: what the whole pool cannot hold is refused as impossible, not left waiting."""
    lab = Lab(13, block_size=4, device="none")
    with pytest.raises(NeverFits, match="needs 13 blocks, the pool has 12: can never fit"):
        lab.admit("big", "x" * 49)
    lab.admit("grows", "x" * 48)
    with pytest.raises(NeverFits, match="needs 13 blocks, the pool has 12: can never fit"):
        lab.append("grows", "x")


def decoding_beside_a_session(uncached: bool) -> Lab:
    """A windowed request decodes on and on, while the prefix of another session waits in the queue.

    uncached
        Each block of the request loses its hash before it leaves the window.
    """
    lab = Lab(11, block_size=4, sliding_window=5, device="none")
    lab.admit("session", "SSSSTTTTu")
    lab.release("session")
    lab.admit("w", "wwww")
    for _ in range(60):
        lab.append("w", "w")
        if uncached:
            lab.evict(*[block_id for block_id in lab.block_table("w") if block_id])
    return lab


def test_window_flush() -> None:
    """vllm #48435, PR #43447: what leaves a window uncached goes to the front and flushes nobody's prefix."""
    lab = decoding_beside_a_session(uncached=True)
    assert lab.state.counters.evicted_blocks == 16
    assert lab.admit("session", "SSSSTTTTu").num_hit_tokens == 8
    flushed = decoding_beside_a_session(uncached=False)
    assert flushed.admit("session", "SSSSTTTTu").num_hit_tokens == 0
    assert_sound(lab)
    assert_sound(flushed)


def test_same_name_adapter() -> None:
    """vllm #30931, #3264: an adapter of the same name from another path, or another salt, shares nothing."""
    lab = Lab(41, block_size=4, device="none")
    keys = [{}, {"lora": "sql=v1"}, {"lora": "sql=v2"}, {"salt": "tenant 1"}, {"salt": "tenant 2"}]
    for number, key in enumerate(keys):
        assert lab.admit(f"r{number}", "ABCDEFGHI", **key).hit_blocks == ()
    assert len(lab.state.copies) == 2 * len(keys)
    for number, key in enumerate(keys):
        assert lab.admit(f"again{number}", "ABCDEFGHI", **key).hit_blocks == lab.block_table(f"r{number}")[:2]

from __future__ import annotations

import pytest
from helpers import failing, keys, queue_ids
from hypothesis import given
from hypothesis import strategies as st

from kvnb.core import BlockPool, KVCacheBlock
from kvnb.core.invariants import check


def take(pool: BlockPool, n: int, *names: str) -> list[KVCacheBlock]:
    """Take ``n`` blocks and cache the first of them under the hashes of ``names``."""
    blocks = pool.get_new_blocks(n)
    pool.cache_full_blocks(blocks, keys(*names), 0, len(names))
    return blocks


def ids(blocks: list[KVCacheBlock]) -> list[int]:
    return [block.block_id for block in blocks]


def starred(pool: BlockPool) -> str:
    """The queue as the seed prints it: ``4 5* 6``."""
    return " ".join(f"{b.block_id}{'*' if b.block_hash else ''}" for b in pool.free_block_queue)


def test_a_new_pool_has_every_block_but_the_null_block_in_its_queue() -> None:
    pool = BlockPool(5)
    assert queue_ids(pool) == [1, 2, 3, 4]
    assert pool.get_num_free_blocks() == 4


def test_block_0_is_the_null_block_and_is_never_handed_out() -> None:
    pool = BlockPool(5)
    assert pool.null_block is pool.blocks[0]
    assert [block.is_null for block in pool.blocks] == [True, False, False, False, False]
    assert 0 not in ids(pool.get_new_blocks(4))


def test_the_null_block_can_be_touched_and_freed_without_entering_the_queue() -> None:
    pool = BlockPool(3)
    pool.touch([pool.null_block])
    pool.free_blocks([pool.null_block])
    assert queue_ids(pool) == [1, 2]


@pytest.mark.parametrize("n", [0, -1])
def test_a_pool_without_blocks_is_an_error(n: int) -> None:
    with pytest.raises(ValueError, match="at least 1 block"):
        BlockPool(n)


def test_a_pool_of_the_null_block_alone_is_never_used() -> None:
    pool = BlockPool(1)
    assert pool.get_usage() == 0.0
    with pytest.raises(ValueError, match="cannot get 1 blocks, 0 are free"):
        pool.get_new_blocks(1)


def test_usage_leaves_the_null_block_out() -> None:
    pool = BlockPool(11)
    assert pool.get_usage() == 0.0
    pool.get_new_blocks(4)
    assert pool.get_usage() == pytest.approx(0.4)
    pool.get_new_blocks(6)
    assert pool.get_usage() == 1.0


def test_new_blocks_come_from_the_front_with_one_owner() -> None:
    pool = BlockPool(5)
    blocks = pool.get_new_blocks(2)
    assert ids(blocks) == [1, 2]
    assert [block.ref_cnt for block in blocks] == [1, 1]
    assert queue_ids(pool) == [3, 4]


def test_asking_for_more_than_is_free_changes_nothing() -> None:
    pool = BlockPool(5)
    pool.get_new_blocks(2)
    with pytest.raises(ValueError, match="cannot get 3 blocks, 2 are free"):
        pool.get_new_blocks(3)
    assert queue_ids(pool) == [3, 4]


def test_a_freed_block_keeps_its_hash_until_it_is_handed_out_again() -> None:
    pool, (key,) = BlockPool(3), keys("a")
    (block,) = take(pool, 1, "a")
    pool.free_blocks([block])
    assert starred(pool) == "2 1*"
    pool.get_new_blocks(1)
    assert pool.get_cached_block(key) is block
    assert pool.get_new_blocks(1) == [block]
    assert pool.get_cached_block(key) is None
    assert block.block_hash is None


def test_a_hit_plucks_a_free_block_from_the_middle_of_the_queue() -> None:
    pool = BlockPool(6)
    blocks = take(pool, 3, "a", "b", "c")
    pool.free_blocks(reversed(blocks))
    assert starred(pool) == "4 5 3* 2* 1*"
    pool.touch([blocks[1]])
    assert starred(pool) == "4 5 3* 1*"
    assert blocks[1].ref_cnt == 1


def test_a_hit_on_a_block_in_use_only_adds_an_owner() -> None:
    pool = BlockPool(3)
    (block,) = take(pool, 1, "a")
    pool.touch([block])
    assert block.ref_cnt == 2
    pool.free_blocks([block])
    assert queue_ids(pool) == [2]
    pool.free_blocks([block])
    assert queue_ids(pool) == [2, 1]


def test_freed_blocks_without_a_hash_go_to_the_front_and_those_with_one_to_the_back() -> None:
    pool = BlockPool(8)
    blocks = take(pool, 4, "a", "b")
    pool.free_blocks(reversed(blocks))
    assert starred(pool) == "4 3 5 6 7 2* 1*"


def test_under_the_older_rule_every_freed_block_goes_to_the_back() -> None:
    pool = BlockPool(8, free_to="back")
    blocks = take(pool, 4, "a", "b")
    pool.free_blocks(reversed(blocks))
    assert starred(pool) == "5 6 7 4 3 2* 1*"


def test_without_caching_the_pool_hands_out_the_last_freed_first() -> None:
    pool = BlockPool(6, enable_caching=False)
    blocks = pool.get_new_blocks(3)
    pool.free_blocks(reversed(blocks))
    assert queue_ids(pool) == [3, 2, 1, 4, 5]
    assert ids(pool.get_new_blocks(3)) == [3, 2, 1]


def test_blocks_that_are_cached_already_are_not_hashed_twice() -> None:
    pool = BlockPool(5)
    blocks, hashes = pool.get_new_blocks(3), keys("a", "b", "c")
    pool.cache_full_blocks(blocks, hashes, 0, 1)
    pool.cache_full_blocks(blocks, hashes, 1, 3)
    assert [block.block_hash for block in blocks] == hashes
    assert len(pool.cached_block_hash_to_block) == 3


def test_two_blocks_of_one_hash_are_both_kept_and_the_first_is_found() -> None:
    pool, (key,) = BlockPool(4), keys("a")
    (first,), (second,) = take(pool, 1, "a"), take(pool, 1, "a")
    assert pool.cached_block_hash_to_block.get_blocks(key) == (first, second)
    pool.evict_blocks([first.block_id])
    assert pool.get_cached_block(key) is second


def test_evict_drops_the_hash_of_a_used_block_which_then_goes_to_the_front() -> None:
    pool, (key,) = BlockPool(4), keys("a")
    (block,) = take(pool, 1, "a")
    pool.evict_blocks([1])
    assert pool.get_cached_block(key) is None
    assert block.ref_cnt == 1
    pool.free_blocks([block])
    assert starred(pool) == "1 2 3"


def test_evict_of_a_free_block_leaves_it_where_it_lies() -> None:
    pool = BlockPool(4)
    pool.free_blocks(reversed(take(pool, 2, "a", "b")))
    pool.evict_blocks([2])
    assert starred(pool) == "3 2 1*"


def test_evict_of_an_uncached_block_and_naming_a_block_twice_do_no_harm() -> None:
    pool = BlockPool(4)
    take(pool, 1, "a")
    pool.evict_blocks([2, 1, 1])
    assert len(pool.cached_block_hash_to_block) == 0


def test_reset_refuses_while_a_block_is_in_use() -> None:
    pool, (key,) = BlockPool(4), keys("a")
    take(pool, 1, "a")
    assert pool.reset_prefix_cache() is False
    assert pool.get_cached_block(key) is not None


def test_reset_drops_every_hash_and_keeps_the_order_of_the_queue() -> None:
    pool = BlockPool(6)
    pool.free_blocks(reversed(take(pool, 3, "a", "b")))
    assert starred(pool) == "3 4 5 2* 1*"
    assert pool.reset_prefix_cache() is True
    assert starred(pool) == "3 4 5 2 1"
    assert len(pool.cached_block_hash_to_block) == 0


def test_every_effect_is_told_once_in_the_order_in_which_it_happened() -> None:
    told: list[str] = []
    pool = BlockPool(4, emit=lambda event: told.append(f"{type(event).__name__} {getattr(event, 'ids', '')}".strip()))
    blocks = take(pool, 2, "a")
    pool.touch(blocks[:1])
    pool.free_blocks(reversed(blocks))
    pool.free_blocks(blocks[:1])
    pool.get_new_blocks(3)
    assert told == [
        "Took (1, 2)", "Hashed (1,)", "Hit (1,)", "Dropped (2, 1)", "Front (2,)", "Dropped (1,)", "Back (1,)",
        "Took (2, 3, 1)", "Unhashed (1,)",
    ]  # fmt: skip


def test_what_has_no_effect_is_not_told() -> None:
    told: list[object] = []
    pool = BlockPool(4, emit=told.append)
    pool.get_new_blocks(0)
    pool.touch([])
    pool.free_blocks([])
    pool.evict_blocks([1])
    assert told == []


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=40), st.booleans(), st.sampled_from(["front-back", "back"])
)
def test_any_use_of_the_pool_keeps_its_invariants(script: list[tuple[int, int]], caching: bool, free_to: str) -> None:
    pool, tables, serial = BlockPool(8, caching, free_to), {}, 0
    for action, number in script:
        held = list(tables)
        if action == 0 and number <= pool.get_num_free_blocks():
            serial += 1
            names = [f"{number}-{place}" for place in range(number)] if caching else []
            tables[f"r{serial}"] = take(pool, number, *names)
        elif action == 1 and held:
            pool.free_blocks(reversed(tables.pop(held[number % len(held)])))
        elif action == 2 and number:
            pool.evict_blocks([number])
        elif action == 3:
            pool.reset_prefix_cache()
        assert failing(check(pool, {name: ids(table) for name, table in tables.items()})) == []

"""Each equation is given a pool with one planted fault, and has to report it with its numbers."""

from __future__ import annotations

from helpers import failing, keys

from kvnb.core import BlockPool
from kvnb.core.invariants import Equation, check

Tables = dict[str, list[int]]

ACCOUNTING = "free + referenced + null = N"
IDS = "every id once, in the pool and in the queue"
OWNERS = "ref_cnt = tables that hold the block"
UNOWNED = "in the queue = ref_cnt 0"
MAP = "blocks in the map = blocks with a hash"
LINKS = "links of the queue lead both ways"


def sound() -> tuple[BlockPool, Tables]:
    """Six blocks: 1 and 2 held by r0, 1 by r1 too; 1 and 2 are cached; 3, 4 and 5 are free."""
    pool = BlockPool(6)
    blocks = pool.get_new_blocks(2)
    pool.cache_full_blocks(blocks, keys("a", "b"), 0, 2)
    pool.touch(blocks[:1])
    return pool, {"r0": [1, 2], "r1": [1]}


def reported(pool: BlockPool, tables: Tables) -> dict[str, str]:
    """The equations that do not hold, with their numbers."""
    return {equation.says: equation.numbers for equation in check(pool, tables) if not equation.holds}


def test_every_equation_of_a_sound_pool_holds_and_shows_its_numbers() -> None:
    assert {equation.says: equation.numbers for equation in check(*sound())} == {
        ACCOUNTING: "3 + 2 + 1 = 6, N = 6",
        IDS: "6 ids for 6 blocks, 3 ids for 3 in the queue",
        OWNERS: "3 owners counted, 3 places in tables",
        UNOWNED: "3 in the queue, 3 unowned",
        MAP: "2 in the map, 2 with a hash",
        LINKS: "3 walked, 3 counted",
    }
    assert failing(check(*sound())) == []


def test_an_equation_prints_whether_it_holds() -> None:
    assert str(Equation("one", "1 = 1", True)) == "ok  one: 1 = 1"
    assert str(Equation("one", "1 = 2", False)) == "NO  one: 1 = 2"


def test_a_wrong_count_of_free_blocks_breaks_the_accounting() -> None:
    pool, tables = sound()
    pool.free_block_queue.num_free_blocks = 2
    assert reported(pool, tables)[ACCOUNTING] == "2 + 2 + 1 = 5, N = 6"


def test_a_block_that_is_nowhere_breaks_the_accounting() -> None:
    pool, tables = sound()
    pool.free_block_queue.popleft()
    assert reported(pool, tables) == {
        ACCOUNTING: "2 + 2 + 1 = 5, N = 6",
        UNOWNED: "2 in the queue, 3 unowned, wrong at block 3",
    }


def test_a_block_object_that_stands_twice_in_the_pool_is_reported() -> None:
    pool, tables = sound()
    pool.blocks[4] = pool.blocks[3]
    assert reported(pool, tables)[IDS].startswith("5 ids for 6 blocks")


def test_a_block_freed_twice_to_the_front_closes_a_circle_that_is_reported() -> None:
    pool, tables = sound()
    pool.free_block_queue.prepend_n([pool.blocks[4]])
    found = reported(pool, tables)
    assert found[IDS] == "6 ids for 6 blocks, 2 ids for 7 in the queue"
    assert "7 walked, 4 counted" in found[LINKS]


def test_a_block_freed_twice_to_the_back_cuts_the_queue_which_is_reported() -> None:
    pool, tables = sound()
    pool.free_block_queue.append(pool.blocks[4])
    found = reported(pool, tables)
    assert found[LINKS] == "2 walked, 4 counted, wrong at block 3, 5"
    assert found[UNOWNED] == "2 in the queue, 3 unowned, wrong at block 5"


def test_an_owner_too_many_is_reported_with_its_block() -> None:
    pool, tables = sound()
    pool.blocks[2].ref_cnt = 2
    assert reported(pool, tables) == {OWNERS: "4 owners counted, 3 places in tables, wrong at block 2"}


def test_a_table_with_a_block_it_does_not_own_is_reported() -> None:
    pool, tables = sound()
    tables["r1"].append(2)
    assert reported(pool, tables) == {OWNERS: "3 owners counted, 4 places in tables, wrong at block 2"}


def test_owners_that_are_wrong_but_add_up_are_reported_too() -> None:
    pool, tables = sound()
    tables["r1"] = [2]
    assert reported(pool, tables) == {OWNERS: "3 owners counted, 3 places in tables, wrong at block 1, 2"}


def test_a_used_block_left_in_the_queue_is_reported() -> None:
    pool, tables = sound()
    pool.blocks[3].ref_cnt = 1
    tables["r2"] = [3]
    assert reported(pool, tables)[UNOWNED] == "3 in the queue, 2 unowned, wrong at block 3"


def test_an_unowned_block_left_out_of_the_queue_is_reported() -> None:
    pool, tables = sound()
    pool.blocks[2].ref_cnt = 0
    tables["r0"] = [1]
    assert reported(pool, tables)[UNOWNED] == "3 in the queue, 4 unowned, wrong at block 2"


def test_a_hash_that_is_not_in_the_map_is_reported() -> None:
    pool, tables = sound()
    pool.blocks[3].block_hash = keys("c")[0]
    assert reported(pool, tables) == {MAP: "2 in the map, 3 with a hash, wrong at block 3"}


def test_an_entry_of_the_map_that_outlived_its_hash_is_reported() -> None:
    pool, tables = sound()
    pool.blocks[2].block_hash = None
    assert reported(pool, tables) == {MAP: "2 in the map, 1 with a hash, wrong at block 2"}


def test_a_stale_entry_beside_the_right_one_is_reported() -> None:
    pool, tables = sound()
    entries = pool.cached_block_hash_to_block
    (stale,) = keys("stale")
    entries._blocks = {stale: pool.blocks[2], **entries._blocks}
    assert reported(pool, tables) == {MAP: "3 in the map, 2 with a hash, wrong at block 2"}


def test_two_blocks_with_exchanged_hashes_are_reported() -> None:
    pool, tables = sound()
    one, two = pool.blocks[1:3]
    one.block_hash, two.block_hash = two.block_hash, one.block_hash
    assert reported(pool, tables) == {MAP: "2 in the map, 2 with a hash, wrong at block 1, 2"}


def test_a_link_that_does_not_lead_back_is_reported() -> None:
    pool, tables = sound()
    pool.blocks[4].prev_free_block = pool.blocks[5]
    assert reported(pool, tables) == {LINKS: "3 walked, 3 counted, wrong at block 3"}


def test_a_link_left_on_a_used_block_is_reported() -> None:
    pool, tables = sound()
    pool.blocks[1].next_free_block = pool.blocks[3]
    assert reported(pool, tables) == {LINKS: "3 walked, 3 counted, wrong at block 1"}


def test_at_most_five_examples_are_named() -> None:
    pool = BlockPool(20)
    pool.get_new_blocks(9)
    assert reported(pool, {}) == {OWNERS: "9 owners counted, 0 places in tables, wrong at block 1, 2, 3, 4, 5"}

from __future__ import annotations

from helpers import keys
from hypothesis import given
from hypothesis import strategies as st

from kvnb.core import BlockHashToBlockMap, KVCacheBlock

H1, H2 = keys("h1", "h2")


def filled(*block_ids: int) -> BlockHashToBlockMap:
    """A map in which these blocks are copies of H1, entered in that order."""
    cached = BlockHashToBlockMap()
    for block_id in block_ids:
        cached.insert(H1, KVCacheBlock(block_id))
    return cached


def ids(cached: BlockHashToBlockMap, key: bytes = H1) -> list[int]:
    return [block.block_id for block in cached.get_blocks(key)]


def test_an_unknown_hash_has_no_block() -> None:
    cached = BlockHashToBlockMap()
    assert cached.get_one_block(H1) is None
    assert cached.get_blocks(H1) == ()
    assert len(cached) == 0


def test_a_lookup_gives_the_block_that_was_entered() -> None:
    assert filled(5).get_one_block(H1).block_id == 5  # type: ignore[union-attr]


def test_copies_are_kept_in_the_order_of_entry_and_the_first_is_found() -> None:
    cached = filled(5, 2, 9)
    assert ids(cached) == [5, 2, 9]
    assert cached.get_one_block(H1).block_id == 5  # type: ignore[union-attr]


def test_when_the_first_copy_goes_the_next_entered_is_found() -> None:
    cached = filled(5, 2, 9)
    assert cached.pop(H1, 5).block_id == 5  # type: ignore[union-attr]
    assert cached.get_one_block(H1).block_id == 2  # type: ignore[union-attr]


def test_when_a_later_copy_goes_the_first_is_still_found() -> None:
    cached = filled(5, 2)
    cached.pop(H1, 2)
    assert ids(cached) == [5]


def test_a_copy_that_comes_back_stands_behind_the_others() -> None:
    cached = filled(5, 2)
    block = cached.pop(H1, 5)
    assert block is not None
    cached.insert(H1, block)
    assert ids(cached) == [2, 5]


def test_pop_with_the_id_of_another_block_changes_nothing() -> None:
    one, several = filled(5), filled(5, 2)
    assert one.pop(H1, 6) is None
    assert several.pop(H1, 6) is None
    assert (ids(one), ids(several)) == ([5], [5, 2])


def test_pop_with_an_unknown_hash_changes_nothing() -> None:
    cached = filled(5)
    assert cached.pop(H2, 5) is None
    assert ids(cached) == [5]


def test_the_last_copy_takes_its_hash_along() -> None:
    cached = filled(5, 2)
    cached.pop(H1, 5)
    cached.pop(H1, 2)
    assert len(cached) == 0
    assert list(cached) == []
    assert cached.get_one_block(H1) is None


def test_the_length_counts_hashes_and_not_copies() -> None:
    cached = filled(5, 2)
    cached.insert(H2, KVCacheBlock(3))
    assert len(cached) == 2
    assert list(cached) == [H1, H2]


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([H1, H2]), st.integers(1, 4)), max_size=40))
def test_every_sequence_of_entries_and_removals_does_what_lists_would(script: list[tuple[bool, bytes, int]]) -> None:
    cached, model = BlockHashToBlockMap(), {H1: [], H2: []}  # type: ignore[var-annotated]
    for enters, key, block_id in script:
        if enters and block_id not in model[key]:
            cached.insert(key, KVCacheBlock(block_id))
            model[key].append(block_id)
        elif not enters:
            found = cached.pop(key, block_id)
            assert (found is not None) == (block_id in model[key])
            model[key] = [other for other in model[key] if other != block_id]
        assert {key: ids(cached, key) for key in model} == model
        assert len(cached) == sum(map(bool, model.values()))

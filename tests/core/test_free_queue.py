from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvnb.core import FreeKVCacheBlockQueue, KVCacheBlock


def blocks(n: int) -> list[KVCacheBlock]:
    return [KVCacheBlock(block_id) for block_id in range(n)]


def ids(queue: FreeKVCacheBlockQueue) -> list[int]:
    return [block.block_id for block in queue.get_all_free_blocks()]


def backwards(queue: FreeKVCacheBlockQueue) -> list[int]:
    found, block = [], queue.fake_free_list_tail.prev_free_block
    while block is not None and block is not queue.fake_free_list_head:
        found.append(block.block_id)
        block = block.prev_free_block
    return found


def test_a_new_block_is_unowned_uncached_and_unlinked() -> None:
    block = KVCacheBlock(7)
    assert (block.block_id, block.ref_cnt, block.block_hash, block.is_null) == (7, 0, None, False)
    assert block.prev_free_block is block.next_free_block is None


def test_a_block_in_the_queue_prints_its_neighbours_as_ids() -> None:
    _, middle, _ = three = blocks(3)
    FreeKVCacheBlockQueue(three)
    assert repr(middle) == "KVCacheBlock(block_id=1, ref_cnt=0, block_hash=None, links=[0, 2])"


def test_a_cached_block_prints_the_low_64_bits_of_its_hash() -> None:
    block = KVCacheBlock(1)
    block.block_hash = bytes(24) + bytes.fromhex("2174859f29fe1b18")
    assert "block_hash=2174859f29fe1b18" in repr(block)


def test_a_block_takes_no_attribute_that_vllm_does_not_know() -> None:
    with pytest.raises(AttributeError):
        KVCacheBlock(1).note = "x"  # type: ignore[attr-defined]


def test_the_queue_begins_in_the_order_it_was_given() -> None:
    queue = FreeKVCacheBlockQueue(blocks(4))
    assert ids(queue) == [0, 1, 2, 3]
    assert queue.num_free_blocks == 4


def test_the_sentinels_have_the_id_minus_one_and_stand_at_both_ends() -> None:
    first, last = two = blocks(2)
    queue = FreeKVCacheBlockQueue(two)
    head, tail = queue.fake_free_list_head, queue.fake_free_list_tail
    assert (head.block_id, tail.block_id) == (-1, -1)
    assert head.next_free_block is first
    assert first.prev_free_block is head
    assert tail.prev_free_block is last
    assert last.next_free_block is tail


def test_the_sentinels_of_an_empty_queue_point_at_each_other() -> None:
    queue = FreeKVCacheBlockQueue([])
    assert queue.fake_free_list_head.next_free_block is queue.fake_free_list_tail
    assert queue.fake_free_list_tail.prev_free_block is queue.fake_free_list_head
    assert ids(queue) == []


def test_popleft_takes_the_front_and_unlinks_it() -> None:
    queue = FreeKVCacheBlockQueue(blocks(3))
    block = queue.popleft()
    assert block.block_id == 0
    assert block.prev_free_block is block.next_free_block is None
    assert ids(queue) == [1, 2]


def test_popleft_of_an_empty_queue_is_an_error() -> None:
    with pytest.raises(ValueError, match="no 1 free blocks available, the queue has 0"):
        FreeKVCacheBlockQueue([]).popleft()


def test_popleft_n_of_more_than_there_are_takes_none() -> None:
    queue = FreeKVCacheBlockQueue(blocks(3))
    with pytest.raises(ValueError, match="no 4 free blocks available, the queue has 3"):
        queue.popleft_n(4)
    assert ids(queue) == [0, 1, 2]


def test_popleft_n_of_none_changes_nothing() -> None:
    queue = FreeKVCacheBlockQueue(blocks(2))
    assert queue.popleft_n(0) == []
    assert ids(queue) == [0, 1]


def test_remove_plucks_a_block_from_the_middle() -> None:
    three = blocks(3)
    queue = FreeKVCacheBlockQueue(three)
    queue.remove(three[1])
    assert ids(queue) == [0, 2]
    assert backwards(queue) == [2, 0]
    assert three[1].prev_free_block is three[1].next_free_block is None


def test_remove_of_a_block_that_is_in_use_is_an_error() -> None:
    queue = FreeKVCacheBlockQueue(blocks(3))
    block = queue.popleft()
    with pytest.raises(RuntimeError, match="block 0 is not in the free queue"):
        queue.remove(block)
    assert ids(queue) == [1, 2]


def test_append_and_append_n_fill_the_back_in_order() -> None:
    five = blocks(5)
    queue = FreeKVCacheBlockQueue(five[:2])
    queue.append(five[2])
    queue.append_n(five[3:])
    assert ids(queue) == [0, 1, 2, 3, 4]


def test_prepend_n_makes_the_first_of_its_blocks_the_front() -> None:
    five = blocks(5)
    queue = FreeKVCacheBlockQueue(five[:2])
    queue.prepend_n(five[2:])
    assert ids(queue) == [2, 3, 4, 0, 1]


def test_appending_and_prepending_nothing_changes_nothing() -> None:
    queue = FreeKVCacheBlockQueue(blocks(2))
    queue.append_n([])
    queue.prepend_n([])
    assert ids(queue) == [0, 1]
    assert queue.num_free_blocks == 2


class Both:
    """The queue under test, and the plain list that says what it must hold."""

    def __init__(self, n: int) -> None:
        self.queue = FreeKVCacheBlockQueue(made := blocks(n))
        self.model = list(made)
        self.out: list[KVCacheBlock] = []

    def popleft_n(self, n: int) -> None:
        n = min(n, len(self.model))
        taken = self.queue.popleft_n(n)
        assert taken == self.model[:n]
        del self.model[:n]
        self.out += taken

    def remove(self, place: int) -> None:
        if self.model:
            block = self.model.pop(place % len(self.model))
            self.queue.remove(block)
            self.out.append(block)

    def append_n(self, n: int) -> None:
        back, self.out = self.out[:n], self.out[n:]
        self.queue.append_n(back)
        self.model += back

    def prepend_n(self, n: int) -> None:
        front, self.out = self.out[:n], self.out[n:]
        self.queue.prepend_n(front)
        self.model[:0] = front


OPERATIONS: list[Callable[[Both, int], None]] = [Both.popleft_n, Both.remove, Both.append_n, Both.prepend_n]


@given(n=st.integers(0, 12), script=st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 12)), max_size=40))
def test_every_sequence_of_operations_does_what_a_plain_list_would(n: int, script: list) -> None:
    both = Both(n)
    for operation, number in script:
        operation(both, number)
        expected = [block.block_id for block in both.model]
        assert ids(both.queue) == expected
        assert backwards(both.queue) == expected[::-1]
        assert both.queue.num_free_blocks == len(expected)
        assert all(block.prev_free_block is block.next_free_block is None for block in both.out)

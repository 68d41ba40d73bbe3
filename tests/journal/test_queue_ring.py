from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvnb.journal.queue_ring import QueueRing


def test_a_new_ring_holds_every_id_but_0_in_order() -> None:
    ring = QueueRing(5)
    assert list(ring) == [1, 2, 3, 4]
    assert len(ring) == 4


def test_the_ring_of_a_pool_of_block_0_alone_is_empty() -> None:
    ring = QueueRing(1)
    assert (list(ring), len(ring), ring.head(3), ring.tail(3)) == ([], 0, [], [])


def test_an_id_leaves_from_wherever_it_lies() -> None:
    ring = QueueRing(5)
    ring.discard(2)
    assert list(ring) == [1, 3, 4]
    assert 2 not in ring
    assert 3 in ring


def test_an_id_that_is_out_can_be_discarded_again() -> None:
    ring = QueueRing(5)
    ring.discard(2)
    ring.discard(2)
    assert len(ring) == 3


def test_block_0_is_never_in_the_queue() -> None:
    assert 0 not in QueueRing(5)


def test_prepended_ids_stand_in_front_in_the_given_order() -> None:
    ring = QueueRing(5)
    for block_id in (1, 2):
        ring.discard(block_id)
    ring.prepend((2, 1))
    assert list(ring) == [2, 1, 3, 4]


def test_appended_ids_stand_at_the_back_in_the_given_order() -> None:
    ring = QueueRing(5)
    for block_id in (1, 2):
        ring.discard(block_id)
    ring.append((2, 1))
    assert list(ring) == [3, 4, 2, 1]


@pytest.mark.parametrize("n", [0, 1, 3, 9])
def test_head_and_tail_are_the_ends_of_the_list(n: int) -> None:
    ids = list(QueueRing(5))
    assert QueueRing(5).head(n) == ids[:n]
    assert QueueRing(5).tail(n) == ids[len(ids) - min(n, len(ids)) :]


class Both:
    """The ring under test, and the plain list that says what it must hold."""

    def __init__(self, num_blocks: int) -> None:
        self.ring = QueueRing(num_blocks)
        self.model = list(range(1, num_blocks))
        self.out: list[int] = []

    def discard(self, block_id: int) -> None:
        self.ring.discard(block_id)
        if block_id in self.model:
            self.model.remove(block_id)
            self.out.append(block_id)

    def prepend(self, n: int) -> None:
        ids, self.out = self.out[:n], self.out[n:]
        self.ring.prepend(ids)
        self.model[:0] = ids

    def append(self, n: int) -> None:
        ids, self.out = self.out[:n], self.out[n:]
        self.ring.append(ids)
        self.model += ids


OPERATIONS: list[Callable[[Both, int], None]] = [Both.discard, Both.discard, Both.prepend, Both.append]


@given(st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(1, 7)), max_size=40))
def test_every_sequence_of_operations_does_what_a_plain_list_would(script: list) -> None:
    both = Both(8)
    for operation, number in script:
        operation(both, number)
        assert list(both.ring) == both.model
        assert len(both.ring) == len(both.model)
        assert both.ring.head(2) == both.model[:2]
        assert both.ring.tail(2) == both.model[-2:]
        assert [block_id in both.ring for block_id in range(8)] == [block_id in both.model for block_id in range(8)]

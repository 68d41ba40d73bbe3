"""The free queue of a fold: ids in a ring of two arrays, so that any id leaves or enters in O(1).

Must not know: blocks, hashes, owners.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

_OUT = -1


class QueueRing:
    """An ordered set of the ids 1 to N - 1, front first; place 0 is the ring's sentinel (block 0 never queues)."""

    def __init__(self, num_blocks: int) -> None:
        self._after = [*range(1, num_blocks), 0]
        self._before = [num_blocks - 1, *range(num_blocks - 1)]
        self._length = num_blocks - 1

    def copy(self) -> QueueRing:
        """The same queue, independent of this one."""
        ring = QueueRing.__new__(QueueRing)
        ring._after, ring._before, ring._length = self._after.copy(), self._before.copy(), self._length
        return ring

    def discard(self, block_id: int) -> None:
        """Take ``block_id`` out, from wherever it lies, if it is in."""
        after = self._after[block_id]
        if after == _OUT:
            return
        before = self._before[block_id]
        self._after[before], self._before[after] = after, before
        self._after[block_id] = _OUT
        self._length -= 1

    def prepend(self, ids: Sequence[int]) -> None:
        """Put ``ids`` at the front; ``ids[0]`` becomes the front."""
        self._insert(0, ids, self._after[0])

    def append(self, ids: Sequence[int]) -> None:
        """Put ``ids`` at the back; ``ids[-1]`` becomes the back."""
        self._insert(self._before[0], ids, 0)

    def head(self, n: int) -> list[int]:
        """The first ``n`` ids, front first, in O(n)."""
        return list(islice(self, n))

    def tail(self, n: int) -> list[int]:
        """The last ``n`` ids, front first, in O(n)."""
        ids: list[int] = []
        block_id = self._before[0]
        while block_id != 0 and len(ids) < n:
            ids.append(block_id)
            block_id = self._before[block_id]
        return ids[::-1]

    def __len__(self) -> int:
        return self._length

    def __contains__(self, block_id: int) -> bool:
        return block_id != 0 and self._after[block_id] != _OUT

    def __iter__(self) -> Iterator[int]:
        block_id = self._after[0]
        while block_id != 0:
            yield block_id
            block_id = self._after[block_id]

    def _insert(self, before: int, ids: Sequence[int], after: int) -> None:
        for block_id in ids:
            self._after[before], self._before[block_id] = block_id, before
            before = block_id
        self._after[before], self._before[after] = after, before
        self._length += len(ids)

"""The free queue: a doubly linked list threaded through the blocks. Its order is the eviction policy.

Must not know: hashes, reference counts, or why a block goes to the front or to the back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvnb.core.block import KVCacheBlock


class FreeKVCacheBlockQueue:
    """The free blocks, the next to be reused first (vLLM: the class of the same name).

    A ``deque`` cannot give up a member of its middle in O(1), which every cache hit on a free block needs.
    Two sentinels of id -1 stand at the ends, so no operation has to test for an empty list.
    """

    def __init__(self, blocks: Sequence[KVCacheBlock]) -> None:
        self.fake_free_list_head = KVCacheBlock(-1)
        self.fake_free_list_tail = KVCacheBlock(-1)
        self.fake_free_list_head.next_free_block = self.fake_free_list_tail
        self.fake_free_list_tail.prev_free_block = self.fake_free_list_head
        self.num_free_blocks = 0
        self.append_n(blocks)

    def popleft(self) -> KVCacheBlock:
        """Take the front block. Raises ValueError when the queue is empty."""
        return self.popleft_n(1)[0]

    def popleft_n(self, n: int) -> list[KVCacheBlock]:
        """Take the ``n`` front blocks, front first. Raises ValueError when there are fewer."""
        if n > self.num_free_blocks:
            raise ValueError(f"no {n} free blocks available, the queue has {self.num_free_blocks}")
        head = self.fake_free_list_head
        block = head.next_free_block
        taken: list[KVCacheBlock] = []
        for _ in range(n):
            # The count above says that a block stands here; a broken list fails on the None.
            taken.append(block)  # type: ignore[arg-type]
            following = block.next_free_block  # type: ignore[union-attr]
            block.prev_free_block = block.next_free_block = None  # type: ignore[union-attr]
            block = following
        assert block is not None, "the queue has lost its tail sentinel"
        head.next_free_block, block.prev_free_block = block, head
        self.num_free_blocks -= n
        return taken

    def remove(self, block: KVCacheBlock) -> None:
        """Pluck ``block`` from wherever it lies, in O(1). Raises RuntimeError when it is not in the queue."""
        before, after = block.prev_free_block, block.next_free_block
        if before is None or after is None:
            raise RuntimeError(f"block {block.block_id} is not in the free queue")
        before.next_free_block, after.prev_free_block = after, before
        block.prev_free_block = block.next_free_block = None
        self.num_free_blocks -= 1

    def append(self, block: KVCacheBlock) -> None:
        """Put ``block`` at the back: reused last."""
        self.append_n((block,))

    def append_n(self, blocks: Sequence[KVCacheBlock]) -> None:
        """Put ``blocks`` at the back; the last of them becomes the back of the queue."""
        before = self.fake_free_list_tail.prev_free_block
        assert before is not None, "the queue has lost its head sentinel"
        self._insert(before, blocks, self.fake_free_list_tail)

    def prepend_n(self, blocks: Sequence[KVCacheBlock]) -> None:
        """Put ``blocks`` at the front; the first of them becomes the front of the queue."""
        after = self.fake_free_list_head.next_free_block
        assert after is not None, "the queue has lost its tail sentinel"
        self._insert(self.fake_free_list_head, blocks, after)

    def get_all_free_blocks(self) -> list[KVCacheBlock]:
        """Every member, front first; for looking only."""
        return list(self)

    def __iter__(self) -> Iterator[KVCacheBlock]:
        block = self.fake_free_list_head.next_free_block
        while block is not None and block is not self.fake_free_list_tail:
            yield block
            block = block.next_free_block

    def _insert(self, before: KVCacheBlock, blocks: Sequence[KVCacheBlock], after: KVCacheBlock) -> None:
        for block in blocks:
            block.prev_free_block = before
            before.next_free_block = block
            before = block
        before.next_free_block, after.prev_free_block = after, before
        self.num_free_blocks += len(blocks)

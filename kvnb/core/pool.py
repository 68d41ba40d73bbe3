"""The block pool: hands out blocks, counts their owners, keeps freed ones as cache until they are needed.

Must not know: requests and their tables, tensors, the journal (it only calls ``emit``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kvnb.core.block import KVCacheBlock
from kvnb.core.events import Back, Cleared, Dropped, Emit, Front, Hashed, Hit, Ids, Took, Unhashed, Why
from kvnb.core.free_queue import FreeKVCacheBlockQueue
from kvnb.core.hash_map import BlockHashToBlockMap
from kvnb.core.hashing import short_key
from kvnb.core.policy import FREE_RULES


class BlockPool:
    """All blocks of the engine, made at construction (vLLM: ``BlockPool`` in ``v1/core/block_pool.py``).

    num_gpu_blocks
        N, block 0 included; usable capacity is N - 1.
    enable_caching
        False: no block is ever hashed, and the pool is a plain last-in-first-out allocator.
    free_to
        A name of ``FREE_RULES``.
    emit
        Called with one event per effect, after it; None when nobody listens.
    """

    def __init__(
        self, num_gpu_blocks: int, enable_caching: bool = True, free_to: str = "front-back", emit: Emit | None = None
    ) -> None:
        if num_gpu_blocks < 1:
            raise ValueError(f"a pool needs at least 1 block, not {num_gpu_blocks}")
        self.num_gpu_blocks = num_gpu_blocks
        self.enable_caching = enable_caching
        self.free_rule = FREE_RULES[free_to]
        self.emit = emit
        self.blocks = [KVCacheBlock(block_id) for block_id in range(num_gpu_blocks)]
        self.free_block_queue = FreeKVCacheBlockQueue(self.blocks)
        self.cached_block_hash_to_block = BlockHashToBlockMap()
        self.null_block = self.free_block_queue.popleft()
        self.null_block.is_null = True

    # --- looking -------------------------------------------------------------------------------------------

    def get_num_free_blocks(self) -> int:
        """How many blocks lie in the free queue, cached or not."""
        return self.free_block_queue.num_free_blocks

    def get_usage(self) -> float:
        """1 - free / (N - 1): vLLM's ``vllm:kv_cache_usage_perc``, between 0 and 1; 0 when N is 1."""
        usable = self.num_gpu_blocks - 1
        return 1.0 - self.get_num_free_blocks() / usable if usable else 0.0

    def get_cached_block(self, block_hash: bytes) -> KVCacheBlock | None:
        """The block that a request with this prefix would share, or None."""
        return self.cached_block_hash_to_block.get_one_block(block_hash)

    def get_longest_cached_prefix(self, block_hashes: Sequence[bytes]) -> list[KVCacheBlock]:
        """The blocks that a request with these hashes would share: up to the first gap."""
        return self.cached_block_hash_to_block.get_longest_prefix(block_hashes)

    # --- changing ------------------------------------------------------------------------------------------

    def get_new_blocks(self, num_blocks: int) -> list[KVCacheBlock]:
        """Take ``num_blocks`` from the front for one new owner; here, and only here, a cached one is evicted.

        Raises ValueError, before anything changes, when fewer are free.
        """
        if num_blocks > self.get_num_free_blocks():
            raise ValueError(f"cannot get {num_blocks} blocks, {self.get_num_free_blocks()} are free")
        blocks = self.free_block_queue.popleft_n(num_blocks)
        for block in blocks:
            block.ref_cnt = 1
        if self.emit and blocks:
            self.emit(Took(ids_of(blocks)))
        if self.enable_caching:
            self._drop_hashes(blocks, "reuse")
        return blocks

    def touch(self, blocks: Sequence[KVCacheBlock]) -> None:
        """A cache hit: one more owner each, out of the free queue if it lay there."""
        for block in blocks:
            if block.ref_cnt == 0 and not block.is_null:
                self.free_block_queue.remove(block)
            block.ref_cnt += 1
        if self.emit and blocks:
            self.emit(Hit(ids_of(blocks)))

    def free_blocks(self, ordered_blocks: Iterable[KVCacheBlock]) -> None:
        """Take one owner from each block; those without any go where the free rule says, in the given order.

        Callers pass a request's last block first, so that the deepest, least shareable block is evicted first.
        """
        dropped = [block for block in ordered_blocks if not block.is_null]
        freed = []
        for block in dropped:
            block.ref_cnt -= 1
            if block.ref_cnt == 0:
                freed.append(block)
        if self.emit and dropped:
            self.emit(Dropped(ids_of(dropped)))
        self._enqueue(*self.free_rule(freed))

    def cache_full_blocks(
        self,
        blocks: Sequence[KVCacheBlock],
        block_hashes: Sequence[bytes],
        num_cached_blocks: int,
        num_full_blocks: int,
    ) -> None:
        """Hash ``blocks[num_cached_blocks:num_full_blocks]`` and enter them in the map; null blocks are passed over.

        blocks, block_hashes
            A request's table and the hashes of its full blocks, from its first block on.
        """
        if num_cached_blocks >= num_full_blocks:
            return
        new = blocks[num_cached_blocks:num_full_blocks]
        hashes = block_hashes[num_cached_blocks:num_full_blocks]
        if self.null_block in new:
            hashes = [block_hash for block, block_hash in zip(new, hashes, strict=True) if not block.is_null]
            new = [block for block in new if not block.is_null]
        for block, block_hash in zip(new, hashes, strict=True):
            assert block.block_hash is None, f"block {block.block_id} already has a hash"
            block.block_hash = block_hash
        self.cached_block_hash_to_block.insert_n(hashes, new)
        if self.emit:
            # Also where only null blocks became full: vLLM then publishes a BlockStored of no block.
            self.emit(Hashed(ids_of(new), tuple(map(short_key, hashes))))

    def evict_blocks(self, block_ids: Iterable[int], why: Why = "evict") -> None:
        """Drop the hashes of these blocks, used or free; a block without one stays as it is."""
        self._drop_hashes([self.blocks[block_id] for block_id in block_ids], why)

    def reset_prefix_cache(self) -> bool:
        """Drop every hash; False, and no change, while a request holds a block. The queue keeps its order."""
        if self.get_num_free_blocks() != self.num_gpu_blocks - 1:
            return False
        self.cached_block_hash_to_block = BlockHashToBlockMap()
        for block in self.blocks:
            block.block_hash = None
        if self.emit:
            self.emit(Cleared())
        return True

    def _drop_hashes(self, blocks: Sequence[KVCacheBlock], why: Why) -> None:
        dropped = []
        for block in blocks:
            if block.block_hash is not None:
                self.cached_block_hash_to_block.pop(block.block_hash, block.block_id)
                block.block_hash = None
                dropped.append(block)
        if self.emit and dropped:
            self.emit(Unhashed(ids_of(dropped), why))

    def _enqueue(self, front: list[KVCacheBlock], back: list[KVCacheBlock]) -> None:
        self.free_block_queue.prepend_n(front)
        self.free_block_queue.append_n(back)
        if self.emit and front:
            self.emit(Front(ids_of(front)))
        if self.emit and back:
            self.emit(Back(ids_of(back)))


def ids_of(blocks: Iterable[KVCacheBlock]) -> Ids:
    """The ids of ``blocks``, in their order."""
    return tuple([block.block_id for block in blocks])

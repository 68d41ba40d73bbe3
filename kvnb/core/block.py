"""One physical block, as the engine core sees it: a number, a count of owners, a hash, two links.

Must not know: what is in the block's memory (the worker owns that), nor who owns it.
"""

from __future__ import annotations


class KVCacheBlock:
    """One of the pool's N blocks (vLLM: ``KVCacheBlock`` in ``v1/core/kv_cache_utils.py``).

    block_id
        0 to N - 1, the index in ``BlockPool.blocks``; -1 for the free queue's two sentinels.
    ref_cnt
        How many request tables hold the block. 0 means that it lies in the free queue.
    block_hash
        The hash of all tokens up to the end of this block, or None while it is not cached.
    prev_free_block, next_free_block
        The links of the free queue; None while the block is in use.
    is_null
        True for block 0 alone, the placeholder that is never handed out.
    """

    __slots__ = ("block_hash", "block_id", "is_null", "next_free_block", "prev_free_block", "ref_cnt")

    def __init__(self, block_id: int) -> None:
        self.block_id = block_id
        self.ref_cnt = 0
        self.block_hash: bytes | None = None
        self.prev_free_block: KVCacheBlock | None = None
        self.next_free_block: KVCacheBlock | None = None
        self.is_null = False

    def __repr__(self) -> str:
        # Links are shown as ids: following them would print the whole queue.
        links = [None if b is None else b.block_id for b in (self.prev_free_block, self.next_free_block)]
        key = None if self.block_hash is None else self.block_hash.hex()[-16:]
        return f"KVCacheBlock(block_id={self.block_id}, ref_cnt={self.ref_cnt}, block_hash={key}, links={links})"

"""The pool of KV-cache blocks: which block is free, cached or owned, and who is reused next.

Must not know: requests, tensors, files, clocks, notebooks. Standard library only.
"""

from kvnb.core.block import KVCacheBlock
from kvnb.core.free_queue import FreeKVCacheBlockQueue
from kvnb.core.hash_map import BlockHashToBlockMap
from kvnb.core.pool import BlockPool

__all__ = ["BlockHashToBlockMap", "BlockPool", "FreeKVCacheBlockQueue", "KVCacheBlock"]

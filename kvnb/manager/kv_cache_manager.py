"""Block tables: which blocks a request holds, how many more it needs, and whether they can be had.

Must not know: verbs, names that users type, the order in which requests come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kvnb.core.block import KVCacheBlock
from kvnb.core.events import PoolEvent
from kvnb.core.pool import BlockPool, ids_of
from kvnb.errors import NeverFits, OutOfBlocks, counted, named
from kvnb.manager.behaviour import Behaviour
from kvnb.manager.events import Extended, ManagerEvent
from kvnb.manager.request import Request

Emit = Callable[[PoolEvent | ManagerEvent], None]


class Allocation(NamedTuple):
    """A plan that fits: the cached blocks to share and the number of new ones to take."""

    hits: list[KVCacheBlock]
    num_new_blocks: int


class KVCacheManager:
    """The tables of all running requests over one pool (vLLM: ``v1/core/kv_cache_manager.py``, one group).

    ``plan`` looks only; ``allocate_slots`` and ``free`` change.
    """

    def __init__(self, behaviour: Behaviour, emit: Emit | None = None) -> None:
        self.behaviour = behaviour
        self.emit = emit
        self.block_pool = BlockPool(behaviour.num_blocks, behaviour.prefix_caching, behaviour.free_to, emit)
        self.req_to_blocks: dict[str, list[KVCacheBlock]] = {}
        # A block below this mark is not hashed again, even when `evict` took its hash (as in vLLM).
        self.num_cached_block: dict[str, int] = {}

    # --- looking -------------------------------------------------------------------------------------------

    def block_table(self, name: str) -> tuple[int, ...]:
        """The block ids of request ``name``, in the order of its tokens; empty when it holds none."""
        return ids_of(self.req_to_blocks.get(name, ()))

    def tables(self) -> dict[str, tuple[int, ...]]:
        """Every table, in the order in which their requests got their first block."""
        return {name: ids_of(blocks) for name, blocks in self.req_to_blocks.items()}

    def get_computed_blocks(self, request: Request) -> list[KVCacheBlock]:
        """The cached blocks that hold the longest known prefix, first block first (vLLM: same name).

        The last token is left out, since its logits must be computed, so a prompt of whole blocks recomputes
        its last one; ``full_hit`` lifts that.
        """
        most = request.num_tokens - (0 if self.behaviour.full_hit else 1)
        hits: list[KVCacheBlock] = []
        for block_hash in request.block_hashes[: most // self.behaviour.block_size]:
            block = self.block_pool.get_cached_block(block_hash)
            if block is None:
                break
            hits.append(block)
        return hits

    def plan(self, request: Request, num_tokens: int, hits: Sequence[KVCacheBlock] = ()) -> Allocation:
        """What it takes for ``request`` to hold slots for ``num_tokens`` tokens in all. Changes nothing.

        Raises NeverFits when the whole pool is too small, OutOfBlocks when too little of it is free now. Hits
        that lie in the free queue are counted as taken: they cannot be handed out as new blocks too.
        """
        total = -(-num_tokens // self.behaviour.block_size)
        usable = self.behaviour.num_blocks - 1
        if total > usable:
            raise NeverFits(
                f"{named(request.name)} needs {counted(total, 'block')}, the pool has {usable}: can never fit, "
                f"make a pool of {total + 1} or more"
            )
        need = total - len(hits) - len(self.req_to_blocks.get(request.name, ()))
        free = self.block_pool.get_num_free_blocks()
        own = sum(block.ref_cnt == 0 for block in hits)
        if need > free - own:
            raise OutOfBlocks(self._out_of_blocks(request.name, need, free, own))
        return Allocation(list(hits), need)

    def _out_of_blocks(self, name: str, need: int, free: int, own: int) -> str:
        others = [named(other) for other in self.req_to_blocks if other != name]
        which = ", ".join(others[:5]) + (f" and {len(others) - 5} more" if len(others) > 5 else "")
        kept = f" ({own} of them its own cache hits)" if own else ""
        return f"{named(name)} needs {counted(need, 'block')}, {free} free{kept}: release or preempt one of {which}"

    # --- changing ------------------------------------------------------------------------------------------

    def allocate_slots(self, request: Request, allocation: Allocation) -> None:
        """Touch the hits, take the new blocks, append both to the table, hash what is full (vLLM: same name).

        Full blocks are hashed now, at scheduling, before anything is computed: the next request hits them.
        """
        table = self.req_to_blocks.setdefault(request.name, [])
        if allocation.hits:
            self.block_pool.touch(allocation.hits)
            self._extend(request.name, table, allocation.hits)
            self.num_cached_block[request.name] = len(allocation.hits)
        if allocation.num_new_blocks:
            self._extend(request.name, table, self.block_pool.get_new_blocks(allocation.num_new_blocks))
        self._cache_blocks(request, table)

    def free(self, request: Request) -> None:
        """Give up every block of ``request``, its last block first unless ``free_order`` says otherwise."""
        table = self.req_to_blocks.pop(request.name)
        self.num_cached_block.pop(request.name, None)
        self.block_pool.free_blocks(reversed(table) if self.behaviour.free_order == "reverse" else table)

    def _extend(self, name: str, table: list[KVCacheBlock], blocks: list[KVCacheBlock]) -> None:
        table.extend(blocks)
        if self.emit:
            self.emit(Extended(name, ids_of(blocks)))

    def _cache_blocks(self, request: Request, table: list[KVCacheBlock]) -> None:
        cached, full = self.num_cached_block.get(request.name, 0), len(request.block_hashes)
        if full > cached:
            self.block_pool.cache_full_blocks(table, request.block_hashes, cached, full)
            self.num_cached_block[request.name] = full

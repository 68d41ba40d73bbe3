"""Block tables: which blocks a request holds, how many more it needs, and whether they can be had.

Must not know: verbs, names that users type, the order in which requests come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, NoReturn

from kvnb.core.block import KVCacheBlock
from kvnb.core.events import PoolEvent
from kvnb.core.pool import BlockPool, ids_of
from kvnb.errors import NeverFits, OutOfBlocks, counted, named
from kvnb.manager.behaviour import Behaviour
from kvnb.manager.events import Extended, ManagerEvent, Nulled
from kvnb.manager.request import Request
from kvnb.manager.sliding_window import most_at_once, num_skipped_blocks, rightmost_run

Emit = Callable[[PoolEvent | ManagerEvent], None]


class Allocation(NamedTuple):
    """A plan that fits.

    hits
        Cached blocks to share; under a window, those that it still sees.
    num_skipped_blocks
        Table entries, from the first on, that lie before the window: block 0 stands there.
    num_new_blocks
        How many to take from the front of the free queue.
    num_tokens_to_cache
        Full blocks of the first so many tokens are hashed.
    """

    hits: list[KVCacheBlock]
    num_skipped_blocks: int
    num_new_blocks: int
    num_tokens_to_cache: int


class KVCacheManager:
    """The tables of all running requests over one pool (vLLM: ``v1/core/kv_cache_manager.py``, one group).

    The ``plan`` methods look only; ``allocate_slots`` and ``free`` change.
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
        its last one; ``full_hit`` lifts that. Under a window null blocks stand before those it still sees.
        """
        rule = self.behaviour
        most = request.num_tokens - (0 if rule.full_hit else 1)
        hashes = request.block_hashes[: most // rule.block_size]
        pool = self.block_pool
        if rule.sliding_window is None:
            return pool.get_longest_cached_prefix(hashes)
        return rightmost_run(hashes, pool.get_cached_block, rule.sliding_window, rule.block_size, pool.null_block)

    def plan_first(self, request: Request, computed: Sequence[KVCacheBlock], chunk: int) -> Allocation:
        """What it takes to start ``request`` with ``chunk`` tokens after its ``computed`` blocks. Changes nothing.

        The whole prompt must fit, not only the chunk. Hits that lie in the free queue are counted as taken: they
        cannot be handed out as new blocks too. Raises NeverFits when the whole pool is too small, OutOfBlocks when
        too little of it is free now.
        """
        num_computed = len(computed) * self.behaviour.block_size
        skipped = self._num_skipped(num_computed)
        hits = list(computed[skipped:])
        at_once = most_at_once(request.num_tokens, chunk, self.behaviour.sliding_window, self.behaviour.block_size)
        tokens_now = min(num_computed + chunk, request.num_tokens)
        start = max(skipped, len(computed))
        need_now = max(self._num_blocks(tokens_now) - start, 0)
        need = max(at_once - start, need_now)
        own = sum(block.ref_cnt == 0 for block in hits)
        self._check_fits(request.name, need, self.block_pool.get_num_free_blocks(), own, lambda: at_once)
        return Allocation(hits, skipped, need_now, tokens_now)

    def plan_next(self, request: Request, num_written: int, num_tokens: int, num_drafts: int = 0) -> Allocation:
        """What it takes for a running request to have slots for ``num_tokens`` and ``num_drafts``. Changes nothing.

        Blocks that lie before the window of the token after the first ``num_written``, which forward passes have computed,
        come first and can be taken again; what waits to be computed is still to be written. Raises as ``plan_first``.
        """
        table = self.req_to_blocks[request.name]
        skipped = min(self._num_skipped(num_written), len(table))
        leaving = self._leaving(table, skipped)
        need = max(self._num_blocks(num_tokens + num_drafts) - len(table), 0)
        free = self.block_pool.get_num_free_blocks() + sum(block.ref_cnt == 1 for block in leaving)
        if need > free and skipped < min(self._num_skipped(request.num_computed_tokens), len(table)):
            raise OutOfBlocks(
                f"{named(request.name)} needs {counted(need, 'block')}, {free} free: step first, then blocks leave its window"
            )
        self._check_fits(request.name, need, free, 0, lambda: need - len(leaving) + sum(not block.is_null for block in table))
        return Allocation([], skipped, need, num_tokens)

    def check_decode(self, request: Request, k: int) -> None:
        """Whether ``k`` tokens, one after another, find their blocks. Raises as ``plan_next``."""
        size, window = self.behaviour.block_size, self.behaviour.sliding_window
        if window is None:
            self.plan_next(request, request.num_tokens, request.num_tokens + k)
            return
        table: list[KVCacheBlock | None] = [*self.req_to_blocks[request.name]]
        free, left = self.block_pool.get_num_free_blocks(), 0
        # Once all that is there now has left the window, every block that is taken follows one that came back.
        most = (len(table) + 2) * size + window
        for tokens in range(request.num_tokens, request.num_tokens + min(k, most)):
            for block in table[left : self._num_skipped(tokens)]:
                # What leaves the window comes back, unless it is another's too; None stands for a block to come.
                free += block is None or (not block.is_null and block.ref_cnt == 1)
            left = max(left, self._num_skipped(tokens))
            if self._num_blocks(tokens + 1) > len(table):
                if free == 0:
                    at_once = most_at_once(request.num_tokens + k, 1, window, size)
                    self._refuse(request.name, table.count(None) + 1, table.count(None), 0, at_once)
                free -= 1
                table.append(None)

    def _num_blocks(self, num_tokens: int) -> int:
        return -(-num_tokens // self.behaviour.block_size)

    def _num_skipped(self, num_computed_tokens: int) -> int:
        return num_skipped_blocks(num_computed_tokens, self.behaviour.sliding_window, self.behaviour.block_size)

    def _leaving(self, table: Sequence[KVCacheBlock], skipped: int) -> list[KVCacheBlock]:
        """Entries before the window that still hold a block, the last first; those before a null left earlier."""
        leaving: list[KVCacheBlock] = []
        for block in reversed(table[:skipped]):
            if block.is_null:
                break
            leaving.append(block)
        return leaving

    def _check_fits(self, name: str, need: int, free: int, own: int, count_at_once: Callable[[], int]) -> None:
        if need > free - own:
            self._refuse(name, need, free, own, count_at_once())

    def _refuse(self, name: str, need: int, free: int, own: int, at_once: int) -> NoReturn:
        usable = self.behaviour.num_blocks - 1
        if at_once > usable:
            raise NeverFits(
                f"{named(name)} needs {counted(at_once, 'block')}, the pool has {usable}: can never fit, "
                f"make a pool of {at_once + 1} or more"
            )
        raise OutOfBlocks(self._out_of_blocks(name, need, free, own))

    def _out_of_blocks(self, name: str, need: int, free: int, own: int) -> str:
        others = [named(other) for other in self.req_to_blocks if other != name]
        which = ", ".join(others[:5]) + (f" and {len(others) - 5} more" if len(others) > 5 else "")
        kept = f" ({own} of them its own cache hits)" if own else ""
        return f"{named(name)} needs {counted(need, 'block')}, {free} free{kept}: release or preempt one of {which}"

    # --- changing ------------------------------------------------------------------------------------------

    def allocate_slots(self, request: Request, plan: Allocation) -> None:
        """Carry out a plan: drop what left the window, share, take, hash what is full (vLLM: same name).

        Full blocks are hashed now, at scheduling, before anything is computed: the next request hits them.
        """
        table = self.req_to_blocks.get(request.name)
        if table is None:
            table = self._begin(request.name, plan)
        else:
            self._remove_skipped(request.name, table, plan.num_skipped_blocks)
        if plan.num_new_blocks:
            self._extend(request.name, table, self.block_pool.get_new_blocks(plan.num_new_blocks))
        self._cache_blocks(request, table, plan.num_tokens_to_cache)

    def free(self, request: Request) -> None:
        """Give up every block of ``request``, its last block first unless ``free_order`` says otherwise."""
        table = self.req_to_blocks.pop(request.name)
        self.num_cached_block.pop(request.name, None)
        self.block_pool.free_blocks(reversed(table) if self.behaviour.free_order == "reverse" else table)

    def drop_uncomputed(self, request: Request, first: int) -> None:
        """Take the hash from each block of ``request`` that holds a token at ``first`` or after: nothing was written there."""
        blocks = self.req_to_blocks[request.name][first // self.behaviour.block_size :]
        self.block_pool.evict_blocks([block.block_id for block in blocks if not block.is_null], "uncomputed")

    def _begin(self, name: str, plan: Allocation) -> list[KVCacheBlock]:
        table = self.req_to_blocks[name] = []
        self.block_pool.touch(plan.hits)
        shared = [self.block_pool.null_block] * plan.num_skipped_blocks + plan.hits
        if shared:
            self._extend(name, table, shared)
        self.num_cached_block[name] = len(shared)
        return table

    def _remove_skipped(self, name: str, table: list[KVCacheBlock], skipped: int) -> None:
        leaving = self._leaving(table, skipped)
        if not leaving:
            return
        first = skipped - len(leaving)
        table[first:skipped] = [self.block_pool.null_block] * len(leaving)
        if self.emit:
            self.emit(Nulled(name, first, len(leaving)))
        self.block_pool.free_blocks(leaving)

    def _extend(self, name: str, table: list[KVCacheBlock], blocks: list[KVCacheBlock]) -> None:
        table.extend(blocks)
        if self.emit:
            self.emit(Extended(name, ids_of(blocks)))

    def _cache_blocks(self, request: Request, table: list[KVCacheBlock], num_tokens: int) -> None:
        cached = self.num_cached_block[request.name]
        full = min(num_tokens // self.behaviour.block_size, len(request.block_hashes))
        if full > cached:
            self.block_pool.cache_full_blocks(table, request.block_hashes, cached, full)
            self.num_cached_block[request.name] = full

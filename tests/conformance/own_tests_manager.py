"""kvnb's manager and its rules of the sliding window under vLLM's signatures: one group of blocks."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from own_tests_adapters import BlockPool, utils

from kvnb.errors import NeverFits, OutOfBlocks
from kvnb.manager import Behaviour, sliding_window
from kvnb.manager import KVCacheManager as OwnManager


class Blocks(SimpleNamespace):
    """A list of blocks as vLLM hands it out: in a tuple with one member a group."""

    def get_block_ids(self) -> tuple[list[int]]:
        return ([block.block_id for block in self.blocks[0]],)


class KVCacheManager:
    """vLLM's two steps of a request, ``get_computed_blocks`` and ``allocate_slots``, over kvnb's plans."""

    def __init__(self, kv_cache_config: Any, enable_caching: bool = True, **unused: Any) -> None:
        [group] = kv_cache_config.kv_cache_groups
        window = getattr(group.kv_cache_spec, "sliding_window", None)
        self._behaviour = Behaviour(
            num_blocks=kv_cache_config.num_blocks, block_size=group.kv_cache_spec.block_size,
            prefix_caching=enable_caching, sliding_window=window,
        )  # fmt: skip
        self._own = OwnManager(self._behaviour)
        self.block_pool = BlockPool.over(self._own.block_pool)
        self.coordinator = SimpleNamespace(single_type_managers=[self._own])

    def get_computed_blocks(self, request: Any) -> tuple[Blocks, int, int]:
        found = self._own.get_computed_blocks(self._request(request))
        return Blocks(blocks=(found,)), len(found) * self._behaviour.block_size, 0

    def allocate_slots(
        self, request: Any, num_new_tokens: int, num_new_computed_tokens: int = 0, new_computed_blocks: Any = None
    ) -> Blocks | None:
        """vLLM has one method where kvnb has one for the first step of a request and one for all others."""
        ours = self._request(request)
        hits = new_computed_blocks.blocks[0] if new_computed_blocks else []
        try:
            if request.request_id in self._own.req_to_blocks:
                plan = self._own.plan_next(ours, request.num_computed_tokens, request.num_computed_tokens + num_new_tokens)
            else:
                plan = self._own.plan_first(ours, hits, num_new_tokens)
        except (OutOfBlocks, NeverFits):
            return None
        self._own.allocate_slots(ours, plan)
        table = self._own.req_to_blocks[request.request_id]
        return Blocks(blocks=(table[len(table) - plan.num_new_blocks :],))

    def free(self, request: Any) -> None:
        self._own.free(self._request(request))

    def reset_prefix_cache(self) -> bool:
        return self.block_pool.reset_prefix_cache()

    def _request(self, request: Any) -> Any:
        """What kvnb's manager reads of a request; its own requests have no hashes while caching is off."""
        keys = [utils().make_block_hash_with_group_id(h, 0) for h in request.block_hashes]
        return SimpleNamespace(
            name=request.request_id, num_tokens=request.num_tokens, num_computed_tokens=request.num_computed_tokens,
            block_hashes=keys if self._behaviour.prefix_caching else [],
        )  # fmt: skip


def window_manager(real: type) -> type:
    """vLLM's manager of one window with kvnb's answers to what is a hit and what has left the window."""

    class SlidingWindowManager(real):  # type: ignore[misc,valid-type]
        @classmethod
        def find_longest_cache_hit(
            cls, block_hashes: Any, max_length: int, block_pool: BlockPool, kv_cache_spec: Any, **unused: Any
        ) -> tuple[tuple[list[Any]], int]:
            size = kv_cache_spec.block_size
            run = sliding_window.rightmost_run(
                block_hashes[: max_length // size], lambda h: (block_pool.get_cached_block(h, [0]) or [None])[0],
                kv_cache_spec.sliding_window, size, block_pool.null_block,
            )  # fmt: skip
            return (run,), len(run) * size

        def get_num_skipped_tokens(self, num_computed_tokens: int) -> int:
            skipped = sliding_window.num_skipped_blocks(num_computed_tokens, self.sliding_window, self.block_size)
            return skipped * self.block_size

    return SlidingWindowManager


def install(module: ModuleType, plant: pytest.MonkeyPatch) -> None:
    """Put these in the place of vLLM's in a module of tests."""
    if hasattr(module, "KVCacheManager"):
        plant.setattr(module, "KVCacheManager", KVCacheManager)
    if hasattr(module, "SlidingWindowManager"):
        plant.setattr(module, "SlidingWindowManager", window_manager(module.SlidingWindowManager))

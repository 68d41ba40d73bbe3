"""Faults planted in kvnb while one of vLLM's tests runs: a test that passes under all of them proves nothing of kvnb."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from kvnb.core import BlockHashToBlockMap, BlockPool, FreeKVCacheBlockQueue, KVCacheBlock, hashing
from kvnb.manager import KVCacheManager, sliding_window

Fault = Callable[[pytest.MonkeyPatch], None]


def none(plant: pytest.MonkeyPatch) -> None:
    """kvnb as it is."""


# --- the eight that were tried on vLLM's own classes -----------------------------------------------------------------


def prepend_as_append(plant: pytest.MonkeyPatch) -> None:
    plant.setattr(FreeKVCacheBlockQueue, "prepend_n", FreeKVCacheBlockQueue.append_n)


def append_reversed(plant: pytest.MonkeyPatch) -> None:
    right = FreeKVCacheBlockQueue.append_n
    plant.setattr(FreeKVCacheBlockQueue, "append_n", lambda self, blocks: right(self, blocks[::-1]))


def free_head_first(plant: pytest.MonkeyPatch) -> None:
    right = BlockPool.free_blocks
    plant.setattr(BlockPool, "free_blocks", lambda self, blocks: right(self, list(blocks)[::-1]))


def no_evict_on_reuse(plant: pytest.MonkeyPatch) -> None:
    right = BlockPool._drop_hashes
    plant.setattr(BlockPool, "_drop_hashes", lambda self, blocks, why: why == "reuse" or right(self, blocks, why))


def touch_no_remove(plant: pytest.MonkeyPatch) -> None:
    plant.setattr(FreeKVCacheBlockQueue, "remove", lambda self, block: None)


def no_removed_events(plant: pytest.MonkeyPatch) -> None:
    right = BlockPool._drop_hashes

    def silent(self: BlockPool, *args: Any) -> None:
        said, self.emit = self.emit, None
        right(self, *args)
        self.emit = said

    plant.setattr(BlockPool, "_drop_hashes", silent)


def reset_ignores_used(plant: pytest.MonkeyPatch) -> None:
    right = BlockPool.reset_prefix_cache

    def reset(self: BlockPool) -> bool:
        with plant.context() as here:
            here.setattr(BlockPool, "get_num_free_blocks", lambda self: self.num_gpu_blocks - 1)
            return right(self)

    plant.setattr(BlockPool, "reset_prefix_cache", reset)


def hit_not_capped(plant: pytest.MonkeyPatch) -> None:
    right = KVCacheManager.get_computed_blocks

    def all_tokens(self: KVCacheManager, request: Any) -> list[KVCacheBlock]:
        self.behaviour = dataclasses.replace(self.behaviour, full_hit=True)
        return right(self, request)

    plant.setattr(KVCacheManager, "get_computed_blocks", all_tokens)


# --- what those leave out: a block, its links, the map's copies, counts, hashes --------------------------------------


def born_owned(plant: pytest.MonkeyPatch) -> None:
    right = KVCacheBlock.__init__

    def owned(self: KVCacheBlock, block_id: int) -> None:
        right(self, block_id)
        self.ref_cnt = 1

    plant.setattr(KVCacheBlock, "__init__", owned)


def takes_any_attribute(plant: pytest.MonkeyPatch) -> None:
    def swallow(self: KVCacheBlock, name: str, value: Any) -> None:
        if name in KVCacheBlock.__slots__:
            object.__setattr__(self, name, value)

    plant.setattr(KVCacheBlock, "__setattr__", swallow)


def popped_keeps_links(plant: pytest.MonkeyPatch) -> None:
    right = FreeKVCacheBlockQueue.popleft_n

    def pop(self: FreeKVCacheBlockQueue, n: int) -> list[KVCacheBlock]:
        taken = right(self, n)
        for block in taken:
            block.next_free_block = self.fake_free_list_tail
        return taken

    plant.setattr(FreeKVCacheBlockQueue, "popleft_n", pop)


def back_link_lost(plant: pytest.MonkeyPatch) -> None:
    right = FreeKVCacheBlockQueue._insert

    def insert(self: FreeKVCacheBlockQueue, before: KVCacheBlock, blocks: Any, after: KVCacheBlock) -> None:
        right(self, before, blocks, after)
        after.prev_free_block = before

    plant.setattr(FreeKVCacheBlockQueue, "_insert", insert)


def null_block_counted_free(plant: pytest.MonkeyPatch) -> None:
    plant.setattr(BlockPool, "get_num_free_blocks", lambda self: self.free_block_queue.num_free_blocks + 1)


def newest_copy_first(plant: pytest.MonkeyPatch) -> None:
    blocks = BlockHashToBlockMap.get_blocks
    plant.setattr(BlockHashToBlockMap, "get_one_block", lambda self, key: next(reversed(blocks(self, key)), None))


def pop_ignores_id(plant: pytest.MonkeyPatch) -> None:
    plant.setattr(BlockHashToBlockMap, "pop", lambda self, key, block_id: self._blocks.pop(key, None))


def nothing_cached(plant: pytest.MonkeyPatch) -> None:
    plant.setattr(BlockPool, "cache_full_blocks", lambda self, *args: None)


def always_a_miss(plant: pytest.MonkeyPatch) -> None:
    plant.setattr(BlockHashToBlockMap, "get_one_block", lambda self, key: None)
    plant.setattr(BlockHashToBlockMap, "get_longest_prefix", lambda self, keys: [])


def one_block_less(plant: pytest.MonkeyPatch) -> None:
    right = BlockPool.get_new_blocks
    plant.setattr(BlockPool, "get_new_blocks", lambda self, n: right(self, n)[1:])


def hit_not_owned(plant: pytest.MonkeyPatch) -> None:
    right = BlockPool.touch

    def touch(self: BlockPool, blocks: Iterable[KVCacheBlock]) -> None:
        right(self, blocks)
        for block in blocks:
            block.ref_cnt -= 1

    plant.setattr(BlockPool, "touch", touch)


def parent_not_hashed(plant: pytest.MonkeyPatch) -> None:
    right = hashing.hash_block_tokens
    plant.setattr(hashing, "hash_block_tokens", lambda function, parent, *rest: right(function, b"", *rest))


def extra_keys_not_hashed(plant: pytest.MonkeyPatch) -> None:
    plant.setattr(hashing, "extra_keys", lambda start, salt, lora: None)


def adapter_path_not_hashed(plant: pytest.MonkeyPatch) -> None:
    right = hashing.extra_keys
    plant.setattr(hashing, "extra_keys", lambda start, salt, lora: right(start, salt, lora and (lora[0], "")))


def extra_keys_untagged(plant: pytest.MonkeyPatch) -> None:
    right = hashing.extra_keys
    plant.setattr(hashing, "extra_keys", lambda *args: tuple(key[1] for key in right(*args) or ()) or None)


def seed_ignored(plant: pytest.MonkeyPatch) -> None:
    right = hashing.none_hash
    plant.setattr(hashing, "none_hash", lambda function, seed=None: right(function))


def no_extra_keys_is_empty(plant: pytest.MonkeyPatch) -> None:
    right = hashing.extra_keys
    plant.setattr(hashing, "extra_keys", lambda *args: right(*args) or ())


def window_one_longer(plant: pytest.MonkeyPatch) -> None:
    right = sliding_window.num_skipped_blocks
    plant.setattr(sliding_window, "num_skipped_blocks", lambda n, window, size: right(n, window + 1, size))


def run_one_longer(plant: pytest.MonkeyPatch) -> None:
    right = sliding_window.rightmost_run

    def longer(hashes: Any, lookup: Any, window: int, size: int, null_block: KVCacheBlock) -> list[KVCacheBlock]:
        return right(hashes, lookup, window + size, size, null_block)

    plant.setattr(sliding_window, "rightmost_run", longer)


NAMED: tuple[Fault, ...] = (
    prepend_as_append, append_reversed, free_head_first, no_evict_on_reuse, touch_no_remove, no_removed_events,
    reset_ignores_used, hit_not_capped,
)  # fmt: skip
MORE: tuple[Fault, ...] = (
    born_owned, takes_any_attribute, popped_keeps_links, back_link_lost, null_block_counted_free, newest_copy_first,
    pop_ignores_id, nothing_cached, always_a_miss, one_block_less, hit_not_owned, parent_not_hashed,
    extra_keys_not_hashed, adapter_path_not_hashed, extra_keys_untagged, no_extra_keys_is_empty, seed_ignored,
    window_one_longer, run_one_longer,
)  # fmt: skip
FAULTS: dict[str, Fault] = {fault.__name__: fault for fault in (none, *NAMED, *MORE)}

"""kvnb's block, queue, map, pool and hashes under the names and signatures that vLLM's own tests call.

Everything here converts names, arguments and results and carries parameters that kvnb does not have; what happens to
a block is decided in kvnb alone. A hash is opaque to kvnb's pool, so it is given vLLM's keys: a hash with a group id.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from vllm_core import VllmCore

from kvnb import core as own
from kvnb.core import hashing
from kvnb.core import pool as own_pool
from kvnb.core.events import Cleared, Hashed, PoolEvent, Unhashed
from kvnb.manager.hash_functions import HASH_FUNCTIONS, get_hash_function


class KVCacheBlock(own.KVCacheBlock):
    """kvnb's block with vLLM's two methods around the hash."""

    __slots__ = ()

    def __init__(self, block_id: int, is_null: bool = False, **unused: Any) -> None:
        super().__init__(block_id)
        self.is_null = is_null

    def set_block_hash(self, block_hash: bytes, num_tokens: int | None = None) -> None:
        self.block_hash = block_hash

    def reset_hash(self) -> None:
        self.block_hash = None


class FreeKVCacheBlockQueue(own.FreeKVCacheBlockQueue):
    """kvnb's queue with vLLM's words for an empty one."""

    def popleft(self) -> own.KVCacheBlock:
        try:
            return super().popleft()
        except ValueError as error:
            raise ValueError("No free blocks available") from error


class BlockHashToBlockMap(own.BlockHashToBlockMap):
    """kvnb's map; vLLM's tests know its dict under another name."""

    @property
    def _cache(self) -> dict[bytes, Any]:
        return self._blocks


class BlockPool:
    """A pool of kvnb's with vLLM's signatures, its events as vLLM's."""

    def __init__(
        self, num_gpu_blocks: int, enable_caching: bool, hash_block_size: int,
        enable_kv_cache_events: bool = False, **unused: Any,
    ) -> None:  # fmt: skip
        self.hash_block_size = hash_block_size
        self.kv_event_queue: list[Any] = []
        self._key_of: dict[int, bytes] = {}
        self._own = own.BlockPool(num_gpu_blocks, enable_caching, emit=self._note if enable_kv_cache_events else None)

    @classmethod
    def over(cls, pool: own.BlockPool) -> BlockPool:
        """The adapter of a pool that kvnb's manager made."""
        adapter = cls(1, True, 1)
        adapter._own = pool
        return adapter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def get_cached_block(self, block_hash: bytes, kv_cache_group_ids: Sequence[int]) -> list[own.KVCacheBlock] | None:
        [group] = kv_cache_group_ids
        block = self._own.get_cached_block(utils().make_block_hash_with_group_id(block_hash, group))
        return None if block is None else [block]

    def cache_full_blocks(
        self, request: Any, blocks: Sequence[Any], num_cached_blocks: int, num_full_blocks: int,
        block_size: int, kv_cache_group_id: int, block_mask: Any = None,
    ) -> None:  # fmt: skip
        keys = [utils().make_block_hash_with_group_id(h, kv_cache_group_id) for h in request.block_hashes]
        self._storing = (request, blocks, num_cached_blocks, num_full_blocks, block_size, kv_cache_group_id)
        self._own.cache_full_blocks(blocks, keys, num_cached_blocks, num_full_blocks)

    def _maybe_evict_cached_block(self, block: own.KVCacheBlock) -> None:
        self._own.evict_blocks([block.block_id])

    def take_events(self) -> list[Any]:
        taken, self.kv_event_queue = self.kv_event_queue, []
        return taken

    # --- kvnb's events as vLLM's ---------------------------------------------------------------------------------

    def _note(self, event: PoolEvent) -> None:
        said: dict[type, Callable[[Any], Iterable[Any]]] = {
            Hashed: self._stored, Unhashed: self._removed, Cleared: lambda event: [wire().AllBlocksCleared()],
        }  # fmt: skip
        self.kv_event_queue += said.get(type(event), lambda event: ())(event)

    def _stored(self, event: Hashed) -> Iterable[Any]:
        request, blocks, start, end, size, group = self._storing
        self._key_of |= {block.block_id: block.block_hash for block in blocks[start:end]}
        parent = [None, *request.block_hashes][start]
        places = [place for place in range(start, end) if not blocks[place].is_null]
        keys = [utils().generate_block_hash_extra_keys(request, place * size, (place + 1) * size, 0)[0] for place in places]
        yield wire().BlockStored(
            block_hashes=[_wire_hash(self._key_of[block_id]) for block_id in event.ids],
            parent_block_hash=parent and utils().maybe_convert_block_hash(parent),
            token_ids=request.all_token_ids[start * size : end * size],
            block_size=size,
            lora_id=request.lora_request and request.lora_request.adapter_id,
            medium=wire().MEDIUM_GPU,
            lora_name=request.lora_request and request.lora_request.name,
            extra_keys=utils().to_event_extra_keys(keys),
            group_idx=group,
            session_id=request.session_id,
        )

    def _removed(self, event: Unhashed) -> Iterable[Any]:
        for key in map(self._key_of.pop, event.ids):
            group = utils().get_group_id(key)
            yield wire().BlockRemoved(block_hashes=[_wire_hash(key)], medium=wire().MEDIUM_GPU, group_idx=group)


def _wire_hash(key: bytes) -> Any:
    return utils().maybe_convert_block_hash(utils().get_block_hash(key))


# --- hashes ----------------------------------------------------------------------------------------------------------


def init_none_hash(hash_function: Callable[[Any], bytes]) -> None:
    utils().NONE_HASH = hashing.none_hash(hash_function, os.environ.get("PYTHONHASHSEED"))


def hash_block_tokens(hash_function: Any, parent: bytes | None, tokens: Sequence[int], extra_keys: Any = None) -> bytes:
    return hashing.hash_block_tokens(hash_function, parent or utils().NONE_HASH, tokens, extra_keys)


def generate_block_hash_extra_keys(request: Any, start: int, end: int, place: int) -> tuple[Any, int]:
    return hashing.extra_keys(start, request.cache_salt, _lora(request)), place


def get_request_block_hasher(block_size: int, hash_function: Any) -> Callable[[Any], list[bytes]]:
    def new_hashes(request: Any) -> list[bytes]:
        known = list(request.block_hashes)
        hashing.extend_block_hashes(
            known, request.all_token_ids, block_size, hash_function, utils().NONE_HASH, request.cache_salt, _lora(request)
        )
        return known[len(request.block_hashes) :]

    return new_hashes


def _lora(request: Any) -> tuple[str, str] | None:
    return request.lora_request and (request.lora_request.lora_name, request.lora_request.lora_path)


def _hash_function(name: str) -> Callable[[Any], bytes]:
    """kvnb's function of that name; a parametrized test is named after it."""
    function = get_hash_function(name)
    function.__name__ = name
    return function


# --- instead of vLLM's -----------------------------------------------------------------------------------------------


def install(core: VllmCore) -> None:
    """Put these in the place of vLLM's own, before the modules that use them are executed.

    kvnb's pool is told to make blocks and a map of the kinds above: they are kvnb's, with a few names more.
    """
    own_pool.KVCacheBlock = KVCacheBlock
    own_pool.BlockHashToBlockMap = BlockHashToBlockMap
    _replace(core["vllm.utils.hashing"], {name: _hash_function(name) for name in HASH_FUNCTIONS})
    names = (KVCacheBlock, FreeKVCacheBlockQueue, init_none_hash, hash_block_tokens, generate_block_hash_extra_keys,
             get_request_block_hasher)  # fmt: skip
    _replace(core["vllm.v1.core.kv_cache_utils"], {adapter.__name__: adapter for adapter in names})
    pools = (BlockHashToBlockMap, BlockPool)
    _replace(core["vllm.v1.core.block_pool"], {adapter.__name__: adapter for adapter in pools})
    _modules.update(utils=core["vllm.v1.core.kv_cache_utils"], wire=core["vllm.distributed.kv_events"])


_modules: dict[str, Any] = {}


def utils() -> Any:
    """vLLM's ``kv_cache_utils``, for its conversions of keys and hashes."""
    return _modules["utils"]


def wire() -> Any:
    """vLLM's ``kv_events``, for its event classes."""
    return _modules["wire"]


def _replace(module: Any, by_name: dict[str, Any]) -> None:
    for name, adapter in by_name.items():
        assert hasattr(module, name), f"vLLM's {module.__name__} has no {name}"
        setattr(module, name, adapter)

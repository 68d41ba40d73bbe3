"""vLLM's own KVCacheManager, driven by the operations that kvnb has, and its state in kvnb's terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from vllm_core import VllmCore

from kvnb.manager import Behaviour

MAX_MODEL_LEN = 100_000


class Judge:
    """One real manager over one real pool. Every method answers as kvnb must."""

    def __init__(self, core: VllmCore, behaviour: Behaviour) -> None:
        self.utils = core["vllm.v1.core.kv_cache_utils"]
        self.request_class = core["vllm.v1.request"].Request
        self.status = core["vllm.v1.request"].RequestStatus
        self.adapter = core["vllm.lora.request"].LoRARequest
        self.batch_class = core["vllm.distributed.kv_events"].KVEventBatch
        self.sampling = core["vllm.sampling_params"].SamplingParams
        self.hash_function = getattr(core["vllm.utils.hashing"], behaviour.hash)
        self.utils.NONE_HASH = bytes.fromhex(behaviour.none_hash)
        self.hasher = self.utils.get_request_block_hasher(behaviour.block_size, self.hash_function)
        self.manager = self._manager(core, behaviour)
        self.pool = self.manager.block_pool
        self.requests: dict[str, Any] = {}
        self.totals = [0, 0, 0, 0]
        self.adapters: dict[tuple[str, str], int] = {}

    def _manager(self, core: VllmCore, behaviour: Behaviour) -> Any:
        interface = core["vllm.v1.kv_cache_interface"]
        size: dict[str, Any] = {"block_size": behaviour.block_size, "num_kv_heads": 1, "head_size": 1, "dtype": None}
        if behaviour.sliding_window is None:
            spec = interface.FullAttentionSpec(**size)
        else:
            spec = interface.SlidingWindowSpec(**size, sliding_window=behaviour.sliding_window)
        self.spec = spec
        config = interface.KVCacheConfig(
            num_blocks=behaviour.num_blocks, kv_cache_tensors=[],
            kv_cache_groups=[interface.KVCacheGroupSpec(["layer"], spec)],
        )  # fmt: skip
        return core["vllm.v1.core.kv_cache_manager"].KVCacheManager(
            config, MAX_MODEL_LEN, behaviour.block_size, behaviour.block_size,
            enable_caching=behaviour.prefix_caching, log_stats=True, enable_kv_cache_events=True,
        )  # fmt: skip

    # --- operations: True when done, False when refused for want of blocks -------------------------------------

    def admit(
        self,
        name: str,
        tokens: Sequence[int],
        salt: str | None = None,
        lora: tuple[str, str] | None = None,
        chunk: int | None = None,
    ) -> bool:
        number = self.adapters.get(lora, len(self.adapters) + 1) if lora else 0
        adapter = self.adapter(lora[0], number, lora[1]) if lora else None
        request = self.request_class(
            name, list(tokens), self.sampling(), None, lora_request=adapter, cache_salt=salt, block_hasher=self.hasher
        )
        done = self._start(request, chunk)
        if done and lora:
            self.adapters[lora] = number
        return done

    def resume(self, name: str, chunk: int | None = None) -> bool:
        return self._start(self.requests[name], chunk)

    def prefill(self, name: str, n: int) -> bool:
        request = self.requests[name]
        return self._schedule(request, n)

    def append(self, name: str, tokens: Sequence[int], drafts: Sequence[int] = ()) -> bool:
        request = self.requests[name]
        request.append_output_token_ids(list(tokens))
        request.spec_token_ids = list(drafts)
        return self._schedule(request, len(tokens) + len(drafts))

    def accept(self, name: str, k: int) -> None:
        """What the scheduler does with a model's output: all drafts were computed, the rejected ones are taken back."""
        request = self.requests[name]
        request.num_computed_tokens -= len(request.spec_token_ids) - k
        request.append_output_token_ids(request.spec_token_ids[:k])
        request.spec_token_ids = []

    def _schedule(self, request: Any, n: int) -> bool:
        if self.manager.allocate_slots(request, n) is None:
            return False
        request.num_computed_tokens += n
        return True

    def release(self, name: str) -> None:
        request = self.requests.pop(name)
        if request.status != self.status.PREEMPTED:
            self.manager.free(request)

    def preempt(self, name: str) -> None:
        request = self.requests[name]
        self.manager.free(request)
        request.status = self.status.PREEMPTED
        request.num_computed_tokens = 0
        request.num_preemptions += 1

    def evict(self, block_id: int) -> None:
        self.manager.evict_blocks({block_id})

    def reset(self) -> bool:
        return bool(self.manager.reset_prefix_cache())

    def _start(self, request: Any, chunk: int | None) -> bool:
        blocks, hits, _ = self.manager.get_computed_blocks(request)
        new = min(chunk or request.num_tokens, request.num_tokens - hits)
        self._cap_admission(chunk or request.num_tokens, request.num_tokens)
        done = self.manager.allocate_slots(request, new, hits, blocks, full_sequence_must_fit=True)
        if done is None:
            return False
        self.manager.record_prefix_cache_stats(request, hits)
        request.status = self.status.RUNNING
        request.num_computed_tokens = hits + new
        self.requests[request.request_id] = request
        return True

    def _cap_admission(self, chunk: int, num_tokens: int) -> None:
        """A windowed request reserves what vLLM's spec says for its tokens in flight: here the chunk, elsewhere a setting."""
        single = self.manager.coordinator.single_type_managers[0]
        if single.max_admission_blocks_per_request is not None:
            single.max_admission_blocks_per_request = self.spec.max_admission_blocks_per_request(chunk, num_tokens)

    # --- the state, as ``live_state`` gives kvnb's -------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        blocks = self.pool.blocks
        hashes = [self._hash(block) for block in blocks]
        return {
            "queue": [block.block_id for block in self.pool.free_block_queue.get_all_free_blocks()],
            "ref_cnt": [block.ref_cnt for block in blocks[1:]],
            "hashes": hashes,
            "found": {h: self.pool.get_cached_block(h, [0])[0].block_id for h in hashes if h is not None},
            "tables": {name: self.table(name) for name in self.requests},
            "usage": self.pool.get_usage(),
            "stats": self._stats(),
        }

    def table(self, name: str) -> list[int]:
        return list(self.manager.get_block_ids(name)[0])

    def take_events(self) -> bytes:
        """vLLM's events since the last call, as the payload of one message."""
        batch = self.batch_class(ts=1.5, events=self.manager.take_events(), data_parallel_rank=0)
        return msgspec.msgpack.encode(batch)

    def _stats(self) -> tuple[int, ...]:
        new = self.manager.make_prefix_cache_stats()
        for place, value in enumerate((new.queries, new.hits, new.preempted_queries, new.preempted_hits)):
            self.totals[place] += value
        return tuple(self.totals)

    def _hash(self, block: Any) -> bytes | None:
        return None if block.block_hash is None else bytes(self.utils.get_block_hash(block.block_hash))

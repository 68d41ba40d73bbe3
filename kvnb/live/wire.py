"""Journal steps as vLLM's KV events, in the content, order and msgpack form that vLLM 0.32 publishes.

A batch on the wire is the array ``[timestamp, events, data_parallel_rank]``; an event is a map with ``type`` first
and fields that equal their default left out (vLLM: ``distributed/kv_events.py``). Block hashes are the low 64 bits
as an integer, or with ``raw`` the hash's bytes (vLLM: ``VLLM_KV_EVENTS_USE_INT_BLOCK_HASHES``).

Must not know: sockets and clocks; whoever publishes gives the time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kvnb.core.events import Cleared, Hashed, Unhashed
from kvnb.core.hashing import extra_keys
from kvnb.errors import MissingPackage
from kvnb.journal.events import Restored
from kvnb.journal.journal import Journal, Step
from kvnb.journal.state import State
from kvnb.journal.transcript import Transcript
from kvnb.manager.events import Looked, Tokens
from kvnb.manager.request import Request

KvEvent = dict[str, Any]
MEDIUM = "GPU"
"""What vLLM says of its device blocks, also on a CPU."""


class KvEventStream:
    """Follows a journal and says, step by step, what vLLM would have published.

    An undo has no counterpart there: it is told as everything cleared and all that is cached again stored.
    """

    def __init__(self, journal: Journal, raw: bool = False) -> None:
        self._journal = journal
        self._raw = raw
        self._adapters: dict[tuple[str, str], int] = {}
        self._begin()

    def _begin(self) -> None:
        self._state = State(self._journal.behaviour.num_blocks)
        self._transcript = Transcript(self._journal.behaviour)
        self._num_cached: dict[str, int] = {}
        self._hash_of: dict[int, bytes] = {}

    def step(self, step: Step) -> list[KvEvent]:
        """The events of the next step of the journal."""
        if step.of(Restored):
            return self._start_again(step)
        self._transcript.apply(step.command)
        if step.command.verb == "admit":
            self._number_adapter(step.command.args["name"])
        said: list[KvEvent] = []
        for event in step.events:
            self._state.apply(event)
            said += self._say(step, event)
        return said

    def _say(self, step: Step, event: Any) -> list[KvEvent]:
        if isinstance(event, Looked):
            self._num_cached[event.name] = event.hits // self._journal.behaviour.block_size
        elif isinstance(event, Hashed):
            return [self._stored(step, event)]
        elif isinstance(event, Unhashed):
            return [self._removed(block_id) for block_id in event.ids]
        elif isinstance(event, Cleared):
            return [{"type": "AllBlocksCleared"}]
        return []

    def _start_again(self, step: Step) -> list[KvEvent]:
        self._begin()
        said: list[KvEvent] = [{"type": "AllBlocksCleared"}]
        for number in self._journal.lineage(step.number):
            said += self.step(self._journal.steps[number - 1])
        return said

    def _stored(self, step: Step, event: Hashed) -> KvEvent:
        request = self._transcript.requests[step.command.args["name"]]
        size = self._journal.behaviour.block_size
        start = self._num_cached.get(request.name, 0)
        end = min(step.of(Tokens)[0].scheduled, request.num_tokens) // size
        self._num_cached[request.name] = end
        places = [place for place in range(start, end) if self._state.requests[request.name].table[place] != 0]
        self._hash_of |= {block_id: request.block_hashes[p] for block_id, p in zip(event.ids, places, strict=True)}
        return {
            "type": "BlockStored",
            "block_hashes": [self._wire_hash(request.block_hashes[place]) for place in places],
            "parent_block_hash": self._wire_hash(request.block_hashes[start - 1]) if start else None,
            "token_ids": request.token_ids[start * size : end * size],
            "block_size": size,
            "lora_id": self._adapters[request.lora] if request.lora else None,
            "medium": MEDIUM,
            "lora_name": request.lora[0] if request.lora else None,
            **({"extra_keys": [_bare_keys(request, place * size) for place in places]} if places else {}),
            "group_idx": 0,
            **self._spec(),
        }

    def _removed(self, block_id: int) -> KvEvent:
        hashes = [self._wire_hash(self._hash_of.pop(block_id))]
        return {"type": "BlockRemoved", "block_hashes": hashes, "medium": MEDIUM, "group_idx": 0}

    def _spec(self) -> KvEvent:
        window = self._journal.behaviour.sliding_window
        if window is None:
            return {"kv_cache_spec_kind": "full_attention"}
        return {"kv_cache_spec_kind": "sliding_window", "kv_cache_spec_sliding_window": window}

    def _number_adapter(self, name: str) -> None:
        """Adapters are numbered from 1, in the order of their first request."""
        lora = self._transcript.requests[name].lora
        if lora:
            self._adapters.setdefault(lora, len(self._adapters) + 1)

    def _wire_hash(self, block_hash: bytes) -> int | bytes:
        return block_hash if self._raw else int.from_bytes(block_hash[-8:], "big")


def _bare_keys(request: Request, start: int) -> tuple[str, ...] | None:
    """What the hash takes in beside the tokens, without the tags that only the hash needs."""
    keys = extra_keys(start, request.salt, request.lora)
    return tuple(key[1] for key in keys) if keys else None


def kv_events(journal: Journal, raw: bool = False) -> Iterable[list[KvEvent]]:
    """The events of every step of a journal, one list a step."""
    stream = KvEventStream(journal, raw)
    return [stream.step(step) for step in journal.steps]


def encode_batch(timestamp: float, events: list[KvEvent], data_parallel_rank: int | None = 0) -> bytes:
    """One message's payload in msgpack. Raises MissingPackage without msgspec (extra ``live``)."""
    try:
        from msgspec import msgpack
    except ImportError as error:
        raise MissingPackage.named("'kvnb[live]'", "vLLM's event format") from error
    return msgpack.encode([timestamp, events, data_parallel_rank])

"""A pool and its worker in step, as an engine runs them: plan and apply, tell the worker, compute what was scheduled."""

from __future__ import annotations

import random
from typing import Any

import torch

from kvnb.core.events import Ids
from kvnb.manager import Behaviour
from kvnb.manager.command import Command
from kvnb.manager.engine import EngineCore
from kvnb.manager.events import Looked, Tokens
from kvnb.manager.worker import Scheduled
from kvnb.tensors.prove import Proof, prove
from kvnb.tensors.worker import Worker


def some_tokens(n: int, seed: int = 0) -> tuple[int, ...]:
    """``n`` tokens of the small vocabulary; equal seeds give equal prefixes."""
    choose = random.Random(seed)
    return tuple(choose.randrange(256) for _ in range(n))


class Served:
    """A pool of ``num_blocks`` with memory behind it; ``worker`` holds keywords of Worker, the others are the pool's."""

    def __init__(self, num_blocks: int = 41, block_size: int = 4, *, worker: dict[str, Any] | None = None, **behaviour: Any):
        self.events: list[Any] = []
        self.core = EngineCore(Behaviour(num_blocks=num_blocks, block_size=block_size, **behaviour), self.events.append)
        window = behaviour.get("sliding_window")
        self.worker = Worker(num_blocks, block_size, sliding_window=window, **{"device": "cpu", **(worker or {})})
        self.pending: list[Scheduled] = []
        self._computed: dict[str, int] = {}

    def do(self, verb: str, *, compute: bool = True, **args: Any) -> None:
        """Run one command; without ``compute`` its tokens wait for the next one that computes."""
        self.events.clear()
        self.core.run(Command(verb, args))
        self.worker.follow(self.events)
        self._schedule(verb)
        if compute and self.pending:
            self.worker.forward(self.pending)
            self.pending = []

    def admit(self, name: str, tokens: Ids, **args: Any) -> None:
        self.do("admit", name=name, tokens=list(tokens), **args)

    def append(self, name: str, tokens: Ids, **args: Any) -> None:
        self.do("append", name=name, tokens=list(tokens), **args)

    def table(self, name: str) -> tuple[int, ...]:
        return self.core.scheduler.kv_cache_manager.block_table(name)

    def prove(self, name: str) -> Proof:
        request, table = self.core.scheduler.find(name), self.table(name)
        nulled = next((place for place, block_id in enumerate(table) if block_id), 0)
        tokens = [*request.token_ids[: request.num_computed_tokens], *request.drafts]
        return prove(self.worker, name, tokens, len(request.drafts), nulled)

    def logits(self, name: str) -> torch.Tensor:
        """Of the last tokens that were computed."""
        return self.worker._kept[name].rows.cpu()

    def running(self) -> list[str]:
        return list(self.core.scheduler.kv_cache_manager.req_to_blocks)

    def _schedule(self, verb: str) -> None:
        hits = {event.name: event.hits for event in self.events if isinstance(event, Looked)}
        for event in self.events:
            if isinstance(event, Tokens):
                request = self.core.scheduler.find(event.name)
                first = hits.get(event.name, 0) if verb == "admit" else self._computed[event.name]
                tokens = (*request.token_ids[first : event.scheduled], *request.drafts)
                if verb != "accept":
                    self.pending.append(Scheduled(event.name, first, tokens, event.draft))
                self._computed[event.name] = event.scheduled

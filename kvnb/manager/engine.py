"""The engine core: runs canonical commands, one at a time, each planned before it is applied.

Must not know: tensors, the journal, the user.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kvnb.errors import CommandError, nearest, one_line
from kvnb.manager.behaviour import Behaviour
from kvnb.manager.command import Command
from kvnb.manager.kv_cache_manager import Emit
from kvnb.manager.scheduler import Apply, Scheduler
from kvnb.manager.tokenizers import TOKENIZERS


class EngineCore:
    """A pool, its manager and its requests, driven by ``Command``s (named after vLLM's ``EngineCore``)."""

    def __init__(self, behaviour: Behaviour, emit: Emit | None = None) -> None:
        self.behaviour = behaviour
        self.scheduler = Scheduler(behaviour, emit)
        self._verbs: dict[str, Callable[..., Apply]] = {
            "admit": self._admit,
            "prefill": self.scheduler.prefill,
            "append": self._append,
            "accept": self.scheduler.accept,
            "release": self.scheduler.release,
            "preempt": self.scheduler.preempt,
            "evict": self.scheduler.evict,
            "reset": self.scheduler.reset,
        }

    def plan(self, command: Command) -> Apply:
        """What ``command`` would do, checked against the present state; nothing changes before it is called.

        Raises a KvnbError that says why the command cannot run.
        """
        verb = self._verbs.get(command.verb)
        if verb is None:
            raise CommandError(f"unknown command {one_line(command.verb)}: {nearest(command.verb, self._verbs)}")
        return verb(**command.args)

    def run(self, command: Command) -> None:
        """Plan and apply."""
        self.plan(command)()

    def _admit(
        self, name: str, salt: str | None = None, lora: Sequence[str] = (), chunk: int | None = None, **prompt: Any
    ) -> Apply:
        if not prompt:
            return self.scheduler.resume(name, chunk)
        return self.scheduler.admit(name, self._tokens(**prompt), salt, (lora[0], lora[1]) if lora else None, chunk)

    def _append(self, name: str, draft: Mapping[str, Any] | None = None, **prompt: Any) -> Apply:
        return self.scheduler.append(name, self._tokens(**prompt), self._tokens(**draft) if draft else ())

    def _tokens(self, text: str = "", tokens: Sequence[int] | None = None) -> list[int]:
        return TOKENIZERS[self.behaviour.tokenizer](text) if tokens is None else list(tokens)

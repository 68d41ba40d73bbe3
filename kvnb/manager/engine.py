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
from kvnb.manager.worker import Scheduled

COMPUTE = ("admit", "prefill", "append", "step")
"""The verbs that end in a forward pass over all that is scheduled, unless they defer it."""


def computes(command: Command) -> bool:
    """Whether ``command`` ends in a forward pass."""
    return command.verb in COMPUTE and not command.args.get("defer")


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
            "step": self.scheduler.step,
            "reweight": self._reweight,
            "corrupt": self.scheduler.corrupt,
        }

    def plan(self, command: Command) -> Apply:
        """What ``command`` would do, checked against the present state; nothing changes before it is called.

        Raises a KvnbError that says why the command cannot run. What it schedules is then computed or not: ``settle``.
        """
        verb = self._verbs.get(command.verb)
        if verb is None:
            raise CommandError(f"unknown command {one_line(command.verb)}: {nearest(command.verb, self._verbs)}")
        defer, fail = command.args.get("defer"), command.args.get("fail")
        if not defer and not fail:
            return verb(**command.args)
        if command.verb not in COMPUTE or (defer and fail):
            raise CommandError("a pass that is put off cannot fail yet: leave --defer or --fail out")
        return verb(**{name: value for name, value in command.args.items() if name not in ("defer", "fail")})

    def tokens_of(self, command: Command) -> list[int]:
        """All tokens that ``command`` brings, drafts included."""
        parts = [{key: command.args[key] for key in ("text", "tokens") if key in command.args}, command.args.get("draft")]
        return [token for part in parts if part for token in self._tokens(**part)]

    def num_before(self, command: Command) -> int:
        """How many tokens its request has already."""
        request = self.scheduler.requests.get(command.args.get("name", ""))
        return request.num_tokens if request and command.verb == "append" else 0

    def scheduled(self, command: Command) -> list[Scheduled]:
        """What a forward pass has to compute now that ``command`` is applied; nothing when it is put off."""
        return self.scheduler.scheduled() if computes(command) else []

    def settle(self, command: Command) -> None:
        """Take note of the forward pass of an applied ``command``: done, put off (``defer``), or failed (``fail``)."""
        if command.args.get("fail"):
            self.scheduler.fail()
        elif computes(command):
            self.scheduler.computed()
        elif command.verb in COMPUTE:
            self.scheduler.defer(command.args["name"])

    def run(self, command: Command) -> None:
        """Plan, apply and settle."""
        self.plan(command)()
        self.settle(command)

    def _reweight(self, seed: int) -> Apply:
        """The worker's business alone: the pool does not know what its blocks hold."""
        if not 0 <= seed < 2**63:
            raise CommandError(f"the seed is {seed}: give 0 to {2**63 - 1}")
        return lambda: None

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

"""Carrying out one command: by the engine, and by the worker that owns the memory, where there is one.

Must not know: tensors, the log, the steps before this one.
"""

from __future__ import annotations

from collections.abc import Sequence

from kvnb.core.events import PoolEvent
from kvnb.manager.behaviour import Behaviour
from kvnb.manager.command import Command
from kvnb.manager.engine import EngineCore, computes
from kvnb.manager.events import ManagerEvent
from kvnb.manager.scheduler import Apply
from kvnb.manager.worker import Scheduled, Worker


class Execution:
    """An engine in some state, the memory that belongs to it, and the events of the last command.

    touched
        True while the memory holds what no finished command has put there; set back by whoever finishes it.
    num_forward_tokens, last_pass_tokens
        Tokens that forward passes computed, or would have where there is no memory: all of them, and those of the last
        command. A pass that failed computed none.
    """

    def __init__(self, behaviour: Behaviour, worker: Worker | None = None) -> None:
        self.events: list[PoolEvent | ManagerEvent] = []
        self.engine = EngineCore(behaviour, self.events.append)
        self.worker = worker
        self.touched = False
        self.num_forward_tokens = 0
        self.last_pass_tokens = 0

    def plan(self, command: Command) -> Apply:
        """As ``EngineCore.plan``; tokens that the model does not know are refused too."""
        if self.worker:
            self.worker.check_tokens(self.engine.tokens_of(command), self.engine.num_before(command))
        return self.engine.plan(command)

    def carry_out(self, command: Command, apply: Apply) -> tuple[Command, BaseException | None]:
        """Apply a plan and compute. A forward pass that fails or is interrupted is part of what happened.

        Gives the command as it came out, with ``fail`` when its pass failed, and the error that stopped the pass.
        Anything else that is raised leaves the pool and the memory torn.
        """
        self.events.clear()
        apply()
        error = self._compute(command)
        if error:
            command = Command(command.verb, {**command.args, "fail": True})
        self._count(command)
        so_far = len(self.events)
        self.engine.settle(command)
        if self.worker:
            self.worker.follow(self.events[so_far:])
        return command, error

    def run(self, command: Command) -> None:
        """Carry out a command of a journal, as it came out there."""
        _, error = self.carry_out(command, self.plan(command))
        if error:
            raise error

    def _count(self, command: Command) -> None:
        done = computes(command) and not command.args.get("fail")
        self.last_pass_tokens = self.engine.scheduler.num_all_waiting() if done else 0
        self.num_forward_tokens += self.last_pass_tokens

    def _compute(self, command: Command) -> BaseException | None:
        if not self.worker:
            return None
        self.touched = True
        if command.verb == "reweight":
            self.worker.reweight(command.args["seed"])
        if command.verb == "corrupt":
            name, block, other = (command.args[key] for key in ("name", "block", "other"))
            self.worker.corrupt(name, self.engine.scheduler.kv_cache_manager.block_table(name).index(block), other)
        self.worker.follow(self.events)
        scheduled = self.engine.scheduled(command)
        if command.args.get("fail"):
            self.worker.forget(scheduled)
            return None
        return self._forward(self.worker, scheduled)

    @staticmethod
    def _forward(worker: Worker, scheduled: Sequence[Scheduled]) -> BaseException | None:
        if not scheduled:
            return None
        try:
            worker.forward(scheduled)
        except BaseException as error:  # also an interrupt: the step is recorded as failed, then it is raised again
            worker.forget(scheduled)
            return error
        return None

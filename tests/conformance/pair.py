"""kvnb and real vLLM side by side: every operation goes to both, and everything that can be seen of them must be equal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
from judge import Judge
from vllm_core import VllmCore

from kvnb.errors import NeverFits, OutOfBlocks
from kvnb.journal import Journal
from kvnb.journal.recorder import Recorder
from kvnb.live.wire import KvEvent, KvEventStream, encode_batch
from kvnb.manager import Behaviour
from kvnb.manager.command import Command


class Pair:
    """One pool in kvnb, one in vLLM."""

    def __init__(self, core: VllmCore, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.recorder = Recorder(Journal(behaviour))
        self.stream = KvEventStream(self.recorder.journal)
        self.judge = Judge(core, behaviour)
        self.over = False
        self.refusals: Counter[str] = Counter()
        self.said: list[KvEvent] = []

    @property
    def requests(self) -> dict[str, Any]:
        return self.recorder.engine.scheduler.requests

    def running(self) -> list[str]:
        return [name for name, request in self.requests.items() if request.status == "running"]

    def preempted(self) -> list[str]:
        return [name for name, request in self.requests.items() if request.status == "preempted"]

    def cached(self) -> list[int]:
        pool = self.recorder.engine.scheduler.kv_cache_manager.block_pool
        return [block.block_id for block in pool.blocks if block.block_hash is not None]

    def starts(self, verb: str, ask: Callable[[], bool], **args: Any) -> None:
        """An operation that may be refused for want of blocks, and then changes nothing on either side."""
        assert self._does(verb, **args) == ask(), f"{verb} {args}: one does it, the other refuses"
        self.compare()

    def goes_on(self, verb: str, ask: Callable[[], bool], name: str, **args: Any) -> None:
        """An operation on a running request. Refused, vLLM keeps the new token and what left the window is freed.

        That is a named difference: the request is ended on both sides, and under a window the comparison with it.
        """
        done = self._does(verb, name=name, **args)
        assert done == ask(), f"{verb} {name} {args}: one does it, the other refuses"
        if not done:
            self.over = self.behaviour.sliding_window is not None
            self.always("release", lambda: self.judge.release(name), names=[name])
        elif not self.over:
            self.compare()

    def always(self, verb: str, ask: Callable[[], Any], **args: Any) -> None:
        """An operation that cannot be refused."""
        assert self._does(verb, **args)
        ask()
        if not self.over:
            self.compare()

    def _does(self, verb: str, **args: Any) -> bool:
        try:
            step = self.recorder.run(Command(verb, {key: value for key, value in args.items() if value is not None}))
        except (OutOfBlocks, NeverFits) as error:
            self.refusals[type(error).__name__] += 1
            return False
        self.said = self.stream.step(step)
        return True

    def compare(self) -> None:
        ours, theirs = self.state(), self.judge.state()
        for what, value in ours.items():
            assert value == theirs[what], (what, value, theirs[what])
        self._compare_events()
        assert all(equation.holds for equation in self.recorder.engine.scheduler.check())

    def _compare_events(self) -> None:
        said, self.said = self.said, []
        ours, theirs = encode_batch(1.5, said), self.judge.take_events()
        assert ours == theirs, (msgspec.msgpack.decode(ours), msgspec.msgpack.decode(theirs))

    def state(self) -> dict[str, Any]:
        manager = self.recorder.engine.scheduler.kv_cache_manager
        pool = manager.block_pool
        hashes = [block.block_hash for block in pool.blocks]
        return {
            "queue": [block.block_id for block in pool.free_block_queue],
            "ref_cnt": [block.ref_cnt for block in pool.blocks[1:]],
            "hashes": hashes,
            "found": {h: pool.get_cached_block(h).block_id for h in hashes if h is not None},
            "tables": {name: list(manager.block_table(name)) for name in self.requests},
            "usage": pool.get_usage(),
            "stats": self._stats(),
        }

    def _stats(self) -> tuple[int, ...]:
        counters = self.recorder.journal.state.counters
        return counters.queries, counters.hits, counters.preempted_queries, counters.preempted_hits

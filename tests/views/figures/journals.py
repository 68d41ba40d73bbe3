"""Long histories, made in seconds: an engine without a digest admits, appends and releases."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from random import Random

from kvnb.errors import OutOfBlocks
from kvnb.journal import Journal, Step
from kvnb.manager import Behaviour
from kvnb.manager.command import Command
from kvnb.manager.engine import EngineCore


@lru_cache(maxsize=8)
def history(steps: int, num_blocks: int, block_size: int = 16) -> Journal:
    """So many steps of requests that share prefixes, on a pool of which about half is in use."""
    behaviour = Behaviour(num_blocks=num_blocks, block_size=block_size)
    events: list[object] = []
    core, journal = EngineCore(behaviour, events.append), Journal(behaviour)
    for command in _commands(core, Random(1), num_blocks, block_size):
        if len(journal) == steps:
            return journal
        events.clear()
        try:
            core.run(command)
        except OutOfBlocks:
            command = Command("release", {"names": (next(iter(core.scheduler.requests)),)})
            core.run(command)
        journal.steps.append(Step(len(journal) + 1, command, tuple(events), ""))  # type: ignore[arg-type]
    raise AssertionError("commands never end")


def _commands(core: EngineCore, random: Random, num_blocks: int, block_size: int) -> Iterator[Command]:
    number = 0
    while True:
        running = list(core.scheduler.requests)
        what = random.random()
        if not running or (what < 0.55 and len(running) < max(2, num_blocks // 12)):
            number += 1
            base = 1000 * random.randrange(8)
            tokens = [base + place for place in range(random.randrange(1, 6 * block_size))]
            tokens += [10**6 + number * 99 + place for place in range(random.randrange(1, 4 * block_size))]
            yield Command("admit", {"name": f"r{number}", "tokens": tuple(tokens)})
        elif what < 0.7:
            yield Command("append", {"name": random.choice(running), "tokens": (1,) * (block_size // 2)})
        else:
            yield Command("release", {"names": (random.choice(running),)})

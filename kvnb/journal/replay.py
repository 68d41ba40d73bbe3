"""Running a journal's commands again: to rebuild a pool, and to prove that a history is what it says.

Must not know: files, notebooks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from kvnb.core.hashing import short_key
from kvnb.errors import JournalError, KvnbError, counted, one_line
from kvnb.journal.catch_up import CatchUp
from kvnb.journal.events import Event, Restored
from kvnb.journal.execution import Execution
from kvnb.journal.journal import Journal, Step
from kvnb.manager.command import Command
from kvnb.manager.engine import EngineCore
from kvnb.manager.worker import Worker

UNDO = "undo"


def undone(command: Command) -> int:
    """How many steps an undo takes back. Raises JournalError for what is no such number."""
    n = command.args.get("n", 1)
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise JournalError(f"cannot go back {n!r} steps: give 1 or more")
    return n


def undo_events(journal: Journal, command: Command) -> list[Event]:
    """What an undo as the next step does. Raises JournalError when there is not so much to take back."""
    line, n = journal.lineage(), undone(command)
    if not line:
        raise JournalError("nothing to undo: the pool is as it was made")
    if n > len(line):
        raise JournalError(f"cannot go back {n} steps: {counted(len(line), 'step')} can be undone")
    return [Restored(line[-n - 1] if len(line) > n else 0)]


def rebuild(journal: Journal, line: Iterable[int] | None = None, worker: Worker | None = None) -> Execution:
    """Engine and memory in the state after the last step, or after the steps of ``line``; all is computed again.

    Raises JournalError when a command is refused now, or does something else than the journal says, or cannot be computed.
    """
    if worker:
        worker.clear()
    late = CatchUp(worker) if worker and worker.prefers_long_passes else None
    execution = Execution(journal.behaviour, late or worker)
    for number in journal.lineage() if line is None else line:
        step = journal.steps[number - 1]
        _rerun(execution, step)
        if tuple(execution.events) != step.events:
            what = f"step {number} ({step.command.short()})"
            raise JournalError(f"{what} does not do what the journal says: verify shows the difference")
    if late:
        with _told():
            late.finish()
    execution.worker = worker
    execution.touched = False
    return execution


def _rerun(execution: Execution, step: Step) -> None:
    try:
        with _told():
            execution.run(step.command)
    except JournalError:
        raise
    except KvnbError as error:
        raise JournalError(f"step {step.number} ({step.command.short()}) cannot be run again: {error}") from error
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise JournalError(f"step {step.number} is no command that can be run: {one_line(str(error))}") from error


@contextmanager
def _told() -> Iterator[None]:
    """Turn what a device says into a JournalError: it is out of memory, or gone."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        why = one_line(str(error) or "out of memory", 120)
        raise JournalError(
            f"the memory cannot be computed again ({why}): try again, or load the journal with --device none"
        ) from error


def replay(journal: Journal, steps: Iterable[Step] | None = None) -> Iterator[Step]:
    """The steps that the commands of ``journal`` give when a fresh pool runs them now, one at a time.

    steps
        The journal's own, from whoever counts them on the way.
    Raises JournalError for a command that is refused now.
    """
    again = Journal(journal.behaviour, journal.name)
    execution = rebuild(again)
    for step in journal.steps if steps is None else steps:
        if step.command.verb == UNDO:
            events = undo_events(again, step.command)
            execution = rebuild(again, again.lineage()[: -undone(step.command)])
        else:
            _rerun(execution, step)
            events = [*execution.events]
        again.steps.append(again.next_step(step.command, events, step.cell, step.origin))
        yield again.steps[-1]


class Difference(NamedTuple):
    """The first step at which a journal and a fresh pool disagree."""

    number: int
    command: Command
    recorded: tuple[Event, ...]
    computed: tuple[Event, ...]
    why: str


class Verdict(NamedTuple):
    """What verification found: the number of steps that agree, the last digest, the first difference if any."""

    steps: int
    digest: str
    difference: Difference | None

    @property
    def holds(self) -> bool:
        """True when every step does again what it says it did."""
        return self.difference is None


def verify(journal: Journal, steps: Iterable[Step] | None = None) -> Verdict:
    """Run every command again on a fresh pool and compare events and digests, step by step; ``steps`` as in ``replay``."""
    agreed, digest = 0, journal.first_digest
    try:
        for recorded, computed in zip(journal.steps, replay(journal, steps), strict=False):
            if recorded.events != computed.events or recorded.digest != computed.digest:
                why = "the events differ" if recorded.events != computed.events else "the digest differs"
                found = Difference(recorded.number, recorded.command, recorded.events, computed.events, why)
                return Verdict(agreed, digest, found)
            agreed, digest = recorded.number, recorded.digest
    except JournalError as error:
        step = journal.steps[agreed]
        return Verdict(agreed, digest, Difference(step.number, step.command, step.events, (), str(error)))
    return Verdict(agreed, digest, None)


def live_columns(engine: EngineCore) -> dict[str, Any]:
    """A live pool in the form of ``State.columns``, to compare with a fold of its journal."""
    manager = engine.scheduler.kv_cache_manager
    pool, cached = manager.block_pool, manager.block_pool.cached_block_hash_to_block
    return {
        "queue": tuple(block.block_id for block in pool.free_block_queue),
        "ref_cnt": [0 if block.is_null else block.ref_cnt for block in pool.blocks],
        "keys": [None if block.block_hash is None else short_key(block.block_hash) for block in pool.blocks],
        "copies": {short_key(key): tuple(b.block_id for b in cached.get_blocks(key)) for key in cached},
        "requests": {
            name: (
                r.status, r.num_tokens, r.num_computed_tokens, len(r.drafts), engine.scheduler.num_deferred(name),
                manager.block_table(name),
            )
            for name, r in engine.scheduler.requests.items()
        },
    }  # fmt: skip

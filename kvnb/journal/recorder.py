"""Runs commands so that each becomes one step of the journal, or nothing at all.

Must not know: how commands are typed, what results look like.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from threading import RLock
from typing import Any

from kvnb.errors import ComputeFailed, ComputeInterrupted, JournalError, named, one_line
from kvnb.journal import replay
from kvnb.journal.execution import Execution
from kvnb.journal.journal import Cell, Journal, Step
from kvnb.journal.log_file import LogFile
from kvnb.manager.command import Command
from kvnb.manager.engine import EngineCore
from kvnb.manager.events import RequestIs
from kvnb.manager.worker import Worker

Each = Callable[[Sequence[int]], AbstractContextManager[Iterable[int]]]
MOST_AGAIN = 20_000
"""Tokens of the tiny model's own shape that ``undo`` and ``load`` compute again: on two cores that took 8 seconds."""


class Recorder:
    """An engine with its memory, the journal of what it did, and the log file, if any, that gets every step.

    A command is first planned, which may raise and changes nothing. Then it is applied, written to the log and
    appended to the journal's steps; that last act makes it exist. What is cut off in between (an interrupt, a full
    disk) leaves a mark, and whoever asks next gets engine and memory rebuilt from the journal. A forward pass that is
    cut off is no such thing: it is part of the step.

    each
        Gives the numbers of the steps that are run again on, and may count them on the way.
    Raises JournalError when a journal with steps is too long to be computed again by ``worker``.
    """

    def __init__(self, journal: Journal, worker: Worker | None = None, each: Each = nullcontext) -> None:
        self._journal = journal
        # One command at a time: a click may come on a thread of its own. Who reads meanwhile waits for it.
        self._lock = RLock()
        self._each = each
        self._log: LogFile | None = None
        self._execution = self._run_again()
        self._torn = False
        # Memory that was let go is computed again for whoever asks for it, not for a look at the history.
        self._given_up = False
        if worker:
            what = "loading this journal with its memory"
            self._check_again(self._execution, worker, what, "--device none loads the blocks alone")
            self._execution = self._run_again(worker)

    @property
    def journal(self) -> Journal:
        """The history: every finished step. For looking only."""
        if not self._given_up:
            self.engine  # noqa: B018  (mends the pool and the log after an interrupt)
        return self._journal

    @property
    def engine(self) -> EngineCore:
        """The engine; after a command that was cut off in the middle, one rebuilt from the journal."""
        return self.execution.engine

    @property
    def execution(self) -> Execution:
        """Engine and memory; after a command that was cut off in the middle, both as the journal says."""
        with self._lock:
            if self._torn:
                self._mend()
            return self._execution

    @property
    def at_rest(self) -> AbstractContextManager[bool]:
        """Inside no command begins on another thread, and one that runs was waited for: for looks at the memory."""
        return self._lock

    @property
    def log_path(self) -> Path | None:
        """The file that steps are written to, if any."""
        return self._log.path if self._log else None

    def run(self, command: Command, cell: Cell | None = None, origin: Mapping[str, Any] | None = None) -> Step:
        """Do ``command`` and record it. Raises a KvnbError, and changes nothing, when it cannot be done.

        When its forward pass fails or is interrupted, the step is recorded as one that failed; then ComputeFailed or
        ComputeInterrupted says so.
        """
        with self._lock:
            execution = self.execution
            apply = execution.plan(command)
            self._torn = True
            command, error = execution.carry_out(command, apply)
            step = self._journal.next_step(command, execution.events, cell, origin)
            self._commit(step)
            execution.touched = self._torn = False
            self._tell()
        if error:
            raise _told(step, error) from error
        return step

    def undo(self, cell: Cell | None = None, origin: Mapping[str, Any] | None = None, n: int = 1) -> Step:
        """Go back ``n`` steps; the journal only grows, by a step that says so. Memory is computed again from the start.

        Raises JournalError at the start, when there are fewer, or when that would take too long.
        """
        with self._lock:
            command = Command(replay.UNDO, {"n": n} if n != 1 else {})
            events = replay.undo_events(self.journal, command)
            self._check_undo(n)
            step = self.journal.next_step(command, events, cell, origin)
            # From the moment the step exists, pool and memory are those that it describes: both are rebuilt from the journal.
            self._execution.touched = self._torn = True
            self._commit(step)
            try:
                self.engine  # noqa: B018
            finally:
                self._tell()
        return step

    def write_to(self, path: Path, force: bool, replacing: Recorder | None) -> None:
        """Make ``path`` the log, holding this journal from its header on. Raises as ``LogFile.open``."""
        file = LogFile.open(path, force, replacing._log if replacing else None)
        self._adopt(file, file.start)

    def go_on_in(self, path: Path, replacing: Recorder | None) -> None:
        """Make ``path``, which holds this journal already, the log. Raises as ``LogFile.open``."""
        file = LogFile.open(path, replacing=replacing._log if replacing else None)
        self._adopt(file, file.go_on)

    def rewrite_log(self) -> None:
        """Make the log, if any, hold this journal again: a successor that did not come to be may have begun in it."""
        if self._log:
            # What stopped the successor is the error to show; a disk that is full now is told by the next step.
            with suppress(OSError):
                self._log.take_back(self._journal)

    def close(self) -> None:
        """Let go of the log file and of the memory; the steps to come are no longer written."""
        if self._log:
            self._log.close()
            self._log = None
        self.give_up_memory()

    @property
    def memory_bytes(self) -> int:
        """Bytes that the blocks take now."""
        return self._execution.worker.num_bytes if self._execution.worker else 0

    def give_up_memory(self) -> None:
        """Let the memory go; whoever asks for this pool again has it computed again, however long that takes."""
        if self._execution.worker and self.memory_bytes:
            self._given_up = not self._torn
            self._execution.touched = self._torn = True
            self._execution.worker.close()

    def _mend(self) -> None:
        self._rebuild()
        if self._log:
            # A file that cannot be mended now is mended, or complained of, by the next step.
            with suppress(OSError, JournalError):
                self._log.mend(self._journal)
        self._torn = self._given_up = False

    def _rebuild(self) -> None:
        old = self._execution
        if old.touched:
            self._execution = self._run_again(old.worker)
        else:
            # The memory is still that of the last finished step, and only the engine is torn.
            self._execution = self._run_again()
            self._execution.worker = old.worker

    def _run_again(self, worker: Worker | None = None, line: Sequence[int] | None = None) -> Execution:
        with self._each(self._journal.lineage() if line is None else line) as counted:
            return replay.rebuild(self._journal, counted, worker)

    def _check_undo(self, n: int) -> None:
        worker = self.execution.worker
        if worker:
            again = self._run_again(line=self._journal.lineage()[:-n])
            way = "save FILE, then load FILE --device none, goes on without memory"
            self._check_again(again, worker, f"going back {'one step' if n == 1 else f'{n} steps'}", way)

    @staticmethod
    def _check_again(execution: Execution, worker: Worker, what: str, way: str) -> None:
        most = int(MOST_AGAIN / worker.relative_cost)
        if execution.num_forward_tokens > most:
            raise JournalError(f"{what} would compute {execution.num_forward_tokens:,} tokens again, more than {most:,}: {way}")

    def _adopt(self, file: LogFile, begin: Callable[[Journal], None]) -> None:
        try:
            begin(self._journal)
        except BaseException:
            file.abandon()
            raise
        self._log = file

    def _tell(self) -> None:
        for listener in list(self._journal.listeners):
            listener()

    def _commit(self, step: Step) -> None:
        if self._log:
            self._log.commit(self._journal, step)
        self._journal.steps.append(step)


def _told(step: Step, error: BaseException) -> BaseException:
    """What is raised after a step whose forward pass failed: it says what became of its requests."""
    names = [event.name for event in step.of(RequestIs) if event.state == "preempted"]
    which = ", ".join(map(named, names))
    then = (
        f"{which} preempted, hashes of what was not computed dropped; `admit {named(names[0])}` resumes" if names else "nothing"
    )
    if isinstance(error, KeyboardInterrupt):
        return ComputeInterrupted(f"step {step.number}, the forward pass was interrupted: {then}")
    if isinstance(error, Exception):
        return ComputeFailed(f"step {step.number}, the forward pass failed ({one_line(str(error), 120)}): {then}")
    return error

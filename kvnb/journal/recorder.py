"""Runs commands so that each becomes one step of the journal, or nothing at all.

Must not know: how commands are typed, what results look like.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from kvnb.errors import JournalError
from kvnb.journal import replay
from kvnb.journal.journal import Cell, Journal, Step
from kvnb.journal.log_file import LogFile
from kvnb.manager.command import Command
from kvnb.manager.engine import EngineCore


class Recorder:
    """An engine, the journal of what it did, and the log file, if any, that gets every step.

    A command is first planned, which may raise and changes nothing. Then it is applied, written to the log and
    appended to the journal's steps; that last act makes it exist. What is cut off in between (an interrupt, a full
    disk) leaves a mark, and whoever asks next gets an engine rebuilt from the journal.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._log: LogFile | None = None
        self._engine, self._events = replay.rebuild(journal)
        self._torn = False

    @property
    def journal(self) -> Journal:
        """The history: every finished step. For looking only."""
        self.engine  # noqa: B018  (mends the pool and the log after an interrupt)
        return self._journal

    @property
    def engine(self) -> EngineCore:
        """The engine; after a command that was cut off in the middle, one rebuilt from the journal."""
        if self._torn:
            self._engine, self._events = replay.rebuild(self._journal)
            if self._log:
                # A file that cannot be mended now is mended, or complained of, by the next step.
                with suppress(OSError, JournalError):
                    self._log.mend(self._journal)
            self._torn = False
        return self._engine

    @property
    def log_path(self) -> Path | None:
        """The file that steps are written to, if any."""
        return self._log.path if self._log else None

    def run(self, command: Command, cell: Cell | None = None) -> Step:
        """Do ``command`` and record it. Raises a KvnbError, and changes nothing, when it cannot be done."""
        apply = self.engine.plan(command)
        self._torn = True
        apply()
        step = self._journal.next_step(command, self._events, cell)
        self._commit(step)
        self._events.clear()
        self._torn = False
        return step

    def undo(self, cell: Cell | None = None) -> Step:
        """Go back one step; the journal only grows, by a step that says so. Raises JournalError at the start."""
        step = self.journal.next_step(Command(replay.UNDO, {}), replay.undo_events(self.journal), cell)
        self._torn = True
        self._commit(step)
        # The step exists now; the pool it describes is rebuilt from the journal.
        self.engine  # noqa: B018
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
        """Let go of the log file; the steps to come are no longer written."""
        if self._log:
            self._log.close()
            self._log = None

    def _adopt(self, file: LogFile, begin: Callable[[Journal], None]) -> None:
        try:
            begin(self._journal)
        except BaseException:
            file.abandon()
            raise
        self._log = file

    def _commit(self, step: Step) -> None:
        if self._log:
            self._log.commit(self._journal, step)
        self._journal.steps.append(step)

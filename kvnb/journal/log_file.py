"""The file that a running pool writes: one owner at a time, every finished step in it before its output is shown.

Must not know: what the lines say.
"""

from __future__ import annotations

import os
import re
import weakref
from pathlib import Path

from kvnb.errors import JournalError
from kvnb.journal import jsonl
from kvnb.journal.journal import Journal, Step

try:
    import fcntl
except ImportError:  # Windows has no flock; there one process has to keep to itself.
    fcntl = None  # type: ignore[assignment]


class LogFile:
    """An open, locked journal file.

    The length that it must have is known from the steps in memory; whatever a torn write or another hand
    left beyond that is cut off before the next line, and a file that became too short is written anew.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._place = path.absolute()
        self._descriptor = descriptor
        self._ends: list[int] = []
        self._is_new = False
        # Also lets go of the lock when the pool is forgotten without being closed.
        self._close = weakref.finalize(self, os.close, descriptor)

    @classmethod
    def open(cls, path: Path, force: bool = False, replacing: LogFile | None = None) -> LogFile:
        """Open ``path`` for writing and lock it; its content stays until ``start`` or ``go_on``.

        replacing
            The log of the pool that this one takes over from: when it is the same file, its lock is shared.
        Raises JournalError when the file is another's journal in use, or no journal and not ``force``.
        """
        existed = path.exists()
        descriptor = _open(path, replacing)
        try:
            # Two openings of one file lock each other out, so a second pool of this process is refused too.
            if not (replacing and replacing.is_same_file(descriptor)):
                _lock(path, descriptor)
            check_may_overwrite(path, force)
        except BaseException:
            os.close(descriptor)
            if not existed:
                path.unlink(missing_ok=True)
            raise
        log = cls(path, descriptor)
        log._is_new = not existed
        return log

    def start(self, journal: Journal) -> None:
        """Make the file hold ``journal``, header and all steps. Raises JournalError when it cannot be written."""
        try:
            self._rewrite(journal)
        except OSError as error:
            raise JournalError(f"cannot write {self.path}: {error.strerror}") from error

    def go_on(self, journal: Journal) -> None:
        """Write after the steps of ``journal``, which the file holds already; a torn line after them is cut off.

        Raises JournalError when the file does not hold exactly these steps (any more).
        """
        # Nothing is written anew: a kill in the middle would lose what is safe on disk now.
        self._ends = [newline.end() for newline in re.finditer(b"\n", jsonl.read_bytes(self.path))]
        if len(self._ends) != len(journal) + 1:
            raise JournalError(f"{self.path} was written to while it was being read: load it again")
        self.mend(journal)

    def commit(self, journal: Journal, step: Step) -> None:
        """Put ``step``, which follows the steps of ``journal``, on disk. Raises JournalError when it cannot be written."""
        try:
            self.mend(journal)
            self._write(jsonl.step_line(step))
        except OSError as error:
            raise JournalError(
                f"step {step.number} could not be written to {self.path}: {error.strerror}; "
                "the pool is as before, make room or start a pool without --log"
            ) from error

    def is_same_file(self, descriptor: int) -> bool:
        """Whether ``descriptor`` is open on this very file."""
        return self._close.alive and os.path.sameopenfile(self._descriptor, descriptor)

    def close(self) -> None:
        """Let go of the file and its lock; doing so twice is harmless."""
        self._close()

    def abandon(self) -> None:
        """Let go of a file that could not be begun, and remove it when it was not there before."""
        self.close()
        if self._is_new:
            self._place.unlink(missing_ok=True)

    def take_back(self, journal: Journal) -> None:
        """Make the file hold ``journal`` again where a successor had begun in it; else nothing is written."""
        header = jsonl.header_line(journal, log=True)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        is_ours = os.read(self._descriptor, len(header)) == header
        if not is_ours or os.fstat(self._descriptor).st_size != self._ends[-1]:
            self._rewrite(journal)

    def mend(self, journal: Journal) -> None:
        """Make the file hold exactly the steps of ``journal``, which an interrupted commit may have left otherwise.

        Raises JournalError when the path leads to another file by now, or to none.
        """
        if not self._place.exists() or not os.path.samestat(self._place.stat(), os.fstat(self._descriptor)):
            raise JournalError(f"{self.path} was removed or replaced while the pool wrote it: save the journal to another file")
        del self._ends[len(journal.steps) + 1 :]
        size = os.fstat(self._descriptor).st_size
        if not self._ends or size < self._ends[-1]:
            self._rewrite(journal)
        elif size > self._ends[-1]:
            os.ftruncate(self._descriptor, self._ends[-1])

    def _rewrite(self, journal: Journal) -> None:
        self._ends = []
        os.ftruncate(self._descriptor, 0)
        for line in jsonl.lines(journal, log=True):
            self._write(line)

    def _write(self, line: bytes) -> None:
        place = self._ends[-1] if self._ends else 0
        done = 0
        os.lseek(self._descriptor, place, os.SEEK_SET)
        while done < len(line):
            done += os.write(self._descriptor, line[done:])
        self._ends.append(place + len(line))


def check_may_overwrite(path: Path, force: bool) -> None:
    """Raises JournalError unless ``path`` is new, empty, one of ours, or ``force``."""
    if path.exists() and not path.is_file():
        raise JournalError(f"cannot write {path}: it is no ordinary file, give another name")
    if force or not path.exists():
        return
    try:
        with path.open("rb") as file:
            start = file.read(len(jsonl.MARK))
    except OSError as error:
        raise JournalError(f"cannot write {path}: {error.strerror}") from error
    if start and start != jsonl.MARK:
        raise JournalError(f"{path} exists and is no kvnb journal: give another name, or --force to overwrite it")


def check_not_in_use(path: Path) -> None:
    """Raises JournalError when a running pool, here or in another process, is writing ``path``."""
    if not path.exists():
        return
    descriptor = _open(path)
    try:
        _lock(path, descriptor)
    finally:
        os.close(descriptor)


def _open(path: Path, replacing: LogFile | None = None) -> int:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise JournalError(f"cannot write {path}: {error.strerror}") from error
    if replacing and replacing.is_same_file(descriptor):
        os.close(descriptor)
        return os.dup(replacing._descriptor)
    return descriptor


def _lock(path: Path, descriptor: int) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise JournalError(f"{path} is being written by another pool: give another file, or close that pool") from error

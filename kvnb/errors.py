"""The errors a user can meet, each one line long: what is wrong, why, and what to do next.

Must not know: anything else of kvnb (every package may import this one).
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class KvnbError(Exception):
    """Base of every error that kvnb raises on purpose; nothing has changed when it is raised.

    A notebook shows it as one line (IPython's ``_render_traceback_`` hook); a shell exits with ``exit_code``.
    """

    exit_code = 1

    def __str__(self) -> str:
        return printable(super().__str__())

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


class CommandError(KvnbError):
    """The line could not be read: unknown verb or option, a missing or malformed argument."""

    exit_code = 2


class SettingError(KvnbError):
    """A pool cannot be made with these settings."""

    exit_code = 2


class OutOfMemory(SettingError):
    """The device has too little memory for so many blocks."""


class UnknownName(KvnbError):
    """No request, pool or block of that name."""


class RequestError(KvnbError):
    """The request is in a state that does not allow the command."""


class OutOfBlocks(KvnbError):
    """The pool has too few free blocks now: it may fit after a release or a preemption."""


class NeverFits(KvnbError):
    """The pool is too small, however many of its blocks were free."""


class ResetRefused(KvnbError):
    """The prefix cache cannot be dropped while a request holds a block."""


class JournalError(KvnbError):
    """A journal file cannot be read, written or trusted."""


class ComputeFailed(KvnbError):
    """A forward pass failed in the middle. Unlike other errors this one is a step of the journal: its requests are preempted."""


class ComputeInterrupted(KeyboardInterrupt):
    """A forward pass was interrupted; the journal has it as a step that failed. Still an interrupt, so that loops end."""

    def _render_traceback_(self) -> list[str]:
        return [f"KeyboardInterrupt: {self}"]


class MissingPackage(KvnbError):
    """An optional package is not installed."""

    @classmethod
    def named(cls, package: str, purpose: str) -> MissingPackage:
        """The error for ``package``, with the pip command that brings it."""
        return cls(f"{purpose} needs {package}: pip install {package}")


def printable(text: str) -> str:
    """``text`` with control characters written as escapes: a terminal must not obey what a user named, nor break the line."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in text)


def one_line(text: str, limit: int = 60) -> str:
    """``text`` quoted for an error line: control characters escaped, at most ``limit`` characters of it."""
    shown = text if len(text) <= limit else text[: limit - 3] + "..."
    return repr(shown)


def named(name: str) -> str:
    """``name`` as it stands when it is a plain word, else quoted and escaped: ``r1``, but ``'a b'``."""
    return name if name.isascii() and name.replace("-", "").replace(".", "").replace("_", "").isalnum() else one_line(name)


def counted(n: int, what: str) -> str:
    """``1 block``, ``2 blocks``."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def nearest(wrong: str, known: Iterable[str], most: int = 5) -> str:
    """The part of an error that helps: ``did you mean 'r1'?``, else the first names that exist."""
    names = list(known)
    close = get_close_matches(wrong, names, n=2, cutoff=0.6)
    if close:
        return "did you mean " + " or ".join(map(named, close)) + "?"
    if not names:
        return "there is none yet"
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ("there are " if len(names) > 1 else "there is ") + ", ".join(map(named, names[:most])) + more

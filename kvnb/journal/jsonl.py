r"""Journals on file: JSON Lines, schema 1.

Line 1, the header::

    {"kvnb_journal": 1, "pool": NAME, "behaviour": {...}, "digest": d0, "log": true, "written_by": "kvnb 0.1.0",
     "memory": {...}, "forked": {...}}

``behaviour`` holds the fields of ``Behaviour``; ``log`` is true for a file that a pool writes while it runs and
that ``load`` therefore goes on writing; ``memory``, the device and the model behind the blocks, is there only for a pool
that has any; ``forked``, the fields of ``Forked``, only for a fork. Neither enters the digest. Every other line is a step::

    {"step": 1, "command": {"verb": "admit", "name": "r0", "text": "ABC"}, "events": [["took", [1]], ...],
     "digest": d1, "cell": [3, "9f2c...", "cell id or null"], "origin": {"model": "tiny", ...}}

``events`` are ``[kind, field, ...]`` as in ``kvnb.journal.events``; ``cell`` is there only for steps from a notebook, ``origin``
only for tokens that a model made. Neither enters the digest.
A step is finished when its line's newline is on disk: what follows the last newline is a torn step, not an error.

Must not know: how commands are run. Reading checks form and digests, not whether a pool would do the same.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from errno import EINVAL
from pathlib import Path
from stat import S_ISREG
from typing import Any, NamedTuple

from kvnb.errors import JournalError, KvnbError, one_line
from kvnb.journal.digest import canonical, next_digest
from kvnb.journal.events import from_json, to_json
from kvnb.journal.forked import Forked
from kvnb.journal.journal import Cell, Journal, Step
from kvnb.manager.behaviour import Behaviour
from kvnb.manager.command import Command
from kvnb.version import __version__

SCHEMA = 1
MARK = b'{"kvnb_journal":'


def header_line(journal: Journal, log: bool) -> bytes:
    """The first line, newline included; its first bytes are ``MARK``."""
    values = {
        "kvnb_journal": SCHEMA, "pool": journal.name, "behaviour": journal.behaviour.to_dict(),
        "digest": journal.first_digest, "log": log, "written_by": f"kvnb {__version__}",
    }  # fmt: skip
    if journal.memory is not None:
        values["memory"] = journal.memory
    if journal.forked is not None:
        values["forked"] = journal.forked.to_dict()
    return json.dumps(values, separators=(",", ":")).encode("ascii") + b"\n"


def step_dict(step: Step) -> dict[str, Any]:
    """One step as plain JSON values."""
    values: dict[str, Any] = {
        "step": step.number, "command": step.command.to_dict(), "events": [to_json(event) for event in step.events],
        "digest": step.digest,
    }  # fmt: skip
    if step.cell is not None:
        values["cell"] = list(step.cell)
    if step.origin is not None:
        values["origin"] = step.origin
    return values


def step_line(step: Step) -> bytes:
    """One step's line, newline included."""
    return canonical(step_dict(step)) + b"\n"


def lines(journal: Journal, log: bool) -> Iterator[bytes]:
    """The whole file, line by line."""
    yield header_line(journal, log)
    yield from map(step_line, journal.steps)


def save(journal: Journal, path: Path) -> None:
    """Write the journal to ``path``, all or nothing: a reader sees the old file or the new one.

    Raises JournalError when it cannot be written.
    """
    try:
        replace(path, lines(journal, log=False))
    except OSError as error:
        raise JournalError(f"cannot write {path}: {error.strerror}") from error


def replace(path: Path, content: Iterable[bytes]) -> None:
    """Make ``content`` the file, all or nothing, and nothing else in its folder. Raises OSError when that fails."""
    path = Path(os.path.realpath(path))  # a link stays one: what it leads to is written
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(content)
        Path(temporary).chmod(0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


class Read(NamedTuple):
    """A journal from a file: whether the file is a running log, and how many torn bytes were left out at its end."""

    journal: Journal
    log: bool
    torn: int


def read(
    path: Path,
    each: Callable[[Sequence[bytes]], AbstractContextManager[Iterable[bytes]]] = nullcontext,
    give: str = "give a file made by save or --log",
) -> Read:
    """Read a journal. Raises JournalError, naming the step, for a file that is damaged, tampered with or newer.

    each
        Gives the lines of the steps on to be read, and may count them on the way.
    give
        What to do with a file that is no journal, for the error.
    """
    data = read_bytes(path)
    end = data.rfind(b"\n") + 1
    rows = data[:end].split(b"\n")[:-1]
    if not data.startswith(MARK) or not rows:
        raise JournalError(f"{path} is no kvnb journal: {give}")
    header = _parse(rows[0], path, "its header")
    journal = journal_from(header, str(path))
    with each(rows[1:]) as counted:
        for number, row in enumerate(counted, start=1):
            journal.steps.append(_step(journal, _parse(row, path, f"step {number}"), number, path))
    return Read(journal, bool(header.get("log")), len(data) - end)


def read_pool_name(path: Path) -> str:
    """The pool name in a journal's header. Raises JournalError as ``read``."""
    header = read_bytes(path).split(b"\n", 1)[0]
    if not header.startswith(MARK):
        raise JournalError(f"{path} is no kvnb journal: give a file made by save or --log")
    return str(_parse(header, path, "its header").get("pool"))


def read_bytes(path: Path) -> bytes:
    """The file's bytes. Raises JournalError when it is missing, cannot be read, or is a pipe, which might never end."""
    try:
        if not path.is_dir() and not S_ISREG(path.stat().st_mode):
            raise OSError(EINVAL, "it is no ordinary file, save what it gives as one")
        return path.read_bytes()
    except OSError as error:
        raise JournalError(f"cannot read {path}: {error.strerror}") from error


def _parse(row: bytes, path: Path, what: str) -> dict[str, Any]:
    try:
        values = json.loads(row)
    except (ValueError, RecursionError) as error:
        raise JournalError(f"{path}: {what} is not readable, the file is damaged there") from error
    if not isinstance(values, dict):
        raise JournalError(f"{path}: {what} is not an object, the file is damaged there")
    return values


def journal_from(header: Mapping[str, Any], what: str) -> Journal:
    """The journal without steps that a header describes. Raises JournalError, which calls the header's place ``what``."""
    schema = header.get("kvnb_journal")
    if schema != SCHEMA:
        raise JournalError(f"{what} has schema {schema!r}, this kvnb reads {SCHEMA}: pip install -U kvnb")
    try:
        forked = Forked.from_dict(header["forked"]) if "forked" in header else None
        journal = Journal(Behaviour.from_dict(header["behaviour"]), str(header["pool"]), (), header.get("memory"), forked)
    except (KeyError, TypeError, AttributeError, ValueError, KvnbError) as error:
        raise JournalError(f"{what}: the header's settings cannot be used ({error})") from error
    if header.get("digest") != journal.first_digest:
        raise JournalError(f"{what}: the settings in the header do not give its digest, the chain breaks at step 0")
    return journal


def step_from(values: Any, number: int, previous: str, what: str) -> tuple[Step, bool]:
    """Step ``number`` from its plain values, and whether it gives its digest after the digest ``previous``.

    Raises JournalError, which calls the place ``what``, for what is no step.
    """
    try:
        command = Command.from_dict(values["command"])
        events = tuple(from_json(event) for event in values["events"])
        cell, origin = values.get("cell"), values.get("origin")
        if not isinstance(origin, dict | None):
            raise TypeError("its origin is no object")
        step = Step(number, command, events, values["digest"], Cell(*cell) if cell else None, origin)
        digest = next_digest(previous, command, events)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise JournalError(f"{what}: step {number} is not a step ({one_line(str(error))})") from error
    return step, values.get("step") == number and step.digest == digest


def _step(journal: Journal, values: dict[str, Any], number: int, path: Path) -> Step:
    step, holds = step_from(values, number, journal.digest, str(path))
    if not holds:
        raise JournalError(f"{path}: the digest chain breaks at step {number}, what stands there was changed")
    return step


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current

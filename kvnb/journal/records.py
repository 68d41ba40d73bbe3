"""The record of a cell: which steps it made, as plain values in its own output.

There is one MIME bundle a cell and journal::

    {"schema": 1, "journal": "pool#1", "previous": digest before, "header": {...} when the pool was made here,
     "steps": [...], "source": hash of the cell's source, "cell": id or null, "execution_count": n, "rerun": true}

``header`` and ``steps`` are as in ``jsonl``. Steps whose ``origin`` says ``clicked`` were made in a dashboard before
the cell ran, or while it did: they are not the cell's. Above ``PACK_ABOVE`` steps, and where a prompt is no text that
a message can have, ``steps`` gives way to ``packed`` (zlib, base64 of the JSON list), ``first``, ``last`` (digests)
and ``count``. A cell without history has no ``source``, ``cell`` and ``execution_count``; ``rerun`` is there only for
a cell whose earlier run made steps of the same journal.

Must not know: notebooks and their files, and what the steps mean.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple, TypeGuard

from kvnb.errors import JournalError
from kvnb.journal.digest import canonical
from kvnb.journal.journal import Cell, Journal, Step
from kvnb.journal.jsonl import header_line, journal_from, step_dict, step_from

MIME = "application/vnd.kvnb.record+json"
SCHEMA = 1
PACK_ABOVE = 200
LARGEST = 1 << 29
"""Bytes that packed steps may have, unpacked: a few bytes could ask for all memory there is."""

_DIGEST = re.compile("[0-9a-f]{64}")


def source_hash(source: str) -> str:
    """How a record names the source of its cell: 16 hex digits."""
    return sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:16]


# --- writing -------------------------------------------------------------------------------------------------


def record(
    journal: Journal, journal_id: str, done: int, made: bool, cell: Cell | None = None, rerun: bool = False,
    until: int | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The record of the steps after step ``done``, up to ``until`` (default: the last).

    It has the journal's header when the pool was made in this cell.
    """
    values: dict[str, Any] = {
        "schema": SCHEMA,
        "journal": journal_id,
        "previous": journal.steps[done - 1].digest if done else journal.first_digest,
        **_steps(journal, done, until),
    }
    if made:
        values["header"] = json.loads(header_line(journal, log=False))
    if cell is not None:
        values |= {"source": cell.source, "cell": cell.cell_id, "execution_count": cell.execution_count}
    if rerun:
        values["rerun"] = True
    return values


def _steps(journal: Journal, done: int, until: int | None) -> dict[str, Any]:
    steps = [step_dict(step._replace(cell=None)) for step in journal.steps[done:until]]
    if len(steps) <= PACK_ABOVE and _can_be_sent(steps):
        return {"steps": steps}
    packed = base64.b64encode(zlib.compress(canonical(steps), 9)).decode("ascii")
    return {"packed": packed, "first": steps[0]["digest"], "last": steps[-1]["digest"], "count": len(steps)}


def _can_be_sent(steps: list[dict[str, Any]]) -> bool:
    """Whether it is text as messages have it: half of a surrogate pair, which Python allows in a prompt, is none."""
    try:
        json.dumps(steps, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


# --- reading -------------------------------------------------------------------------------------------------


class Record(NamedTuple):
    """What a cell left.

    header
        That of the journal, when its pool was made in the cell.
    changed
        The number of the first step that does not give its digest; None when all do.
    """

    journal: str
    previous: str
    header: Mapping[str, Any] | None
    steps: tuple[Step, ...]
    cell: Cell | None
    rerun: bool
    changed: int | None

    @property
    def own_steps(self) -> int:
        """How many steps the cell made itself; the others were clicked."""
        return sum(not is_clicked(step) for step in self.steps)

    @property
    def pool(self) -> str:
        """The pool's name, as in the journal's."""
        return _pool(self.journal)


def is_clicked(step: Step) -> bool:
    """Whether the step was made in a dashboard, not by a cell."""
    return isinstance(step.origin, Mapping) and bool(step.origin.get("clicked"))


def read(values: Any, what: str) -> Record:
    """A record from its plain values. Raises JournalError, which calls the record's place ``what``, for a malformed one."""
    if not isinstance(values, Mapping):
        raise JournalError(f"{what}: its record is not an object, the file is damaged there")
    if values.get("schema") != SCHEMA:
        raise JournalError(
            f"{what}: its record has schema {values.get('schema')!r}, this kvnb reads {SCHEMA}: pip install -U kvnb"
        )
    name, previous = values.get("journal"), values.get("previous")
    if not isinstance(name, str) or not _is_digest(previous):
        raise JournalError(f"{what}: its record does not say which journal it goes on with")
    header = _header(values, what)
    steps, changed = _read_steps(_plain_steps(values, what), previous, header is not None, what)
    return Record(name, previous, header, steps, _cell(values, what), values.get("rerun") is True, changed)


def _pool(journal_id: str) -> str:
    return journal_id.rpartition("#")[0] or journal_id


def _is_digest(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def _header(values: Mapping[str, Any], what: str) -> Mapping[str, Any] | None:
    header = values.get("header")
    if header is None:
        return None
    if not isinstance(header, Mapping):
        raise JournalError(f"{what}: the header in its record is not an object")
    journal = journal_from(header, f"{what}: the header in its record")
    if journal.first_digest != values["previous"]:
        raise JournalError(f"{what}: the header in its record and the digest before it differ, the chain breaks at step 0")
    if journal.name != _pool(values["journal"]):
        raise JournalError(f"{what}: its record is of another pool than the header in it")
    return header


def _plain_steps(values: Mapping[str, Any], what: str) -> list[Any]:
    steps = values["steps"] if "steps" in values else _unpacked(values, what)
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise JournalError(f"{what}: the steps in its record are not a list of steps")
    if "steps" not in values:
        ends = len(steps), steps[0].get("digest") if steps else None, steps[-1].get("digest") if steps else None
        if ends != (values.get("count"), values.get("first"), values.get("last")):
            raise JournalError(f"{what}: the packed steps in its record are not those that it announces")
    return steps


def _unpacked(values: Mapping[str, Any], what: str) -> Any:
    try:
        inflate = zlib.decompressobj()
        data = inflate.decompress(base64.b64decode(values["packed"], validate=True), LARGEST)
        if not inflate.eof:
            raise ValueError("cut off, or too large")
        return json.loads(data)
    except (KeyError, TypeError, ValueError, RecursionError, binascii.Error, zlib.error) as error:
        raise JournalError(f"{what}: the packed steps in its record cannot be read, the file is damaged there") from error


def _read_steps(plain: list[Any], previous: str, is_first: bool, what: str) -> tuple[tuple[Step, ...], int | None]:
    first = plain[0].get("step") if plain else 1
    if type(first) is not int or first < 1 or (is_first and first != 1):
        raise JournalError(f"{what}: the steps in its record do not begin with the number of a step")
    steps: list[Step] = []
    changed = None
    for number, values in enumerate(plain, start=first):
        if values.get("step") != number or not _is_digest(values.get("digest")):
            raise JournalError(f"{what}: step {number} in its record has another number, or no digest")
        step, holds = step_from(values, number, previous, what)
        changed = number if changed is None and not holds else changed
        steps.append(step)
        previous = step.digest
    return tuple(steps), changed


def _cell(values: Mapping[str, Any], what: str) -> Cell | None:
    if "source" not in values:
        return None
    cell = Cell(values.get("execution_count"), values["source"], values.get("cell"))  # type: ignore[arg-type]
    if type(cell.execution_count) is not int or not isinstance(cell.source, str) or not isinstance(cell.cell_id, str | None):
        raise JournalError(f"{what}: its record does not say of which cell it is")
    return cell

"""What a cell leaves behind: which steps it made, as a record in its own output.

Must not know: what the steps mean. A record is one MIME bundle a cell and journal::

    {"schema": 1, "journal": "pool#1", "previous": digest before, "header": {...} when the pool was made here,
     "steps": [...], "source": hash of the cell's source, "cell": id or null, "execution_count": n}

Steps whose ``origin`` says ``clicked`` were made in a dashboard before the cell ran, or while it did: they are not the cell's.
Above ``PACK_ABOVE`` steps, ``steps`` gives way to ``packed`` (zlib, base64 of the JSON list), ``first``, ``last``
(digests) and ``count``.
"""

from __future__ import annotations

import base64
import json
import zlib
from hashlib import sha256
from typing import Any
from weakref import WeakKeyDictionary

from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell

from kvnb.journal import Journal
from kvnb.journal.digest import canonical
from kvnb.journal.journal import Cell
from kvnb.journal.jsonl import header_line, step_dict
from kvnb.lab import Lab
from kvnb.session import Session

MIME = "application/vnd.kvnb.record+json"
SCHEMA = 1
PACK_ABOVE = 200


class CellRecorder:
    """Tells the session which cell is running, and publishes the record when it ends."""

    def __init__(self, ip: InteractiveShell, session: Session) -> None:
        self.ip = ip
        self.session = session
        # Pools that this cell may change: the lab, the steps that are in a record already, whether the cell made it.
        self._watched: list[tuple[Lab, int, bool]] = []
        # What was clicked between two cells is in no cell: the next one that runs has it in its record.
        self._recorded: WeakKeyDictionary[Lab, int] = WeakKeyDictionary()

    def register(self) -> None:
        """Start listening to cells."""
        self.ip.events.register("pre_run_cell", self._begin)
        self.ip.events.register("post_run_cell", self._end)
        self.session.on_start.append(self._started)
        # The cell that loads the extension began before anyone listened; IPython holds its result while it runs.
        running = self.ip.displayhook.exec_result
        if running is not None:
            self._begin(running.info)

    def unregister(self) -> None:
        """Stop listening."""
        self.ip.events.unregister("pre_run_cell", self._begin)
        self.ip.events.unregister("post_run_cell", self._end)
        self.session.on_start.remove(self._started)

    def _begin(self, info: ExecutionInfo) -> None:
        labs = self.session.labs.values()
        self._watched = [(lab, self._recorded.setdefault(lab, len(lab.journal)), False) for lab in labs]
        if info.store_history and not info.silent:
            self.session.cell = self._cell(info)

    def _started(self, lab: Lab) -> None:
        self._watched.append((lab, 0, True))

    def _end(self, result: ExecutionResult) -> None:
        watched, self._watched, cell, self.session.cell = self._watched, [], self.session.cell, None
        if not hasattr(self.ip, "kernel"):
            return
        for lab, done, made in watched:
            self._recorded[lab] = len(lab.journal)
            if made or len(lab.journal) > done:
                # The empty HTML keeps converters from warning of a bundle that they cannot show.
                self.ip.display_pub.publish({MIME: record(lab, done, made, cell), "text/html": ""})

    def _cell(self, info: ExecutionInfo) -> Cell:
        # `displayhook.prompt_count` is this cell's number in every IPython; `execution_count` may be the next one's.
        source = sha256(str(info.raw_cell).encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return Cell(self.ip.displayhook.prompt_count, source, getattr(info, "cell_id", None))


def record(lab: Lab, done: int, made: bool, cell: Cell | None) -> dict[str, Any]:
    """The record of the steps of ``lab`` after step ``done``; with its header when the pool was made in this cell."""
    journal = lab.journal
    values: dict[str, Any] = {
        "schema": SCHEMA,
        "journal": lab.journal_id,
        "previous": journal.steps[done - 1].digest if done else journal.first_digest,
        **_steps(journal, done),
    }
    if made:
        values["header"] = json.loads(header_line(journal, log=False))
    if cell is not None:
        values |= {"source": cell.source, "cell": cell.cell_id, "execution_count": cell.execution_count}
    return values


def _steps(journal: Journal, done: int) -> dict[str, Any]:
    steps = [step_dict(step._replace(cell=None)) for step in journal.steps[done:]]
    if len(steps) <= PACK_ABOVE:
        return {"steps": steps}
    packed = base64.b64encode(zlib.compress(canonical(steps), 9)).decode("ascii")
    return {"packed": packed, "first": steps[0]["digest"], "last": steps[-1]["digest"], "count": len(steps)}

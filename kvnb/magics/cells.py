"""What a cell leaves behind: the record of the steps it made, in its own output.

Must not know: how a record is written, and what the steps mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell

from kvnb.journal import records
from kvnb.journal.journal import Cell
from kvnb.session import Session

if TYPE_CHECKING:
    from kvnb.lab import Lab


class CellRecorder:
    """Tells the session which cell is running, and publishes the record when it ends."""

    def __init__(self, ip: InteractiveShell, session: Session) -> None:
        self.ip = ip
        self.session = session
        # Pools that this cell may change: the lab, the steps that are in a record already, whether the cell made it.
        self._watched: list[tuple[Lab, int, bool]] = []
        # What was clicked between two cells is in no cell: the next one that runs has it in its record.
        self._recorded: WeakKeyDictionary[Lab, int] = WeakKeyDictionary()
        # The ids of the cells that made steps; one that makes more of them later was run again.
        self._ran: WeakKeyDictionary[Lab, set[str]] = WeakKeyDictionary()
        self._running: ExecutionInfo | None = None

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
        """Stop listening; a cell that does this in its middle has its record up to here."""
        if self._running is not None:
            self._end(None)
        self.ip.events.unregister("pre_run_cell", self._begin)
        self.ip.events.unregister("post_run_cell", self._end)
        self.session.on_start.remove(self._started)

    def _begin(self, info: ExecutionInfo) -> None:
        if self._is_part(info):
            return
        self._running = info
        labs = self.session.labs.values()
        self._watched = [(lab, self._recorded.setdefault(lab, len(lab.journal)), False) for lab in labs]
        if info.store_history and not info.silent:
            self.session.cell = self._cell(info)

    def _started(self, lab: Lab) -> None:
        self._watched.append((lab, 0, True))

    def _end(self, result: ExecutionResult | None) -> None:
        if result is not None and self._is_part(result.info):
            return
        self._running = None
        watched, self._watched, cell, self.session.cell = self._watched, [], self.session.cell, None
        if not hasattr(self.ip, "kernel"):
            return
        for lab, done, made in watched:
            # A click may come meanwhile, on a thread of its own: it is the next cell's.
            self._recorded[lab] = until = len(lab.journal)
            if made or until > done:
                record = records.record(lab.journal, lab.journal_id, done, made, cell, self._is_rerun(lab, done, cell), until)
                # The empty HTML keeps converters from warning of a bundle that they cannot show.
                self.ip.display_pub.publish({records.MIME: record, "text/html": ""})

    def _is_part(self, info: ExecutionInfo | None) -> bool:
        """Whether it is a piece of the cell that is running, as the body of ``%%capture`` is: the record is of the whole."""
        if self._running is None or info is None or info is self._running:
            return False
        return not info.store_history

    def _is_rerun(self, lab: Lab, done: int, cell: Cell | None) -> bool:
        """Whether an earlier run of this very cell made steps too, whose record this one takes the place of."""
        if cell is None or cell.cell_id is None or all(step.cell != cell for step in lab.journal.steps[done:]):
            return False
        ran = self._ran.setdefault(lab, set())
        is_rerun = cell.cell_id in ran
        ran.add(cell.cell_id)
        return is_rerun

    def _cell(self, info: ExecutionInfo) -> Cell:
        # `displayhook.prompt_count` is this cell's number in every IPython; `execution_count` may be the next one's.
        return Cell(self.ip.displayhook.prompt_count, records.source_hash(str(info.raw_cell)), getattr(info, "cell_id", None))

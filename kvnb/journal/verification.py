"""Whether a file tells the truth: a journal, an executed notebook, a report. Every command is run again.

Must not know: how it is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from kvnb.errors import JournalError, counted
from kvnb.journal import jsonl, replay
from kvnb.journal.events import Event, to_json
from kvnb.journal.journal import Journal
from kvnb.journal.notebook_file import CellRun, read_notebook, read_report
from kvnb.journal.records import source_hash
from kvnb.journal.replay import Difference, Verdict
from kvnb.journal.state import State
from kvnb.journal.stories import Finding, stories
from kvnb.journal.typed import typed

_TAKES = "verify takes one (made by save or --log), an executed notebook (.ipynb) or a report (.html)"
Each = Callable[[Sequence[Any], str], AbstractContextManager[Iterable[Any]]]
"""Gives things to go through on, and may count them on the way; the text says what is being done."""


class Checked(NamedTuple):
    """One journal of the file: its history, whether a fresh pool does the same, what is odd about it."""

    journal_id: str
    journal: Journal
    cells: tuple[CellRun, ...]
    verdict: Verdict
    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """True when every step does again what it says, and nothing is missing."""
        return self.verdict.holds and not any(finding.fails for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "journal": self.journal_id, "pool": self.journal.name, "steps": len(self.journal), "digest": self.journal.digest,
            "holds": self.holds, "verified": self.verdict.steps, "cells": [cell.place for cell in self.cells],
            "difference": _difference_dict(self.verdict.difference), "findings": [_finding_dict(f) for f in self.findings],
        }  # fmt: skip


class Verification(NamedTuple):
    """What verification found in a file; ``kind`` is ``journal``, ``notebook`` or ``report``."""

    path: Path
    kind: str
    journals: tuple[Checked, ...]
    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """True when every journal holds, and nothing between them is missing."""
        return all(checked.holds for checked in self.journals) and not any(finding.fails for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "file": str(self.path), "kind": self.kind, "holds": self.holds,
            "journals": [checked.to_dict() for checked in self.journals], "findings": [_finding_dict(f) for f in self.findings],
        }  # fmt: skip


def _no_bar(things: Sequence[Any], what: str) -> AbstractContextManager[Iterable[Any]]:
    return nullcontext(things)


def verify_file(path: Path, each: Each = _no_bar) -> Verification:
    """Verify a journal file, a notebook (``.ipynb``) or a report (``.html``).

    Raises JournalError, one line, for a file that cannot be read, is damaged, or is of a newer version; a journal file whose
    digest chain breaks is one of these, and the line names the step.
    """
    ending = path.suffix.lower()
    if ending == ".ipynb":
        return verify_cells(path, "notebook", read_notebook(path), each)
    if ending in (".html", ".htm"):
        return verify_cells(path, "report", read_report(path), each)
    read = jsonl.read(path, lambda lines: each(lines, "read"), _TAKES)
    torn = f"an unfinished line at its end ({counted(read.torn, 'byte')}) was left out"
    findings = (Finding("torn", torn),) * bool(read.torn)
    checked = Checked(read.journal.name, read.journal, (), _verdict(read.journal, each), ())
    return Verification(path, "journal", (checked,), findings)


def both_states(journal: Journal, difference: Difference) -> tuple[State | None, State | None]:
    """The states after the step that differs: as recorded, and as a fresh pool has it; None where there is none."""
    return _state_with(journal, difference, difference.recorded), _state_with(journal, difference, difference.computed)


def _state_with(journal: Journal, difference: Difference, events: Sequence[Event]) -> State | None:
    before = journal.steps[: difference.number - 1]
    step = journal.steps[difference.number - 1]._replace(events=tuple(events))
    try:
        state = Journal(journal.behaviour, journal.name, [*before, step]).state if events else None
    # What was changed by hand may name blocks and requests that are not there.
    except (LookupError, TypeError, ValueError, AssertionError, AttributeError, ArithmeticError):
        return None
    return state if state is not None and _is_whole(state) else None


def _is_whole(state: State) -> bool:
    """Whether each block is at most once in the free queue; one that went into it twice makes a circle without an end."""
    length = len(state.queue)
    walked = list(islice(state.queue, length + 1)) if 0 <= length < state.num_blocks else [0, 0]
    return len(walked) == length == len(set(walked))


def _verdict(journal: Journal, each: Each) -> Verdict:
    with each(journal.steps, "verify") as steps:
        return replay.verify(journal, steps)


def verify_cells(path: Path, kind: str, cells: Sequence[CellRun], each: Each = _no_bar) -> Verification:
    """Verify the cells of a ``notebook`` or ``report``. Raises JournalError where none has a record."""
    if not any(cell.records for cell in cells):
        raise JournalError(f"{path} has no record of a pool: run its cells with %load_ext kvnb, and save it")
    told, between = stories(cells)
    journals = (Checked(*story[:3], _verdict(story.journal, each), story.findings) for story in told)
    return Verification(path, kind, tuple(journals), (*_cell_findings(cells), *between))


# --- the cells -----------------------------------------------------------------------------------------------


def _cell_findings(cells: Sequence[CellRun]) -> list[Finding]:
    checks = (_stale, _changed, _taken_out, _rerun, _unnumbered)
    return [found for cell in cells for check in checks for found in check(cell)] + [*_moved(cells)]


def _stale(cell: CellRun) -> Iterator[Finding]:
    sources = {record.cell.source for record in cell.records if record.cell is not None}
    if sources - {source_hash(cell.source)}:
        yield Finding("stale", f"{cell} is stale: what stands in it is not what ran", True, (cell.place,))


def _changed(cell: CellRun) -> Iterator[Finding]:
    for record in cell.records:
        if record.changed is not None:
            says = f"the digest chain breaks at step {record.changed}, what stands there was changed"
            yield Finding("changed", f"{cell}: {says}", True, (cell.place,), (record.changed, record.changed))


def _taken_out(cell: CellRun) -> Iterator[Finding]:
    """Where the source alone says that there was more: what came last in a journal leaves no gap."""
    expected = typed(cell.source)
    if not expected or cell.failed:
        return
    if cell.execution_count is None and not cell.records:
        yield Finding("not run", f"{cell} has not been run", cells=(cell.place,))
        return
    steps = sum(record.own_steps for record in cell.records)
    pools = sum(record.header is not None for record in cell.records)
    if steps < expected.steps or pools < expected.pools:
        made = f"makes {counted(expected.pools, 'pool')} and {counted(expected.steps, 'step')}"
        says = f"its source {made} at least, its output has the record of {counted(pools, 'pool')} and {counted(steps, 'step')}"
        yield Finding("taken out", f"{cell}: {says}", True, (cell.place,))


def _rerun(cell: CellRun) -> Iterator[Finding]:
    if any(record.rerun for record in cell.records):
        yield Finding("rerun", f"{cell} was run again: what its run before did is in no cell", cells=(cell.place,))


def _unnumbered(cell: CellRun) -> Iterator[Finding]:
    if any(record.cell is None and record.steps for record in cell.records):
        says = f"{cell} ran outside the history: whether what stands in it is what ran cannot be told"
        yield Finding("unnumbered", says, cells=(cell.place,))


def _moved(cells: Sequence[CellRun]) -> Iterator[Finding]:
    ids = {cell.cell_id: cell for cell in cells if cell.cell_id is not None}
    for cell in cells:
        for ran in dict.fromkeys(record.cell for record in cell.records if record.cell is not None):
            other = ids.get(ran.cell_id) if ran.cell_id is not None else None
            if other is not None and other is not cell:
                yield Finding("copied", f"the output of {cell} is that of {other}", cells=(cell.place, other.place))
            elif cell.execution_count not in (None, ran.execution_count):
                says = f"{cell} has the record of a run [{ran.execution_count}]"
                yield Finding("copied", says, cells=(cell.place,))


def _finding_dict(finding: Finding) -> dict[str, Any]:
    return {**finding._asdict(), "cells": list(finding.cells), "steps": list(finding.steps) if finding.steps else None}


def _difference_dict(difference: Difference | None) -> dict[str, Any] | None:
    if difference is None:
        return None
    return {
        "step": difference.number, "command": difference.command.to_dict(), "why": difference.why,
        "recorded": [to_json(event) for event in difference.recorded],
        "computed": [to_json(event) for event in difference.computed],
    }  # fmt: skip

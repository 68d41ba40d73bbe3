"""Journals as tables, of pandas where it is: a row a step, or a row an event.

Must not know: the live pool; everything is folded from events.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kvnb.core.events import Hit, Took, Unhashed
from kvnb.errors import CommandError, MissingPackage, nearest, one_line, printable
from kvnb.journal.events import kind_of
from kvnb.journal.journal import Journal, Step
from kvnb.journal.state import State

if TYPE_CHECKING:
    import pandas as pd

STEP_COLUMNS = (
    "step", "command", "verb", "request", "hit", "new", "evicted", "free", "used", "cached", "usage", "digest", "cell", "rerun",
    "origin",
)  # fmt: skip
EVENT_COLUMNS = ("step", "event", "request", "ids", "keys", "detail")


def table(journal: Journal, rows: str) -> tuple[tuple[str, ...], list[dict[str, Any]]]:
    """The names of the columns and the rows of a table: ``steps`` or ``events``. Raises CommandError for another name."""
    tables: dict[str, tuple[Callable[[Journal], list[dict[str, Any]]], tuple[str, ...]]] = {
        "steps": (_step_rows, STEP_COLUMNS), "events": (_event_rows, EVENT_COLUMNS),
    }  # fmt: skip
    if rows not in tables:
        raise CommandError(f"unknown table {one_line(rows)}: {nearest(rows, tables)}")
    make, columns = tables[rows]
    return columns, make(journal)


def to_frame(journal: Journal, rows: str) -> pd.DataFrame:
    """See ``Journal.to_frame``."""
    columns, values = table(journal, rows)
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingPackage.named("pandas", "a table of the journal") from error
    index = columns[0] if rows == "steps" else None
    frame = pd.DataFrame(values, columns=list(columns))
    return frame.set_index(index) if index else frame


def _step_rows(journal: Journal) -> list[dict[str, Any]]:
    state, rows, reruns = State(journal.behaviour.num_blocks), [], rerun_notes(journal)
    for step in journal.steps:
        state = journal.advance(state, step)
        rows.append({**_moved(step), **_levels(state), "rerun": reruns.get(step.number, "")})
    return rows


def _moved(step: Step) -> dict[str, Any]:
    args = step.command.args
    return {
        "step": step.number,
        "command": printable(str(step.command)),
        "verb": step.command.verb,
        "request": printable(args.get("name") or ", ".join(args.get("names", ()))),
        "hit": sum(len(event.ids) for event in step.of(Hit)),
        "new": sum(len(event.ids) for event in step.of(Took)),
        "evicted": sum(len(event.ids) for event in step.of(Unhashed)),
        "digest": step.digest[:12],
        "cell": f"[{step.cell.execution_count}]" if step.cell else "",
        "origin": _origin(step),
    }


def _origin(step: Step) -> str:
    """The model that made the tokens, and whether the step was clicked."""
    origin = step.origin or {}
    return ", ".join([*filter(None, [origin.get("model")]), *["clicked"] * bool(origin.get("clicked"))])


def _levels(state: State) -> dict[str, Any]:
    free = len(state.queue)
    return {"free": free, "used": state.num_blocks - 1 - free, "cached": state.num_cached, "usage": state.usage}


def _event_rows(journal: Journal) -> list[dict[str, Any]]:
    return [
        {
            "step": step.number,
            "event": kind_of(event),
            "request": printable(getattr(event, "name", "")),
            "ids": getattr(event, "ids", ()),
            "keys": getattr(event, "keys", ()),
            "detail": {k: v for k, v in event._asdict().items() if k not in ("name", "ids", "keys")},
        }
        for step in journal.steps
        for event in step.events
    ]


def rerun_notes(journal: Journal) -> dict[int, str]:
    """Step number to ``rerun`` (its cell ran twice in a row) or ``out of order`` (it ran again after others).

    A cell is known by the front end's id, else by its source. Edits cannot be seen from here.
    """
    notes: dict[int, str] = {}
    seen: set[str] = set()
    last: tuple[str, int] | None = None
    note = ""
    for step in journal.steps:
        if step.cell is None:
            continue
        run = (step.cell.cell_id or step.cell.source, step.cell.execution_count)
        if run != last:
            note = "" if run[0] not in seen else "rerun" if last and last[0] == run[0] else "out of order"
            seen.add(run[0])
            last = run
        if note:
            notes[step.number] = note
    return notes

"""The page of one pool without its notebook: its state, its history as figures, its steps, how to check it.

Must not know: notebooks of users; the one in the page is made here, a cell with the record of all steps.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvnb.errors import printable
from kvnb.export import head
from kvnb.export.clean import clean
from kvnb.export.page import Figures, page
from kvnb.export.python import said
from kvnb.journal import Journal, Step, records, replay
from kvnb.journal.journal import Cell
from kvnb.journal.notebook_file import embedded
from kvnb.version import __version__
from kvnb.views import html, text
from kvnb.views.figures import NAMES, timeline
from kvnb.views.progress import progress
from kvnb.views.verdicts import difference_text
from kvnb.views.words import count, short

MOST_STEPS = 1000
"""Of more steps the first and last half of that are listed."""


def pool_page(journal: Journal, file: str) -> str:
    """The page, to be called ``file``."""
    figures = Figures()
    state = clean(html.state_html(journal, journal.state, len(journal)))
    parts = [
        f'<h2 id="h-state">State</h2>\n<div class="kv-output">{state}</div>',
        '<h2 id="h-history">History</h2>', *(_timeline(journal, which, figures) for which in NAMES if len(journal)),
        '<h2 id="h-steps">Steps</h2>', _steps(journal),
    ]  # fmt: skip
    top = "\n".join(filter(None, _head(journal, file)))
    return page(f"The pool {short(journal.name)}", top, "\n".join(parts), figures, embedded(_notebook(journal)))


def _head(journal: Journal, file: str) -> list[str]:
    made = (count(len(journal), "step"), f"kvnb {__version__}", f"rules of {head.RULES}")
    top = head.title("kvnb pool", f"The pool {short(journal.name)}", made)
    return [top, _verdict(journal), head.how_to_verify(file), head.pools([(head.plain(short(journal.name)), journal)])]


def _verdict(journal: Journal) -> str:
    with progress(journal.steps, "verify") as steps:
        verdict = replay.verify(journal, steps)
    if verdict.difference is None:
        return head.says(True, f"{count(verdict.steps, 'step')}, run again when this page was made: all do the same.")
    lines = "\n".join(map(head.plain, difference_text(journal, verdict.difference).split("\n")))
    return head.says(False, "This does not verify.", [f"<pre>{lines}</pre>"])


def _timeline(journal: Journal, which: str, figures: Figures) -> str:
    bundle = timeline.timeline_shown(journal, which)._repr_mimebundle_()
    drawn = figures.place(bundle.get(timeline.MIME), clean(str(bundle["text/html"])))
    return f'<div class="kv-output">{drawn}</div>'


def _steps(journal: Journal) -> str:
    steps = journal.steps
    if len(steps) > MOST_STEPS:
        left_out = f'<tr><td></td><td class="kv-quiet" colspan="3">{len(steps) - MOST_STEPS:,} more steps</td></tr>'
        rows = [*_rows(journal, steps[: MOST_STEPS // 2]), left_out, *_rows(journal, steps[-MOST_STEPS // 2 :])]
    else:
        rows = list(_rows(journal, steps))
    return f'<table class="kv-steps"><tbody>{"".join(rows)}</tbody></table>' if rows else "<p>None yet.</p>"


def _rows(journal: Journal, steps: list[Step]) -> Iterator[str]:
    for step in steps:
        origin = said(journal, step)
        note = f'<br><span class="kv-quiet">{head.plain(origin)}</span>' if origin else ""
        yield (
            f'<tr><td class="kv-number">{step.number}</td><td><code>{head.plain(_short(str(step.command)))}</code></td>'
            f'<td>{head.plain(text.sentence(step))}{note}</td><td class="kv-quiet"><code>{step.digest[:12]}</code></td></tr>'
        )


def _short(line: str, most: int = 120) -> str:
    return line if len(line) <= most else f"{line[: most - 3]}..."


def _notebook(journal: Journal) -> dict[str, object]:
    source = f"# The pool {printable(journal.name)}, exported."
    # Of this very cell, so that whoever verifies the page is not told of a cell that nobody wrote.
    record = records.record(journal, f"{journal.name}#1", 0, True, Cell(1, records.source_hash(source), "pool"))
    output = {"output_type": "display_data", "data": {records.MIME: record}, "metadata": {}}
    cell: dict[str, object] = {"cell_type": "code", "id": "pool", "source": source, "execution_count": 1, "metadata": {}}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{**cell, "outputs": [output]}]}

"""What verification found, as plain text: first whether it holds, then each journal, and the first difference with both states.

Must not know: HTML, and how anything was verified.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kvnb.errors import printable
from kvnb.journal import Journal, State
from kvnb.journal.events import Event
from kvnb.journal.notebook_file import CellRun
from kvnb.journal.replay import Difference, Verdict
from kvnb.journal.stories import Finding
from kvnb.journal.verification import Checked, Verification, both_states
from kvnb.views.text import state_text
from kvnb.views.words import count

MOST_EVENTS = 12
"""How many events of each side are written out."""
_NONSENSE = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError)
"""What comes of values that were changed by hand to another kind."""


def verdict_text(journal: Journal, verdict: Verdict, what: str) -> str:
    """The outcome of verifying one journal, which the text calls ``what``."""
    if verdict.difference is None:
        return f"{what} verifies: {count(verdict.steps, 'step')} done again give the same events, digest {verdict.digest[:12]}"
    return f"{what} does NOT verify: {difference_text(journal, verdict.difference)}"


def verification_text(verification: Verification, what: str) -> str:
    """The outcome of verifying a file, which the text calls ``what``."""
    if verification.kind == "journal":
        (checked,) = verification.journals
        return "\n".join([verdict_text(checked.journal, checked.verdict, what), *_notes(verification.findings)])
    lines = [_headline(verification, what), *_notes(finding for finding in verification.findings if finding.fails)]
    for checked in verification.journals:
        lines += [f"  {journal_line(checked)}", *_notes(checked.findings, "    ")]
        if checked.verdict.difference is not None:
            lines += _indented(difference_text(checked.journal, checked.verdict.difference), "    ")
    return "\n".join([*lines, *_notes(finding for finding in verification.findings if not finding.fails)])


def _headline(verification: Verification, what: str) -> str:
    if not verification.holds:
        return f"{what} does NOT verify:"
    steps = sum(len(checked.journal) for checked in verification.journals)
    pools = count(len(verification.journals), "pool")
    return f"{what} verifies: {count(steps, 'step')} of {pools} done again give the same events"


def journal_line(checked: Checked) -> str:
    """One journal of a file: ``pool#1: 5 steps in cells [5] [6], digest ffd99e8b2a64``."""
    says = f"{printable(checked.journal_id)}: {count(len(checked.journal), 'step')}{_in_cells(checked.cells)}"
    return f"{says}, digest {checked.journal.digest[:12]}" + (", does NOT verify" if not checked.holds else "")


def _in_cells(cells: Sequence[CellRun]) -> str:
    if not cells:
        return ""
    numbers = [f"[{c.execution_count}]" if c.execution_count is not None else f"{c.place} (from the top)" for c in cells]
    return f" in {'cells' if len(cells) > 1 else 'cell'} {' '.join(dict.fromkeys(numbers))}"


def _notes(findings: Iterable[Finding], indent: str = "  ") -> list[str]:
    return [f"{indent}{printable(finding.says)}" for finding in findings]


# --- the first difference ------------------------------------------------------------------------------------


def difference_text(journal: Journal, difference: Difference) -> str:
    """The step that differs, its events and the states after it: what is recorded, and what comes out now."""
    lines = [f"{printable(difference.why)} at step {difference.number} ({printable(str(difference.command))})"]
    lines += _events("recorded", difference.recorded, difference.computed)
    lines += _events("computed", difference.computed, difference.recorded)
    for which, state in zip(("recorded", "computed now"), both_states(journal, difference), strict=True):
        lines += _state(which, journal, state, difference.number)
    return "\n".join(lines)


def _events(which: str, events: Sequence[Event], others: Sequence[Event]) -> list[str]:
    only = [f"  {which}  {printable(str(event))}" for event in events if event not in others]
    return only[:MOST_EVENTS] + [f"  {which}  ... and {len(only) - MOST_EVENTS:,} more"] * (len(only) > MOST_EVENTS)


def _state(which: str, journal: Journal, state: State | None, number: int) -> list[str]:
    try:
        told = state_text(journal, state, number) if state is not None else ""
    except _NONSENSE:
        told = ""
    if not told:
        return [f"  the state as {which}: there is none"]
    # Names are made safe by the view, but in events that were changed anything may be a text.
    return [f"  the state as {which}:", *map(printable, _indented(told, "    "))]


def _indented(text: str, indent: str) -> list[str]:
    return [f"{indent}{line}" for line in text.split("\n")]

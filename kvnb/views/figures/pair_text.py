"""Two timelines as text: usage, tokens from cache and evictions of the last steps, side by side.

Must not know: plotly, SVG.
"""

from __future__ import annotations

from kvnb.journal import Journal
from kvnb.views.figures.pair_lines import Line, pair
from kvnb.views.figures.plain import aligned

STEPS = 12


def timelines_text(a: Journal, b: Journal) -> str:
    """The last steps of both, a line a step."""
    both = pair(a, b, len(a) + len(b) + 2)  # every step: one that is not there was not done
    rows = [("step", "", *(line.name for line in both.lines))]
    by_place = [{place: at for at, place in enumerate(line.places)} for line in both.lines]
    drawn = sorted({place for line in both.lines for place in line.places})[-STEPS:]
    for place in drawn:
        said = [_said(line, at.get(place)) for line, at in zip(both.lines, by_place, strict=True)]
        rows.append((f"{place:,}", both.names.get(place, ""), *said))
    return "\n".join(["usage, tokens from cache so far, evictions", *aligned(rows)])


def _said(line: Line, at: int | None) -> str:
    """``0.60, 28%, 1 evicted``."""
    if at is None:
        return "not done"
    ratio, lost = line.ratio[at], line.lost[at]
    return f"{line.usage[at]:.2f}" + (f", {ratio:.0%}" if ratio is not None else "") + (f", {lost:,} evicted" if lost else "")

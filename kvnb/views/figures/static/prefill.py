"""What the prefills of the last steps cost as a static image.

Must not know: plotly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from kvnb.journal import Journal
from kvnb.journal.prefills import Row, prefill_rows
from kvnb.views.figures.sentences import LEGEND, PANELS, percent, prefill_notes, prefill_title, saved_labels
from kvnb.views.figures.static.pen import LEFT, RIGHT, TOP, WIDE, Frame, Key, box, drawing, path, word
from kvnb.views.figures.steps import last_steps, pool_text
from kvnb.views.theme import DARK, LIGHT, LOST, Ground

_STEPS, _RIGHT = 120, 52
_BROAD = 104
"""No bar has more pixels."""
_ABOVE, _TALL, _BETWEEN, _LOW = 44, 150, 34, 48
"""Pixels over the upper panel for its name and the labels; the panels' heights, and what lies between them."""


def prefill_svg(journal: Journal, *, dark: bool = False, until: int | None = None) -> str:
    """The last steps; see ``prefill_figure`` for the options."""
    of, steps = (DARK if dark else LIGHT), last_steps(journal, until, _STEPS)
    rows = prefill_rows(journal, steps.first, steps.last)
    frame = Frame(of, steps, _ABOVE + _TALL + _BETWEEN + _LOW, 1, _RIGHT)
    total = rows[-1].total
    below = pool_text(journal, steps, *prefill_notes(journal, total))
    return drawing(frame, journal, prefill_title(journal, total), _cut(below), _key(of, rows), _parts(frame, rows))


def _cut(says: str) -> str:
    most = int((WIDE - LEFT - RIGHT) / 6.2)
    return says if len(says) <= most else says[: most - 1] + "…"


def _looks(of: Ground) -> list[tuple[str, str]]:
    """Fill and edge of each kind of work."""
    return [(of.saved, of.ratio), (of.used, of.used), ("url(#s)", of.used), ("url(#d)", of.line), ("url(#x)", LOST.fill)]


def _key(of: Ground, rows: Sequence[Row]) -> Key:
    return [
        (words, f'<rect x="-6" y="-6" width="12" height="12" fill="{fill}" stroke="{edge}"/>')
        for kind, (words, (fill, edge)) in enumerate(zip(LEGEND, _looks(of), strict=True))
        if kind < 2 or any(row.work[kind] for row in rows)
    ]


def _parts(frame: Frame, rows: Sequence[Row]) -> Iterator[str]:
    of, upper, lower = frame.of, TOP + _ABOVE + _TALL, frame.floor
    most = max(sum(row.work) for row in rows)
    yield _patterns(of)
    yield path(f"M{LEFT} {upper}.5H{WIDE - _RIGHT}M{LEFT} {lower:g}.5H{WIDE - _RIGHT}", of.line, 1)
    yield '<g shape-rendering="crispEdges">'
    fills = [fill for fill, _ in _looks(of)]
    for row in rows:
        yield from _bar(frame, row.number, upper, _TALL / max(1, most), row.work, fills)
        if (share := row.total.share) is not None:
            yield from _bar(frame, row.number, lower, _LOW, (share, 1 - share), (of.saved, of.faint))
    yield "</g>"
    for number, lines in saved_labels(rows, frame.wide).items():
        top = upper - sum(rows[number - frame.steps.first].work) / most * _TALL
        yield from (word(frame.x(number), top - 6 - 13 * up, line, of.ink) for up, line in enumerate(reversed(lines)))
    yield from _names(of, upper, lower, most, rows[-1].total.share)


def _names(of: Ground, upper: float, lower: float, most: int, share: float | None) -> Iterator[str]:
    """What the panels are called, the ends of their axes, the last share."""
    for says, y in zip(PANELS, (TOP + 14, lower - _LOW - 8), strict=True):
        yield word(LEFT, y, says, of.quiet, "start", 'font-size="12"')
    ends = [(upper - _TALL + 8, f"{most:,}"), (upper, "0"), (lower - _LOW + 8, "100 %"), (lower, "0 %")]
    yield from (word(LEFT - 8, y, says, of.quiet, "end") for y, says in ends[most == 0 :])
    if share is not None:
        yield word(WIDE - _RIGHT + 8, lower - share * _LOW + 4, percent(share), of.ink, "start", 'font-weight="600"')


def _bar(frame: Frame, number: int, floor: float, scale: float, parts: Sequence[float], fills: Sequence[str]) -> Iterator[str]:
    gap = max(3, (frame.wide - _BROAD) / 2) if frame.wide > 24 else 0
    # Whole pixels, so that neighbours meet; a part is seen, however small it is.
    left, right = (round(LEFT + (number - frame.steps.first + side) * frame.wide + (0.5 - side) * 2 * gap) for side in (0, 1))
    low = round(floor)
    for part, high, fill in zip(parts, accumulate(parts), fills, strict=True):
        if part:
            top = min(low - 1, round(floor - high * scale))
            yield box(left, top, right - left, low - top, fill)
            low = top


def _patterns(of: Ground) -> str:
    """Stripes for what was computed again, dots for decode, crosses for what failed: all are told in grey print."""
    size = 'width="7" height="7" patternUnits="userSpaceOnUse"'
    return (
        f'<pattern id="s" {size} patternTransform="rotate(45)">{box(0, 0, 7, 7, of.used)}{box(0, 0, 2, 7, of.stripe)}</pattern>'
        f'<pattern id="d" {size}>{box(0, 0, 7, 7, of.kept)}{box(2, 2, 2, 2, of.line)}</pattern>'
        f'<pattern id="x" {size}>{box(0, 0, 7, 7, of.paper)}{path("M0 0L7 7M0 7L7 0", LOST.fill, 1.2)}</pattern>'
    )

"""Usage over the last steps as a static image.

Must not know: plotly.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvnb.journal import Journal
from kvnb.journal.columns import Levels, levels
from kvnb.views.figures.sentences import KINDS, usage_title
from kvnb.views.figures.static.pen import LEFT, TOP, WIDE, Frame, Key, box, drawing, path, word
from kvnb.views.figures.steps import last_steps, pool_text
from kvnb.views.theme import DARK, LIGHT, LOST, Ground

_STEPS, _HIGH, _RIGHT = 120, 200, 52
_CROSS = "M{0:g} {1:g}l8 8m0-8l-8 8"


def usage_svg(journal: Journal, *, dark: bool = False, until: int | None = None) -> str:
    """The last steps of usage; see ``usage_figure`` for the options."""
    of, steps = (DARK if dark else LIGHT), last_steps(journal, until, _STEPS)
    rows = levels(journal, steps.last)
    frame = Frame(of, steps, _HIGH, 1, _RIGHT)
    below = pool_text(journal, steps)
    return drawing(frame, journal, usage_title(journal, rows, steps.last), below, _key(of), _parts(frame, rows))


def _fills(of: Ground) -> list[str]:
    return [of.used, "url(#s)", "url(#d)", of.empty]


def _key(of: Ground) -> Key:
    edges = [of.used, of.used, of.line, of.line]
    swatches = [
        f'<rect x="-6" y="-6" width="12" height="12" fill="{fill}" stroke="{edge}"/>'
        for fill, edge in zip(_fills(of), edges, strict=True)
    ]
    kinds = list(zip(KINDS, swatches, strict=True))
    return [
        *kinds,
        ("hit ratio so far", path("M-8 0H8", of.ratio, 2.2)),
        ("evictions", path(_CROSS.format(-4, -4), LOST.fill, 2.4)),
    ]


def _parts(frame: Frame, rows: Levels) -> Iterator[str]:
    of = frame.of
    yield _patterns(of)
    usable = max(1, rows.one[0] + rows.shared[0] + rows.cached[0] + rows.empty[0])
    numbers = range(frame.steps.first, frame.steps.last + 1)
    tall = _HIGH - 14
    yield '<g shape-rendering="crispEdges">'
    yield from (part for number in numbers for part in _bar(frame, rows, number, usable, tall))
    yield "</g>"
    ratios = [(frame.x(number), rows.hit_ratio(number)) for number in numbers]
    points = [f"{x:g} {frame.floor - ratio * tall:.5g}" for x, ratio in ratios if ratio is not None]
    line = "M" + "L".join(points) if points else ""
    yield path(line, of.paper, 5) + path(line, of.ratio, 2.2)
    yield path("".join(_CROSS.format(frame.x(n) - 4, TOP) for n in numbers if rows.evicted[n]), LOST.fill, 2.4)
    yield word(LEFT - 8, TOP + 18, f"{usable:,}", of.quiet, "end") + word(LEFT - 8, frame.floor, "0", of.quiet, "end")
    right = WIDE - _RIGHT + 8
    yield word(right, TOP + 18, "100 %", of.quiet, "start") + word(right, frame.floor, "0 %", of.quiet, "start")


def _bar(frame: Frame, rows: Levels, number: int, usable: int, tall: int) -> Iterator[str]:
    gap, floor = 3 if frame.wide > 24 else 0, frame.floor
    # Whole pixels, so that neighbours meet.
    left, right = (round(frame.x(number) + side * frame.wide / 2) - side * gap for side in (-1, 1))
    for column, fill in zip((rows.one, rows.shared, rows.cached, rows.empty), _fills(frame.of), strict=True):
        high = column[number] / usable * tall
        if high:
            yield box(left, floor - high, right - left, high, fill)
        floor -= high


def _patterns(of: Ground) -> str:
    """Stripes for shared, dots for free and cached: both are told in grey print."""
    size = 'width="7" height="7" patternUnits="userSpaceOnUse"'
    return (
        f'<pattern id="s" {size} patternTransform="rotate(45)">{box(0, 0, 7, 7, of.used)}{box(0, 0, 2, 7, of.stripe)}</pattern>'
        f'<pattern id="d" {size}>{box(0, 0, 7, 7, of.kept)}{box(2, 2, 2, 2, of.line)}</pattern>'
    )

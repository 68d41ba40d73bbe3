"""The order of the free queue as a static image.

Must not know: plotly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from kvnb.journal import Journal
from kvnb.journal.columns import QueueRow, queue_rows
from kvnb.views.figures.cells import queue_cells
from kvnb.views.figures.sentences import queue_title
from kvnb.views.figures.static import mosaic
from kvnb.views.figures.static.pen import LEFT, WIDE, Frame, Key, drawing, path, word
from kvnb.views.figures.steps import disc_size, last_steps, letter_size, pool_text
from kvnb.views.theme import DARK, LIGHT, Ground
from kvnb.views.tiles import FEW

_POINTS, _STEPS = 500, 24
"""An image has at most so many numbered points, and so many steps."""


def queue_svg(journal: Journal, *, dark: bool = False, by: str | None = None, until: int | None = None) -> str:
    """The last steps of the free queue; see ``queue_figure`` for the options."""
    of = DARK if dark else LIGHT
    places = journal.behaviour.num_blocks - 1
    if by or places >= FEW:
        steps = last_steps(journal, until, mosaic.num_steps(journal.behaviour.num_blocks))
        cells = queue_cells(journal, of, by or "cached", steps, mosaic.ROWS)
        return mosaic.mosaic_svg(journal, of, steps, cells, queue_title(journal.behaviour), ("front", f"{places:,}"))
    steps = last_steps(journal, until, max(6, min(_STEPS, _POINTS // max(1, places))))
    frame = Frame(of, steps, max(14, min(24, 480 // max(1, places))), max(1, places))
    rows = queue_rows(journal, steps.first, steps.last)
    below = pool_text(journal, steps)
    return drawing(frame, journal, queue_title(journal.behaviour), below, _key(of), _parts(frame, rows))


def _key(of: Ground) -> Key:
    return [(words, _disc("M0 0h0", of, kept, 12)) for words, kept in (("carries a hash", True), ("no hash", False))]


def _parts(frame: Frame, rows: Sequence[QueueRow]) -> Iterator[str]:
    of, places, disc = frame.of, int(frame.rows), disc_size(frame.pitch)
    yield path("".join(f"M{LEFT} {frame.y(place):g}H{WIDE - frame.right}" for place in range(places)), of.faint, 1)
    yield word(LEFT - 8, frame.y(0) + 4, "front", of.quiet, "end")
    if places > 1:
        yield word(LEFT - 8, frame.y(places - 1) + 4, "back", of.quiet, "end")
    for kept in (False, True):
        yield path(_curves(frame, rows, kept), of.ink if kept else of.line, 1.5 if kept else 1)
    for kept in (False, True):
        yield _disc("".join(f"M{x:g} {y:g}h0" for x, y, _ in _points(frame, rows, kept)), of, kept, disc)
        ink = of.paper if kept else of.ink
        yield f'<g fill="{ink}" text-anchor="middle" font-size="{letter_size(disc):g}">'
        yield from (
            f'<text x="{x:g}" y="{y + 0.36 * letter_size(disc):.5g}">{block_id}</text>'
            for x, y, block_id in _points(frame, rows, kept)
        )
        yield "</g>"
    yield from (word(frame.x(row.number), frame.y(0) + 4, "empty", of.quiet) for row in rows if not row.ids)


def _disc(d: str, of: Ground, kept: bool, size: float) -> str:
    """Discs at these places, filled or open: a line without a length has round ends."""
    round_ = ' stroke-linecap="round"'
    return path(d, of.ink, size, round_) + ("" if kept else path(d, of.paper, size - 2.4, round_))


def _points(frame: Frame, rows: Sequence[QueueRow], kept: bool) -> Iterator[tuple[float, float, int]]:
    for row in rows:
        for place, (block_id, cached) in enumerate(zip(row.ids, row.cached, strict=True)):
            if cached is kept:
                yield frame.x(row.number), frame.y(place), block_id


def _curves(frame: Frame, rows: Sequence[QueueRow], kept: bool) -> str:
    """An S from each place to that at the next step."""
    curves = []
    for row, then in pairwise(rows):
        places = {block_id: place for place, block_id in enumerate(then.ids)}
        x, next_x = frame.x(row.number), frame.x(then.number)
        for place, (block_id, cached) in enumerate(zip(row.ids, row.cached, strict=True)):
            if cached is kept and block_id in places:
                y, next_y, half = frame.y(place), frame.y(places[block_id]), round((x + next_x) / 2, 1)
                curves.append(f"M{x:g} {y:g}C{half:g} {y:g} {half:g} {next_y:g} {next_x:g} {next_y:g}")
    return "".join(curves)

"""The life of each block over the last steps as a static image.

Must not know: plotly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvnb.core.events import Hit, Unhashed
from kvnb.journal import Journal
from kvnb.journal.columns import CACHED, EMPTY, SHARED, Run, runs
from kvnb.views.figures.cells import block_cells
from kvnb.views.figures.sentences import blocks_title, owners_words
from kvnb.views.figures.static import mosaic
from kvnb.views.figures.static.pen import LEFT, Frame, Key, box, drawing, path, word
from kvnb.views.figures.steps import Steps, last_steps, pool_text
from kvnb.views.theme import DARK, LIGHT, LOST, OWNED, Ground, Painter, painter
from kvnb.views.tiles import FEW

_STEPS, _BARS = 40, 450
_LETTER = 6.2


def blocks_svg(journal: Journal, *, dark: bool = False, until: int | None = None) -> str:
    """Who held each block in the last steps; see ``blocks_figure`` for the options."""
    of, title = (DARK if dark else LIGHT), blocks_title(journal.behaviour)
    if journal.behaviour.num_blocks > FEW:
        steps = last_steps(journal, until, mosaic.num_steps(journal.behaviour.num_blocks))
        cells = block_cells(journal, of, steps, mosaic.ROWS)
        ends = ("1", f"{journal.behaviour.num_blocks - 1:,}")
        return mosaic.mosaic_svg(journal, of, steps, cells, title, ends, "a colour a request")
    steps, lives = _few(journal, until)
    number = max(1, journal.behaviour.num_blocks - 1)
    frame = Frame(of, steps, max(13, min(22, 480 // number)), number)
    below = pool_text(journal, steps)
    return drawing(frame, journal, title, below, _key(of), _parts(frame, journal, lives))


def _few(journal: Journal, until: int | None) -> tuple[Steps, list[Run]]:
    """The last steps, so few that their bars are not too many for a small image."""
    kept = _STEPS
    while True:
        steps = last_steps(journal, until, kept)
        lives = runs(journal, steps.first, steps.last)
        if len(lives) <= _BARS or kept <= 5:
            return steps, lives
        kept //= 2


def _key(of: Ground) -> Key:
    return [
        ("held, a colour a request", box(-6, -6, 12, 12, of.used, 2)),
        ("shared, in two", box(-6, -6, 12, 7, of.used, 1) + box(-6, 3, 12, 3, of.used)),
        ("free and cached", path("M-7 0H7", of.line, 6)),
        ("free and empty", path("M-7 0H7", of.line, 1)),
        ("hit", _ring(0, 0, of)),
        ("loses its hash", _cross(0, 0)),
    ]


def _parts(frame: Frame, journal: Journal, lives: Sequence[Run]) -> Iterator[str]:
    of, paint_of = frame.of, painter(journal)
    for row in range(int(frame.rows)):
        yield word(LEFT - 8, frame.y(row) + 4, str(row + 1), of.quiet, "end", f'font-size="{min(11, frame.pitch - 2):g}"')
    for kind, fill, width in ((CACHED, of.line, 0.3 * frame.pitch), (EMPTY, of.faint, 1.2)):
        ways = [
            f"M{_start(frame, run):g} {frame.y(run.block_id - 1):g}h{_long(frame, run):g}" for run in lives if run.kind == kind
        ]
        yield path("".join(ways), fill, width)
    yield from (_bar(frame, run, paint_of) for run in lives if run.kind not in (CACHED, EMPTY))
    for step in journal.steps[max(0, frame.steps.first - 1) : frame.steps.last]:
        x = _start(frame, Run(0, step.number, step.number, 0, ()))
        yield from (_ring(x, frame.y(block_id - 1), of) for event in step.of(Hit) for block_id in event.ids)
        yield from (_cross(x, frame.y(block_id - 1)) for event in step.of(Unhashed) for block_id in event.ids)


def _start(frame: Frame, run: Run) -> float:
    return round(frame.x(run.first) - frame.wide / 2 + 1, 1)


def _long(frame: Frame, run: Run) -> float:
    return round((run.last - run.first + 1) * frame.wide - 2, 1)


def _bar(frame: Frame, run: Run, paint_of: Painter) -> str:
    x, y, wide, high = _start(frame, run), frame.y(run.block_id - 1), _long(frame, run), 0.78 * frame.pitch
    paints = [paint_of(name) for name in run.owners[:2]] or [OWNED]
    upper = 0.66 * high if run.kind == SHARED else high
    bar = box(x, y - high / 2, wide, upper, paints[0].fill, 3)
    if run.kind == SHARED:
        bar += box(x, y - high / 2 + upper + 1, wide, high - upper - 1, paints[-1].fill, 1)
    says = owners_words(run)
    if len(says) * _LETTER > wide or frame.pitch < 16:
        return bar
    return bar + word(x + wide / 2, y - high / 2 + upper / 2 + 3.6, says, paints[0].ink, "middle", 'font-size="10"')


def _ring(x: float, y: float, of: Ground) -> str:
    return f'<circle cx="{x:g}" cy="{y:g}" r="3.4" fill="none" stroke="{of.ratio}" stroke-width="2"/>'


def _cross(x: float, y: float) -> str:
    return path(f"M{x - 3:g} {y - 3:g}l6 6m0-6l-6 6", LOST.fill, 2.2)

"""Two histories in one static image: usage above, the hit ratio so far below, evictions as crosses.

Must not know: plotly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from kvnb.journal import Journal
from kvnb.views.figures.pair_lines import Line, Pair, below, pair
from kvnb.views.figures.static.pen import FONT, LEFT, RIGHT, WIDE, path, word
from kvnb.views.markup import safe
from kvnb.views.pools import contrast_sentence
from kvnb.views.theme import DARK, LIGHT, LOST, Ground

_TOPS, _TALL, _HIGH, _SAMPLES = (112, 260), (110, 90), 384, 200
_LETTER, _BROAD = 6.4, "#8C929A"


def pair_svg(a: Journal, b: Journal, *, dark: bool = False) -> str:
    """Usage and hit ratio of two pools after each step; as ``pair_figure``."""
    of, both, title = (DARK if dark else LIGHT), pair(a, b, _SAMPLES), contrast_sentence(a, b)
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDE}" height="{_HIGH}" viewBox="0 0 {WIDE} {_HIGH}" '
            f'font-family="{FONT}" font-size="11" fill="{of.ink}"><title>{safe(title)}</title>',
            f'<rect width="{WIDE}" height="{_HIGH}" fill="{of.paper}"/>',
            word(LEFT, 26, title, of.ink, "start", 'font-size="15" font-weight="600"'),
            word(LEFT, 46, _cut(below(a, b)), of.quiet, "start", 'font-size="12"'),
            *_key(of, both),
            *_panel(of, both, 0, "usage"),
            *_panel(of, both, 1, "hit ratio so far"),
            *_ticks(of, both),
            "</svg>",
        ]
    )


def _cut(says: str) -> str:
    most = int((WIDE - LEFT - RIGHT) / _LETTER)
    return says if len(says) <= most else says[: most - 1] + "…"


def _looks(of: Ground) -> tuple[tuple[str, float, str], tuple[str, float, str]]:
    """Colour, width and more of the two pools' lines."""
    return (_BROAD, 7, ""), (of.ratio, 2.4, "")


def _key(of: Ground, both: Pair) -> Iterator[str]:
    x = float(LEFT)
    for line, look in zip(both.lines, _looks(of), strict=True):
        yield path(f"M{x:g} 70h26", *look) + word(x + 34, 74, line.name, of.quiet, "start", 'font-size="12"')
        x += 60 + _LETTER * 1.05 * len(line.name)
    if any(any(line.lost) for line in both.lines):
        yield _cross(x + 5, 70, 4) + word(x + 18, 74, "evictions", of.quiet, "start", 'font-size="12"')


def _x(both: Pair, place: float) -> float:
    return round(LEFT + (place + 0.5) * (WIDE - LEFT - RIGHT) / (both.last + 1), 1)


def _y(panel: int, value: float) -> float:
    return round(_TOPS[panel] + (1 - value) * _TALL[panel], 1)


def _panel(of: Ground, both: Pair, panel: int, says: str) -> Iterator[str]:
    yield word(LEFT, _TOPS[panel] - 8, says, of.quiet, "start", 'font-size="12"')
    for value in (0, 0.5, 1):
        y = _y(panel, value)
        yield path(f"M{LEFT} {y:g}H{WIDE - RIGHT}", of.faint, 1) + word(LEFT - 8, y + 4, f"{value:.0%}", of.quiet, "end")
    # The first is broad: where both agree it shows on either side of the other.
    for at, radius in ((0, 5.5), (1, 3)):
        line, look = both.lines[at], _looks(of)[at]
        values = (line.usage, line.ratio)[panel]
        yield path(_way(both, panel, line, values), *look)
        if len(line.places) <= 60:
            dots = [(_x(both, x), _y(panel, y)) for x, y in zip(line.places, values, strict=True) if y is not None]
            yield "".join(f'<circle cx="{x:g}" cy="{y:g}" r="{radius}" fill="{look[0]}"/>' for x, y in dots)
    if panel == 0:
        yield from _crosses(both)


def _crosses(both: Pair) -> Iterator[str]:
    for line, size in zip(both.lines, (6, 5), strict=True):
        for place, usage, lost in zip(line.places, line.usage, line.lost, strict=True):
            if lost:
                yield _cross(_x(both, place), _y(0, usage), size)


def _way(both: Pair, panel: int, line: Line, values: Sequence[float | None]) -> str:
    """Level at each step, up or down half way to the next."""
    points = [(place, value) for place, value in zip(line.places, values, strict=True) if value is not None]
    if not points:
        return ""
    d = f"M{_x(both, points[0][0]):g} {_y(panel, points[0][1]):g}"
    for (x, _), (then, value) in pairwise(points):
        d += f"H{_x(both, (x + then) / 2):g}V{_y(panel, value):g}H{_x(both, then):g}"
    return d


def _cross(x: float, y: float, size: float) -> str:
    return path(f"M{x - size:g} {y - size:g}l{2 * size:g} {2 * size:g}m0-{2 * size:g}l-{2 * size:g} {2 * size:g}", LOST.fill, 2.4)


def _ticks(of: Ground, both: Pair) -> Iterator[str]:
    """The commands below their steps, or the steps' numbers, as many as there is room for."""
    names = {place: both.names.get(place, f"step {place:,}") for place in range(both.last + 1)}
    room = (WIDE - LEFT - RIGHT) / (both.last + 1)
    every = max(1, -(-int(_LETTER * max(map(len, names.values())) + 10) // max(1, int(room))))
    for place in range(0, both.last + 1, every):
        yield word(_x(both, place), _TOPS[1] + _TALL[1] + 22, names[place], of.quiet)

"""The frame of a static timeline: paper, title, key, the axis of steps; and the pieces to draw in it.

Must not know: what is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kvnb.journal import Journal
from kvnb.views.figures.steps import Steps, command
from kvnb.views.markup import safe
from kvnb.views.theme import Ground

WIDE, LEFT, RIGHT, TOP, BOTTOM = 860, 56, 16, 92, 34
_LETTER = 6.4
FONT = "system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif"

Key = Sequence[tuple[str, str]]
"""Words, and before them the markup of what stands for them, drawn round 0, 0."""


class Frame(NamedTuple):
    """Where steps and rows lie: the colours, the steps, the pixels a row is high, the number of rows, the right margin."""

    of: Ground
    steps: Steps
    pitch: float
    rows: float
    right: int = RIGHT

    @property
    def wide(self) -> float:
        """Pixels a step."""
        return (WIDE - LEFT - self.right) / self.steps.number

    def x(self, number: float) -> float:
        """The middle of a step."""
        return round(LEFT + (number - self.steps.first + 0.5) * self.wide, 1)

    def y(self, row: float) -> float:
        """The middle of a row; the first is 0."""
        return round(TOP + (row + 0.5) * self.pitch, 1)

    @property
    def floor(self) -> float:
        """Where the rows end."""
        return TOP + self.rows * self.pitch


def drawing(frame: Frame, journal: Journal, title: str, below: str, key: Key, parts: Iterable[str]) -> str:
    """The whole image; title and the line below it are plain text."""
    of, high = frame.of, round(frame.floor + BOTTOM)
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDE}" height="{high}" viewBox="0 0 {WIDE} {high}" '
            f'font-family="{FONT}" font-size="11" fill="{of.ink}"><title>{safe(title)}</title>',
            f'<rect width="{WIDE}" height="{high}" fill="{of.paper}"/>',
            word(LEFT, 26, title, of.ink, "start", 'font-size="15" font-weight="600"'),
            word(LEFT, 46, below, of.quiet, "start", 'font-size="12"'),
            *_key(key, of),
            *parts,
            *_ticks(frame, journal),
            "</svg>",
        ]
    )


def word(x: float, y: float, text: str, fill: str, anchor: str = "middle", more: str = "") -> str:
    """A piece of text; plain text."""
    return f'<text x="{x:g}" y="{y:g}" fill="{fill}" text-anchor="{anchor}"{" " * bool(more)}{more}>{safe(text)}</text>'


def box(x: float, y: float, wide: float, high: float, fill: str, radius: float = 0) -> str:
    """A filled box."""
    round_ = f' rx="{radius:g}"' if radius else ""
    return f'<rect x="{x:.5g}" y="{y:.5g}" width="{wide:.4g}" height="{high:.4g}"{round_} fill="{fill}"/>'


def path(d: str, stroke: str, width: float, more: str = "") -> str:
    """Lines of one look; nothing when there is none."""
    return f'<path d="{d}" fill="none" stroke="{stroke}" stroke-width="{width:g}"{more}/>' if d else ""


def _key(key: Key, of: Ground) -> Iterable[str]:
    x = float(LEFT)
    for words, mark in key:
        yield f'<g transform="translate({x + 7:g} 68)">{mark}</g>'
        yield word(x + 20, 72, words, of.quiet, "start", 'font-size="12"')
        x += 40 + _LETTER * 1.05 * len(words)


def _ticks(frame: Frame, journal: Journal) -> Iterable[str]:
    """The commands below their steps, as many as there is room for."""
    steps = frame.steps
    names = {number: command(journal, number) for number in range(steps.first, steps.last + 1)}
    every = max(1, -(-int(_LETTER * max(map(len, names.values())) + 10) // max(1, int(frame.wide))))
    for number in range(steps.first, steps.last + 1, every):
        yield word(frame.x(number), frame.floor + 20, names[number], frame.of.quiet)

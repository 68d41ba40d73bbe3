"""The life of each block as a bar: thick while it is held, thin while it is free and cached, nothing while it is empty.

Must not know: pools with more blocks than have a bar each (``heat`` draws those).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]

from kvnb.core.events import Hit, Unhashed
from kvnb.journal import Journal
from kvnb.journal.columns import CACHED, EMPTY, ONE, SHARED, Run, runs
from kvnb.views.figures import heat
from kvnb.views.figures.sentences import blocks_title, life_words, owners_words
from kvnb.views.figures.steps import Steps, last_steps, pool_text, safe
from kvnb.views.figures.templates import Key, frame, ground, high, key, text
from kvnb.views.theme import LOST, OWNED, Ground, painter
from kvnb.views.tiles import FEW

OPENED, KEPT = 120, 480
"""Bars of more steps than are opened are too short to be told apart."""
MOST = 6_000
"""Bars that a figure holds at most: of a pool that turns over at each step fewer steps are drawn."""
_LETTER, _WIDTH, _PITCH = 7, 900, 17
"""Pixels for a letter of an owner's name, for the opened steps, for a row: to know whether names fit in their bars."""


def blocks_figure(journal: Journal, *, dark: bool = False, until: int | None = None) -> go.Figure:
    """Who held each block after each step, and how long its contents stayed."""
    if journal.behaviour.num_blocks > FEW:
        return heat.blocks_heat(journal, ground(dark), until)
    kept = KEPT
    steps = last_steps(journal, until, kept, OPENED)
    while len(lives := runs(journal, steps.first, steps.last)) > MOST:
        kept = kept * MOST // (len(lives) + MOST)
        steps = last_steps(journal, until, kept, min(OPENED, kept))
    return _bars_figure(journal, ground(dark), steps, lives)


def _bars_figure(journal: Journal, of: Ground, steps: Steps, lives: Sequence[Run]) -> go.Figure:
    number = max(1, journal.behaviour.num_blocks - 1)
    pitch = max(13, min(24, 620 // number))
    figure = frame(journal, steps, of, blocks_title(journal.behaviour), pool_text(journal, steps), high(number, pitch, steps))
    _add_held(figure, journal, lives, 0 if steps.long or pitch < _PITCH else _WIDTH / steps.shown)
    for kind, fill, width in ((CACHED, of.line, 0.3), (EMPTY, of.faint, 0.06)):
        figure.add_bar(**_bars([(run, 0.0) for run in lives if run.kind == kind], width), marker={"color": fill})
    moments = [] if steps.long else _add_moments(figure, of, journal, steps)
    ids = list(range(1, number + 1))
    figure.update_yaxes(
        range=[number + 0.6, 0.4], tickvals=ids, ticktext=[text(str(block_id), of, True) for block_id in ids],
        tickfont={"size": min(11, pitch - 3)},
    )  # fmt: skip
    figure.update_layout(barmode="overlay")
    dash = {"symbol": "line-ew", "size": 14}
    held = [("held, a colour a request", {"color": of.used}), ("shared, in two", {"symbol": "hourglass", "color": of.used})]
    free = [
        ("free and cached", {**dash, "line": {"color": of.line, "width": 6}}),
        ("free and empty", {**dash, "line": {"color": of.line, "width": 1}}),
    ]
    key(figure, of, [*held, *free, *moments])
    return figure


def _bars(placed: Sequence[tuple[Run, float]], width: float) -> dict[str, Any]:
    """Bars of one thickness; each lies so much below the middle of its block's row."""
    return {
        "orientation": "h", "base": [run.first - 0.46 for run, _ in placed], "y": [run.block_id + below for run, below in placed],
        "x": [run.last - run.first + 0.92 for run, _ in placed], "width": width, "showlegend": False,
        "hovertext": [_hover(run) for run, _ in placed], "hovertemplate": "%{hovertext}<extra></extra>",
    }  # fmt: skip


def _add_held(figure: go.Figure, journal: Journal, lives: Sequence[Run], wide: float) -> None:
    """A bar for one owner; for several a bar for the first over a narrower one for the second. A step is ``wide`` pixels."""
    held = [run for run in lives if run.kind in (ONE, SHARED)]
    paint_of = painter(journal)
    alone = [(run, 0.0) for run in held if run.kind == ONE]
    upper, lower = ([(run, below) for run in held if run.kind == SHARED] for below in (-0.14, 0.28))
    for placed, width, owner in ((alone, 0.78, 0), (upper, 0.5, 0), (lower, 0.2, 1)):
        paints = [paint_of(run.owners[owner]) if len(run.owners) > owner else OWNED for run, _ in placed]
        figure.add_bar(
            **_bars(placed, width), text=[_name(run, wide) if owner == 0 else "" for run, _ in placed],
            textposition="inside", insidetextanchor="middle", textangle=0, constraintext="none",
            insidetextfont={"color": [paint.ink for paint in paints], "size": 11 if width > 0.5 else 10},
            marker={"color": [paint.fill for paint in paints], "cornerradius": 4 if width > 0.5 else 2, "line": {"width": 0}},
        )  # fmt: skip


def _add_moments(figure: go.Figure, of: Ground, journal: Journal, steps: Steps) -> Key:
    """A ring where a block is hit, a cross where one loses its hash, at the beginning of the step."""
    marks: Key = [
        ("hit", {"symbol": "circle-open", "size": 8, "color": of.ratio, "line": {"width": 2}}),
        ("loses its hash", {"symbol": "x", "size": 7, "color": LOST.fill}),
    ]
    for kind, (words, marker) in zip((Hit, Unhashed), marks, strict=True):
        found = [
            (step.number - 0.46, block_id)
            for step in journal.steps[max(0, steps.first - 1) : steps.last]
            for event in step.of(kind)
            for block_id in event.ids
        ]
        figure.add_scatter(
            x=[x for x, _ in found], y=[block_id for _, block_id in found], mode="markers", marker=marker,
            hovertemplate=f"block %{{y:d}}: {words}<extra></extra>", showlegend=False,
        )  # fmt: skip
    return marks


def _name(run: Run, wide: float) -> str:
    """Who holds it, for inside a bar; nothing where it does not fit."""
    says = owners_words(run)
    return safe(says) if len(says) * _LETTER <= (run.last - run.first + 1) * wide else ""


def _hover(run: Run) -> str:
    who, when = life_words(run)
    return f"block {run.block_id}: {safe(who)}<br>after step{'s' * (run.first < run.last)} {when}"

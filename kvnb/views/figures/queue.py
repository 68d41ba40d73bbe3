"""The order of the free queue over the steps: a line a block, numbered where there is room.

Must not know: pools of more blocks than have a line each (``heat`` draws those).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]

from kvnb.journal import Journal
from kvnb.journal.columns import QueueRow, queue_rows
from kvnb.views.figures import heat
from kvnb.views.figures.sentences import queue_title
from kvnb.views.figures.steps import disc_size, last_steps, letter_size, pool_text
from kvnb.views.figures.templates import frame, ground, high, key, text
from kvnb.views.theme import WHITE, Ground
from kvnb.views.tiles import FEW

NUMBERED, OPENED, KEPT = 40, 60, 240
"""Up to so many steps a point is a numbered marker, of more a dot. Lines of more steps than are opened cannot be followed."""
_HASHED = {True: "carries a hash", False: "no hash"}
_HOVER = "block %{customdata}, place %{y:d}<br>%{x}<br>"

Point = tuple[int, int]
"""Step, place; the front is place 1."""


def queue_figure(journal: Journal, *, dark: bool = False, by: str | None = None, until: int | None = None) -> go.Figure:
    """The free queue after each step, front on top.

    Parameters
    ----------
    dark
        For a dark page.
    by
        Draws a heat map of places instead of a line a block, coloured by ``cached``, ``age`` or ``owner``; pools of more
        than 64 blocks have one anyway, by ``cached``.
    until
        The last step that is drawn; by default the journal's last.
    """
    if by or journal.behaviour.num_blocks > FEW:
        return heat.queue_heat(journal, ground(dark), by or "cached", until)
    return _lines_figure(journal, ground(dark), until)


def _lines_figure(journal: Journal, of: Ground, until: int | None) -> go.Figure:
    steps, places = last_steps(journal, until, KEPT, OPENED), max(1, journal.behaviour.num_blocks - 1)
    rows = queue_rows(journal, steps.first, steps.last)
    numbered, pitch = steps.number <= NUMBERED, max(13, min(24, 620 // places))
    figure = frame(journal, steps, of, queue_title(journal.behaviour), pool_text(journal, steps), high(places, pitch, steps))
    ends = [text("front", of, True), *[""] * (places - 2), text("back", of, True)]
    figure.update_yaxes(range=[places + 0.7, 0.3], showgrid=True, tickvals=list(range(1, places + 1)), ticktext=ends[:places])
    _add_lines(figure, of, rows, numbered)
    for kept in (False, True):
        figure.add_scatter(**_points(rows, kept), **_dots(of, kept, disc_size(pitch) if numbered else 5, numbered))
    if numbered:
        _add_notes(figure, of, rows)
    key(figure, of, [(_HASHED[kept], _marker(of, kept)) for kept in (True, False)])
    return figure


_DISC = {True: ("#3D4855", WHITE), False: ("#E4E7EB", "#1C1E22")}
"""Fill and ink of a disc with a hash, a dark one, and without, a light one: on a light page and on a dark one."""


def _marker(of: Ground, kept: bool) -> dict[str, Any]:
    return {"symbol": "circle", "color": _DISC[kept][0], "line": {"color": of.line, "width": 1.4}}


def _add_notes(figure: go.Figure, of: Ground, rows: Sequence[QueueRow]) -> None:
    """A queue without a block is said."""
    for row in rows:
        if not row.ids:
            figure.add_annotation(x=row.number, y=1.5, text=text("empty", of, True), showarrow=False, font={"size": 11})


def _points(rows: Sequence[QueueRow], kept: bool) -> dict[str, Any]:
    points = [
        (row.number, place, block_id)
        for row in rows
        for place, (block_id, cached) in enumerate(zip(row.ids, row.cached, strict=True), 1)
        if cached is kept
    ]
    x, y, ids = zip(*points, strict=True) if points else ((), (), ())
    return {"x": x, "y": y, "customdata": ids, "hovertemplate": f"{_HOVER}{_HASHED[kept]}<extra></extra>"}


def _dots(of: Ground, kept: bool, size: float, numbered: bool) -> dict[str, Any]:
    return {
        "name": _HASHED[kept], "showlegend": False, "marker": {**_marker(of, kept), "size": size, "opacity": 1},
        "mode": "markers+text" if numbered else "markers", "texttemplate": "%{customdata}" if numbered else None,
        "textfont": {"color": _DISC[kept][1], "size": letter_size(size)},
    }  # fmt: skip


def _add_lines(figure: go.Figure, of: Ground, rows: Sequence[QueueRow], numbered: bool) -> None:
    """The lines between the points; between dots they only lead the eye."""
    drawn: dict[bool, tuple[list[Any], list[Any]]] = {False: ([], []), True: ([], [])}
    for _, kept, points in pieces(rows):
        path = list(_curve(points) if numbered else points)
        for values, column in zip(drawn[kept], (0, 1), strict=True):
            values += [*(point[column] for point in path), None]
    for kept, (x, y) in drawn.items():
        line = {"color": of.line, "width": 2.4 if kept and numbered else 1, "shape": "spline" if numbered else "linear"}
        figure.add_scatter(x=x, y=y, mode="lines", line=line, name=_HASHED[kept], hoverinfo="skip", showlegend=False)


def pieces(rows: Iterable[QueueRow]) -> Iterator[tuple[int, bool, list[Point]]]:
    """Each stay of a block in the queue, in pieces with a hash and without: block, which of the two, its places."""
    going: dict[int, tuple[bool, list[Point]]] = {}
    for row in rows:
        before, going = going, {}
        for place, (block_id, kept) in enumerate(zip(row.ids, row.cached, strict=True), 1):
            was, points = before.pop(block_id, (kept, []))
            points.append((row.number, place))
            if was is not kept:
                yield block_id, was, points
                points = [(row.number, place)]
            going[block_id] = (kept, points)
        yield from ((block_id, kept, points) for block_id, (kept, points) in before.items())
    yield from ((block_id, kept, points) for block_id, (kept, points) in going.items())


def _curve(points: Sequence[Point]) -> Iterator[tuple[float, float]]:
    """An S between each two points, level at both."""
    yield points[0]
    for (x, y), (_, then) in pairwise(points):
        ts = [step / 10 for step in range(1, 10)] if y != then else []
        yield from ((x + t, round(y + (then - y) * t * t * (3 - 2 * t), 3)) for t in ts)
        yield x + 1, then

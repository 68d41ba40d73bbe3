"""Large pools as heat maps: a column a step, a row a place in the queue or a block.

Must not know: pools that have a line or a bar a block.

Each cell is one byte. Of very many rows every so many-th is drawn, and the line under the title says so.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]

from kvnb.errors import CommandError, nearest, one_line
from kvnb.journal import Journal
from kvnb.journal.columns import CACHED, ONE, SHARED, Fold, walk
from kvnb.views.figures.sentences import blocks_title, queue_title
from kvnb.views.figures.steps import OPENED, Steps, last_steps, pool_text
from kvnb.views.figures.templates import CLEAR, Key, frame, key, text
from kvnb.views.theme import RAMP, REQUESTS, Ground, Painter, painter

ROWS = 500
"""At most so many rows: more than there are pixels for."""
_LARGE = 20_000
"""Queues of more blocks are read once a step for the opened steps only."""
AGES = (4, 16, 64, 256, 1024)
"""A shade of age for fewer steps than each of these in the queue, and one for more."""

Code = Callable[[Fold, int, int], int]
"""From a fold, a step and a block to the code of a cell; 0 is no cell."""


def queue_heat(journal: Journal, of: Ground, by: str, until: int | None) -> go.Figure:
    """Places of the free queue by step, front on top."""
    codings = {"cached": _by_cached, "age": _by_age, "owner": _by_owner}
    if by not in codings:
        raise CommandError(f"unknown colouring {one_line(by)}: {nearest(by, codings)}")
    code, colours, entries, says = codings[by](journal, of)
    size = journal.behaviour.num_blocks
    steps = last_steps(journal, until, *([OPENED] if size > _LARGE else []))
    every = stride(size - 1)
    columns = [
        bytes(code(fold, number, block_id) for block_id in list(fold.state.queue)[::every])
        for number, fold, _ in walk(journal, steps.last)
        if number >= steps.first
    ]
    below = pool_text(journal, steps, says, _sampled(every, "place"))
    figure = frame(journal, steps, of, queue_title(journal.behaviour), below, 520)
    _add_heat(figure, steps, columns, colours, every, "place %{y}<br>step %{x:d}, %{x}<extra></extra>")
    rows = len(range(0, size - 1, every))
    figure.update_yaxes(
        range=[rows * every + every / 2, 1 - every / 2],
        tickvals=[1, 1 + (rows - 1) * every],
        ticktext=[text("front", of, True), text(f"{1 + (rows - 1) * every:,}", of, True)],
    )
    key(figure, of, entries)
    return figure


def blocks_heat(journal: Journal, of: Ground, until: int | None) -> go.Figure:
    """Blocks by step, coloured by who holds them."""
    steps = last_steps(journal, until)
    every = stride(journal.behaviour.num_blocks - 1)
    paint_of = painter(journal)
    codes = bytearray(journal.behaviour.num_blocks)
    columns = []
    for number, fold, changed in walk(journal, steps.last):
        for block_id in changed:
            codes[block_id] = _holder(fold, block_id, paint_of)
        if number >= steps.first:
            columns.append(bytes(codes[1::every]))
    says = pool_text(journal, steps, "a colour a request", _sampled(every, "block"))
    figure = frame(journal, steps, of, blocks_title(journal.behaviour), says, 520)
    colours = [CLEAR, of.empty, of.kept, of.used, *(paint.fill for paint in REQUESTS)]
    _add_heat(figure, steps, columns, colours, every, "block %{y}<br>step %{x:d}, %{x}<extra></extra>")
    figure.update_yaxes(autorange="reversed", tickprefix=text("", of, True).removesuffix("</span>"), ticksuffix="</span>")
    key(figure, of, [*_kinds(of), ("shared", {"color": of.used})])
    return figure


def stride(number: int) -> int:
    """Of so many rows every how many-th is drawn."""
    return max(1, -(-number // ROWS))


def _sampled(every: int, what: str) -> str:
    return "" if every == 1 else f"one {what} in {every:,} is drawn"


def _kinds(of: Ground) -> Key:
    return [
        ("free and cached", {"color": of.kept}),
        ("free and empty", {"color": of.empty, "line": {"color": of.line, "width": 1}}),
    ]


Coding = tuple[Code, list[str], Key, str]


def _by_cached(journal: Journal, of: Ground) -> Coding:
    def code(fold: Fold, number: int, block_id: int) -> int:
        return 2 if fold.kinds[block_id] == CACHED else 1

    return code, [CLEAR, of.empty, of.kept], _kinds(of), ""


def _by_age(journal: Journal, of: Ground) -> Coding:
    def code(fold: Fold, number: int, block_id: int) -> int:
        if fold.kinds[block_id] != CACHED:
            return 1
        return 2 + bisect(AGES, number - fold.since[block_id])

    colours = [paint.fill for paint in RAMP]
    words = [f"free and cached for less than {AGES[0]} steps", *(f"{limit:,}" for limit in AGES[1:]), f"{AGES[-1]:,} or more"]
    entries: Key = [(word, {"color": colour}) for word, colour in zip(words, colours, strict=True)]
    return code, [CLEAR, of.empty, *colours], [*entries, _kinds(of)[1]], ""


def _by_owner(journal: Journal, of: Ground) -> Coding:
    paint_of = painter(journal)

    def code(fold: Fold, number: int, block_id: int) -> int:
        owner = fold.last[block_id]
        return 1 if owner is None else 2 + REQUESTS.index(paint_of(owner))

    entries: Key = [("never held", {"color": of.empty, "line": {"color": of.line, "width": 1}})]
    return code, [CLEAR, of.empty, *(paint.fill for paint in REQUESTS)], entries, "coloured by the request that held it last"


def _holder(fold: Fold, block_id: int, paint_of: Painter) -> int:
    kind = fold.kinds[block_id]
    owners = fold.state.owners.get(block_id)
    if kind == ONE and owners:
        return 4 + REQUESTS.index(paint_of(owners[0]))
    return 3 if kind in (ONE, SHARED) else 1 + kind


def _add_heat(figure: go.Figure, steps: Steps, columns: Sequence[bytes], colours: Sequence[str], every: int, hover: str) -> None:
    """Cells of bytes; each code has a colour of its own, code 0 is left out."""
    high = max(1, *map(len, columns))
    cells = np.frombuffer(b"".join(column.ljust(high, b"\0") for column in columns), dtype=np.uint8)
    edges = [place / len(colours) for place in range(len(colours) + 1)]
    scale = [(edge, colour) for place, colour in enumerate(colours) for edge in edges[place : place + 2]]
    figure.add_heatmap(
        z=np.ascontiguousarray(cells.reshape(len(columns), high).T), x0=steps.first, dx=1, y0=1, dy=every,
        zmin=-0.5, zmax=len(colours) - 0.5, colorscale=scale, showscale=False, hovertemplate=hover, hoverongaps=False,
    )  # fmt: skip

"""Large pools as heat maps: a column a step, a row a place in the queue or a block.

Must not know: what the codes of the cells mean (``cells`` does).
"""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]

from kvnb.journal import Journal
from kvnb.views.figures.cells import Cells, block_cells, queue_cells
from kvnb.views.figures.sentences import blocks_title, queue_title
from kvnb.views.figures.steps import OPENED, Steps, last_steps, pool_text
from kvnb.views.figures.templates import CLEAR, frame, key, text
from kvnb.views.theme import Ground

ROWS, HIGH = 500, 520
"""At most so many rows, which is more than there are pixels for; the height of a figure."""
_LARGE = 20_000
"""Queues of more blocks are read for the opened steps only."""


def queue_heat(journal: Journal, of: Ground, by: str, until: int | None) -> go.Figure:
    """Places of the free queue by step, front on top."""
    size = journal.behaviour.num_blocks
    steps = last_steps(journal, until, *([OPENED] if size > _LARGE else []))
    cells = queue_cells(journal, of, by, steps, ROWS)
    figure = frame(journal, steps, of, queue_title(journal.behaviour), pool_text(journal, steps, cells.says), HIGH)
    _add_cells(figure, of, steps, cells, "place")
    back = 1 + (size - 2) // cells.every * cells.every
    figure.update_yaxes(
        range=[back + cells.every / 2, 1 - cells.every / 2], tickvals=[1, back],
        ticktext=[text("front", of, True), text("back", of, True)],
    )  # fmt: skip
    return figure


def blocks_heat(journal: Journal, of: Ground, until: int | None) -> go.Figure:
    """Blocks by step, coloured by who holds them."""
    steps = last_steps(journal, until)
    cells = block_cells(journal, of, steps, ROWS)
    below = pool_text(journal, steps, "a colour a request", cells.says)
    figure = frame(journal, steps, of, blocks_title(journal.behaviour), below, HIGH)
    _add_cells(figure, of, steps, cells, "block")
    opening, closing = text("|", of, True).split("|")
    last = max(1, journal.behaviour.num_blocks - 1)
    figure.update_yaxes(
        range=[last + cells.every / 2, 1 - cells.every / 2],
        tickvals=[1, last],
        tickformat=",d",
        tickprefix=opening,
        ticksuffix=closing,
    )
    return figure


def _add_cells(figure: go.Figure, of: Ground, steps: Steps, cells: Cells, what: str) -> None:
    """Each code has a colour of its own, and code 0 has none."""
    columns, colours = cells.columns, [CLEAR, *cells.colours]
    high = max(1, *map(len, columns))
    codes = np.frombuffer(b"".join(column.ljust(high, b"\0") for column in columns), dtype=np.uint8)
    edges = [place / len(colours) for place in range(len(colours) + 1)]
    figure.add_heatmap(
        z=np.ascontiguousarray(codes.reshape(len(columns), high).T), x0=steps.first, dx=1, y0=1, dy=cells.every,
        zmin=-0.5, zmax=len(colours) - 0.5, showscale=False,
        colorscale=[(edge, colour) for place, colour in enumerate(colours) for edge in edges[place : place + 2]],
        hovertemplate=f"{what} %{{y:,d}}<br>%{{x}}<extra></extra>",
    )  # fmt: skip
    key(figure, of, [(words, {"color": colour, "line": {"color": of.line, "width": 1}}) for words, colour in cells.key])

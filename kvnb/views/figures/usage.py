"""Usage over the steps: blocks by kind, stacked; the hit ratio as a line; evictions marked.

Must not know: which block is which.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]

from kvnb.journal import Journal
from kvnb.journal.columns import Levels, levels
from kvnb.views.figures.sentences import KINDS, usage_title
from kvnb.views.figures.steps import KEPT, last_steps, pool_text
from kvnb.views.figures.templates import frame, ground, text
from kvnb.views.theme import LOST, Ground

BARS = 60
"""Up to so many steps each has a bar; more are an area."""
SAMPLES = 1000
"""At most so many of the steps before the last ``KEPT``."""


def usage_figure(journal: Journal, *, dark: bool = False, until: int | None = None) -> go.Figure:
    """How many blocks are used by one request, shared, free and cached, free and empty, after each step."""
    of, steps = ground(dark), last_steps(journal, until, kept=len(journal) + 1)
    rows = levels(journal, steps.last)
    numbers, every = sampled(steps.last)
    says = f"of steps 0 to {steps.last - KEPT:,} one in {every:,} is drawn" if every > 1 else ""
    title, _, cache = usage_title(journal, rows, steps.last).partition("; ")
    below = pool_text(journal, steps, *filter(None, (cache, says)))
    figure = frame(journal, steps, of, title, below, 400)
    usable = max(1, journal.behaviour.num_blocks - 1)
    for place in range(4):
        _add_part(figure, of, rows, numbers, place)
    _add_ratio(figure, of, rows, numbers)
    _add_evictions(figure, of, rows, numbers, usable)
    figure.update_layout(barmode="stack", bargap=0.08 if steps.number <= 20 else 0, hovermode="x unified", showlegend=True)
    figure.update_yaxes(range=[0, usable * 1.1], tickvals=[0, usable], ticktext=[text(f"{n:,}", of, True) for n in (0, usable)])
    figure.update_layout(
        yaxis2={
            "overlaying": "y", "side": "right", "range": [0, 1.1], "fixedrange": True, "tickvals": [0, 0.5, 1],
            "ticktext": [text(f"{n} %", of, True) for n in (0, 50, 100)],
        }
    )  # fmt: skip
    return figure


def sampled(last: int) -> tuple[list[int], int]:
    """The steps that are drawn: the last ones all, of those before one in so many."""
    rest = max(0, last + 1 - KEPT)
    every = max(1, -(-rest // SAMPLES))
    return [*range(0, rest, every), *range(rest, last + 1)], every


def _add_part(figure: go.Figure, of: Ground, rows: Levels, numbers: Sequence[int], place: int) -> None:
    words, column = KINDS[place], (rows.one, rows.shared, rows.cached, rows.empty)[place]
    fill = (of.used, of.used, of.kept, of.empty)[place]
    edge = of.line if place > 1 else fill
    pattern = _pattern(of, fill, place)
    common: dict[str, Any] = {
        "x": numbers, "y": [column[number] for number in numbers], "name": text(words, of, True),
        "hovertemplate": f"%{{y:,}} {words}<extra></extra>", "legendrank": place,
    }  # fmt: skip
    if len(numbers) <= BARS:
        figure.add_bar(**common, marker={"color": fill, "pattern": pattern, "line": {"width": 1, "color": edge}})
        return
    line = {"width": 0.5, "color": edge, "shape": "hvh"}
    figure.add_scatter(**common, mode="lines", stackgroup="kinds", fillcolor=fill, line=line, fillpattern=pattern or None)


def _pattern(of: Ground, fill: str, place: int) -> dict[str, Any]:
    """Stripes for shared, dots for free and cached: both are told in grey too."""
    if place not in (1, 2):
        return {}
    shape, colour, solidity = ("/", of.stripe, 0.35) if place == 1 else (".", "rgba(128,128,128,.6)", 0.15)
    return {"shape": shape, "fgcolor": colour, "bgcolor": fill, "size": 7, "solidity": solidity}


def _add_ratio(figure: go.Figure, of: Ground, rows: Levels, numbers: Sequence[int]) -> None:
    ratios = [rows.hit_ratio(number) for number in numbers]
    values = [None if ratio is None else round(ratio, 4) for ratio in ratios]
    halo = {"color": of.paper, "width": 4.5}
    figure.add_scatter(x=numbers, y=values, yaxis="y2", mode="lines", line=halo, hoverinfo="skip", showlegend=False)
    figure.add_scatter(
        x=numbers, y=values, yaxis="y2", mode="lines+markers" if len(numbers) <= BARS else "lines",
        line={"color": of.ratio, "width": 2.2}, marker={"size": 6, "line": {"color": of.paper, "width": 1}},
        name=text("hit ratio so far", of, True), hovertemplate="%{y:.0%} of the tokens so far from cache<extra></extra>",
    )  # fmt: skip


def _add_evictions(figure: go.Figure, of: Ground, rows: Levels, numbers: Sequence[int], usable: int) -> None:
    """A cross over each column in which blocks lost their hash; where steps are left out it counts for them too."""
    sums = [sum(rows.evicted[before + 1 : number + 1]) for before, number in zip([-1, *numbers], numbers, strict=False)]
    marked = [(number, lost) for number, lost in zip(numbers, sums, strict=True) if lost]
    figure.add_scatter(
        x=[number for number, _ in marked], y=[usable * 1.05] * len(marked), customdata=[lost for _, lost in marked],
        mode="markers", marker={"symbol": "x", "size": 8 if len(numbers) <= BARS else 5, "color": LOST.fill},
        name=text("evictions", of, True), hovertemplate="%{customdata:,} evicted<extra></extra>", showlegend=bool(marked),
    )  # fmt: skip

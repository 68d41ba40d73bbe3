"""Two histories in one figure: usage above, the hit ratio so far below, evictions as crosses.

Must not know: which block is which.
"""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]

from kvnb.journal import Journal
from kvnb.views.figures.pair_lines import Line, Pair, below, pair
from kvnb.views.figures.steps import safe
from kvnb.views.figures.templates import NAMED, ground, key, template, text
from kvnb.views.pools import contrast_sentence
from kvnb.views.theme import LOST, Ground

MARKED = 60
"""Up to so many steps each is a point."""


def pair_figure(a: Journal, b: Journal, *, dark: bool = False) -> go.Figure:
    """Usage and hit ratio of two pools after each step."""
    of, both = ground(dark), pair(a, b)
    quiet = text(safe(below(a, b)), of, quiet=True, style=";font-size:12px;font-weight:400")
    title = f"{text(safe(contrast_sentence(a, b)), of)}<br>{quiet}"
    figure = go.Figure(layout={"template": template(of), "title": {"text": title}, "height": 460})
    for line, look in zip(both.lines, (_broad(of), _thin(of)), strict=True):
        _add_line(figure, of, line, look, "y", line.usage, "used")
        _add_line(figure, of, line, look, "y2", line.ratio, "of the tokens so far from cache")
        _add_evictions(figure, line, look)
    _set_axes(figure, of, both)
    if any(any(line.lost) for line in both.lines):
        key(figure, of, [("evictions", {"symbol": "x", "size": 9, "color": LOST.fill})])
    return figure


def _broad(of: Ground) -> dict[str, Any]:
    """The first pool's line; where both agree it shows on either side of the other."""
    return {"line": {"color": of.line, "width": 7}, "marker": {"size": 11}, "cross": 16, "legendrank": 1}


def _thin(of: Ground) -> dict[str, Any]:
    return {"line": {"color": of.ratio, "width": 2.4}, "marker": {"size": 6}, "cross": 13, "legendrank": 2}


def _add_line(figure: go.Figure, of: Ground, line: Line, look: dict[str, Any], axis: str, values: Any, what: str) -> None:
    figure.add_scatter(
        x=line.places, y=values, yaxis=axis, mode="lines+markers" if len(line.places) <= MARKED else "lines",
        line={**look["line"], "shape": "hvh"}, marker={**look["marker"], "color": look["line"]["color"]},
        name=text(safe(line.name), of, True), legendgroup=look["legendrank"], legendrank=look["legendrank"],
        showlegend=axis == "y", customdata=line.numbers,
        hovertemplate=f"{safe(line.name)}, step %{{customdata:,}}: %{{y:.0%}} {what}<extra></extra>",
    )  # fmt: skip


def _add_evictions(figure: go.Figure, line: Line, look: dict[str, Any]) -> None:
    """A cross on the line of usage where blocks lost their hash."""
    marked = [at for at, lost in enumerate(line.lost) if lost]
    figure.add_scatter(
        x=[line.places[at] for at in marked], y=[line.usage[at] for at in marked], customdata=[line.lost[at] for at in marked],
        mode="markers", showlegend=False, marker={"symbol": "x", "size": look["cross"], "color": LOST.fill},
        hovertemplate=f"{safe(line.name)}: %{{customdata:,}} evicted<extra></extra>",
    )  # fmt: skip


def _set_axes(figure: go.Figure, of: Ground, both: Pair) -> None:
    ticks = {"tickvals": [0, 0.5, 1], "ticktext": [text(f"{n} %", of, True) for n in (0, 50, 100)], "showgrid": True}
    ticks |= {"range": [-0.06, 1.1], "fixedrange": True}
    names = {str(place): text(safe(says), of, True) for place, says in both.names.items()}
    few = both.last < NAMED
    figure.update_xaxes(
        range=[-0.5, both.last + 0.5], tickformat="d", labelalias=names, anchor="y2", automargin=True,
        minallowed=-0.5, maxallowed=both.last + 0.5, **({"dtick": 1} if few else {"nticks": 15}), tick0=0,
        **({"tickangle": 30} if few and names and both.last > 8 else {}),
        **({} if names else {"title": {"text": text("step", of, True)}}),
    )  # fmt: skip
    figure.update_layout(
        yaxis={**ticks, "domain": [0.5, 0.93]}, yaxis2={**ticks, "domain": [0, 0.4], "anchor": "x"}, hovermode="x unified",
        showlegend=True, legend={"itemclick": False, "itemdoubleclick": False},
        annotations=[_word(of, "usage", 0.93), _word(of, "hit ratio so far", 0.4)],
    )  # fmt: skip


def _word(of: Ground, says: str, top: float) -> dict[str, Any]:
    """The name of a panel, inside its upper left corner."""
    return {
        "text": text(says, of, True), "xref": "paper", "yref": "paper", "x": 0, "y": top, "xanchor": "left", "yanchor": "bottom",
        "showarrow": False, "font": {"size": 12, "color": of.quiet}, "yshift": -2,
    }  # fmt: skip

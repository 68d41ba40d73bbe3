"""The plotly templates ``kvnb`` and ``kvnb_dark``, and the frame that every figure has: title, axis of steps, slider.

Must not know: what is drawn in the frame. Plotly's own default template stays as it is.

Paper is transparent. Text is wrapped so that in JupyterLab it takes the notebook's colour, whichever theme that has;
elsewhere it has the template's.
"""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]
import plotly.io as pio  # type: ignore[import-untyped]

from kvnb.journal import Journal
from kvnb.views.figures.steps import KEPT, Steps, command, safe
from kvnb.views.theme import DARK, FAINT, LIGHT, REQUESTS, Ground

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"
CLEAR = "rgba(0,0,0,0)"
NAMED = 40
"""Up to so many steps each has its command below it; of more, some have."""


Key = list[tuple[str, dict[str, Any]]]
"""Words, and the marker that stands for them."""


_THROUGH = {"line": "#8C929A", "faint": FAINT, "kept": "rgba(128,128,128,.42)", "empty": "rgba(128,128,128,.1)"}
"""What lies on the page itself is seen on a light one and on a dark one, whichever the figure was made for."""


def ground(dark: bool) -> Ground:
    """The colours of a figure."""
    return (DARK if dark else LIGHT)._replace(**_THROUGH)


def template(of: Ground) -> go.layout.Template:
    """What the figures of one ground have in common."""
    axis = {
        "showgrid": False, "zeroline": False, "showline": False, "ticks": "", "linecolor": of.line, "gridcolor": of.faint,
        "tickfont": {"color": of.quiet, "size": 11}, "ticklabelstandoff": 4, "title": {"font": {"color": of.quiet, "size": 11}},
    }  # fmt: skip
    layout = {
        "paper_bgcolor": CLEAR, "plot_bgcolor": CLEAR, "font": {"family": FONT, "size": 12, "color": of.ink},
        "title": {
            "font": {"size": 14, "color": of.ink, "weight": 600},
            "x": 0, "xref": "paper", "xanchor": "left", "y": 1, "yref": "container", "yanchor": "top", "pad": {"t": 18},
        },
        "colorway": [paint.fill for paint in REQUESTS], "xaxis": axis, "yaxis": axis, "yaxis2": axis,
        "hoverlabel": {
            "bgcolor": of.ink, "bordercolor": of.ink, "font": {"family": FONT, "size": 12, "color": of.paper}, "align": "left",
        },
        "legend": {
            "orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "bgcolor": CLEAR,
            "font": {"color": of.quiet, "size": 12}, "itemwidth": 30, "traceorder": "normal",
        },
        "modebar": {"bgcolor": CLEAR, "color": of.line, "activecolor": of.ratio, "remove": ["select", "lasso", "autoscale"]},
        "margin": {"l": 52, "r": 44, "t": 88, "b": 40}, "dragmode": "pan",
    }  # fmt: skip
    return go.layout.Template(layout=layout)


for _of in (ground(False), ground(True)):
    # By name for whoever makes figures of their own; what plotly takes by itself stays as it is.
    pio.templates[_of.name] = template(_of)


def text(words: str, of: Ground, quiet: bool = False, style: str = "") -> str:
    """Words in the notebook's colour where there is one; ``words`` are safe already."""
    shade, fallback = ("2", of.quiet) if quiet else ("1", of.ink)
    return f'<span style="color:var(--jp-ui-font-color{shade},{fallback}){style}">{words}</span>'


def frame(journal: Journal, steps: Steps, of: Ground, title: str, below: str, height: int) -> go.Figure:
    """An empty figure: its title a sentence, ``below`` it a quiet line, both plain text."""
    heading = f"{text(safe(title), of)}<br>{text(safe(below), of, quiet=True, style=';font-size:12px;font-weight:400')}"
    figure = go.Figure(layout={"template": template(of), "title": {"text": heading}, "height": height})
    figure.update_xaxes(**_axis(journal, steps, of))
    figure.update_yaxes(fixedrange=True)
    if steps.long:
        figure.update_layout(margin_b=12)
    return figure


def _axis(journal: Journal, steps: Steps, of: Ground) -> dict[str, Any]:
    axis: dict[str, Any] = {
        "range": [steps.opened - 0.5, steps.last + 0.5], "minallowed": steps.first - 0.5, "maxallowed": steps.last + 0.5,
        "tickformat": "d", "hoverformat": " d", "labelalias": _names(journal, steps, of), "autotickangles": [0, 30, 60],
        "automargin": True,
    }  # fmt: skip
    axis |= {"dtick": 1} if steps.number <= NAMED else {"nticks": 15}
    if 8 < steps.number <= NAMED:
        axis["tickangle"] = 30  # plotly turns them by itself only after they have touched
    if steps.long:
        axis |= {"rangeslider": {"visible": True, "thickness": 0.07, "bgcolor": CLEAR, "borderwidth": 0}}
    return axis


def _names(journal: Journal, steps: Steps, of: Ground) -> dict[str, str]:
    """What stands for the number of a step: at a tick the command, in a hover, whose format has a blank, the step too.

    A tick lies on the page and has its colour; a hover has its own.
    """
    names: dict[str, str] = {}
    for number in range(max(steps.first, steps.last + 1 - KEPT), steps.last + 1):
        name = safe(command(journal, number))
        names[str(number)] = text(name, of, quiet=True)
        names[f" {number}"] = f"step {number:,}, {name}"
    return names


def high(rows: int, pitch: int, steps: Steps) -> int:
    """The height of a figure with so many rows."""
    return max(260, 150 + pitch * rows + 44 * steps.long)


def key(figure: go.Figure, of: Ground, entries: Key) -> None:
    """A legend of these words, each with a marker; for pictures whose own traces cannot say it."""
    for words, marker in entries:
        figure.add_scatter(
            x=[None], y=[None], mode="markers", marker={"symbol": "square", "size": 11, **marker},
            name=text(safe(words), of, quiet=True), showlegend=True, hoverinfo="skip",
        )  # fmt: skip
    figure.update_layout(showlegend=True, legend={"itemclick": False, "itemdoubleclick": False})

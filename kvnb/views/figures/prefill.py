"""What prefills cost, step by step: tokens saved and computed, stacked; below it the share that was saved so far.

Must not know: which block is which.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]

from kvnb.journal import Journal
from kvnb.journal.prefills import Row, prefill_rows
from kvnb.views.figures.sentences import LEGEND, PANELS, percent, prefill_notes, prefill_title, saved_labels
from kvnb.views.figures.steps import Steps, last_steps, pool_text
from kvnb.views.figures.templates import CLEAR, frame, ground, text
from kvnb.views.theme import LOST, Ground

BARS = 60
"""Up to so many steps each has a bar; more are an area."""
_REST = 5
"""The last kind: what is not saved, in the lower panel."""
_TOKENS, _SHARE = "y2", "y"
"""The axes of the two panels."""
_WIDE, _BROAD = 620, 90
"""Pixels for all steps, in a window of 900: to know which labels fit; a bar has no more than so many of these."""
_HOVER = (
    "saved: read from the cache", "computed", "computed again after a preemption", "decode and drafts, computed",
    "in a failed pass: not computed",
)  # fmt: skip


def prefill_figure(journal: Journal, *, dark: bool = False, until: int | None = None) -> go.Figure:
    """Tokens of prefills that each step saved, since the cache had them, and computed; and the share saved so far.

    Told apart are tokens that are computed again after a preemption, tokens of decode steps and drafts, and those of a pass
    that failed. A token that was put off counts where it is computed.
    """
    of, steps = ground(dark), last_steps(journal, until)
    rows = prefill_rows(journal, steps.first, steps.last)
    total = rows[-1].total
    below = pool_text(journal, steps, *prefill_notes(journal, total))
    figure = frame(journal, steps, of, prefill_title(journal, total), below, 440)
    for kind in range(len(LEGEND)):
        if kind < 2 or any(row.work[kind] for row in rows):
            _add_work(figure, of, rows, kind)
    _add_share(figure, of, rows)
    most = max(sum(row.work) for row in rows)
    _add_labels(figure, of, rows, most)
    _set_axes(figure, of, steps, most)
    return figure


def _look(of: Ground, kind: int) -> tuple[str, str, dict[str, Any]]:
    """Fill, edge and pattern of a kind of work: all are told in grey too."""
    fill = (of.saved, of.used, of.used, of.kept, CLEAR, of.empty)[kind]
    edge = (of.ratio, of.used, of.used, of.line, LOST.fill, of.faint)[kind]
    if kind in (0, 1, _REST):
        return fill, edge, {}
    shape, ink, solidity = (("/", of.stripe, 0.35), (".", "rgba(128,128,128,.6)", 0.15), ("x", LOST.fill, 0.25))[kind - 2]
    return fill, edge, {"shape": shape, "fgcolor": ink, "bgcolor": fill, "size": 7, "solidity": solidity}


def _add(figure: go.Figure, of: Ground, kind: int, axis: str, columns: int, points: Sequence[Any], **more: Any) -> None:
    """One kind of work in one panel that has so many columns; points are step, value, what a hover says."""
    fill, edge, pattern = _look(of, kind)
    x, y, told = zip(*points, strict=True) if points else ((), (), ())
    common = {"x": x, "y": y, "yaxis": axis, "hovertext": told, "hovertemplate": "%{hovertext}<extra></extra>", **more}
    if columns <= BARS:
        wide = min(0.92 if columns <= 20 else 1, _BROAD * columns / _WIDE)
        figure.add_bar(**common, width=wide, marker={"color": fill, "pattern": pattern, "line": {"width": 1, "color": edge}})
        return
    line = {"width": 0.5, "color": edge, "shape": "hvh"}
    figure.add_scatter(**common, mode="lines", stackgroup=axis, fillcolor=fill, line=line, fillpattern=pattern or None)


def _add_work(figure: go.Figure, of: Ground, rows: Sequence[Row], kind: int) -> None:
    # A bar of no height would be a line, and said to be there.
    nothing = None if len(rows) <= BARS else 0
    points = [(row.number, row.work[kind] or nothing, f"{row.work[kind]:,} {_HOVER[kind]}") for row in rows]
    _add(figure, of, kind, _TOKENS, len(rows), points, name=text(LEGEND[kind], of, True), legendrank=kind, showlegend=True)


def _add_share(figure: go.Figure, of: Ground, rows: Sequence[Row]) -> None:
    """Of all tokens of prefills so far the part that was saved."""
    points = [
        (row.number, round(share, 4), f"{percent(share)}: {row.total.saved:,} of {row.total.prefill:,} saved so far")
        for row in rows
        if (share := row.total.share) is not None
    ]
    rest = [(number, round(1 - share, 4), None) for number, share, _ in points]
    _add(figure, of, 0, _SHARE, len(rows), points, showlegend=False)
    _add(figure, of, _REST, _SHARE, len(rows), rest, showlegend=False, hoverinfo="skip", hovertemplate=None)
    share = rows[-1].total.share
    if share is not None:
        figure.add_annotation(
            x=1, xref="paper", xanchor="left", y=share, yref=_SHARE, showarrow=False, xshift=4,
            text=text(f"<b>{percent(share)}</b>", of), font={"size": 12, "color": of.ink},
        )  # fmt: skip


def _add_labels(figure: go.Figure, of: Ground, rows: Sequence[Row], most: int) -> None:
    """Over each bar how much of its request was saved, where there is room for all of them."""
    labels = saved_labels(rows, _WIDE / len(rows)) if len(rows) <= BARS else {}
    tops = {row.number: sum(row.work) + 0.015 * most for row in rows}
    figure.add_scatter(
        x=list(labels), y=[tops[number] for number in labels], yaxis=_TOKENS, mode="text", textposition="top center",
        text=[text("<br>".join(lines), of) for lines in labels.values()], textfont={"size": 11, "color": of.ink},
        hoverinfo="skip", showlegend=False, cliponaxis=False,
    )  # fmt: skip


def _set_axes(figure: go.Figure, of: Ground, steps: Steps, most: int) -> None:
    common = {"fixedrange": True, "zeroline": True, "zerolinecolor": of.line, "zerolinewidth": 1}
    ends = [0, *[most] * (most > 0)]
    figure.update_layout(
        barmode="stack", hovermode="x unified", hoversubplots="axis", showlegend=True,
        legend={"itemclick": False, "itemdoubleclick": False},
        yaxis2={
            **common, "domain": [0.36, 0.93], "range": [0, max(1, most) * 1.24], "tickvals": ends,
            "ticktext": [text(f"{n:,}", of, True) for n in ends],
        },
        yaxis={
            **common, "domain": [0, 0.24], "range": [0, 1.02], "tickvals": [0, 1],
            "ticktext": [text(f"{n} %", of, True) for n in (0, 100)],
        },
    )  # fmt: skip
    if steps.long:
        # The slider is for finding steps: it has the tokens, not the share over them.
        figure.update_xaxes(rangeslider_yaxis={"rangemode": "fixed", "range": [2, 3]})
    for says, top in zip(PANELS, (0.93, 0.24), strict=True):
        figure.add_annotation(
            text=text(says, of, True), xref="paper", yref="paper", x=0, y=top, xanchor="left", yanchor="bottom",
            showarrow=False, font={"size": 12, "color": of.quiet}, yshift=-2,
        )  # fmt: skip

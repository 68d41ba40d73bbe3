"""Two pools compared, in all its forms: tables side by side, and their timelines in one figure.

Must not know: how any of them is drawn.

A page shows one form of an output: the tables are one, the figure is another.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from kvnb.errors import MissingPackage
from kvnb.journal import Journal
from kvnb.views.figures.pair_text import timelines_text
from kvnb.views.figures.static.pair import pair_svg
from kvnb.views.figures.timeline import html, plotly_bundle
from kvnb.views.pools import facts, pools_html, pools_text
from kvnb.views.shown import Shown

if TYPE_CHECKING:
    import plotly.graph_objects as go  # type: ignore[import-untyped]


class PairFigure(Shown):
    """The two timelines; ``value`` is the plotly figure, made when it is first asked for."""

    def __init__(self, a: Journal, b: Journal) -> None:
        self._of = a, b
        self.text = timelines_text(a, b)
        self.html = html(pair_svg(a, b), self.text, "the same as text")

    @cached_property
    def value(self) -> go.Figure:
        """The figure. Raises MissingPackage without plotly."""
        try:
            from kvnb.views.figures.pair import pair_figure
        except ModuleNotFoundError as error:
            if error.name != "plotly":
                raise
            raise MissingPackage.named("plotly", "a timeline") from error
        return pair_figure(*self._of)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return plotly_bundle(super()._repr_mimebundle_(include, exclude), self)


class PairShown(Shown):
    """Two pools side by side; ``figure`` shows their timelines, ``value`` are the figures that are told."""

    def __init__(self, a: Journal, b: Journal) -> None:
        super().__init__(pools_text(a, b), pools_html(a, b), facts(a, len(a), b, len(b)))
        self.figure = PairFigure(a, b)

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(super()._repr_mimebundle_(), raw=True)  # type: ignore[no-untyped-call]
        display(self.figure)  # type: ignore[no-untyped-call]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.text, "text/html": self.html + self.figure.html}

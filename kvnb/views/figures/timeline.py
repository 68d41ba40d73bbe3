"""A timeline that shows itself: plotly where a page runs it, an image where it does not, text in a terminal.

Must not know: how any of the three is drawn.

JupyterLab's plotly extension draws the figure, in a notebook that is not trusted too. GitHub, nbviewer and nbconvert
take the HTML: an image with its own paper, and the last steps as text beside it for where images are dropped.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from kvnb.journal import Journal
from kvnb.views import page
from kvnb.views.figures import check_name, figure, plain
from kvnb.views.figures.static import blocks_svg, prefill_svg, queue_svg, usage_svg
from kvnb.views.markup import card, element, safe
from kvnb.views.shown import Shown

if TYPE_CHECKING:
    import plotly.graph_objects as go  # type: ignore[import-untyped]

MIME = "application/vnd.plotly.v1+json"
CONFIG = {
    "displaylogo": False, "typesetMath": False, "scrollZoom": False,
    "modeBarButtons": [["pan2d", "zoom2d", "zoomIn2d", "zoomOut2d", "resetScale2d", "toImage"]],
}  # fmt: skip
"""Few buttons, none that sends anything anywhere; names are no mathematics.

Not ``responsive``: JupyterLab's extension resizes figures itself, and with both a figure collapses at the next change of theme.
"""

_NEUTRAL = re.compile(r"(?<=var\(--jp-ui-font-color\d,)#\w{6}")
"""What text is coloured where a page is not JupyterLab's: it must do on light and on dark.

JupyterLab itself keeps a picture of the figure in the notebook, in which it has none, and shows that on reopening.
"""

_TEXT: dict[str, Callable[..., str]] = {
    "queue": plain.queue_text, "usage": plain.usage_text, "blocks": plain.blocks_text, "prefill": plain.prefill_text,
}  # fmt: skip
_SVG: dict[str, Callable[..., str]] = {"queue": queue_svg, "usage": usage_svg, "blocks": blocks_svg, "prefill": prefill_svg}


class Timeline(Shown):
    """One timeline of a journal in all its forms; ``value`` is the plotly figure, made when it is first asked for."""

    def __init__(self, journal: Journal, which: str, **options: Any) -> None:
        self._of = (journal, which)
        self.text = _TEXT[which](journal, options.get("until"))
        self.html = html(_SVG[which](journal, **options), self.text)
        # A journal grows: the figure, made later, ends where the text ends.
        options = {"until": len(journal), **options}
        self._make: Callable[[], Any] = lambda: figure(journal, which, **options)

    @cached_property
    def value(self) -> go.Figure:
        """The figure. Raises MissingPackage without plotly."""
        return self._make()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle: dict[str, Any] = plotly_bundle(super()._repr_mimebundle_(include, exclude), self)
        if MIME in bundle and page.is_live():
            # On a page that somebody looks at its blocks are selected together with those of other pictures.
            journal, which = self._of
            bundle[MIME]["layout"]["meta"] = {"kvnb": {"pool": page.pool_id(journal), "which": which}}
        return bundle


def plotly_bundle(bundle: dict[str, Any], shown: Shown) -> dict[str, Any]:
    """``bundle`` and, where plotly is installed, the figure that is the value of ``shown``."""
    if find_spec("plotly"):
        bundle[MIME] = {**json.loads(_NEUTRAL.sub("#767676", shown.value.to_json())), "config": CONFIG}
    return bundle


def timeline_shown(journal: Journal, which: str = "queue", **options: Any) -> Timeline:
    """The timeline ``queue``, ``usage``, ``blocks`` or ``prefill``; see ``queue_figure`` and its like for the options.

    Raises UnknownName for another name.
    """
    check_name(which)
    return Timeline(journal, which, **options)


def html(svg: str, says: str, what: str = "the last steps as text") -> str:
    """A static image, and under it the same as text, closed."""
    data = b64encode(svg.encode()).decode()
    image = f'<img alt="{safe(says)}" src="data:image/svg+xml;base64,{data}" style="max-width:100%;height:auto">'
    words = element("pre", "margin:4px 0 0 0;overflow-x:auto", "\n".join(map(safe, says.split("\n"))))
    return card(image, element("details", "", element("summary", "opacity:.72;font-size:12px", what), words))

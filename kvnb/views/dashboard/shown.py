"""A dashboard in an output: text and static HTML that stay, over which a live page draws the board.

Must not know: widgets. See ``kvnb.views.canvas.shown`` for why no output names one.
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from kvnb.journal import Journal
from kvnb.views import html, page, text
from kvnb.views.shown import Shown


class DashboardShown(Shown):
    """The pool after the last step, as text and as HTML; on a live page the board of ``dashboard`` in their place."""

    def __init__(self, journal: Journal, dashboard: Any, docked: bool = False) -> None:
        state, step = journal.state, len(journal)
        super().__init__(text.state_text(journal, state, step), html.state_html(journal, state, step), dashboard, journal)
        self._docked = docked

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(include, exclude)
        # A dashboard that went on to another pool is that one's: here stays what was shown.
        if self.value is not None and self.value.journal is self.journal and page.is_live():
            place = uuid4().hex
            bundle["text/html"] = f'<div data-kvnb-place="{place}">{bundle["text/html"]}</div>'
            self.value.show_at("" if self._docked else place)
        return bundle

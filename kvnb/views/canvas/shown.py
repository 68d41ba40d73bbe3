"""Outputs with two lives: static HTML that stays, and a canvas drawn over it while the kernel is there.

Must not know: how either is drawn.

An output that names a widget says "model not found" once it is reopened without that widget, and the notebook has no
other place for a static form then. So no output names one: it is the static HTML, inside an element with a random mark,
and the widget, opened without a view, looks for that mark on the page, puts its canvas there and hides the static form.
Whatever loses the mark or the kernel (a reopened notebook, one that is not trusted, nbconvert, GitHub, a restart) shows
the static form, and nothing of the widget is in the file.

The last few canvases live. An older output goes back to its static form, so a long notebook does not fill the page.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from kvnb.journal import Journal, State
from kvnb.views import page, text
from kvnb.views.canvas import still
from kvnb.views.shown import Shown

if TYPE_CHECKING:
    from kvnb.views.canvas.widgets import Canvas

MOST = 8
"""How many outputs have a canvas at once."""
_alive: deque[CanvasShown] = deque()


class CanvasShown(Shown):
    """A step of a pool as text, as HTML, and as a canvas where the output is shown by a live notebook."""

    def __init__(self, kind: str, journal: Journal, state: State, step: int, plain: str, markup: str) -> None:
        super().__init__(plain, markup, state, journal)
        self._kind, self._journal, self._step = kind, journal, step
        self._place = ""
        self.widget: Canvas | None = None

    def live(self) -> Canvas:
        """The canvas behind this output, opened when first asked for. Raises ImportError without anywidget."""
        if self.widget is None:
            from kvnb.views.canvas.widgets import BlockMap, QueueStrip

            kind = {"map": BlockMap, "queue": QueueStrip}[self._kind]
            self._place = self._place or uuid4().hex
            marks = still.marks_at(self._journal, self._step)
            self.widget = kind(self._journal, self._journal.state_at(self._step), marks, self._step, self._place)
            _alive.append(self)
            while len(_alive) > MOST:
                _alive[0].close()
        return self.widget

    def close(self) -> None:
        """Free the canvas; the output shows its static form again."""
        if self in _alive:
            _alive.remove(self)
        if self.widget is not None:
            self.widget.close()
            self.widget = None

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(include, exclude)
        if page.is_live():
            try:
                self.live()
            except ImportError:
                return bundle
            bundle["text/html"] = f'<div data-kvnb-place="{self._place}">{bundle["text/html"]}</div>'
        return bundle


def blocks_shown(journal: Journal, state: State, step: int) -> CanvasShown:
    """Every block of a pool after a step."""
    plain, markup = still.blocks_text(journal, state, step), still.blocks_html(journal, state, step)
    return CanvasShown("map", journal, state, step, plain, markup)


def queue_shown(journal: Journal, state: State, step: int) -> CanvasShown:
    """The free queue of a pool after a step."""
    return CanvasShown("queue", journal, state, step, text.queue_text(state), still.queue_html(journal, state, step))


def close_all() -> None:
    """Free every canvas that an output has."""
    for shown in list(_alive):
        shown.close()

"""The widget whose page draws a dashboard: figures, free queue, blocks, requests, timeline, and room for the controls.

Must not know: journals; it is told what to show. Needs anywidget.

What is shown is in traits, so that a page that is loaded again, or was busy loading, draws the last state. Blocks may
come as a frame of some ids; a page that missed a frame says ``hello`` and gets every block.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from gzip import compress
from threading import RLock
from typing import Any
from uuid import uuid4

import anywidget
import traitlets

from kvnb.views.canvas.widgets import loader, module
from kvnb.views.dashboard.feed import News
from kvnb.views.theme import EDGE, HIT, LINE, LOST, OWNED, REQUESTS, SHARED

LOOK = {"table": (OWNED, SHARED, *REQUESTS), "hit": HIT, "lost": LOST, "edge": EDGE, "line": LINE}


@cache
def plotly_code() -> bytes:
    """plotly.js as plotly's own package has it, gzipped: 1.5 MB, sent to a page once, when it first draws a timeline."""
    from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

    return compress(get_plotlyjs().encode(), 6, mtime=0)


class Board(anywidget.AnyWidget):
    """One board; a page draws it where ``place`` marks an output, or, with no place, wherever it is displayed.

    parts
        The model ids of the widgets that the page puts between the pictures: ``commands``, ``travel``, ``choose``.
    heard
        Called with each message of the page, perhaps on another thread.
    """

    _esm = loader()
    code = traitlets.Unicode(module()).tag(sync=True)
    view = traitlets.Unicode("board").tag(sync=True)
    me = traitlets.Unicode().tag(sync=True)
    place = traitlets.Unicode().tag(sync=True)
    pool = traitlets.Unicode().tag(sync=True)
    title = traitlets.List(traitlets.Unicode()).tag(sync=True)
    look = traitlets.Dict(LOOK).tag(sync=True)
    parts = traitlets.Dict().tag(sync=True)
    facts = traitlets.Dict().tag(sync=True)
    blocks = traitlets.Bytes().tag(sync=True)
    queue = traitlets.Bytes().tag(sync=True)
    figure = traitlets.Unicode().tag(sync=True)
    clicks = traitlets.Dict({"said": "", "wrong": False, "cell": ""}).tag(sync=True)

    def __init__(self, pool: str, title: list[str], news: News, heard: Callable[[dict[str, Any]], object]) -> None:
        self._turn = RLock()
        me = uuid4().hex
        first = {"facts": news.facts, "blocks": news.blocks, "queue": news.queue}
        super().__init__(model_id=me, me=me, pool=pool, title=title, **first)
        self.on_msg(lambda _, content, __: heard(content))

    def tell(self, news: News, **more: Any) -> None:
        """Show this: one message."""
        self.change(blocks=news.blocks, queue=news.queue, facts=news.facts, **more)

    def draw(self, figure: dict[str, Any]) -> None:
        """Show this timeline: plotly's own form, with what the page needs besides."""
        self.change(figure=json.dumps(figure))

    def say(self, said: str, wrong: bool = False, cell: str = "") -> None:
        """Show what a click did, and the cell that does the same as all clicks so far."""
        self.change(clicks={"said": said, "wrong": wrong, "cell": cell})

    def change(self, **traits: Any) -> None:
        """Set traits, in one message. Threads take turns: ipywidgets itself would lose one's value in the other's message."""
        with self._turn, self.hold_sync():
            for name, value in traits.items():
                setattr(self, name, value)

    def send_plotly(self) -> None:
        """Give the page plotly.js."""
        self.send({"plotly": True}, [plotly_code()])

    def close(self) -> None:
        """Take it from every page and from the kernel, its layout too."""
        if self.comm is not None:
            self.layout.close()
        super().close()

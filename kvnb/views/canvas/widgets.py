"""The block map and the free-queue strip as widgets; the canvas itself is the JavaScript beside this.

Must not know: the live pool. Needs anywidget.

State goes to the page in traits, so a page that is reloaded draws again; one update is one message. What the page says
comes by ``on_msg``, which is what always gets through, perhaps on another thread.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import Any

import anywidget
import traitlets

from kvnb.journal import Journal, State
from kvnb.views.canvas.details import lines
from kvnb.views.canvas.frames import Colours, encode, encode_queue
from kvnb.views.canvas.still import marks_at
from kvnb.views.page import pool_id
from kvnb.views.theme import EDGE, HIT, LINE, LOST, painter
from kvnb.views.tiles import NO_MARKS, Marks
from kvnb.views.words import queue_ends, short

_PARTS = (
    "frame.js", "ink.js", "page.js", "pointing.js", "legend.js", "tiles.js", "plots.js", "map.js", "strip.js",
    "store.js", "mount.js", "requests.js", "timeline.js", "board.js", "index.js",
)  # fmt: skip
_NAMED = 8
_lock = RLock()


def module() -> str:
    """The ES module: its parts one after the other, as they are."""
    folder = Path(__file__).with_name("js")
    return "\n".join((folder / part).read_text("utf-8") for part in _PARTS)


def loader() -> str:
    """The module that each widget is given, which imports the one above once a page."""
    version = sha256(module().encode()).hexdigest()[:16]
    return Path(__file__).with_name("js").joinpath("loader.js").read_text("utf-8").replace("VERSION", version)


class Canvas(anywidget.AnyWidget):
    """One canvas of one pool. ``selected`` is the block that was clicked last, on any canvas of the pool.

    place
        The mark that an output left for this widget, which is then its model's id too; empty: it has views as any widget.
    """

    _esm = loader()
    code = traitlets.Unicode(module()).tag(sync=True)
    view = traitlets.Unicode().tag(sync=True)
    pool = traitlets.Unicode().tag(sync=True)
    place = traitlets.Unicode().tag(sync=True)
    look = traitlets.Dict().tag(sync=True)
    owners = traitlets.Dict().tag(sync=True)
    frame = traitlets.Bytes().tag(sync=True)

    def __init__(self, journal: Journal, state: State, marks: Marks = NO_MARKS, step: int | None = None, place: str = "") -> None:
        self.journal = journal
        self.selected: int | None = None
        self._listeners: list[Callable[[int | None], object]] = []
        self._colours = Colours(painter(journal))
        self._seq = 0
        self._step = len(journal) if step is None else step
        first = {"frame": self._encoded(state, marks), "owners": self._owners(state), "look": self._look()}
        model = {"model_id": place} if place else {}
        super().__init__(view=self.kind, pool=pool_id(journal), place=place, **first, **model)
        self.on_msg(self._heard)

    kind = ""

    def update(self, state: State, marks: Marks = NO_MARKS, step: int | None = None) -> None:
        """Draw another state: one message. ``step`` is the journal's that led to it, the last unless given."""
        with _lock, self.hold_sync():
            self._seq += 1
            self._step = len(self.journal) if step is None else step
            # Requests that came since then have colours too, and other pictures know them.
            self._colours = Colours(painter(self.journal))
            self.owners = self._owners(state)
            self.frame = self._encoded(state, marks)

    def show_step(self, step: int | None = None) -> None:
        """Draw the pool after a step of its journal, the last unless given, with what that step did."""
        step = len(self.journal) if step is None else step
        self.update(self.journal.state_at(step), marks_at(self.journal, step), step)

    def select(self, block_id: int | None) -> None:
        """Select a block in every canvas of the pool; None: no block."""
        self.send({"select": block_id})
        self._select(block_id)

    def on_select(self, listener: Callable[[int | None], object]) -> None:
        """Call ``listener`` with the id of each block that is selected, None when none is any more."""
        self._listeners.append(listener)

    def close(self) -> None:
        """Take it from the page and from the kernel, its layout too."""
        self._listeners.clear()
        if self.comm is not None:
            self.layout.close()
        super().close()

    def _encoded(self, state: State, marks: Marks) -> bytes:
        """What the page draws: every block, for a picture that does not say otherwise."""
        return encode(state, marks, self._colours, self._seq)

    def _owners(self, state: State) -> dict[str, Any]:
        """The first requests that hold blocks, each with its colour's number, and how many more there are."""
        names = [[short(name, 24), self._colours.number(name)] for name in islice(state.requests, _NAMED)]
        return {"names": names, "more": max(0, len(state.requests) - _NAMED)}

    def _look(self) -> dict[str, Any]:
        return {"table": self._colours.table, "hit": HIT, "lost": LOST, "edge": EDGE, "line": LINE}

    def _heard(self, _: object, content: dict[str, Any], __: object) -> None:
        """The page asks for what is known of a block, or says which one was selected."""
        with _lock:
            chosen = content.get("select", "")
            if chosen is None or (type(chosen) is int and 0 <= chosen < self.journal.behaviour.num_blocks):
                self._select(chosen)
            block_id = content.get("ask")
            if type(block_id) is int:
                self.send({"about": block_id, "lines": lines(self.journal.state_at(self._step), block_id)})

    def _select(self, block_id: int | None) -> None:
        self.selected = block_id
        for listener in list(self._listeners):
            listener(block_id)


class BlockMap(Canvas):
    """Every block in the order of its id, from numbered tiles down to pixels."""

    kind = "map"


class QueueStrip(Canvas):
    """The free queue, front to back; of a long one the two ends. What changes moves, for a moment."""

    kind = "queue"
    _ends: tuple[int, ...] = ()

    def _encoded(self, state: State, marks: Marks) -> bytes:
        before = self._ends
        front, _, back = queue_ends(state)
        self._ends = (*front, *back)
        return encode_queue(state, marks, self._colours, self._seq, before)

"""How far long work has come: a bar of tqdm in a live notebook or on a terminal, nothing where nobody watches.

Must not know: what the work is.

tqdm and the widgets are imported when a bar is due, and without them there is none. ``tqdm.auto`` is not asked which bar it
is to be: it knows neither ``nbclient`` nor a pipe, and its widget would stay in the notebook file, where a page that is
opened again finds no model for it.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar
from uuid import uuid4

from kvnb.views import page

T = TypeVar("T")

DELAY = 1.0
"""Seconds that work takes before it has a bar."""
EVERY = 0.1
"""Seconds from one look of the bar to the next."""
GONE = {"text/plain": "", "text/html": ""}
"""What stays of a bar's output: there is no way to take a single output back."""


@contextmanager
def progress(steps: Sequence[T], what: str, clock: Callable[[], float] = time.monotonic) -> Iterator[Iterable[T]]:
    """``steps`` to go through in the ``with`` block, with a bar that says ``what`` once that takes longer than ``DELAY``.

    clock
        Seconds since whenever.
    At the end of the block, whatever ends it, the bar is taken away. An interrupt is raised as what it is.
    """
    kind = _bar_kind()
    if kind is None:
        yield steps
        return
    watched = _Watched(steps, what, kind, clock)
    try:
        yield watched
    finally:
        watched.close()


def _bar_kind() -> type[_TerminalBar] | None:
    if page.is_live():
        return _NotebookBar
    # A kernel's stderr is no terminal, and a program without a console has none.
    return _TerminalBar if sys.stderr is not None and sys.stderr.isatty() else None


class _Watched(Iterable[T]):
    """The steps, looked at by the clock as they are taken; tqdm is spoken to a few times a second, and never half."""

    def __init__(self, steps: Sequence[T], what: str, kind: type[_TerminalBar], clock: Callable[[], float]) -> None:
        self._steps, self._what, self._kind, self._clock = steps, what, kind, clock
        self._bar: _TerminalBar | None = None

    def __iter__(self) -> Iterator[T]:
        due = self._clock() + DELAY
        for done, step in enumerate(self._steps):
            now = self._clock()
            if now >= due:
                due = now + (EVERY if self._show(done) else float("inf"))
            yield step

    def _show(self, done: int) -> bool:
        with suppress(ImportError), _undisturbed():
            if self._bar is None:
                self._bar = self._kind(self._what, done, len(self._steps))
            self._bar.show(done)
        return self._bar is not None

    def close(self) -> None:
        """Take the bar away, if there is one."""
        with _undisturbed():
            if self._bar is not None:
                self._bar.close()
            self._bar = None


class _TerminalBar:
    """A line of text on a terminal that is wiped at the end. Raises ImportError without tqdm."""

    def __init__(self, what: str, done: int, total: int) -> None:
        from tqdm import tqdm  # type: ignore[import-untyped]

        self._bar: Any = tqdm(dynamic_ncols=True, **self._settings(what, done, total))

    @staticmethod
    def _settings(what: str, done: int, total: int) -> dict[str, Any]:
        return {"desc": what, "initial": done, "total": total, "unit": " steps", "leave": False, "delay": 0}

    def show(self, done: int) -> None:
        """So many steps are done."""
        self._bar.n = done
        self._bar.refresh()

    def close(self) -> None:
        """Wipe it."""
        self._bar.close()


class _NotebookBar(_TerminalBar):
    """Widgets below the running cell, of which an empty output stays. Raises ImportError without tqdm or ipywidgets."""

    def __init__(self, what: str, done: int, total: int) -> None:
        import ipywidgets  # type: ignore[import-untyped]  # noqa: F401  (tqdm misses it too late, with a bar half made)
        from IPython.display import display
        from tqdm.notebook import tqdm  # type: ignore[import-untyped]

        self._bar = tqdm(display=False, **self._settings(what, done, total))
        self._output = uuid4().hex
        display(self._bar.container, display_id=self._output)  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """Empty the output, and free the widgets: ipywidgets keeps each of them until it is closed itself."""
        from IPython.display import update_display

        update_display(GONE, display_id=self._output, raw=True)  # type: ignore[no-untyped-call]
        super().close()
        box = self._bar.container
        for widget in (*box.children, box):
            widget.layout.close()
            if widget.has_trait("style"):
                widget.style.close()
            widget.close()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """An interrupt that comes meanwhile is raised at the end: widgets half made would stay, and a lock of tqdm's held."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came: list[Any] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            before(signal.SIGINT, came[0])

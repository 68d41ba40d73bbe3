"""One thread a kernel that lets panels speak: it wakes when something happened, and waits when it is too soon.

Must not know: what a panel is, beyond ``speak`` and ``complain``.

A running command only leaves a mark and wakes the thread, so it pays nothing for what is drawn, and an interrupt, which
reaches the main thread alone, never cuts a picture in two.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Protocol

from kvnb.views.dashboard.pace import Budget


class Panel(Protocol):
    """What speaks when it is its turn."""

    def speak(self, now: float, crowd: int) -> float | None:
        """Send what may be sent at ``now``; seconds until there is more, None when there is nothing."""

    def complain(self, error: Exception) -> None:
        """Show that speaking failed."""


class Ticker:
    """The panels that are open, and the budget that they share.

    The thread begins with the first and then stays, asleep while there is none.
    """

    def __init__(self, budget: Budget, clock: Callable[[], float] = time.monotonic) -> None:
        self.panels: list[Panel] = []
        self.budget = budget
        self._clock = clock
        # A queue in C: putting into it can neither be interrupted in the middle nor wait for a lock.
        self._woken: SimpleQueue[bool] = SimpleQueue()
        self._thread: Thread | None = None

    def add(self, panel: Panel) -> None:
        """Let a panel speak from now on."""
        self.panels.append(panel)
        if self._thread is None:
            # A thread begins with no context, and ipykernel 7.0, which Binder has, sends nothing without that of a cell.
            context = copy_context()
            self._thread = Thread(target=context.run, args=(self._run,), name="kvnb-ticker", daemon=True)
            self._thread.start()
        self.wake()

    def remove(self, panel: Panel) -> None:
        """Let it speak no more."""
        if panel in self.panels:
            self.panels.remove(panel)
        self.wake()

    def wake(self) -> None:
        """Something happened."""
        self._woken.put(True)

    def _run(self) -> None:
        wait: float | None = None
        while True:
            # Its time has come, or something happened: often several things, which are told together.
            with suppress(Empty):
                self._woken.get(timeout=wait)
                while True:
                    self._woken.get_nowait()
            wait = self._round()

    def _round(self) -> float | None:
        """Every panel's turn; seconds until the next, None when none has anything to say."""
        waits = [self._turn(panel) for panel in list(self.panels)]
        return min((wait for wait in waits if wait is not None), default=None)

    def _turn(self, panel: Panel) -> float | None:
        try:
            return panel.speak(self._clock(), len(self.panels))
        except Exception as error:  # one panel's mistake is shown by it, and the others go on
            # A complaint that cannot be sent is not worth the thread that all panels live by.
            with suppress(Exception):
                panel.complain(error)
            return None


_budget = Budget()
ticker, drawer = Ticker(_budget), Ticker(_budget)
"""The kernel's: one for what takes milliseconds, one for timelines, which take longer."""

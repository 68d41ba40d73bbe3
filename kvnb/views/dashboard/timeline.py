"""The timeline of a dashboard: made anew when the journal grew, less often the longer that takes.

Must not know: widgets, what else a dashboard shows.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from threading import RLock
from typing import Any

from kvnb.errors import KvnbError
from kvnb.journal import Journal
from kvnb.views.dashboard.pace import Pace
from kvnb.views.dashboard.ticker import Ticker
from kvnb.views.figures import figure
from kvnb.views.figures.timeline import CONFIG
from kvnb.views.page import pool_id

EVERY, SHARE, LONGEST = 1.0, 0.2, 10.0
"""Seconds between two timelines; the part of all time that may go into making them; but no wait is longer than this."""
AHEAD, NEAR = 60, 100
"""A step in the past that is not among the last ``NEAR`` is drawn with so many steps after it."""


class LiveTimeline:
    """One of the timelines, or none; ``draw`` gets it in plotly's own form, made on the thread of ``by``."""

    def __init__(self, journal: Journal, which: str, draw: Callable[[dict[str, Any]], object], by: Ticker) -> None:
        self.which, self.dark = which, False
        self.step: int | None = None
        self._journal, self._draw, self._ticker = journal, draw, by
        self._lock = RLock()
        self._pace = Pace(EVERY, 1, by.budget, wanted=True)
        self._drawn = -1
        by.add(self)

    def follow(self, journal: Journal) -> None:
        """Show another journal's."""
        self._journal, self.step = journal, None
        self._again()

    def choose(self, which: str) -> None:
        """Show another one, "" for none."""
        self.which = which
        self._again()

    def darken(self, dark: bool) -> None:
        """Draw for a dark page, or for a light one."""
        if dark != self.dark:
            self.dark = dark
            self._again()

    def look_at(self, step: int | None) -> None:
        """Draw what lies around ``step``, None: what happened last."""
        before, self.step = self.step, step
        if self._until(before) != self._until(step):
            self._again()

    def wake(self) -> None:
        """The journal grew."""
        self._ticker.wake()

    def close(self) -> None:
        """Draw no more; whoever calls waits for a timeline that is just being made, and it is not drawn."""
        self._ticker.remove(self)
        with self._lock:
            self._draw = lambda _: None

    def speak(self, now: float, crowd: int) -> float | None:
        """Make the timeline if it is due at ``now``; see ``Panel``."""
        if self.which and self._until(self.step) != self._drawn:
            self._pace.want()
        if self._pace.wait(now, crowd) == 0:
            self._pace.sent(now)
            # Read after that: what is asked for from here on is wanted again.
            journal, which, until = self._journal, self.which, self._until(self.step)
            took = self._show(journal, which, until)
            self._pace.took(min(took, SHARE * LONGEST), SHARE)
            # What was asked for meanwhile stands; steps that came meanwhile are asked for here.
            if self.which and until != self._until(self.step):
                self._pace.want()
        return self._pace.wait(now, crowd)

    def complain(self, error: Exception) -> None:
        """Show that drawing failed."""
        self._draw({"wrong": str(error) if isinstance(error, KvnbError) else f"{type(error).__name__}: {error}"})

    def _again(self) -> None:
        self._pace.at_once()
        self._ticker.wake()

    def _show(self, journal: Journal, which: str, until: int) -> float:
        """Make and draw it; the seconds that this took, without what is loaded the first time."""
        if which:
            import plotly.graph_objects  # type: ignore[import-untyped]  # noqa: F401
        began = time.monotonic()
        made = self._made(journal, which, min(until, len(journal))) if which else {}
        with self._lock:
            self._draw(made)
        self._drawn = until
        return time.monotonic() - began

    def _until(self, step: int | None) -> int:
        steps = len(self._journal)
        return steps if step is None or steps - step <= NEAR else step + AHEAD

    def _made(self, journal: Journal, which: str, until: int) -> dict[str, Any]:
        dark = self.dark
        made = json.loads(figure(journal, which, until=until, dark=dark).to_json())
        made["layout"]["meta"] = {"kvnb": {"pool": pool_id(journal), "which": which}}
        return {"which": which, "dark": dark, "until": until, "config": CONFIG, **made}

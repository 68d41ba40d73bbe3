"""A dashboard: a feed, a board and the controls, and when each of them speaks.

Must not know: the live pool and the verbs; a ``Driver`` runs the line that a click makes. Needs ipywidgets and anywidget.

Two things are sent, each at its pace, by the ticker's thread: news of the pool, and the slider with the names that are
offered. The timeline has a pace of its own, see ``LiveTimeline``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice
from threading import RLock
from typing import Any, Protocol

from kvnb.errors import KvnbError, MissingPackage
from kvnb.journal import Journal, State
from kvnb.manager import Behaviour
from kvnb.views.canvas.details import lines
from kvnb.views.dashboard.board import Board
from kvnb.views.dashboard.controls import NAMED, Controls, close
from kvnb.views.dashboard.feed import Feed, News
from kvnb.views.dashboard.lines import Fields, cell, line
from kvnb.views.dashboard.pace import Pace
from kvnb.views.dashboard.ticker import Ticker, drawer, ticker
from kvnb.views.dashboard.timeline import LiveTimeline
from kvnb.views.page import pool_id
from kvnb.views.text import size_text
from kvnb.views.words import short

NEWS, SLOW = 0.3, 1.5
"""Seconds between two news; and between two times that a slider, what plays it and a list of names are sent."""


class Driver(Protocol):
    """Runs what is clicked. ``verbs`` are those that can be clicked now."""

    verbs: tuple[str, ...]

    def run(self, line: str) -> str:
        """Run one line and say what it did. Raises a KvnbError, and changes nothing, when it cannot be done."""

    def written(self, line: str) -> str:
        """The line as it would be typed in a cell."""


class Dashboard:
    """The one panel of a pool, or of a journal that is only looked through.

    driver
        None: nothing can be clicked.
    held
        Why nothing can be clicked at first, though there is a driver: it takes a click or a command to go on.
    step
        The step in the past that is looked at; None: the present, which is followed.
    selected
        The block that was clicked last on this board.
    """

    def __init__(
        self, journal: Journal, driver: Driver | None, held: str = "", which: str = "",
        clock: Callable[[], float] = time.time, by: Ticker = ticker, drawn_by: Ticker = drawer,
    ) -> None:  # fmt: skip
        self._lock = RLock()
        self._clock, self._ticker = clock, by
        self._lines: list[str] = []
        self._news, self._slow = Pace(NEWS, 1, by.budget), Pace(SLOW, 3, by.budget)
        self._take(Feed(journal), driver, held)
        self.controls = Controls(self._clicked, self.travel, self._chosen, self._go_on, which)
        self.board = Board(pool_id(journal), self._title(), self._latest(), self._heard)
        self.board.parts = self.controls.parts
        self.timeline = LiveTimeline(journal, which, self.board.draw, drawn_by)
        self.panel: Any = None
        self._begin()
        by.add(self)

    def follow(self, journal: Journal, driver: Driver | None, held: str = "") -> None:
        """Show another journal from now on: the pool of that name was replaced."""
        with self._lock:
            # What takes long comes first: an interrupt there leaves the dashboard to the journal that it had.
            feed = Feed(journal)
            self.journal.listeners.remove(self._stepped)
            self._take(feed, driver, held)
            self._lines = []
            self.board.tell(self._latest(), pool=pool_id(journal), title=self._title())
            self.board.say("")
            self._begin()
            self.timeline.follow(journal)
        self._ticker.wake()

    def show_at(self, place: str) -> None:
        """Draw the board over the output with this mark, and nowhere else but in a side panel."""
        with self._lock:
            self.board.change(place=place)
            if place:
                self._leave_dock()

    def dock(self) -> None:
        """Show the board in a panel beside the notebook; a panel that is there already gives way. Raises MissingPackage."""
        try:
            from sidecar import Sidecar  # type: ignore[import-untyped]
        except ModuleNotFoundError as error:
            raise MissingPackage.named("sidecar", "a side panel") from error
        with self._lock:
            self._leave_dock()
            self.panel = Sidecar(title=f"kvnb: {short(self.journal.name, 24)}", anchor="split-right")
            self.panel.append_display_data(self.board)

    def _leave_dock(self) -> None:
        if self.panel is not None:
            close(self.panel)
            self.panel = None

    def travel(self, step: int) -> None:
        """Look at the pool after ``step``; at the last one, follow it again."""
        with self._lock:
            self.step = step if step < len(self.journal) else None
            self._news.at_once()
            if self.step is None:
                self._slow.want()
        self.timeline.look_at(self.step)
        self._ticker.wake()

    def rest(self) -> None:
        """Show nothing, nowhere, until ``follow`` and ``show_at``; what it showed is let go of."""
        self.follow(Journal(Behaviour(num_blocks=1, block_size=1)), None)
        self.controls.choose.value = ""
        with self._lock:
            self.controls.empty()
            self._leave_dock()
            self.board.change(place="", figure="")

    def close(self) -> None:
        """Take it from every page and from the kernel; a second time nothing happens."""
        with self._lock:
            if self._stepped in self.journal.listeners:
                self.journal.listeners.remove(self._stepped)
                self._ticker.remove(self)
                self.timeline.close()
                self._leave_dock()
                self.controls.close()
                self.board.close()

    # --- what happens ----------------------------------------------------------------------------------------

    def _take(self, feed: Feed, driver: Driver | None, held: str) -> None:
        self.feed, self.journal, self.driver, self.held = feed, feed.journal, driver, held
        self.step = self.selected = None
        self.journal.listeners.append(self._stepped)

    def _begin(self) -> None:
        self._allow()
        self.controls.stand_at(len(self.journal), len(self.journal))
        self._slow.want()

    def _allow(self) -> None:
        self.controls.allow(
            self.driver.verbs if self.driver and not self.held else (), self.driver is not None and bool(self.held)
        )

    def _stepped(self) -> None:
        """The journal grew: called within the command, so it only wakes whoever draws."""
        self._ticker.wake()
        self.timeline.wake()

    def _go_on(self) -> None:
        with self._lock:
            self.held = ""
            self._allow()
            self._news.want()
        self._ticker.wake()

    def _clicked(self, verb: str, fields: Fields) -> None:
        if self.driver is None or self.held:
            return
        # The pool is driven without the lock: what draws never waits for what computes.
        try:
            typed = line(verb, fields, self.journal.state_at(len(self.journal), own=True))
            says, wrong = self.driver.run(typed), False
            self._lines.append(typed)
        except KvnbError as error:
            says, wrong = str(error), True
        with self._lock:
            self.board.say(says, wrong, cell([self.driver.written(done) for done in self._lines]))
        self.travel(len(self.journal))

    def _chosen(self, which: str) -> None:
        self.timeline.choose(which)

    def _heard(self, content: dict[str, Any]) -> None:
        """What the page says: that it missed something, which block is meant, what it needs."""
        with self._lock:
            if content.get("hello"):
                self._tell(all_blocks=True)
            if "select" in content:
                self.selected = content["select"]
            if type(content.get("ask")) is int:
                self.board.send({"about": content["ask"], "lines": lines(self._shown(), content["ask"])})
        if "dark" in content:
            self.timeline.darken(bool(content["dark"]))
        if content.get("plotly"):
            self.board.send_plotly()

    def _shown(self) -> State:
        return self.feed.state if self.step is None else self.journal.state_at(self.step)

    # --- what is sent ----------------------------------------------------------------------------------------

    def speak(self, now: float, crowd: int) -> float | None:
        """Send what may be sent at ``now``, of the ticker's clock; seconds until there is more, None when there is nothing."""
        with self._lock:
            if self.feed.behind:
                self._grown()
            for pace, send in ((self._news, self._tell), (self._slow, self._offer)):
                if pace.wait(now, crowd) == 0:
                    pace.sent(now)
                    send()
            waits = [pace.wait(now, crowd) for pace in (self._news, self._slow)]
            return min((wait for wait in waits if wait is not None), default=None)

    def complain(self, error: Exception) -> None:
        """Show that drawing failed."""
        self.board.say(f"the picture could not be drawn: {type(error).__name__}: {error}", wrong=True)

    def _grown(self) -> None:
        self._slow.want()
        if self.step is None:
            self._news.want()
        if self.held and self.driver:
            self._go_on()

    def _tell(self, all_blocks: bool = False) -> None:
        self.board.tell(self._latest(all_blocks))

    def _offer(self) -> None:
        steps = len(self.journal)
        self.controls.stand_at(steps if self.step is None else self.step, steps)
        self.controls.offer(islice(reversed(self.feed.state.requests), NAMED))

    def _latest(self, all_blocks: bool = False) -> News:
        """News of what is looked at, with the moment at which it was begun."""
        live = {"now": self.step is None, "held": self.held, "stamp": self._clock()}
        news = self.feed.now(all_blocks=all_blocks) if self.step is None else self.feed.at(self.step)
        return news._replace(facts={**news.facts, **live})

    def _title(self) -> list[str]:
        return [short(self.journal.name, 60), size_text(self.journal.behaviour)]

"""A ticker for tests: nothing is said before a test says so."""

from __future__ import annotations

from typing import Any

from kvnb.views.dashboard.pace import Budget


class Turns:
    """A ticker whose panels speak when a test says so."""

    def __init__(self) -> None:
        self.budget = Budget(rate=10_000)
        self.panels: list[Any] = []
        self.now = 0.0

    def add(self, panel: Any) -> None:
        self.panels.append(panel)

    def remove(self, panel: Any) -> None:
        self.panels.remove(panel)

    def wake(self) -> None:
        return None

    def tick(self) -> None:
        """Long after the last time, everybody may speak."""
        self.now += 100.0
        for panel in list(self.panels):
            panel.speak(self.now, 1)

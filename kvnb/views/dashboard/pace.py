"""When something may be sent again: never more often than so many times a second, however much happens.

Must not know: threads, what is sent. The clock's readings are arguments.
"""

from __future__ import annotations

from dataclasses import dataclass

RATE = 10
"""Messages a second that all dashboards of a kernel send together, at most."""


@dataclass
class Pace:
    """Something that is sent at most every ``every`` seconds; the first time at once, the last time always."""

    every: float
    wanted: bool = False
    last: float = -1e9

    def want(self) -> None:
        """There is something to send."""
        self.wanted = True

    def wait(self, now: float, crowd: int = 1) -> float | None:
        """Seconds until it may be sent, 0 for now; None when nothing is to be sent. ``crowd`` share the line."""
        return max(0.0, self.last + self.every * crowd - now) if self.wanted else None

    def sent(self, now: float, took: float = 0.0, share: float = 1.0) -> None:
        """It was sent; ``took`` seconds of work may be at most ``share`` of all time until the next."""
        self.wanted = False
        self.last = max(now, now + took / share - self.every)

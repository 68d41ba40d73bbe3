"""When something may be sent again: never more often than so many times a second, however much happens.

Must not know: threads, what is sent. The clock's readings are arguments.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

RATE = 10
"""Messages a second that all dashboards of a kernel send together, at most."""

SECOND = 1.25
"""A second, and what a message may be late after the reading of the clock that allowed it."""


@dataclass
class Budget:
    """What is sent by all together: at most ``rate`` messages in any second."""

    rate: int = RATE
    _sent: deque[float] = field(default_factory=deque)

    def wait(self, now: float, messages: int) -> float:
        """Seconds until so many messages may be sent, 0 for now."""
        while self._sent and self._sent[0] <= now - SECOND:
            self._sent.popleft()
        over = len(self._sent) + messages - self.rate
        return self._sent[over - 1] + SECOND - now if over > 0 else 0.0

    def spend(self, now: float, messages: int) -> None:
        """So many were sent."""
        self._sent.extend([now] * messages)


@dataclass
class Pace:
    """Something of so many ``messages`` that is sent at most every ``every`` seconds; the first time at once, the last always."""

    every: float
    messages: int = 1
    budget: Budget = field(default_factory=Budget)
    wanted: bool = False
    last: float = -1e9

    def want(self) -> None:
        """There is something to send."""
        self.wanted = True

    def at_once(self) -> None:
        """There is something to send that somebody waits for."""
        self.wanted, self.last = True, -1e9

    def wait(self, now: float, crowd: int = 1) -> float | None:
        """Seconds until it may be sent, 0 for now; None when nothing is to be sent. ``crowd`` share the line."""
        if not self.wanted:
            return None
        return max(0.0, self.last + self.every * crowd - now, self.budget.wait(now, self.messages))

    def sent(self, now: float) -> None:
        """It is sent."""
        self.wanted, self.last = False, now
        self.budget.spend(now, self.messages)

    def took(self, seconds: float, share: float) -> None:
        """Making it took so long: that may be at most ``share`` of all time until the next."""
        self.last += max(0.0, seconds / share - self.every)

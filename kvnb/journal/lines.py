"""Which steps are in effect after which: every undo leaves a branch, and the steps of a journal are a tree.

Must not know: what a step does, beyond that it restores an earlier state.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from threading import RLock
from typing import TYPE_CHECKING

from kvnb.journal.events import Restored

if TYPE_CHECKING:
    from kvnb.journal.journal import Step


class Lines:
    """Follows a list of steps that only grows; each step is read once, whenever it is first asked for.

    Several threads may ask at once. An interrupt at any moment leaves fewer steps read, never a wrong line.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        # By step the last step in effect after it. The step before step k on its line is that after step k - 1.
        self._ends = array("q", [0])
        self._lock = RLock()

    def end(self, k: int) -> int:
        """The last step in effect after step ``k``: itself, or an earlier one after an undo; 0: none. Amortised O(1)."""
        with self._lock:
            while len(self._ends) <= k:
                self._ends.append(self._next(len(self._ends)))
            return self._ends[k]

    def before(self, number: int) -> int:
        """The step before ``number`` on its line, 0 for the first. ``number`` is one that ``end`` gave, or this did."""
        return self._ends[number - 1]

    def line(self, k: int) -> list[int]:
        """The numbers of the steps in effect after step ``k``, in O(their number)."""
        line, number = [], self.end(k)
        while number:
            line.append(number)
            number = self.before(number)
        return line[::-1]

    def _next(self, number: int) -> int:
        restored = self._steps[number - 1].of(Restored)
        if not restored:
            return number
        end = self._ends[-1]
        while end > restored[0].k:
            end = self.before(end)
        return end

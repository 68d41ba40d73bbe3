"""What a journal's steps fold to after any of them, without folding them all: snapshots along the way.

Must not know: what is folded. A state, or whatever else is made from steps one after the other and can be copied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from kvnb.journal.lines import Lines

if TYPE_CHECKING:
    from kvnb.journal.journal import Step

NEAREST = 256
"""Work between two snapshots at least: events, and the blocks that each is about. To fold it takes 0.1 ms."""
MOST = 256
"""Snapshots, at most."""
ROOM = 2_000_000
"""Sizes of all snapshots added up, at most: 20 of 100,000 blocks. A block took 90 to 180 bytes, so that is 0.36 GB."""


class Folded(Protocol):
    """What a fold makes; ``size``: about how much a copy copies, 1 a block."""

    @property
    def size(self) -> int:
        """The size of a copy."""

    def copy(self: Self) -> Self:
        """The same, independent of this one."""


Self = TypeVar("Self", bound=Folded)
T = TypeVar("T", bound=Folded)


@dataclass
class Moment(Generic[T]):
    """The ``thing`` that the steps up to ``end`` fold to.

    work, kept
        How much these steps did in all; how much of it before the last snapshot.
    """

    end: int
    thing: T
    work: int = 0
    kept: int = 0


@dataclass(frozen=True)
class Snapshot(Generic[T]):
    """A ``thing`` that nobody changes any more, its size, and how much was done until then."""

    thing: T
    work: int
    size: int


class Past(Generic[T]):
    """Folds to the end of any line of steps from the nearest moment before it.

    While it folds it leaves snapshots, at least ``spacing`` apart in work, and so far that copying costs less than
    folding and that they take about as much memory as the steps do, no more: see ``_apart``. There are at most ``MOST``
    of them, their sizes at most ``ROOM``; beyond that the spacing is doubled, and those that are now too near to the one
    before are dropped. So from the nearest snapshot to a step that was once passed it is at most about twice the spacing,
    and a step.

    Not for two threads at once. An interrupt leaves every snapshot whole; the moment that was being moved is torn.

    new, fold
        Makes what no step has touched yet; adds a step to it.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        lines: Lines,
        new: Callable[[], T],
        fold: Callable[[T, Step], object],
        spacing: int = NEAREST,
    ) -> None:
        self._steps, self._lines, self._new, self._fold = steps, lines, new, fold
        self._spacing = spacing
        self._size = 0
        self._kept: dict[int, Snapshot[T]] = {}

    def reach(self, end: int, start: Moment[T] | None = None) -> Moment[T]:
        """The moment after step ``end`` of its line, which is one that ``lines`` gave.

        ``start`` itself, moved there, when it lies on the way; else a new one.
        """
        path, at = [], end
        while at and at not in self._kept and not (start and start.end == at):
            path.append(at)
            at = self._lines.before(at)
        moment = start if start and start.end == at else self._from(at)
        for number in reversed(path):
            self._move(moment, number)
        return moment

    @property
    def _apart(self) -> int:
        # A copy costs a block about half as much as folding does; with large pools, whose steps are many, nearness counts.
        return max(self._spacing, min(4 * self._size, 20_000), self._size // 2)

    def _from(self, at: int) -> Moment[T]:
        if not at:
            new = Moment(0, self._new())
            self._size = new.thing.size
            return new
        near = self._kept[at]
        return Moment(at, near.thing.copy(), near.work, near.work)

    def _move(self, moment: Moment[T], number: int) -> None:
        step = self._steps[number - 1]
        self._fold(moment.thing, step)
        moment.end = number
        moment.work += _work(step)
        if moment.work - moment.kept >= self._apart:
            self._keep(moment)

    def _keep(self, moment: Moment[T]) -> None:
        thing = moment.thing.copy()
        self._size = thing.size
        self._kept[moment.end] = Snapshot(thing, moment.work, self._size)
        moment.kept = moment.work
        while len(self._kept) > MOST or sum([kept.size for kept in self._kept.values()]) > ROOM:
            self._spacing = 2 * self._apart
            self._kept = self._thinned()

    def _thinned(self) -> dict[int, Snapshot[T]]:
        """Those that are ``spacing`` away from the one before them on their line."""
        left: dict[int, Snapshot[T]] = {}
        # A step has a higher number than those before it on its line.
        for number in sorted(self._kept):
            before = self._lines.before(number)
            while before and before not in left:
                before = self._lines.before(before)
            if self._kept[number].work - (left[before].work if before else 0) >= self._spacing:
                left[number] = self._kept[number]
        return left


def _work(step: Step) -> int:
    return len(step.events) + sum([len(getattr(event, "ids", ())) for event in step.events])

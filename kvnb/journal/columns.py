"""A journal as columns, a row a step: how many blocks are in which kind, hits, evictions; the queue; each block's life.

Must not know: how it is drawn. One pass over the events; only what a step touched is counted again.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from kvnb.core.events import Back, Cleared, Dropped, Front, Hashed, Hit, Took, Unhashed
from kvnb.journal.journal import Journal, Step
from kvnb.journal.past import NEAREST, Folded, Past
from kvnb.journal.state import State
from kvnb.manager.events import Extended

T = TypeVar("T", bound=Folded)

EMPTY, CACHED, ONE, SHARED = range(4)
"""The kinds of a block: free and empty, free and cached, one owner, several."""

TOUCHING = (Took, Hit, Dropped, Hashed, Unhashed)
"""What changes a block; no table or queue changes without one of these on the same ids."""


class Fold:
    """A state that knows a little more of each block.

    kinds, counts
        By block id the kind; by kind the number of blocks (block 0 is in none).
    since
        By block id the step that last put it in the free queue; 0 for the new pool.
    last
        By block id the request whose table it last entered; None for nobody.
    touched
        The ids of the blocks that the last step touched, some of them several times.
    """

    def __init__(self, num_blocks: int) -> None:
        self.state = State(num_blocks)
        self.kinds = bytearray(num_blocks)
        self.counts = [num_blocks - 1, 0, 0, 0]
        self.since = [0] * num_blocks
        self.last: list[str | None] = [None] * num_blocks
        self.touched: Sequence[int] = ()

    def copy(self) -> Fold:
        """The same, independent of this one."""
        other = Fold.__new__(Fold)
        other.state, other.touched = self.state.copy(), self.touched
        other.kinds, other.counts = self.kinds.copy(), self.counts.copy()
        other.since, other.last = self.since.copy(), self.last.copy()
        return other

    @property
    def size(self) -> int:
        """About how much a copy copies, 1 a block."""
        return self.state.size

    def apply(self, step: Step) -> Sequence[int]:
        """Add a step that restores nothing; gives what it ``touched``."""
        touched: list[int] = []
        everything = False
        for event in step.events:
            self.state.apply(event)
            kind = type(event)
            if kind in TOUCHING:
                touched += event.ids  # type: ignore[union-attr]
            elif kind is Front or kind is Back:
                self._queued(event.ids, step.number)  # type: ignore[union-attr]
            elif kind is Extended:
                self._owned(event.ids, event.name)  # type: ignore[union-attr]
            elif kind is Cleared:
                everything = True
        self.touched = range(1, len(self.kinds)) if everything else touched
        self._count(self.touched)
        return self.touched

    def _queued(self, ids: Iterable[int], number: int) -> None:
        for block_id in ids:
            self.since[block_id] = number

    def _owned(self, ids: Iterable[int], name: str) -> None:
        for block_id in ids:
            self.last[block_id] = name

    def _count(self, ids: Iterable[int]) -> None:
        kinds, counts, ref_cnt, keys = self.kinds, self.counts, self.state.ref_cnt, self.state.keys
        for block_id in ids:
            owners = ref_cnt[block_id]
            kind = min(owners, 2) + 1 if owners else int(keys[block_id] is not None)
            counts[kinds[block_id]] -= 1
            counts[kind] += 1
            kinds[block_id] = kind


def walk(journal: Journal, until: int | None = None) -> Iterator[tuple[int, Fold, Sequence[int]]]:
    """Step number, the fold after it, the ids that may have changed; from the new pool, 0, to step ``until``.

    The fold is the same object as long as nothing is undone.
    """
    num_blocks = journal.behaviour.num_blocks
    everything = range(1, num_blocks)
    for number, fold, is_own in moments(journal, until, lambda: Fold(num_blocks), Fold.apply):
        yield number, fold, fold.touched if number and is_own else everything


def moments(
    journal: Journal, until: int | None, new: Callable[[], T], fold: Callable[[T, Step], object]
) -> Iterator[tuple[int, T, bool]]:
    """Step number, what the steps in effect after it fold to, whether this step is one of them; from the new pool, 0."""
    steps = journal.steps[:until]
    # Nobody goes back where nothing is undone, and no snapshot is needed.
    spacing = NEAREST if len(journal.lineage(len(steps))) < len(steps) else sys.maxsize
    past = Past(steps, journal.lines, new, fold, spacing)
    moment = past.reach(0)
    yield 0, moment.thing, True
    for step in steps:
        end = journal.lines.end(step.number)
        moment = past.reach(end, moment)
        yield step.number, moment.thing, end == step.number


# --- how many ------------------------------------------------------------------------------------------------


def _column() -> array[int]:
    return array("q")


@dataclass
class Levels:
    """Columns with a row a step, row 0 the new pool: blocks by kind, tokens looked up and hit so far, blocks evicted in it."""

    one: array[int] = field(default_factory=_column)
    shared: array[int] = field(default_factory=_column)
    cached: array[int] = field(default_factory=_column)
    empty: array[int] = field(default_factory=_column)
    queries: array[int] = field(default_factory=_column)
    hits: array[int] = field(default_factory=_column)
    evicted: array[int] = field(default_factory=_column)

    def __len__(self) -> int:
        return len(self.one)

    def hit_ratio(self, row: int) -> float | None:
        """Of the tokens looked up so far the part that was cached; None while none was."""
        return self.hits[row] / self.queries[row] if self.queries[row] else None


def levels(journal: Journal, until: int | None = None) -> Levels:
    """The levels after every step up to ``until``."""
    rows = Levels()
    for number, fold, _ in walk(journal, until):
        counters = fold.state.counters
        values = (*reversed(fold.counts[2:]), fold.counts[CACHED], fold.counts[EMPTY])
        columns = (rows.shared, rows.one, rows.cached, rows.empty)
        for column, value in zip(columns, values, strict=True):
            column.append(value)
        rows.queries.append(counters.queries)
        rows.hits.append(counters.hits)
        rows.evicted.append(num_evicted(journal.steps[number - 1]) if number else 0)
    return rows


def num_evicted(step: Step) -> int:
    """How many blocks lost their hash in a step; what was never computed is not evicted."""
    return sum(len(event.ids) for event in step.of(Unhashed) if event.why != "uncomputed")


# --- who is where --------------------------------------------------------------------------------------------


class QueueRow(NamedTuple):
    """The free queue after a step, front first: the ids, and whether each carries a hash."""

    number: int
    ids: list[int]
    cached: list[bool]


def queue_rows(journal: Journal, first: int, until: int | None = None) -> list[QueueRow]:
    """The free queue after each step from ``first`` on."""
    rows = []
    for number, fold, _ in walk(journal, until):
        if number >= first:
            ids = list(fold.state.queue)
            rows.append(QueueRow(number, ids, [fold.kinds[block_id] == CACHED for block_id in ids]))
    return rows


class Run(NamedTuple):
    """A block that stayed as it was after the steps ``first`` to ``last``: its kind, its owners in order of arrival."""

    block_id: int
    first: int
    last: int
    kind: int
    owners: tuple[str, ...]


def runs(journal: Journal, first: int, until: int | None = None) -> list[Run]:
    """The life of every block from step ``first`` on, block by block."""
    lives: list[list[Run]] = [[] for _ in range(journal.behaviour.num_blocks)]
    number = 0
    for number, fold, changed in walk(journal, until):
        if number >= first:
            for block_id in range(1, len(lives)) if number == first else changed:
                _live(lives[block_id], block_id, number, fold)
    return [run._replace(last=later.first - 1 if later else number) for life in lives for run, later in _pairs(life)]


def _live(life: list[Run], block_id: int, number: int, fold: Fold) -> None:
    run = Run(block_id, number, number, fold.kinds[block_id], tuple(fold.state.owners.get(block_id, ())))
    if not life or life[-1][3:] != run[3:]:
        life.append(run)


def _pairs(life: list[Run]) -> Iterator[tuple[Run, Run | None]]:
    return zip(life, [*life[1:], None], strict=True) if life else iter(())

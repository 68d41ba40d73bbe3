"""Two states compared: which blocks, requests and hashes differ, and which blocks changed their turn in the free queue.

Must not know: how it is shown, or which of the two came first.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kvnb.journal import State
from kvnb.journal.state import RequestState


class Look(NamedTuple):
    """A block in one state: its owners' names in the order of the alphabet, its hash, its place in the free queue from 1."""

    owners: tuple[str, ...]
    key: str | None
    place: int = 0


class BlockChange(NamedTuple):
    """A block that differs."""

    block_id: int
    was: Look
    now: Look

    @property
    def moved(self) -> bool:
        """It only lost or won its turn in the queue, against blocks that kept theirs."""
        return self.was[:2] == self.now[:2]


class Difference(NamedTuple):
    """What differs between two states.

    requests
        Name to what it was and what it is; None where it is not there.
    gained, lost
        Hashes with the blocks that carry them now, or carried them then.
    """

    blocks: list[BlockChange]
    requests: dict[str, tuple[RequestState | None, RequestState | None]]
    gained: dict[str, list[int]]
    lost: dict[str, list[int]]

    @property
    def empty(self) -> bool:
        """Nothing differs."""
        return not (self.blocks or self.requests or self.gained or self.lost)


def compare(was: State, now: State) -> Difference:
    """From one state of a pool to another; neither is changed."""
    before, after = _looks(was), _looks(now)
    differ = [block_id for block_id in range(was.num_blocks) if before[block_id][:2] != after[block_id][:2]]
    moved = _moved(list(was.queue), list(now.queue), set(differ))
    blocks = [BlockChange(block_id, before[block_id], after[block_id]) for block_id in sorted([*differ, *moved])]
    names = dict.fromkeys([*was.requests, *now.requests])
    pairs = {name: (was.requests.get(name), now.requests.get(name)) for name in names}
    return Difference(
        blocks,
        {name: pair for name, pair in pairs.items() if pair[0] != pair[1]},
        _missing(now.copies, was.copies),
        _missing(was.copies, now.copies),
    )


def _looks(state: State) -> list[Look]:
    places = {block_id: place for place, block_id in enumerate(state.queue, 1)}
    return [
        Look(tuple(sorted(state.owners.get(block_id, ()))), key, places.get(block_id, 0))
        for block_id, key in enumerate(state.keys)
    ]


def _missing(there: Mapping[str, Iterable[int]], here: Mapping[str, Iterable[int]]) -> dict[str, list[int]]:
    return {key: list(ids) for key, ids in there.items() if key not in here}


def _moved(was: Sequence[int], now: Sequence[int], differ: set[int]) -> list[int]:
    """The fewest blocks that, taken out of both queues, leave the others in the same order."""
    place = {block_id: at for at, block_id in enumerate(was) if block_id not in differ}
    both = [block_id for block_id in now if block_id in place]
    # From the back on, so that of two that changed places the one that came to the back later has moved.
    kept = set(_longest_rise([-place[block_id] for block_id in reversed(both)]))
    return [block_id for at, block_id in enumerate(reversed(both)) if at not in kept]


def _longest_rise(numbers: Sequence[int]) -> list[int]:
    """Where a longest rising subsequence of different numbers stands, by patience sorting."""
    ends: list[int] = []
    tops: list[int] = []
    before = [-1] * len(numbers)
    for at, number in enumerate(numbers):
        pile = bisect_left(ends, number)
        before[at] = tops[pile - 1] if pile else -1
        ends[pile : pile + 1], tops[pile : pile + 1] = [number], [at]
    rise, at = list[int](), tops[-1] if tops else -1
    while at >= 0:
        rise.append(at)
        at = before[at]
    return rise[::-1]

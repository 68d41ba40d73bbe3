"""Two histories over one axis of steps: usage, hit ratio and evictions of each.

Must not know: plotly, SVG.

A fork stands at the steps of its original that it did again, so that both are seen where they did the same command; and
so do two forks of one pool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple
from weakref import WeakKeyDictionary

from kvnb.journal import Journal
from kvnb.journal.columns import Levels, levels
from kvnb.views.figures.steps import command
from kvnb.views.pools import is_fork_of
from kvnb.views.text import size_text
from kvnb.views.words import short

SAMPLES = 800
"""Of a longer history so many steps are drawn."""


class Line(NamedTuple):
    """One history.

    places, numbers
        Where its steps stand, and their own numbers; 0 is the new pool.
    usage, ratio
        After each: from 0 to 1; the hit ratio is None before the first lookup.
    lost
        Blocks evicted since the step before.
    """

    name: str
    places: Sequence[int]
    numbers: Sequence[int]
    usage: Sequence[float]
    ratio: Sequence[float | None]
    lost: Sequence[int]


class Pair(NamedTuple):
    """Two lines, the last place of both, and what the places are called where both mean the same command."""

    lines: tuple[Line, Line]
    last: int
    names: Mapping[int, str]


def pair(a: Journal, b: Journal, samples: int = SAMPLES) -> Pair:
    """The lines of two journals; of longer ones about so many steps."""
    places = _places(a, b), _places(b, a)
    last = max(places[0][-1], places[1][-1])
    lines = _line(a, places[0], samples), _line(b, places[1], samples)
    return Pair(lines, last, _names(a, b) if last <= SAMPLES else {})


def _names(a: Journal, b: Journal) -> dict[int, str]:
    """The commands that both have done, or were to do, at their places."""
    for fork, original in ((b, a), (a, b)):
        if fork.forked and is_fork_of(fork, original):
            return {number: command(original, number) for number in range(fork.forked.step + 1)}
    if not _are_siblings(a, b):
        return {}
    done = [(journal, islice(journal.forked.numbers, len(journal))) for journal in (a, b) if journal.forked]
    return {0: "new"} | {place: command(journal, at) for journal, numbers in done for at, place in enumerate(numbers, 1)}


def below(a: Journal, b: Journal) -> str:
    """Both pools and their settings, in a line; plain text."""
    return " · ".join(f"{short(journal.name, 30)}: {size_text(journal.behaviour)}" for journal in (a, b))


def _places(journal: Journal, other: Journal) -> list[int]:
    """Where step 0 and every step after it stand."""
    forked = journal.forked
    if forked is None or not (is_fork_of(journal, other) or _are_siblings(journal, other)):
        return list(range(len(journal) + 1))
    since = len(journal) - forked.num_done
    return [0, *islice(forked.numbers, len(journal)), *range(forked.step + 1, forked.step + 1 + since)]


_known: WeakKeyDictionary[Journal, Levels] = WeakKeyDictionary()


def _levels(journal: Journal) -> Levels:
    """The levels of a journal; the three forms of one comparison read them once."""
    known = _known.get(journal)
    if known is None or len(known) != len(journal) + 1:
        known = _known[journal] = levels(journal)
    return known


def _are_siblings(a: Journal, b: Journal) -> bool:
    """Whether both are forks of the same commands."""
    return a.forked is not None and b.forked is not None and a.forked[1:3] == b.forked[1:3]


def _line(journal: Journal, places: Sequence[int], samples: int) -> Line:
    rows, usable = _levels(journal), max(1, journal.behaviour.num_blocks - 1)
    every = -(-len(places) // samples)
    numbers = [*range(0, len(places) - 1, every), len(places) - 1]
    lost = [sum(rows.evicted[before + 1 : number + 1]) for before, number in zip([-1, *numbers], numbers, strict=False)]
    return Line(
        short(journal.name, 30), [places[number] for number in numbers], numbers,
        [(rows.one[number] + rows.shared[number]) / usable for number in numbers],
        [rows.hit_ratio(number) for number in numbers], lost,
    )  # fmt: skip

"""Large pools as cells: a column a step, a row a place in the queue or a block, a byte a cell.

Must not know: plotly, SVG. Of very many rows every so many-th is kept, and ``says`` tells it.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from kvnb.errors import CommandError, nearest, one_line
from kvnb.journal import Journal
from kvnb.journal.columns import CACHED, ONE, SHARED, Fold, walk
from kvnb.views.figures.steps import Steps
from kvnb.views.markup import TO
from kvnb.views.theme import RAMP, REQUESTS, Ground, Painter, painter

AGES = (4, 16, 64, 256, 1024)
"""A shade of age for fewer steps than each of these in the queue, and one for more."""

Code = Callable[[Fold, int, int], int]
"""From a fold, a step and a block to the code of its cell."""


class Coding(NamedTuple):
    """What the codes mean: the colour of each but 0, which is no cell, and the words of a key with their colours."""

    code: Code
    colours: list[str]
    key: list[tuple[str, str]]


class Cells(NamedTuple):
    """Columns of codes, first row first; rows ``every`` apart; the coding; a note on what is left out."""

    columns: list[bytes]
    every: int
    colours: list[str]
    key: list[tuple[str, str]]
    says: str


def queue_cells(journal: Journal, of: Ground, by: str, steps: Steps, most: int) -> Cells:
    """The free queue after each of the steps, front first, in at most so many rows. Raises CommandError for another ``by``."""
    codings: dict[str, Callable[[Journal, Ground], Coding]] = {"cached": _by_cached, "age": _by_age, "owner": _by_owner}
    if by not in codings:
        raise CommandError(f"unknown colouring {one_line(by)}: {nearest(by, codings)}")
    code, colours, key = codings[by](journal, of)
    every = stride(journal.behaviour.num_blocks - 1, most)
    columns = [
        bytes(code(fold, number, block_id) for block_id in list(fold.state.queue)[::every])
        for number, fold, _ in walk(journal, steps.last)
        if number >= steps.first
    ]
    return Cells(columns, every, colours, key, _sampled(every, "place"))


def block_cells(journal: Journal, of: Ground, steps: Steps, most: int) -> Cells:
    """Every block after each of the steps, by who holds it, in at most so many rows."""
    every = stride(journal.behaviour.num_blocks - 1, most)
    paint_of = painter(journal)
    codes = bytearray(journal.behaviour.num_blocks)
    columns = []
    for number, fold, changed in walk(journal, steps.last):
        for block_id in changed:
            codes[block_id] = _holder(fold, block_id, paint_of)
        if number >= steps.first:
            columns.append(bytes(codes[1::every]))
    colours = [of.empty, of.kept, of.used, *(paint.fill for paint in REQUESTS)]
    key = [("shared", of.used), ("free and cached", of.kept), ("free and empty", of.empty)]
    return Cells(columns, every, colours, key, _sampled(every, "block"))


def stride(number: int, most: int) -> int:
    """Of so many rows every how many-th is kept."""
    return max(1, -(-number // most))


def _sampled(every: int, what: str) -> str:
    return "" if every == 1 else f"one {what} in {every:,} is drawn"


def _by_cached(journal: Journal, of: Ground) -> Coding:
    def code(fold: Fold, number: int, block_id: int) -> int:
        return 2 if fold.kinds[block_id] == CACHED else 1

    return Coding(code, [of.empty, of.kept], [("free and cached", of.kept), ("free and empty", of.empty)])


def _by_age(journal: Journal, of: Ground) -> Coding:
    def code(fold: Fold, number: int, block_id: int) -> int:
        return 2 + bisect(AGES, number - fold.since[block_id]) if fold.kinds[block_id] == CACHED else 1

    colours = [paint.fill for paint in RAMP]
    spans = [f"{low:,}{TO}{high - 1:,}" for low, high in pairwise(AGES)]
    words = [f"cached for <{AGES[0]}", *spans, f"{AGES[-1]:,}+ steps"]
    return Coding(code, [of.empty, *colours], [*zip(words, colours, strict=True), ("free and empty", of.empty)])


def _by_owner(journal: Journal, of: Ground) -> Coding:
    paint_of = painter(journal)

    def code(fold: Fold, number: int, block_id: int) -> int:
        owner = fold.last[block_id]
        return 1 if owner is None else 2 + REQUESTS.index(paint_of(owner))

    colours = [of.empty, *(paint.fill for paint in REQUESTS)]
    return Coding(code, colours, [("never held; else coloured by who held it last", of.empty)])


def _holder(fold: Fold, block_id: int, paint_of: Painter) -> int:
    kind = fold.kinds[block_id]
    owners = fold.state.owners.get(block_id)
    if kind == ONE and owners:
        return 4 + REQUESTS.index(paint_of(owners[0]))
    return 3 if kind in (ONE, SHARED) else 1 + kind

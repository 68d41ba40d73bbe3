"""What the tree of all that is cached consists of, line by line; of very many branches the largest.

Must not know: how a line is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kvnb.journal import Journal, State
from kvnb.journal.chains import links
from kvnb.views.contents import letter_of
from kvnb.views.prefix_tree import Run, prefix_tree
from kvnb.views.theme import painter
from kvnb.views.tiles import FEW, Brush
from kvnb.views.words import count, short

_DEPTH = 8


class Row(NamedTuple):
    """A line of the picture: a run, or words for what is left out; before it, by ancestor, whether more of its kind follow."""

    run: Run | None
    above: tuple[Run, ...] = ()
    more: tuple[bool, ...] = ()
    says: str = ""


class Tree:
    """What both forms are drawn from."""

    def __init__(self, journal: Journal, state: State, k: int | None) -> None:
        self.state, self.size = state, journal.behaviour.block_size
        self.tokenizer = journal.behaviour.tokenizer
        # Under a window a lookup wants the last few blocks only, so that a gap before them does not matter.
        self.gaps_matter = journal.behaviour.sliding_window is None
        self.links = links(journal, state.copies, k)
        self.brush = Brush(painter(journal))
        self.rows = list(_rows(prefix_tree(state, self.links), 32 if state.num_blocks <= FEW else 20, (), ()))

    @property
    def head(self) -> str:
        """How much there is."""
        hashes = count(len(self.state.copies), "hash", "hashes")
        copies = self.state.num_cached - len(self.state.copies)
        blocks = count(self.state.num_cached, "block")
        return f"{hashes}, carried by {blocks}" + (
            f", {copies:,} of them {'duplicates' if copies > 1 else 'a duplicate'}" * bool(copies)
        )

    @property
    def has_gap(self) -> bool:
        """Whether something is drawn that no lookup reaches."""
        return self.gaps_matter and any(row.run and not row.run.cached for row in self.rows)

    def span(self, run: Run, to: str) -> str:
        """The places of a run's tokens."""
        first, end = run.place * self.size, (run.place + len(run.keys)) * self.size - 1
        return f"tokens {first:,}{to}{end:,}" if end > first else f"token {first:,}"

    def free(self, run: Run) -> list[int]:
        """The blocks of a run that lie in the free queue."""
        return [block for key in run.keys for block in self.state.copies.get(key, ()) if not self.state.ref_cnt[block]]

    def gap(self, run: Run) -> str:
        """What is said of hashes that are gone."""
        return "no longer in the map" + (", a lookup stops here" if self.gaps_matter else "")

    def notes(self, run: Run) -> list[str]:
        """What is to be said of a run beside its blocks."""
        link = self.links.get(run.keys[0])
        notes = [link.apart] if link and link.apart and not link.place else []
        notes += ["what comes before it is not known"] * (not run.known)
        return notes + ["out of reach"] * (self.gaps_matter and not run.reachable)

    def pieces(self, run: Run) -> list[str]:
        """What each block of a run says, as letters where most of its tokens are some, else as numbers."""
        said = [self.links[key].tokens[:64] for key in run.keys[:16] if key in self.links]
        letters = [[letter_of(token, self.tokenizer) for token in tokens] for tokens in said]
        if 4 * sum(letter.isascii() and letter != "" for piece in letters for letter in piece) >= 3 * sum(map(len, said)):
            return ["".join(letter or "·" for letter in piece) for piece in letters]
        return [" ".join(map(str, tokens)) for tokens in said]

    def says(self, run: Run) -> str:
        """What a run says in all, its beginning."""
        pieces = self.pieces(run)
        numbers = any(" " in piece and piece.replace(" ", "").isdecimal() for piece in pieces)
        return short((" " if numbers else "").join(pieces), 48)


def _rows(runs: Sequence[Run], budget: int, above: tuple[Run, ...], more: tuple[bool, ...]) -> Iterator[Row]:
    """The lines of ``runs`` and of all after them, about ``budget`` of them; of many branches the ones with most blocks."""
    if len(above) >= _DEPTH and runs:
        yield _left_out(runs, above, more)
        return
    shown = list(runs) if len(runs) <= budget else sorted(runs, key=lambda run: -run.blocks)[: max(1, budget // 2)]
    for at, run in enumerate(shown):
        follows = at < len(shown) - 1 or len(shown) < len(runs)
        yield Row(run, above, (*more, follows))
        share = budget // (len(shown) - at)
        below = list(_rows(run.after, max(1, share - 1), (*above, run), (*more, follows)))
        yield from below
        budget = max(1, budget - 1 - len(below))
    if len(shown) < len(runs):
        kept = set(map(id, shown))
        yield _left_out([run for run in runs if id(run) not in kept], above, more)


def _left_out(runs: Sequence[Run], above: tuple[Run, ...], more: tuple[bool, ...]) -> Row:
    branches = f"{len(runs):,} more {'branch' if len(runs) == 1 else 'branches'}"
    return Row(None, above, (*more, False), f"{branches} with {count(sum(run.blocks for run in runs), 'block')}")

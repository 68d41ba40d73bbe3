"""The map of hashes, drawn as the tree of all that is cached: what begins alike is drawn once, and parts where prompts do.

Must not know: the live pool, IPython.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kvnb.errors import printable
from kvnb.journal import Journal, State
from kvnb.journal.chains import links
from kvnb.views.contents import letter_of
from kvnb.views.markup import QUIET, SMALL, TO, card, div, element, foot, quiet, safe, span
from kvnb.views.prefix_tree import Run, prefix_tree
from kvnb.views.ranges import ranges
from kvnb.views.theme import EDGE, painter
from kvnb.views.tiles import FEW, Brush, alone, width
from kvnb.views.words import count, short

_DEPTH, _COPIES = 8, 3


class _Row(NamedTuple):
    """A line of the picture: a run, or words for what is left out; before it, by ancestor, whether more of its kind follow."""

    run: Run | None
    above: tuple[Run, ...] = ()
    more: tuple[bool, ...] = ()
    says: str = ""


class _Tree:
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


def _rows(runs: Sequence[Run], budget: int, above: tuple[Run, ...], more: tuple[bool, ...]) -> Iterator[_Row]:
    """The lines of ``runs`` and of all after them, about ``budget`` of them; of many branches the ones with most blocks."""
    if len(above) >= _DEPTH and runs:
        yield _left_out(runs, above, more)
        return
    shown = list(runs) if len(runs) <= budget else sorted(runs, key=lambda run: -run.blocks)[: max(1, budget // 2)]
    for at, run in enumerate(shown):
        follows = at < len(shown) - 1 or len(shown) < len(runs)
        yield _Row(run, above, (*more, follows))
        share = budget // (len(shown) - at)
        below = list(_rows(run.after, max(1, share - 1), (*above, run), (*more, follows)))
        yield from below
        budget = max(1, budget - 1 - len(below))
    if len(shown) < len(runs):
        kept = set(map(id, shown))
        yield _left_out([run for run in runs if id(run) not in kept], above, more)


def _left_out(runs: Sequence[Run], above: tuple[Run, ...], more: tuple[bool, ...]) -> _Row:
    branches = f"{len(runs):,} more {'branch' if len(runs) == 1 else 'branches'}"
    return _Row(None, above, (*more, False), f"{branches} with {count(sum(run.blocks for run in runs), 'block')}")


# --- as text -------------------------------------------------------------------------------------------------


def tree_text(journal: Journal, state: State, k: int | None = None) -> str:
    """The prefix cache as a tree, a line a run of blocks; ``state`` is the one after step ``k``, by default the last."""
    tree = _Tree(journal, state, k)
    return "\n".join([tree.head, *(f"{_branch(row.more)}{_line(tree, row)}" for row in tree.rows)])


def _branch(more: Sequence[bool]) -> str:
    if len(more) < 2:
        return ""
    return "".join("│ " if rail else "  " for rail in more[1:-1]) + ("├ " if more[-1] else "└ ")


def _line(tree: _Tree, row: _Row) -> str:
    run = row.run
    if run is None:
        return f"... {row.says} ..."
    where = tree.span(run, "-") if run.known else f"hash {run.keys[0]}"
    if not run.cached:
        return f"{where}: {tree.gap(run)}"
    ids = _ids(tree, run)
    free = tree.free(run)
    kept = [] if not free else ["free"] if len(free) == sum(len(tree.state.copies[key]) for key in run.keys) else [_kept(free)]
    said = f' "{tree.says(run)}"' if run.known else ""
    blocks = f"{where}{said}: {'block' if ids.isdecimal() else 'blocks'} {ids}"
    return ", ".join([blocks, *kept, *map(printable, tree.notes(run))])


def _ids(tree: _Tree, run: Run) -> str:
    """``1 2 7=8 9``; without copies ``4-19``."""
    copies = [list(tree.state.copies[key]) for key in run.keys]
    if all(len(ids) == 1 for ids in copies):
        return ranges(ids[0] for ids in copies)
    words = ["=".join(map(str, ids[:8])) + f"=({len(ids) - 8:,} more)" * (len(ids) > 8) for ids in copies]
    if len(words) > 24:
        words[16:-8] = [f"... ({len(words) - 24:,} more) ..."]
    return " ".join(words)


def _kept(free: Sequence[int]) -> str:
    return f"of these {ranges(free)} free" if len(free) <= 8 else f"{len(free):,} of them free"


# --- as HTML -------------------------------------------------------------------------------------------------

_RAIL, _FAR = 26, 300


def tree_html(journal: Journal, state: State, k: int | None = None) -> str:
    """The prefix cache as a tree, from the left; ``state`` is the one after step ``k``, by default the last."""
    tree = _Tree(journal, state, k)
    rows = "".join(_row(tree, row) for row in tree.rows)
    copies = state.num_cached > len(state.copies)
    return card(
        div("font-size:14px", safe(tree.head)),
        div("margin-top:4px", rows),
        foot(
            "a lookup starts at the left and goes on while the next hash is there" if state.copies else "",
            "= the same hash; a lookup gives the first" if copies else "",
            "✕ a gap: what comes after it stays until it is evicted" if tree.has_gap else "",
        ),
    )


def _row(tree: _Tree, row: _Row) -> str:
    rails = _rails(tree, row)
    content = _run(tree, row.run, len(row.above)) if row.run else div(f"line-height:30px;{QUIET}", f"… {safe(row.says)} …")
    return div("display:flex", element("i", "font-size:0", _branch(row.more)), *rails, div("padding:8px 0 2px 0", content))


def _rails(tree: _Tree, row: _Row) -> list[str]:
    """Lines that come down from the last tile of each run above; the last of them bends to this row."""
    rails, far = [], 0
    for depth, run in enumerate(row.above):
        reach = min(_reach(tree, run, depth), max(0, _FAR - far))
        far += reach + _RAIL
        line = f"border-left:2px solid {EDGE}" if row.more[depth + 1] else "margin-left:2px"
        bend = depth == len(row.above) - 1
        inner = div(f"height:23px;margin-left:-2px;border-left:2px solid {EDGE};border-bottom:2px solid {EDGE};{_ROUND}")
        rails += [div(f"flex:0 0 {reach}px"), div(f"flex:0 0 {_RAIL - 2}px;{line}", inner if bend else "")]
    return rails


_ROUND = "border-radius:0 0 0 8px;margin-right:4px"


def _reach(tree: _Tree, run: Run, depth: int) -> int:
    """Where the middle of a run's last tile is."""
    if not run.cached:
        return 14
    cells = _cells(tree, run, depth)
    return sum(cell.wide + _GAP for cell in cells[:-1]) + cells[-1].wide // 2 - 1


class _Cell(NamedTuple):
    markup: str
    wide: int


_GAP = 6
_HIDDEN = 58
"""The width of `… more …` without its number."""


def _run(tree: _Tree, run: Run, depth: int) -> str:
    notes = [tree.span(run, TO)] if run.known else []
    if not run.cached:
        return div(
            f"line-height:30px;border-radius:6px;border:1px dashed {EDGE};padding:0 10px",
            "✕ ",
            span(f"{SMALL};{QUIET}", safe(f"{notes[0]}: {tree.gap(run)}")),
        )
    free, all_of_it = len(tree.free(run)), sum(len(tree.state.copies[key]) for key in run.keys)
    notes += ["free"] * (0 < free == all_of_it) + [f"{free:,} of {all_of_it:,} free"] * (0 < free < all_of_it)
    cells = [cell.markup for cell in _cells(tree, run, depth)]
    strip = div(
        f"display:flex;gap:{_GAP}px",
        " ".join(cells),
        div("line-height:30px;margin-left:6px;white-space:nowrap", *_quiet([*notes, *tree.notes(run)])),
    )
    return strip if _in_cells(tree, run) or not run.known else strip + _prose(tree, run)


def _quiet(notes: Sequence[str]) -> list[str]:
    return [span(f"{SMALL};{QUIET}", safe(", ".join(notes)))]


def _in_cells(tree: _Tree, run: Run) -> bool:
    """Whether what a block says finds room below its tile."""
    return run.known and max(map(len, tree.pieces(run)[:1])) <= 5 and tree.size <= 5


def _prose(tree: _Tree, run: Run) -> str:
    """What a run says, in one line below its tiles."""
    pieces = [safe(short(piece, 24)) for piece in tree.pieces(run)[:3]]
    more = quiet(" …") if len(run.keys) > 3 else ""
    return div(f"font-family:monospace;{SMALL};line-height:15px;white-space:pre", quiet(" | ").join(pieces), more)


def _cells(tree: _Tree, run: Run, depth: int) -> list[_Cell]:
    """The tiles of a run, copies side by side; of a long one the two ends."""
    most = max(4, (560 - 40 * depth) // (width(tree.state.num_blocks) + _GAP))
    most = most if tree.state.num_blocks <= FEW else min(most, 8)
    letters = tree.pieces(run) if _in_cells(tree, run) else []
    if len(run.keys) <= most:
        return [_cell(tree, key, letters[at] if at < len(letters) else "") for at, key in enumerate(run.keys)]
    head, hidden = most - 3, len(run.keys) - most + 2
    wide = _HIDDEN + 7 * len(f"{hidden:,}")
    look = f"flex:0 0 {wide}px;text-align:center;white-space:nowrap;line-height:30px;{SMALL};{QUIET}"
    middle = _Cell(div(look, f"… {hidden:,} more …"), wide)
    first = [_cell(tree, key, letters[at] if letters else "") for at, key in enumerate(run.keys[:head])]
    return [*first, middle, _cell(tree, run.keys[-1], "")]


def _cell(tree: _Tree, key: str, letters: str) -> _Cell:
    ids, wide = list(tree.state.copies[key]), width(tree.state.num_blocks)
    tiles = [alone(tree.brush.tile(tree.state, block_id), tree.state.num_blocks) for block_id in ids[:_COPIES]]
    tiles += [span(f"{SMALL};{QUIET}", f"{len(ids) - _COPIES:,} more")] * (len(ids) > _COPIES)
    joint = span("flex:0 0 14px;text-align:center;line-height:30px", "=")
    said = (
        div(f"font-family:monospace;{SMALL};line-height:15px;text-align:center;white-space:pre", safe(letters)) if letters else ""
    )
    over = 14 * (min(len(ids), _COPIES + 1) - 1) + (44 if len(ids) > _COPIES else 0)
    total = wide * min(len(ids), _COPIES) + over
    return _Cell(div(f"flex:0 0 {total}px", div("display:flex", joint.join(tiles)), said), total)

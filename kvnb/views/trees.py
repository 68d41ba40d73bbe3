"""The map of hashes, drawn as the tree of all that is cached: what begins alike is drawn once, and parts where prompts do.

Must not know: the live pool, IPython.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kvnb.errors import printable
from kvnb.journal import Journal, State
from kvnb.views.markup import QUIET, SMALL, TO, card, div, element, foot, quiet, safe, span
from kvnb.views.prefix_tree import Run
from kvnb.views.ranges import ranges
from kvnb.views.theme import EDGE
from kvnb.views.tiles import FEW, alone, width
from kvnb.views.tree_rows import Row, Tree
from kvnb.views.words import short

# --- as text -------------------------------------------------------------------------------------------------


def tree_text(journal: Journal, state: State, k: int | None = None) -> str:
    """The prefix cache as a tree, a line a run of blocks; ``state`` is the one after step ``k``, by default the last."""
    tree = Tree(journal, state, k)
    return "\n".join([tree.head, *(f"{_branch(row.more)}{_line(tree, row)}" for row in tree.rows)])


def _branch(more: Sequence[bool]) -> str:
    if len(more) < 2:
        return ""
    return "".join("│ " if rail else "  " for rail in more[1:-1]) + ("├ " if more[-1] else "└ ")


def _line(tree: Tree, row: Row) -> str:
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


def _ids(tree: Tree, run: Run) -> str:
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

_RAIL, _FAR, _ROOM, _COPIES = 26, 180, 590, 3


def tree_html(journal: Journal, state: State, k: int | None = None) -> str:
    """The prefix cache as a tree, from the left; ``state`` is the one after step ``k``, by default the last."""
    tree = Tree(journal, state, k)
    indent: dict[int, int] = {}
    rows = "".join(_row(tree, row, indent) for row in tree.rows)
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


def _row(tree: Tree, row: Row, indent: dict[int, int]) -> str:
    at = 0
    if row.above:
        above = row.above[-1]
        at = indent[id(above)] + min(_reach(tree, above, indent[id(above)]), max(14, _FAR - indent[id(above)])) + _RAIL
    content = div(f"line-height:30px;{QUIET}", f"… {safe(row.says)} …")
    if row.run:
        indent[id(row.run)] = at
        content = _run(tree, row.run, at)
    rails = _rails(row, [*(indent[id(run)] for run in row.above[1:]), at]) if row.above else []
    return div("display:flex", element("i", "font-size:0", _branch(row.more)), *rails, div("padding:8px 0 2px 0", content))


def _rails(row: Row, ends: list[int]) -> list[str]:
    """Lines that come down from the last tile of each run above; the last of them bends to this row."""
    rails, start = [], 0
    for depth, end in enumerate(ends):
        line = f"border-left:2px solid {EDGE}" if row.more[depth + 1] else "margin-left:2px"
        bend = depth == len(ends) - 1
        inner = div(f"height:23px;margin-left:-2px;border-left:2px solid {EDGE};border-bottom:2px solid {EDGE};{_ROUND}")
        rails += [div(f"flex:0 0 {end - start - _RAIL}px"), div(f"flex:0 0 {_RAIL - 2}px;{line}", inner if bend else "")]
        start = end
    return rails


_ROUND = "border-radius:0 0 0 8px;margin-right:4px"


def _reach(tree: Tree, run: Run, at: int) -> int:
    """Where the middle of a run's last tile is."""
    if not run.cached:
        return 14
    cells = _cells(tree, run, at)
    return sum(cell.wide + _GAP for cell in cells[:-1]) + cells[-1].wide // 2 - 1


class _Cell(NamedTuple):
    markup: str
    wide: int


_GAP = 6
_HIDDEN = 58
"""The width of `… more …` without its number."""


def _run(tree: Tree, run: Run, at: int) -> str:
    notes = [tree.span(run, TO)] if run.known else []
    if not run.cached:
        return div(
            f"line-height:30px;border-radius:6px;border:1px dashed {EDGE};padding:0 10px",
            "✕ ",
            span(f"{SMALL};{QUIET}", safe(f"{notes[0]}: {tree.gap(run)}")),
        )
    free, all_of_it = len(tree.free(run)), sum(len(tree.state.copies[key]) for key in run.keys)
    notes += ["free"] * (0 < free == all_of_it) + [f"{free:,} of {all_of_it:,} free"] * (0 < free < all_of_it)
    cells = [cell.markup for cell in _cells(tree, run, at)]
    strip = div(
        f"display:flex;gap:{_GAP}px",
        " ".join(cells),
        div("line-height:30px;margin-left:6px;white-space:nowrap", *_quiet([*notes, *tree.notes(run)])),
    )
    return strip if _in_cells(tree, run) or not run.known else strip + _prose(tree, run)


def _quiet(notes: Sequence[str]) -> list[str]:
    return [span(f"{SMALL};{QUIET}", safe(", ".join(notes)))]


def _in_cells(tree: Tree, run: Run) -> bool:
    """Whether what a block says finds room below its tile."""
    return run.known and tree.size <= 5 and max(map(len, tree.pieces(run))) <= 5


def _prose(tree: Tree, run: Run) -> str:
    """What a run says, in one line below its tiles."""
    pieces = [safe(short(piece, 24)) for piece in tree.pieces(run)[:3]]
    more = quiet(" …") if len(run.keys) > 3 else ""
    return div(f"font-family:monospace;{SMALL};line-height:15px;white-space:pre", quiet(" | ").join(pieces), more)


def _cells(tree: Tree, run: Run, at: int) -> list[_Cell]:
    """The tiles of a run, copies side by side; of a long one the two ends."""
    most = max(3, (_ROOM - at) // (width(tree.state.num_blocks) + _GAP))
    most = most if tree.state.num_blocks <= FEW else min(most, 8)
    letters = tree.pieces(run) if _in_cells(tree, run) else []
    if len(run.keys) <= most:
        return [_cell(tree, key, letters[place] if letters else "") for place, key in enumerate(run.keys)]
    head, hidden = most - 3, len(run.keys) - most + 2
    wide = _HIDDEN + 7 * len(f"{hidden:,}")
    look = f"flex:0 0 {wide}px;text-align:center;white-space:nowrap;line-height:30px;{SMALL};{QUIET}"
    middle = _Cell(div(look, f"… {hidden:,} more …"), wide)
    first = [_cell(tree, key, letters[place] if letters else "") for place, key in enumerate(run.keys[:head])]
    last = tree.pieces(Run(run.keys[-1:]))[0] if letters else ""
    return [*first, middle, _cell(tree, run.keys[-1], last)]


def _cell(tree: Tree, key: str, letters: str) -> _Cell:
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

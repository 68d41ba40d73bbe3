"""Every request with its block table; requests that share blocks stand together, and a shared block is one tile over all.

Must not know: the live pool, IPython.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from kvnb.journal import Journal, State
from kvnb.journal.state import RequestState
from kvnb.views.markup import QUIET, SMALL, TO, card, chip, div, element, foot, quiet, safe, span
from kvnb.views.ranges import ranges
from kvnb.views.text import table_text, tokens_text
from kvnb.views.theme import painter
from kvnb.views.tiles import CORNER, GAP, SIDE, Brush, alone, width
from kvnb.views.words import count, listed, short

_LINES, _IN_GROUP, _SAID = 20, 8, 4


def groups(state: State) -> list[list[str]]:
    """The requests, those that share a block with one another side by side, equal beginnings next to each other."""
    leader = {name: name for name in state.requests}

    def find(name: str) -> str:
        while leader[name] != name:
            leader[name] = name = leader[leader[name]]
        return name

    for owners in state.owners.values():
        for other in owners[1:]:
            leader[find(other)] = find(owners[0])
    together: dict[str, list[str]] = {}
    for name in state.requests:
        together.setdefault(find(name), []).append(name)
    return [_in_order(state, names) for names in together.values()]


def _in_order(state: State, names: list[str]) -> list[str]:
    """By table, a block that was in a table earlier coming first; what left a window ranks with nothing."""
    rank: dict[int, int] = {0: 0}
    for name in names:
        for block_id in state.requests[name].table:
            rank.setdefault(block_id, len(rank))
    return sorted(names, key=lambda name: [rank[block_id] for block_id in state.requests[name].table])


def shared(state: State, names: Sequence[str]) -> list[tuple[list[int], list[str]]]:
    """Which blocks several of ``names`` hold, and who: blocks of the same owners together."""
    found: dict[tuple[str, ...], dict[int, None]] = {}
    for name in names:
        for block_id in state.requests[name].table:
            owners = state.owners.get(block_id, ())
            if len(owners) > 1:
                found.setdefault(tuple(owners), {})[block_id] = None
    return [(list(ids), list(owners)) for owners, ids in found.items()]


# --- as text -------------------------------------------------------------------------------------------------


def requests_text(journal: Journal, state: State) -> str:
    """A line a request, then which blocks are shared by whom."""
    names = [name for group in groups(state) for name in group]
    lines = [f"{short(name)}: {_facts(state.requests[name])}" for name in names]
    if len(lines) > 64:
        lines[32:-32] = [f"... ({len(lines) - 64:,} more requests) ..."]
    said = [_shared_text(ids, owners) for ids, owners in shared(state, names)]
    if len(said) > 16:
        said[16:] = [f"... and {len(said) - 16:,} more sets of shared blocks"]
    return "\n".join(lines + said) or "no request"


def _facts(request: RequestState) -> str:
    hits = f", {request.hits:,} from cache" if request.hits else ""
    return f"{tokens_text(request)}{hits}, {request.state}, {table_text(request.table)}"


def _shared_text(ids: Sequence[int], owners: Sequence[str], to: str = "-") -> str:
    return f"{'block' if len(ids) == 1 else 'blocks'} {ranges(ids, to)} shared by {listed(owners)}"


# --- as HTML -------------------------------------------------------------------------------------------------


class _Cell(NamedTuple):
    """What stands at one place of a drawn table: a block, or how many are left out."""

    at: int
    wide: int
    block_id: int
    hidden: int = 0


def requests_html(journal: Journal, state: State) -> str:
    """A line a request; a block that requests above one another share is one tile across their lines."""
    if not state.requests:
        return card(quiet("no request"))
    brush, lines, left = Brush(painter(journal)), [_head()], _LINES
    everyone = groups(state)
    for at, names in enumerate(everyone):
        if left <= 0:
            lines.append(_more(sum(map(len, everyone[at:]))))
            break
        shown = names if len(names) <= min(_IN_GROUP, left) or len(names) <= left - len(everyone) else names[:_IN_GROUP]
        lines += _group(state, names, shown, brush)
        left -= len(shown)
    total = count(len(state.requests), "request")
    held = sum(len(owners) > 1 for owners in state.owners.values())
    return card(*lines, foot(total, f"{count(held, 'block')} shared" if held else "no block is shared"))


_COLUMNS = (104, 124, 76)


def _line(cells: Sequence[str], *content: str, style: str = "") -> str:
    """The first columns of a line of the table, then its tiles."""
    look = "overflow:hidden;text-overflow:ellipsis;white-space:nowrap"
    first = [div(f"flex:0 0 {wide}px;{look}", cell) for wide, cell in zip(_COLUMNS, cells, strict=True)]
    return div(f"display:flex;{style}", " ".join(first), " ", *content)


def _head() -> str:
    names = [element("b", f"font-size:11px;{QUIET}", name) for name in ("request", "tokens", "from cache", "block table")]
    return _line(names[:3], div("", names[3]))


def _more(number: int) -> str:
    return div(f"margin-top:10px;{QUIET}", f"… {count(number, 'more request')} …")


def _group(state: State, names: Sequence[str], shown: Sequence[str], brush: Brush) -> Iterator[str]:
    tables = _cells(state, [state.requests[name].table for name in shown])
    for at, name in enumerate(shown):
        above = set(tables[at - 1]) if at else set()
        below = set(tables[at + 1]) if at + 1 < len(shown) else set()
        tiles = [_tile(state, name, cell, cell in above, cell in below, brush) for cell in tables[at]]
        top = f"margin-top:{GAP + 2 if at else 12}px;height:{SIDE}px;line-height:{SIDE}px"
        yield _line(_labels(state.requests[name], name, brush), _strip(state, tiles, state.requests[name]), style=top)
    if len(shown) < len(names):
        yield _more(len(names) - len(shown))
    said = shared(state, shown)
    for ids, owners in said[:_SAID]:
        yield _line(("", "", ""), span(f"{SMALL};{QUIET};line-height:18px;margin-top:4px", safe(_shared_text(ids, owners, TO))))


def _labels(request: RequestState, name: str, brush: Brush) -> tuple[str, str, str]:
    scheduled = request.state == "running" and request.num_scheduled < request.num_tokens
    tokens = f"{request.num_scheduled:,} of {request.num_tokens:,}" if scheduled else f"{request.num_tokens:,}"
    notes = [count(request.num_drafts, "draft")] * bool(request.num_drafts)
    notes += [f"{request.num_deferred:,} not computed"] * bool(request.num_deferred)
    says = f"{tokens} {span(f'{SMALL};{QUIET}', safe(', '.join(notes)))}" if notes else tokens
    label = div("line-height:20px;margin-top:5px", chip(short(name, 12), brush.painter(name)))
    return label, says, f"{request.hits:,}" if request.hits else quiet("none")


def _strip(state: State, tiles: Sequence[str], request: RequestState) -> str:
    if request.state == "preempted":
        return quiet("preempted: holds no block, keeps its tokens")
    return div(f"display:flex;gap:{GAP}px", " ".join(tiles))


def _pieces(state: State, table: Sequence[int]) -> list[list[int]]:
    """A block table cut where the owners change."""
    return [list(ids) for _, ids in groupby(table, key=lambda block_id: tuple(state.owners.get(block_id, ())))]


_ROOM = 412
"""What is left for tiles in the narrowest notebook that is thought of, 720 pixels."""


def _cells(state: State, tables: Sequence[Sequence[int]]) -> list[list[_Cell]]:
    """Block tables; of a long piece the two ends, as many in each table, so that the same block has the same place."""
    pieces, wide = [_pieces(state, table) for table in tables], width(state.num_blocks)
    longest = max(map(len, tables))
    drawn = list[list[_Cell]]()
    for each in (longest if longest * (wide + GAP) <= _ROOM + GAP else 12, 8, 6, 5, 4, 3, 2):
        drawn = [list(_row(cut, each, wide)) for cut in pieces]
        if all(cells[-1].at + cells[-1].wide <= _ROOM for cells in drawn if cells):
            break
    return drawn


def _row(pieces: Sequence[Sequence[int]], each: int, wide: int) -> Iterator[_Cell]:
    at = 0
    for block_id, hidden in (end for ids in pieces for end in _ends(ids, each)):
        cell = _Cell(at, 58 + 7 * len(f"{hidden:,}") if hidden else wide, block_id, hidden)
        at += cell.wide + GAP
        yield cell


def _ends(ids: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Ids, and of more than ``most`` the two ends with how many are left out between them."""
    if len(ids) <= most:
        yield from ((block_id, 0) for block_id in ids)
        return
    head = most - 2
    yield from ((block_id, 0) for block_id in ids[:head])
    yield ids[head], len(ids) - head - 1
    yield ids[-1], 0


def _tile(state: State, name: str, cell: _Cell, above: bool, below: bool, brush: Brush) -> str:
    fill, ink = brush.painter(name)
    if cell.hidden:
        return div(f"flex:0 0 {cell.wide}px;text-align:center;white-space:nowrap;{SMALL};{QUIET}", f"… {cell.hidden:,} more …")
    if not (above or below) or not cell.block_id:
        return alone(brush.tile(state, cell.block_id), state.num_blocks)
    corners = [0 if above else 6] * 2 + [0 if below else 6] * 2
    # A tile reaches over the space between two lines to the same block in the next one.
    high = SIDE + (GAP + 2) * below
    look = f"flex:0 0 {cell.wide}px;height:{high}px;border-radius:{' '.join(f'{corner}px' for corner in corners)}"
    size = "12px" if state.num_blocks <= 100 else "11px"
    mark = CORNER if state.keys[cell.block_id] is not None and not above else ""
    style = f"{look};margin-bottom:-{high - SIDE}px;background:{fill};color:{ink};text-align:center;font-size:{size}"
    return element("b", style, str(cell.block_id), mark)

"""What changed between two steps of a journal, in words and as tiles: then at the left, now at the right.

Must not know: the live pool, IPython.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kvnb.journal import Journal, State
from kvnb.journal.state import RequestState
from kvnb.views.compare import BlockChange, Difference, Look, compare
from kvnb.views.markup import QUIET, SMALL, TO, card, chip, div, element, foot, quiet, row, safe, span
from kvnb.views.ranges import ranges
from kvnb.views.theme import painter
from kvnb.views.tiles import Brush, alone
from kvnb.views.words import count, listed, short

_ROWS, _TILES = 24, 6


class _Group(NamedTuple):
    """Blocks that changed from one kind to another."""

    was: str
    now: str
    changes: list[BlockChange]


def _groups(changes: Sequence[BlockChange]) -> list[_Group]:
    """Blocks that changed alike together; where there are too many kinds, who the owners are is left out."""
    found = _grouped(changes, _kind)
    return found if len(found) <= _ROWS else _grouped(changes, _coarse_kind)


def _grouped(changes: Sequence[BlockChange], kind: Callable[[Look], str]) -> list[_Group]:
    found: dict[tuple[str, str], list[BlockChange]] = {}
    for change in changes:
        was, now = kind(change.was), kind(change.now) + _besides(change)
        found.setdefault((was, now + ", other owners" * (was == now)), []).append(change)
    return [_Group(was, now, same) for (was, now), same in found.items()]


def _kind(look: Look) -> str:
    """``r0 and r1, cached``, ``free and empty``."""
    return listed(look.owners, most=4) + (", cached" if look.key else "") if look.owners else _coarse_kind(look)


def _coarse_kind(look: Look) -> str:
    """``shared, cached``, ``free and empty``."""
    if not look.owners:
        return "free and cached" if look.key else "free and empty"
    return ("shared" if len(look.owners) > 1 else "one owner") + (", cached" if look.key else "")


def _besides(change: BlockChange) -> str:
    """What the kinds before and after do not tell."""
    if change.moved:
        return ", nearer the back" if change.now.place > change.was.place else ", nearer the front"
    return " under another hash" if change.was.key and change.now.key and change.was.key != change.now.key else ""


def _places(looks: Sequence[Look], to: str) -> str:
    """Where free blocks stand in the queue."""
    places = [look.place for look in looks if look.place]
    if len(places) > 8:
        return f"places {min(places):,}{to}{max(places):,}" + " in part" * (max(places) - min(places) >= len(places))
    return f"{'place' if len(places) == 1 else 'places'} {ranges(places, to)}" if places else ""


def _request_line(was: RequestState | None, now: RequestState | None, to: str) -> str:
    """What became of a request, in words."""
    if was is None or now is None:
        there = now or was
        assert there is not None
        size = f"{count(there.num_tokens, 'token')}, {count(len(there.table), 'block')}"
        return f"{'new' if now else 'gone'}: {size}" + (f", {there.state}" if there.state != "running" else "")
    pairs = (
        (was.state, now.state, ""), (was.num_tokens, now.num_tokens, " tokens"), (len(was.table), len(now.table), " blocks"),
        (was.num_scheduled, now.num_scheduled, " scheduled"), (was.num_drafts, now.num_drafts, " drafts"),
        (was.num_deferred, now.num_deferred, " not computed yet"), (was.hits, now.hits, " from cache"),
    )  # fmt: skip
    changed = [f"{then} {to} {later}{what}" for then, later, what in pairs if then != later]
    return ", ".join(changed) or "other blocks"


def _request_lines(difference: Difference, to: str) -> Iterator[tuple[list[str], str]]:
    """Names, and what became of them: one by one, or of many that came or went how many there are."""
    if len(difference.requests) <= _ROWS:
        yield from (([name], _request_line(*pair, to)) for name, pair in difference.requests.items())
        return
    for word, at in (("gone", 1), ("new", 0)):
        some = {name: pair[1 - at] for name, pair in difference.requests.items() if pair[at] is None}
        blocks = sum(len(request.table) for request in some.values() if request)
        if some:
            yield list(some), f"{word}: {count(len(some), 'request')} with {count(blocks, 'table entry', 'table entries')}"
    both = {name: pair for name, pair in difference.requests.items() if None not in pair}
    yield from (([name], _request_line(*pair, to)) for name, pair in list(both.items())[:_ROWS])
    if len(both) > _ROWS:
        yield list(both)[_ROWS:], "changed too"


def _figures(was: State, now: State, to: str) -> Iterator[str]:
    """Usage and its parts, those that stayed with one number."""
    usable = was.num_blocks - 1
    yield f"usage {_pair(f'{was.usage:.2f}', f'{now.usage:.2f}', to)}"
    yield f"{_pair(f'{usable - len(was.queue):,}', f'{usable - len(now.queue):,}', to)} of {usable:,} in use"
    yield f"{_pair(f'{was.num_cached:,}', f'{now.num_cached:,}', to)} cached"


def _pair(was: str, now: str, to: str) -> str:
    return was if was == now else f"{was} {to} {now}"


def _hashes(difference: Difference) -> Iterator[str]:
    """How many hashes came into the map and left it, and with which blocks."""
    sides: tuple[tuple[str, Mapping[str, list[int]], str], ...] = (
        ("gained", difference.gained, "in"), ("lost", difference.lost, "of"),
    )  # fmt: skip
    for word, keys, where in sides:
        ids = [block_id for copies in keys.values() for block_id in copies]
        if ids:
            yield f"{count(len(keys), 'hash', 'hashes')} {word} {where} {'block' if len(ids) == 1 else 'blocks'} {ranges(ids)}"


# --- as text -------------------------------------------------------------------------------------------------


def diff_text(journal: Journal, a: int, b: int) -> str:
    """What changed from step ``a`` to step ``b``, in either direction. Raises UnknownName when one is out of range."""
    was, now = journal.state_at(a), journal.state_at(b)
    difference = compare(was, now)
    head = f"step {a} -> step {b}"
    if difference.empty:
        return f"{head}: nothing differs"
    lines = [f"{head}: {', '.join(_figures(was, now, '->'))}"]
    lines += [f"  {listed(names)}: {says}" for names, says in _request_lines(difference, "->")]
    lines += [f"  {_group_text(group)}" for group in _groups(difference.blocks)]
    return "\n".join([*lines, *(f"  {line}" for line in _hashes(difference))])


def _group_text(group: _Group) -> str:
    ids = [change.block_id for change in group.changes]
    was, now = (_places(looks, "-") for looks in _sides(group))
    sides = [f"{kind} ({places})" if places else kind for kind, places in ((group.was, was), (group.now, now))]
    return f"{'block' if len(ids) == 1 else 'blocks'} {ranges(ids)}: {sides[0]} -> {sides[1]}"


def _sides(group: _Group) -> tuple[list[Look], list[Look]]:
    return [change.was for change in group.changes], [change.now for change in group.changes]


# --- as HTML -------------------------------------------------------------------------------------------------

_ARROW = "\N{RIGHTWARDS ARROW}"


def diff_html(journal: Journal, a: int, b: int) -> str:
    """What changed from step ``a`` to step ``b``, in either direction. Raises UnknownName when one is out of range."""
    was, now = journal.state_at(a), journal.state_at(b)
    difference = compare(was, now)
    head = div("font-size:14px", f"<b>step {a:,} {_ARROW} step {b:,}</b>", quiet(": nothing differs") if difference.empty else "")
    if difference.empty:
        return card(head)
    brush = Brush(painter(journal))
    return card(
        head,
        div(f"font-size:12px;{QUIET}", safe(" · ".join(_figures(was, now, _ARROW)))),
        *_request_rows(difference, brush),
        *_block_rows(_groups(difference.blocks), (was, now), (a, b), brush),
        foot(*_hashes(difference)),
    )


def _request_rows(difference: Difference, brush: Brush) -> Iterator[str]:
    for names, says in _request_lines(difference, _ARROW):
        chips = [chip(short(name, 12), brush.painter(name)) for name in names[:8]]
        more = quiet(f" and {len(names) - 8:,} more: ") if len(names) > 8 else ""
        if len(names) == 1:
            yield row(chips[0], "", div("font-size:12px;line-height:18px", safe(says)))
        else:
            yield div("margin-top:10px;font-size:12px", " ".join(chips), more or " ", safe(says))


_GRID = "display:grid;grid-template-columns:minmax(0,360px) 28px minmax(0,1fr)"


def _block_rows(groups: Sequence[_Group], states: tuple[State, State], steps: tuple[int, int], brush: Brush) -> Iterator[str]:
    if groups:
        heads = [element("b", f"font-size:11px;{QUIET}", f"step {step:,}") for step in steps]
        yield div(f"{_GRID};margin-top:14px", heads[0], span("", ""), heads[1])
    for group in groups:
        ids = [change.block_id for change in group.changes]
        was, now = (_places(looks, TO) for looks in _sides(group))
        left, right = _side(states[0], ids, group.was, was, brush), _side(states[1], ids, group.now, now, brush)
        yield div(f"{_GRID};margin-top:8px", left, div(f"line-height:30px;{QUIET}", _ARROW), right)


def _side(state: State, ids: Sequence[int], kind: str, places: str, brush: Brush) -> str:
    shown = ids if len(ids) <= _TILES else ids[: _TILES - 1]
    tiles = [alone(brush.tile(state, block_id), state.num_blocks) for block_id in shown]
    more = f"… {len(ids) - len(shown):,} more …" if len(shown) < len(ids) else ""
    tiles += [span(f"line-height:30px;{SMALL};{QUIET}", more)] * bool(more)
    says = safe(kind) + (quiet(f", {safe(places)}") if places else "")
    return div("", div("display:flex;flex-wrap:wrap;gap:6px", " ".join(tiles)), div(f"{SMALL};line-height:16px", says))

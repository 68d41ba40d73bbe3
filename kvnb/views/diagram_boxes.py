"""What is in the boxes of the seed's diagram: hashes, blocks, the free queue, block tables; of large pools as much as fits.

Must not know: the arrows between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from kvnb.journal import State, Step
from kvnb.views import svg
from kvnb.views.markup import safe
from kvnb.views.path import Arrow
from kvnb.views.theme import Painter
from kvnb.views.words import count, short

Ids = dict[Arrow, tuple[int, ...]]
"""By arrow of the path, the blocks that went along."""


def boxes(state: State, step: Step | None, lit: Ids, paint_of: Painter) -> Iterator[str]:
    """The four boxes, those lit that the path begins or ends at."""
    yield from _map(state, lit, paint_of)
    yield from _blocks(state, paint_of)
    yield from _queue(state, lit, paint_of)
    yield from _tables(state, step, lit, paint_of)


_SIDE, _SPACE = 22, 6


def _tile(x: float, y: float, state: State, block_id: int, paint_of: Painter, ring: bool) -> str:
    wide = _width(state)
    if block_id == 0:
        return svg.box(x, y, wide, _SIDE, "hatch", 5) + _hatch(x, y, wide) + svg.words(x + wide / 2, y + 15, "0", "id", "middle")
    owners = state.owners.get(block_id, ())
    paint = paint_of(owners[0]) if owners else None
    drawn = svg.tile(x, y, wide, _SIDE, str(block_id), paint, state.keys[block_id] is not None, ring)
    if len(owners) < 2:
        return drawn
    band = f'<path d="M{x + 5:g} {y + _SIDE:g}h{wide - 10:g}" stroke="{paint_of(owners[1]).fill}" stroke-width="4"/>'
    return drawn + band


def _hatch(x: float, y: float, wide: float) -> str:
    lines = "".join(f"M{x + at:g} {y + _SIDE:g}l{min(_SIDE, wide - at):g} -{min(_SIDE, wide - at):g}" for at in (0, 7, 14))
    return f'<path d="{lines}" class="hatch"/>'


def _width(state: State) -> float:
    return max(_SIDE, 7 * len(str(state.num_blocks - 1)) + 8)


def _room(state: State, wide: float) -> int:
    """How many tiles fit."""
    return int((wide + _SPACE) // (_width(state) + _SPACE))


def _row(ids: Sequence[int], x: float, y: float, state: State, lit: set[int], paint_of: Painter) -> Iterator[str]:
    for at, block_id in enumerate(ids):
        yield _tile(x + at * (_width(state) + _SPACE), y, state, block_id, paint_of, block_id in lit)


def _map(state: State, lit: Ids, paint_of: Painter) -> Iterator[str]:
    used = " lit" if {"touch", "cache_full_blocks"} & set(lit) else " cut" if "evict" in lit else ""
    yield svg.box(24, 44, 348, 86, f"box{used}") + svg.words(36, 64, "cached_block_hash_to_block", "code ink")
    yield svg.words(360, 64, count(len(state.copies), "hash", "hashes"), "small", "end")
    moved = [*lit.get("touch", ()), *lit.get("cache_full_blocks", ())]
    keys = list(dict.fromkeys(key for block_id in moved if (key := state.keys[block_id])))[:4]
    keys += [key for key in islice(state.copies, 9) if key not in keys]
    each = 42 + _width(state)
    most = int(330 // each)
    for at, key in enumerate(keys[:most]):
        block_id = next(iter(state.copies[key]))
        yield svg.words(36 + at * each, 101, f"{key[:4]}", "code")
        yield _tile(68 + at * each, 86, state, block_id, paint_of, block_id in moved)
    if len(state.copies) > most:
        yield svg.words(360, 122, f"… {len(state.copies) - most:,} more", "small", "end")


def _blocks(state: State, paint_of: Painter) -> Iterator[str]:
    yield svg.box(24, 190, 348, 70, "box") + svg.words(36, 210, f"blocks[0..{state.num_blocks:,})", "code ink")
    yield svg.words(360, 210, "one object per physical block", "small", "end")
    if state.num_blocks <= _room(state, 326):
        yield from _row(range(state.num_blocks), 36, 226, state, set(), paint_of)
        return
    free, kept = len(state.queue), state.num_free_cached
    parts = (("in use", state.num_blocks - 1 - free), ("free and cached", kept), ("free and empty", free - kept))
    yield svg.words(36, 242, " · ".join(f"{number:,} {word}" for word, number in parts), "ink")


def _queue(state: State, lit: Ids, paint_of: Painter) -> Iterator[str]:
    used = " lit" * bool({"get_new_blocks", "front", "back"} & set(lit))
    yield svg.box(24, 318, 348, 98, f"box{used}") + svg.words(36, 338, "free_block_queue", "code ink")
    yield svg.words(360, 338, f"{len(state.queue):,} free", "small", "end")
    yield svg.words(36, 356, "FRONT", "small ink") + svg.words(360, 356, "BACK", "small ink", "end")
    came = {*lit.get("front", ()), *lit.get("back", ())}
    room, each = _room(state, 326), _width(state) + _SPACE
    if len(state.queue) <= room:
        yield from _row(list(state.queue), 36, 366, state, came, paint_of)
        if not len(state.queue):
            yield svg.words(198, 382, "empty: every block is in use", "small", "middle")
    else:
        ends = max(1, int((326 - 84) // each) // 2)
        yield from _row(state.queue.head(ends), 36, 366, state, came, paint_of)
        yield svg.words(198, 382, f"… {len(state.queue) - 2 * ends:,} more …", "small", "middle")
        yield from _row(state.queue.tail(ends), 360 + _SPACE - ends * each, 366, state, came, paint_of)
    yield svg.words(36, 406, "reused next", "small") + svg.words(360, 406, "reused last", "small", "end")


def _tables(state: State, step: Step | None, lit: Ids, paint_of: Painter) -> Iterator[str]:
    used = " lit" * bool({"touch", "get_new_blocks", "cache_full_blocks", "free_blocks"} & set(lit))
    yield svg.box(570, 44, 180, 116, f"box{used}") + svg.words(582, 64, "Request block tables", "name")
    last = step.command.args.get("name") if step else None
    names = sorted(state.requests, key=lambda name: name != last)
    for at, name in enumerate(names[:3]):
        fill, ink = paint_of(name)
        label = short(name, 8)
        wide = 6.6 * len(label) + 10
        y = 76 + 24 * at
        yield f'<rect x="582" y="{y}" width="{wide:g}" height="17" rx="4" fill="{fill}"/>'
        yield f'<text x="{587}" y="{y + 12.5:g}" class="id" style="fill:{ink}">{safe(label)}</text>'
        yield svg.words(588 + wide, y + 12.5, _table(state.requests[name].table, wide), "code")
    hidden = len(names) - 3
    yield svg.words(738, 154, f"… {hidden:,} more" if hidden > 0 else "", "small", "end")
    yield svg.words(582, 88, "" if names else "no request", "small")


def _table(table: Sequence[int], taken: float) -> str:
    """As many ids of a block table as there is room for."""
    most = int((150 - taken) // 6.7)
    text = f"[{' '.join(map(str, table))}]" if table else "holds no block"
    return text if len(text) <= most else f"{text[: most - 2].rsplit(' ', 1)[0]} …]"

"""The seed's diagram: pool, free queue, map, block tables, and what happens at ref_cnt 0. The last step's path is lit.

Must not know: the live pool, IPython.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from kvnb.journal import Journal, State, Step
from kvnb.views import svg
from kvnb.views.markup import MINUS, TO, card, div, foot, quiet, safe, span
from kvnb.views.path import Arrow, Leg, legs, path_lines, title
from kvnb.views.ranges import ranges
from kvnb.views.theme import HIT, LOST, SHARED, Painter, painter
from kvnb.views.words import count, short

WIDE, HIGH = 760, 452


Ids = dict[Arrow, tuple[int, ...]]
"""By arrow of the path, the blocks that went along."""


class _Way(NamedTuple):
    """An arrow: its line, where its number stands, and where the ids that go along are written, and from which side."""

    line: str
    number: tuple[float, float]
    ids: tuple[float, float]
    anchor: str = "start"


_WAYS: dict[Arrow, _Way] = {
    "touch": _Way("M372 64H562", (396, 64), (471, 84), "middle"),
    "cache_full_blocks": _Way("M570 112H380", (546, 112), (471, 132), "middle"),
    "get_new_blocks": _Way("M46 318V306Q46 296 56 296H398Q408 296 408 286V164Q408 154 418 154H562", (46, 306), (262, 286)),
    "evict": _Way("M48 130V168", (48, 144), (108, 154)),
    "free_blocks": _Way("M640 160V184", (640, 172), (604, 194), "end"),
    "kept": _Way("M704 222H724Q734 222 734 212V168", (718, 222), (744, 266), "end"),
    "back": _Way("M576 222H508Q498 222 498 232V302M498 352V366Q498 376 488 376H380", (498, 262), (507, 371)),
    "front": _Way("M640 254V302M640 352V430Q640 440 630 440H56Q46 440 46 430V424", (640, 280), (649, 371)),
}


def diagram_text(journal: Journal, step: Step | None, state: State) -> str:
    """The step's sentence, then its path through vLLM's functions, numbered; None: the new pool."""
    return "\n".join([title(step), *(f"  {line}" for line in _numbered(step, state))])


def _numbered(step: Step | None, state: State) -> list[str]:
    lines = path_lines(step, state)
    return [f"{at}. {line}" for at, line in enumerate(lines, 1)] if legs(step, state) else lines


def diagram_html(journal: Journal, step: Step | None, state: State) -> str:
    """The diagram as an image with the path of ``step`` lit; below it the same path in words. None: the new pool."""
    path, paint_of = legs(step, state), painter(journal)
    lines = path_lines(step, state)
    alt = f"Blocks between pool, free queue, hash map and block tables. {title(step)}. Path: {'; '.join(lines)}."
    drawing = svg.image(WIDE, HIGH, alt, _STYLE, *_drawing(journal, state, step, path, paint_of))
    return card(
        div("font-size:14px;margin-bottom:8px", safe(title(step))),
        drawing,
        div("margin-top:6px", *(div("", _said(at, line, bool(path))) for at, line in enumerate(lines, 1))),
        foot(f"step {step.number}" if step else "step 0", f"usage {state.usage:.2f}"),
    )


def _said(at: int, line: str, numbered: bool) -> str:
    function, _, rest = line.partition(": ")
    if not numbered:
        return safe(line)
    number = span("display:inline-block;width:20px;font-size:12px", f"<b>{at}</b>")
    return f"{number}{span('font-family:monospace', safe(function))}{quiet(': ')}{safe(rest)}"


# --- the drawing ---------------------------------------------------------------------------------------------

_LIGHT = {
    "paper": "#FFFFFF", "room": "#F6F7F8", "box": "#FFFFFF", "ink": "#1C1E22", "quiet": "#5B626B", "line": "#A3A9B1",
    "path": "#0072B2", "on": "#FFFFFF", "lost": LOST.fill, "edge": "#808080",
}  # fmt: skip
_DARK = {
    "paper": "#15171A", "room": "#1C1F24", "box": "#15171A", "ink": "#E9EBEE", "quiet": "#A2A8B0", "line": "#686F78",
    "path": HIT, "on": "#000000", "lost": LOST.fill, "edge": "#8A8A8A",
}  # fmt: skip
_STYLE = svg.sheet(
    _LIGHT, _DARK,
    f"text{{font:11px {svg.SANS};fill:$quiet}}.paper{{fill:$paper}}.room{{fill:$room;stroke:$line;stroke-opacity:.5}}"
    ".box{fill:$box;stroke:$line}.box.lit{stroke:$path;stroke-width:2.5}.box.cut{stroke:$lost;stroke-width:2.5}"
    "text.name{font-weight:700;font-size:12px;fill:$ink}text.ink{fill:$ink}text.lit{fill:$ink;font-weight:700}"
    f"text.code{{font-family:{svg.MONO}}}text.id{{font-weight:700;font-size:11px}}text.small{{font-size:10px}}"
    ".way{fill:none;stroke:$line;stroke-width:1.25}.way.lit{stroke:$path;stroke-width:3.5}.way.cut{stroke:$lost;stroke-width:3.5}"
    ".head{fill:$line}.head.lit{fill:$path}.head.cut{fill:$lost}.pill{fill:$path}.pill.cut{fill:$lost}text.on{fill:$on;font-weight:700}"
    "text.on.cut{fill:#000}.kept{fill:none;stroke:$edge}.empty{fill:none;stroke:$edge;stroke-dasharray:3 2}.mark{fill:$ink}"
    ".ring{fill:none;stroke:$path;stroke-width:2.5}.cross{stroke:$line;stroke-width:1.5}.cross.cut{stroke:$lost;stroke-width:3.5}"
    ".hatch{fill:none;stroke:$edge;stroke-opacity:.6}",
)  # fmt: skip
_HEADS = f"<defs>{svg.head('h', 'head')}{svg.head('hl', 'head lit')}{svg.head('hc', 'head cut')}</defs>"


def _drawing(journal: Journal, state: State, step: Step | None, path: Sequence[Leg], paint_of: Painter) -> Iterator[str]:
    lit = {leg.arrow: leg.ids for leg in path}
    yield _HEADS + svg.box(0, 0, WIDE, HIGH, "paper", 12)
    yield svg.box(10, 10, 376, 420, "room", 14) + svg.words(24, 32, "BlockPool", "name")
    # The arrows that nobody took lie below those of the path.
    for arrow in sorted(_WAYS, key=lambda arrow: arrow in lit):
        yield _arrow(arrow, arrow in lit)
    yield from _map(state, lit, paint_of)
    yield from _blocks(state, lit, paint_of)
    yield from _queue(state, lit, paint_of)
    yield from _tables(state, step, lit, paint_of)
    yield from _decision(lit)
    yield from _names(journal, lit)
    for at, leg in enumerate(path, 1):
        yield _number(leg.arrow, at) + _along(leg)


def _look(arrow: Arrow, lit: bool) -> str:
    return "" if not lit else " cut" if arrow == "evict" else " lit"


def _arrow(arrow: Arrow, lit: bool) -> str:
    head = {"": "h", " lit": "hl", " cut": "hc"}[_look(arrow, lit)]
    *first, last = _WAYS[arrow].line.split("M")[1:]
    look = f"way{_look(arrow, lit)}"
    return "".join(svg.way(f"M{line}", look, head) for line in (*first, last))


def _number(arrow: Arrow, at: int) -> str:
    x, y = _WAYS[arrow].number
    cut = " cut" * (arrow == "evict")
    return f'<circle cx="{x:g}" cy="{y:g}" r="9" class="pill{cut}"/>' + svg.words(x, y + 4, str(at), f"on{cut}", "middle")


def _along(leg: Leg) -> str:
    """The ids that went along an arrow, on a pill beside it."""
    text = ranges(leg.ids, TO, 6)
    if len(text) > 18:
        text = count(len(leg.ids), "block")
    if not text:
        return ""
    x, y = _WAYS[leg.arrow].ids
    wide = 6.6 * len(text) + 12
    left = {"start": x, "middle": x - wide / 2, "end": x - wide}[_WAYS[leg.arrow].anchor]
    cut = " cut" * (leg.arrow == "evict")
    return svg.box(left, y - 11, wide, 16, f"pill{cut}", 8) + svg.words(left + wide / 2, y + 1, text, f"on{cut}", "middle")


def _names(journal: Journal, lit: Ids) -> Iterator[str]:
    """What stands beside the arrows: vLLM's function, and what it does."""

    def look(arrow: Arrow, code: bool = True) -> str:
        return ("code " if code else "") + ("lit" if arrow in lit else "")

    yield svg.words(471, 56, "touch()", look("touch"), "middle")
    yield svg.words(471, 80, "" if "touch" in lit else "cache hit, ref_cnt + 1", "small", "middle")
    yield svg.words(471, 104, "cache_full_blocks()", look("cache_full_blocks"), "middle")
    yield svg.words(471, 128, "" if "cache_full_blocks" in lit else "a block becomes full", "small", "middle")
    yield svg.words(62, 286, "get_new_blocks()", look("get_new_blocks"))
    yield svg.words(178, 286, "pop the front", "small")
    yield svg.words(64, 154, "evict", look("evict"))
    yield svg.words(64, 170, "the hash goes, the block stays where it is", "small")
    yield svg.words(622, 178, f"free_blocks(): ref_cnt {MINUS} 1", look("free_blocks"), "end")
    yield svg.words(490, 290, "has a hash" if journal.behaviour.free_to != "back" else "always", look("back", False), "end")
    yield svg.words(652, 300, "no hash", look("front", False))
    yield svg.words(744, 250, "> 0: in use", look("kept", False), "end")


def _decision(lit: Ids) -> Iterator[str]:
    asked, front, back = (" lit" * (arrow in lit) for arrow in ("free_blocks", "front", "back"))
    yield f'<path d="M640 190L704 222L640 254L576 222z" class="box{asked}" stroke-linejoin="round"/>'
    yield svg.words(640, 226, "ref_cnt == 0?", f"code ink{asked}", "middle")
    yield svg.box(436, 310, 124, 42, f"box{back}") + svg.words(498, 328, "append to the BACK", "ink", "middle")
    yield svg.words(498, 343, "keep as cache", "small", "middle")
    yield svg.box(572, 310, 136, 42, f"box{front}") + svg.words(640, 328, "prepend to the FRONT", "ink", "middle")
    yield svg.words(640, 343, "reuse at once", "small", "middle")


# --- what is in the boxes ------------------------------------------------------------------------------------

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
    band = f'<path d="M{x + 5:g} {y + _SIDE:g}h{wide - 10:g}" stroke="{(paint_of(owners[1]) or SHARED).fill}" stroke-width="4"/>'
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


def _blocks(state: State, lit: Ids, paint_of: Painter) -> Iterator[str]:
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

"""The seed's diagram: pool, free queue, map, block tables, and what happens at ref_cnt 0. The last step's path is lit.

Must not know: the live pool, IPython.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kvnb.journal import Journal, State, Step
from kvnb.views import svg
from kvnb.views.diagram_boxes import Ids, boxes
from kvnb.views.markup import MINUS, TO, card, div, foot, quiet, safe, span
from kvnb.views.path import Arrow, Leg, legs, path_lines, title
from kvnb.views.ranges import ranges
from kvnb.views.theme import HIT, LOST, Painter, painter
from kvnb.views.words import count

WIDE, HIGH = 760, 452


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
    yield from boxes(state, step, lit, paint_of)
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

"""A block as a tile, the same in every picture, and tiles in a strip.

Must not know: which picture a tile stands in.

Fill = owner. A marked corner = it carries a hash. Dashed = free and empty, solid = free and cached. Two fills and a
number = shared. A hatched tile that says null = block 0. A blue ring = just hit, a grey one = just came back to the
queue, a cross = just lost its hash. Where styles are lost a tile still reads ``5*``, ``1* x2``, ``0 null``. Pools of
more than ``FEW`` blocks have tiles of fewer bytes, which look the same and lose the asterisk.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kvnb.core.events import Back, Front, Hit, Unhashed
from kvnb.journal import State, Step
from kvnb.views.markup import QUIET, SMALL, TIMES, div, element, span
from kvnb.views.theme import EDGE, FAINT, HIT, LINE, LOST, Paint, Painter, painter
from kvnb.views.words import queue_ends

SIDE, GAP, FEW = 30, 6, 64
GREY = painter(None)


class Marks(NamedTuple):
    """What happened to blocks in one step; it shows for that step only."""

    hit: frozenset[int] = frozenset()
    lost: frozenset[int] = frozenset()
    back: frozenset[int] = frozenset()


NO_MARKS = Marks()


def marks_of(step: Step | None) -> Marks:
    """The marks of a step; none for the new pool."""
    if step is None:
        return NO_MARKS
    return Marks(_ids(step, Hit), _ids(step, Unhashed), _ids(step, Front, Back))


def _ids(step: Step, *kinds: type[Hit] | type[Unhashed] | type[Front] | type[Back]) -> frozenset[int]:
    return frozenset().union(*(event.ids for kind in kinds for event in step.of(kind)))


class Brush(NamedTuple):
    """How the tiles of one picture are drawn: the colours of requests, and what the step did."""

    painter: Painter = GREY
    marks: Marks = NO_MARKS

    def tile(self, state: State, block_id: int) -> str:
        """One block."""
        if block_id == 0:
            return NULL
        owners = state.owners.get(block_id, ())
        paints = [self.painter(owner) for owner in owners[:2]]
        style, mark = _dress(paints, state.keys[block_id] is not None, state.num_blocks <= FEW)
        cross = CROSS if block_id in self.marks.lost else ""
        if len(owners) < 2:
            return element("b", style + self._ring(block_id), cross, str(block_id), mark)
        shared = f"{style};line-height:20px{self._ring(block_id)}"
        return element("b", shared, cross, str(block_id), mark, " ", _band(f"{TIMES}{len(owners)}", paints[1]))

    def _ring(self, block_id: int) -> str:
        if block_id in self.marks.hit:
            return f";box-shadow:0 0 0 3px {HIT}"
        return f";box-shadow:0 0 0 3px {LINE}" if block_id in self.marks.back else ""


def _dress(paints: Sequence[Paint], hashed: bool, few: bool) -> tuple[str, str]:
    """The style of a tile, and its corner where that is an element of its own."""
    if few or not hashed:
        look = f"background:{paints[0].fill};color:{paints[0].ink}" if paints else f"border:1px {_line(hashed)} {EDGE}"
        return f"border-radius:6px;{look}", CORNER if hashed else ""
    if paints:
        fill, ink = paints[0]
        return f"border-radius:6px;background:{_ear(ink, fill)};color:{ink}", ""
    return f"border-radius:6px;border:1px solid {EDGE};background:{_ear(EDGE, 'transparent')}", ""


def _line(hashed: bool) -> str:
    return "solid" if hashed else "dashed"


CORNER = element("i", "float:right;margin:3px 3px 0 -9px;border-top:6px solid;border-left:6px solid transparent;font-size:0", "*")
"""A triangle made of two borders, so that it is printed too, in the ink of its tile; its text is for where styles are lost."""


def _ear(ink: str, fill: str) -> str:
    return f"linear-gradient(225deg,{fill} 4px,{ink} 5px,{ink} 8px,{fill} 9px)"


def _band(text: str, paint: Paint) -> str:
    """The lower part of a tile, in the second owner's colour."""
    style = f"display:block;border-radius:0 0 6px 6px;background:{paint.fill};color:{paint.ink};font-size:9px;line-height:10px"
    return element("span", style, text)


_HATCH = f"linear-gradient(135deg,{FAINT} 25%,transparent 25%,transparent 50%,{FAINT} 50%,{FAINT} 75%,transparent 75%)"
NULL = element(
    "b", f"border-radius:6px;border:1px solid {LINE};line-height:17px;background-image:{_HATCH};background-size:8px 8px",
    "0 ", element("span", "display:block;font-size:9px;line-height:8px", "null"),
)  # fmt: skip
_PIN = f"float:left;margin:-5px -9px 0 -5px;border-radius:8px;background:{LOST.fill};color:{LOST.ink}"
CROSS = element("i", f"{_PIN};width:14px;font-size:12px;line-height:14px", "✕")


# --- strips --------------------------------------------------------------------------------------------------


def strip(cells: Iterable[str], num_blocks: int) -> str:
    """Tiles side by side, wrapped; wide enough for the longest number of the pool."""
    columns = f"display:grid;grid-template-columns:repeat(auto-fill,{width(num_blocks)}px);grid-auto-rows:{SIDE}px;gap:{GAP}px"
    return div(f"flex:1;min-width:0;{columns};text-align:center;{_size(num_blocks)};line-height:29px", " ".join(cells))


def alone(tile: str, num_blocks: int) -> str:
    """One tile, apart from a strip."""
    box = f"display:grid;flex:none;width:{width(num_blocks)}px;grid-auto-rows:{SIDE}px"
    return div(f"{box};text-align:center;{_size(num_blocks)};line-height:29px", tile)


def width(num_blocks: int) -> int:
    """The width of a tile in a pool of so many blocks."""
    return max(SIDE, 8 * len(str(num_blocks - 1)) + 6)


def _size(num_blocks: int) -> str:
    return "font-size:12px" if num_blocks <= 100 else SMALL


def note(num_blocks: int, wide: int, first: str, second: str = "") -> str:
    """Words between tiles, in up to two lines of markup, that need ``wide`` pixels."""
    columns = -(-(wide + GAP) // (width(num_blocks) + GAP))
    lines = f"{first}<br>{second}" if second else first
    high = "line-height:15px" if second else "line-height:29px"
    return span(f"grid-column:span {columns};text-align:left;white-space:nowrap;{SMALL};{high}", lines)


def left_out(num_blocks: int, number: int) -> str:
    """Stands for the middle of a long strip."""
    return note(num_blocks, 100, f"… {number:,} more …")


def table_cells(state: State, table: Sequence[int], brush: Brush, most: int = 32) -> list[str]:
    """A block table as tiles; of a long one the two ends."""
    if len(table) <= most:
        return [brush.tile(state, block_id) for block_id in table]
    head, tail = most * 3 // 4, most // 4
    ends = [[brush.tile(state, block_id) for block_id in ids] for ids in (table[:head], table[-tail:])]
    return [*ends[0], left_out(state.num_blocks, len(table) - head - tail), *ends[1]]


def queue_cells(state: State, brush: Brush) -> list[str]:
    """The free queue between its two ends; a long one without its middle."""
    size = state.num_blocks
    if not len(state.queue):
        return [note(size, 170, span(QUIET, "empty: every block is in use"))]
    front, number, back = queue_ends(state)
    cells = [note(size, 66, "<b>FRONT</b>", span(QUIET, "reused next"))]
    cells += [brush.tile(state, block_id) for block_id in front]
    if number:
        cells += [left_out(size, number), *(brush.tile(state, block_id) for block_id in back)]
    return [*cells, note(size, 66, "<b>BACK</b>", span(QUIET, "reused last"))]

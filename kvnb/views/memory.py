"""Pictures of memory: the slots of a block, those of all blocks, a proof, what the model made.

Must not know: tensors, the live pool; norms and differences come as numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kvnb.journal import Journal, State
from kvnb.journal.contents import Slot
from kvnb.views.contents import KINDS, WORDS, Contents, Norms, counted_kinds, letter_of
from kvnb.views.looks import block_html
from kvnb.views.markup import QUIET, SMALL, card, chip, div, element, foot, quiet, safe, span
from kvnb.views.theme import EDGE, FAINT, RAMP, Paint, Painter, painter
from kvnb.views.tiles import Brush, alone
from kvnb.views.words import short

_SLOTS, _HEADS = 24, 8
_CELL = "text-align:center;min-width:46px;padding:1px 2px;white-space:nowrap"
_ROW = "background:transparent"
"""Front ends stripe the rows of a table; here that would be read as a colour that means something."""


class Scale:
    """From a norm to a colour: the smallest shown is pale, the largest dark."""

    def __init__(self, blocks: Sequence[Contents]) -> None:
        there = [norm for block in blocks for row in block.norms or () for norm in row if norm == norm]
        self.low, self.high = (min(there), max(there)) if there else (0.0, 0.0)

    def paint(self, norm: float) -> Paint:
        """The colour of one norm."""
        part = (norm - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return RAMP[min(int(part * len(RAMP)), len(RAMP) - 1)]

    @property
    def says(self) -> str:
        """What pale and dark stand for."""
        return f"K norm {self.low:.2f} (pale) to {self.high:.2f} (dark)" if self.high else ""


# --- one block -----------------------------------------------------------------------------------------------


def slots_html(journal: Journal, state: State, block_id: int, contents: Contents) -> str:
    """One block, a column a slot: its token, who wrote it and when, and the norm of K in each head."""
    scale = Scale([contents])
    slots = list(contents.slots[:_SLOTS])
    rows = [*_words(slots, journal.behaviour.tokenizer, painter(journal)), *_heads(slots, contents.norms, scale)]
    body = "".join(
        element("tr", _ROW, _label(label), *(element("td", style, cell) for style, cell in cells)) for label, cells in rows
    )
    grid = element(
        "table", "margin:8px 0 0 0;border-collapse:separate;border-spacing:2px;font-size:12px", f"<tbody>{body}</tbody>"
    )
    more = len(contents.slots) - len(slots)
    head = block_html(state, block_id, Brush(painter(journal)))
    return head + card(grid, foot(scale.says, f"{more} more slots" if more else ""))


def _label(text: str) -> str:
    return element("td", f"text-align:left;padding:1px 10px 1px 0;{SMALL};white-space:nowrap;{QUIET}", safe(text))


Cells = list[tuple[str, str]]
"""Style and markup of each cell of a row."""


def _words(slots: Sequence[Slot], tokenizer: str, paint_of: Painter) -> Iterator[tuple[str, Cells]]:
    yield "slot", [(_CELL, str(at)) for at in range(len(slots))]
    yield "token", [(_CELL, _token(slot, tokenizer)) for slot in slots]
    yield "written by", [(_CELL, _writer(slot, paint_of)) for slot in slots]
    yield "in step", [(_CELL, str(slot.written.step) if slot.written else "") for slot in slots]
    yield "is", [(f"{_CELL};{SMALL}", safe(slot.kind)) for slot in slots]


def _token(slot: Slot, tokenizer: str) -> str:
    if slot.written is None:
        return quiet("·")
    letter = letter_of(slot.written.token, tokenizer)
    return element("b", "font-family:monospace;white-space:pre", safe(letter)) if letter else str(slot.written.token)


def _writer(slot: Slot, paint_of: Painter) -> str:
    return chip(short(slot.written.name, 6), paint_of(slot.written.name)) if slot.written else ""


def _heads(slots: Sequence[Slot], norms: Norms | None, scale: Scale) -> Iterator[tuple[str, Cells]]:
    if norms is None:
        return
    heads = len(norms[0])
    for head in range(min(heads, _HEADS)):
        yield f"K, head {head}", [_norm(slot, norms[at][head], scale) for at, slot in enumerate(slots)]
    if heads > _HEADS:
        yield f"{heads - _HEADS} more heads", []


def _norm(slot: Slot, norm: float, scale: Scale) -> tuple[str, str]:
    if norm != norm:
        return f"{_CELL};border:1px dashed {EDGE};border-radius:4px;{SMALL}", "NaN"
    fill, ink = scale.paint(norm)
    look = f"border:1px solid {EDGE};border-radius:4px;{SMALL}"
    # What nobody can reach is only outlined.
    filled = f"background:{fill};color:{ink}" if slot.kind != "stale" else f"border-bottom:5px solid {fill}"
    return f"{_CELL};{look};{filled}", f"{norm:.1f}"


# --- all blocks ----------------------------------------------------------------------------------------------


def map_html(journal: Journal, state: State, blocks: Mapping[int, Contents]) -> str:
    """Every block as a tile, below it its slots: a column a slot, a row a head, as dark as its K is large."""
    scale, brush = Scale(list(blocks.values())), Brush(painter(journal))
    cells = [
        div("", alone(brush.tile(state, block_id), state.num_blocks), _small(block, scale)) for block_id, block in blocks.items()
    ]
    kinds = counted_kinds(blocks.values())
    words = [_word(kind, WORDS[kind]) for kind in KINDS if kinds[kind]]
    counts = ", ".join(f"{kinds[kind]:,} {kind}" for kind in KINDS if kinds[kind])
    return card(
        div("font-size:14px", f"<b>slots</b>: {safe(counts)}"),
        div("display:flex;flex-wrap:wrap;gap:14px 12px;margin-top:10px", " ".join(cells)),
        div("margin-top:10px;font-size:12px", " ".join(words)),
        foot("a column a slot, a row a head", scale.says),
    )


def _small(block: Contents, scale: Scale) -> str:
    slots = block.slots[:_SLOTS]
    heads = min(len(block.norms[0]), _HEADS) if block.norms else 1
    cells = [
        _dot(slot, block.norms[at][head] if block.norms else None, scale)
        for head in range(heads)
        for at, slot in enumerate(slots)
    ]
    return div(
        f"display:grid;grid-template-columns:repeat({len(slots)},9px);grid-auto-rows:9px;gap:1px;margin-top:5px;font-size:0",
        " ".join(cells),
    )


def _dot(slot: Slot, norm: float | None, scale: Scale) -> str:
    fill = scale.paint(norm).fill if norm is not None and norm == norm else EDGE
    return span(_look(slot.kind, fill))


def _look(kind: str, fill: str) -> str:
    """A square is live, a round one cached, half of one stale; nothing but a shade is unwritten."""
    if kind == "unwritten":
        return f"background:{FAINT}"
    # The line tells a pale one from the page, and a dark one from a dark page.
    line = f"box-sizing:border-box;border:1px solid {EDGE}"
    if kind == "stale":
        return f"{line};background:linear-gradient(135deg,{fill} 50%,transparent 50%)"
    return f"{line};background:{fill}" + (";border-radius:50%" if kind == "cached" else "")


def _word(kind: str, says: str) -> str:
    swatch = element("i", f"display:inline-block;width:10px;height:10px;margin-right:5px;{_look(kind, RAMP[3].fill)}")
    return element("span", "display:inline-block;margin-right:18px;white-space:nowrap", swatch, quiet(safe(says)))

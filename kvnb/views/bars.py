"""How much of the pool is used: a bar whose parts are drawn as tiles are, each with its number and word.

Must not know: which block is which.
"""

from __future__ import annotations

from typing import NamedTuple

from kvnb.journal import State
from kvnb.views.markup import MINUS, QUIET, div, element, quiet
from kvnb.views.theme import EDGE, OWNED, SHARED
from kvnb.views.tiles import CORNER


class Part(NamedTuple):
    """One kind of block: its word, how it looks, how many there are."""

    word: str
    style: str
    mark: str
    number: int


_USED = f"background:{OWNED.fill};color:{OWNED.ink};border-radius:4px"
_LINES = "box-sizing:border-box;border-radius:4px;border"


def parts(state: State) -> list[Part]:
    """The blocks but the null block, each in one part."""
    free, kept = len(state.queue), state.num_free_cached
    shared = state.num_shared
    return [
        Part("used by one", _USED, "", state.num_blocks - 1 - free - shared),
        Part("shared", f"{_USED};{_LINES}-bottom:5px solid {SHARED.fill}", "", shared),
        Part("free and cached", f"{_LINES}:1px solid {EDGE}", CORNER, kept),
        Part("free and empty", f"{_LINES}:1px dashed {EDGE}", "", free - kept),
    ]


def bar(state: State) -> str:
    """The parts side by side, as wide as they are many."""
    total = max(1, state.num_blocks - 1)
    return div(
        "flex:1;min-width:0;display:flex;gap:3px;height:24px;line-height:22px;text-align:center;font-size:12px",
        " ".join(_segment(part, total) for part in parts(state) if part.number),
    )


def _segment(part: Part, total: int) -> str:
    text = f"{part.number:,}" if part.number >= 0.06 * total else ""
    return element("b", f"flex:{part.number} 1 0;min-width:3px;overflow:hidden;{part.style}", text, part.mark if text else "")


def words(state: State) -> str:
    """The parts as words, each behind a small tile of its look, which makes them the key of every picture."""
    return div("font-size:12px;line-height:18px", " ".join(map(_word, parts(state))))


def _word(part: Part) -> str:
    swatch = element(
        "i", f"display:inline-block;width:14px;height:14px;vertical-align:-2px;margin-right:5px;{part.style}", part.mark
    )
    return element(
        "span", "display:inline-block;margin-right:18px;white-space:nowrap", swatch, quiet(f"{part.number:,} {part.word}")
    )


def equation(state: State) -> str:
    """``usage 0.80 = 1 - 2/10``."""
    usable, free = state.num_blocks - 1, len(state.queue)
    says = f"1 {MINUS} {free:,} free / {usable:,} usable" if usable else "no block but the null block"
    return f"<b>usage {state.usage:.2f}</b> {element('span', QUIET, f'= {says}')}"

"""Pictures of one part of a pool, and of several pools.

Must not know: the live pool, IPython.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kvnb.core.invariants import Equation
from kvnb.journal import Journal, State
from kvnb.journal.transcript import Transcript
from kvnb.views import bars, text
from kvnb.views.markup import TO, card, chip, div, element, foot, quiet, safe, table
from kvnb.views.theme import LOST, painter
from kvnb.views.tiles import Brush, alone
from kvnb.views.words import listed, short

_MANY = 32


def block_html(state: State, block_id: int, brush: Brush | None = None) -> str:
    """All that is known of one block. Raises UnknownName when there is none of that id."""
    says = text.block_text(state, block_id)
    tile = alone((brush or Brush()).tile(state, block_id), state.num_blocks)
    head, rest = says.split(": ", 1)
    return card(div("display:flex;gap:12px", tile, " ", div("line-height:30px", f"<b>{safe(head)}</b>: {safe(rest)}")))


def request_html(journal: Journal, state: State, name: str, k: int | None = None) -> str:
    """One request, block by block, in the ``state`` after step ``k``, by default the last. Raises UnknownName without it."""
    head = text.request_text(state, name, journal.behaviour.block_size).split("\n", 1)[0]
    brush = Brush(painter(journal))
    request = state.requests[name]
    says = chip(short(name), brush.painter(name)) + safe(head.removeprefix(short(name)))
    rows = list(_places(journal, state, name, brush, k))
    more = len(request.table) - len(rows)
    shown = table(("tokens", "", "block", "hash", "shared with"), rows) if rows else ""
    return card(div("font-size:14px;margin-bottom:6px", says), shown, foot(f"{more:,} more blocks") if more else "")


def _places(journal: Journal, state: State, name: str, brush: Brush, k: int | None) -> Iterator[tuple[str, ...]]:
    size, request = journal.behaviour.block_size, state.requests[name]
    said = Transcript.of(journal, k, hashes=False).requests[name]
    tokens, end = said.token_ids[: request.num_scheduled], request.num_scheduled + request.num_drafts
    write = _writer(journal, tokens)
    for place, block_id in enumerate(request.table[:_MANY]):
        first, last = place * size, min((place + 1) * size, end) - 1
        drafts = said.drafts[max(first - len(tokens), 0) : max(last + 1 - len(tokens), 0)]
        letters = write(tokens[first : last + 1]) + (quiet(f"{write(drafts)} draft") if drafts else "")
        content = element("span", "font-family:monospace;white-space:pre", letters)
        yield (
            _span(first, last),
            content,
            alone(brush.tile(state, block_id), state.num_blocks),
            *_owned(state, name, block_id, brush),
        )


def _span(first: int, last: int) -> str:
    """The places of a block's tokens; rejected drafts leave slots that hold none."""
    if last < first:
        return quiet("none yet")
    return f"{first:,}{TO}{last:,}" if last > first else f"{last:,}"


def _owned(state: State, name: str, block_id: int, brush: Brush) -> tuple[str, str]:
    """The hash of a block, and who else holds it."""
    if block_id == 0:
        return quiet("no memory: they left the window"), ""
    others = [owner for owner in state.owners[block_id] if owner != name]
    shared = listed(others, lambda other: chip(short(other), brush.painter(other))) if others else ""
    key = state.keys[block_id]
    return element("span", "font-family:monospace", safe(key)) if key else quiet("no hash"), shared


_LETTERS = {"chars": 0x110000, "bytes": 128}
"""Tokens below this are letters, by the pool's tokenizer."""


def _writer(journal: Journal, tokens: Sequence[int]) -> Callable[[Sequence[int]], str]:
    """Writes tokens as letters, or as numbers where they are none; of very many the first."""
    limit = _LETTERS.get(journal.behaviour.tokenizer, 0)
    if not any(token < limit and chr(token).isprintable() for token in tokens):
        limit = 0

    def write(some: Sequence[int]) -> str:
        return safe(short("".join(chr(token) if token < limit else f"{token} " for token in some), 40))

    return write


def usage_html(state: State) -> str:
    """Usage as an equation, and as a bar; a free block may still hold tokens worth keeping."""
    return card(
        div("font-size:14px", bars.equation(state)),
        div("display:flex;margin:8px 0 6px 0", bars.bar(state)),
        bars.words(state),
    )


def check_html(equations: Iterable[Equation]) -> str:
    """Every invariant, whether it holds, and its numbers."""
    return card(table(("", "must hold", "numbers"), [(_verdict(e.holds), safe(e.says), safe(e.numbers)) for e in equations]))


def _verdict(holds: bool) -> str:
    return "ok" if holds else chip("NO", LOST)


def pools_html(rows: Iterable[Mapping[str, Any]]) -> str:
    """The pools of a session, the one in use in bold."""
    heads = ("", "pool", "blocks", "tokens a block", "steps", "usage", "log")
    lines = [_pool(values) for values in rows]
    return card(table(heads, lines) if lines else quiet("no pool yet"))


def _pool(values: Mapping[str, Any]) -> tuple[str, ...]:
    name = safe(short(values["name"]))
    numbers = [f"{values[key]:,}" for key in ("blocks", "block_size", "step")]
    mark, name = ("*", f"<b>{name}</b>") if values["current"] else ("", name)
    return mark, name, *numbers, f"{values['usage']:.2f}", safe(values["log"])


def text_html(says: str) -> str:
    """Text that needs no picture, line by line."""
    lines = "\n".join(safe(line) for line in says.split("\n"))
    return element("pre", "margin:0;white-space:pre-wrap", lines)

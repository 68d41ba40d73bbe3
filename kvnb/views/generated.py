"""What a model made: the tokens as text, and what that did to the pool.

Must not know: the model, the live pool.
"""

from __future__ import annotations

from collections.abc import Sequence

from kvnb.core.events import Took
from kvnb.journal import Journal, State, Step
from kvnb.views.cards import evictions, filled, queue_row
from kvnb.views.markup import card, chip, div, foot, row, safe
from kvnb.views.text import details, queue_text, table_text
from kvnb.views.theme import painter
from kvnb.views.tiles import Brush, strip, table_cells
from kvnb.views.words import count, short

_LETTERS = 1200


def generated_text(steps: Sequence[Step], said: str, state: State, reason: str = "length") -> str:
    """``r0 generates 3 tokens, 1 new block(s)``, what they say, the table and the free queue; ``reason`` as in ``Generated``."""
    name = _name(steps)
    lines = [f"{short(name)}{_did(steps, reason)}", *(f"  {line}" for line in said_text(said).split("\n"))]
    lines += [line for step in steps for line in details(step)]
    if name in state.requests and state.requests[name].table:
        lines.append(f"  {table_text(state.requests[name].table)}")
    return "\n".join([*lines, f"  {queue_text(state)}"])


def generated_html(journal: Journal, steps: Sequence[Step], said: str, state: State, reason: str = "length") -> str:
    """The same as a card."""
    name, brush, last = _name(steps), Brush(painter(journal)), steps[-1]
    table = state.requests[name].table if name in state.requests else []
    return card(
        div("font-size:14px", chip(short(name), brush.painter(name)), safe(_did(steps, reason))),
        row("says", "", said_html(said)),
        *(line for step in steps for line in (*evictions(step), *filled(step))),
        row("block table", f"{_new(steps)} new", strip(table_cells(state, table, brush), state.num_blocks)) if table else "",
        queue_row(state, brush),
        foot(f"steps {steps[0].number} to {last.number}", f"usage {state.usage:.2f}", f"digest {last.digest[:4]}…"),
    )


def _name(steps: Sequence[Step]) -> str:
    return str(steps[-1].command.args["name"])


def _did(steps: Sequence[Step], reason: str) -> str:
    origin = steps[-1].origin or {}
    drawn = f", drawn at temperature {origin['temperature']:g} with seed {origin['seed']}" if "temperature" in origin else ""
    end = ", and says its end" if reason == "stop" else ""
    return f" generates {count(len(steps), 'token')}, {_new(steps)} new block(s){end}{drawn}"


def _new(steps: Sequence[Step]) -> int:
    return sum(len(event.ids) for step in steps for event in step.of(Took))


def said_text(text: str) -> str:
    """The text in quotes, escapes for what cannot be printed; several lines of prose as they are. Of a long one the beginning."""
    short = text if len(text) <= _LETTERS else text[: _LETTERS - 1] + "…"
    return short if "\n" in short.strip() and all(line.isprintable() for line in short.split("\n")) else repr(short)


def said_html(text: str) -> str:
    """The same as a block of text, line by line."""
    lines = "\n".join(map(safe, said_text(text).split("\n")))
    return div("line-height:17px;white-space:pre-wrap", lines)

"""What a model made for several requests together: what each says, who was preempted, how many passes it took.

Must not know: the model, the live pool.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kvnb.core.events import Took
from kvnb.journal import Journal, State, Step
from kvnb.views.cards import queue_row
from kvnb.views.generated import said_html, said_text
from kvnb.views.markup import card, chip, div, foot, quiet, row, safe
from kvnb.views.text import queue_text, table_text
from kvnb.views.theme import painter
from kvnb.views.tiles import Brush
from kvnb.views.words import count, listed, short

_WHY = {"stop": "said its end", "length": "has all it was to make", None: "found no room to go on"}


class Said(NamedTuple):
    """Of one request: how many tokens, the text that they are, and why they end (vLLM's ``FinishReason``)."""

    num_tokens: int
    text: str
    reason: str | None


def decoded_text(steps: Sequence[Step], said: Mapping[str, Said], num_passes: int, state: State) -> str:
    """A sentence, then each request with its text and its table, then the free queue."""
    lines = [_sentence(steps, said, num_passes), *_preempted(steps)]
    for name, part in said.items():
        lines += [f"  {short(name)}: {_how(part)}", *(f"    {line}" for line in said_text(part.text).split("\n"))]
        if name in state.requests and state.requests[name].table:
            lines.append(f"    {table_text(state.requests[name].table)}")
    return "\n".join([*lines, f"  {queue_text(state)}"])


def decoded_html(journal: Journal, steps: Sequence[Step], said: Mapping[str, Said], num_passes: int, state: State) -> str:
    """The same as a card."""
    brush = Brush(painter(journal))
    numbers = f"steps {steps[0].number} to {steps[-1].number}" if steps else "no step"
    return card(
        div("font-size:14px", safe(_sentence(steps, said, num_passes))),
        *(div("", safe(line.strip())) for line in _preempted(steps)),
        *(_request_html(name, part, brush) for name, part in said.items()),
        queue_row(state, brush),
        foot(numbers, f"usage {state.usage:.2f}", f"digest {(steps[-1].digest if steps else journal.digest)[:4]}…"),
    )


def _request_html(name: str, part: Said, brush: Brush) -> str:
    return row(chip(short(name), brush.painter(name)), "", div("", said_html(part.text), quiet(safe(_how(part)))))


def _sentence(steps: Sequence[Step], said: Mapping[str, Said], num_passes: int) -> str:
    tokens = sum(part.num_tokens for part in said.values())
    new = sum(len(event.ids) for step in steps for event in step.of(Took) if step.command.verb == "append")
    passes = count(num_passes, "forward pass", "forward passes")
    who = "1 request decodes" if len(said) == 1 else f"{len(said)} requests decode together"
    return f"{who}: {count(tokens, 'token')} in {passes}, {new} new block(s)"


def _preempted(steps: Sequence[Step]) -> list[str]:
    times = Counter(str(step.command.args["name"]) for step in steps if step.command.verb == "preempt")
    back = Counter(str(step.command.args["name"]) for step in steps if step.command.verb == "admit")
    found = [
        f"{short(name)} {_times(n)}" + (f", resumed {_times(back[name])}" if back[name] else "") for name, n in times.items()
    ]
    return [f"  blocks ran out; preempted: {listed(found)}"] if found else []


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n} times"


def _how(part: Said) -> str:
    return f"{count(part.num_tokens, 'token')}, {_WHY[part.reason]}"

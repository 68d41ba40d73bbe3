"""Which steps of a history are drawn, and what each is called.

Must not know: plotly, SVG.
"""

from __future__ import annotations

from html import escape
from typing import NamedTuple

from kvnb.errors import UnknownName
from kvnb.journal import Journal, Step
from kvnb.views.markup import TO
from kvnb.views.words import count, short

OPENED, KEPT = 500, 1000
"""A long history opens on so many of its last steps; a figure holds so many."""


class Steps(NamedTuple):
    """Steps ``first`` to ``last`` are drawn, and ``opened`` to ``last`` are what is seen first; 0 is the new pool."""

    first: int
    opened: int
    last: int

    @property
    def number(self) -> int:
        """How many columns that is."""
        return self.last - self.first + 1

    @property
    def shown(self) -> int:
        """How many columns are seen first."""
        return self.last - self.opened + 1

    @property
    def long(self) -> bool:
        """True when some of what is drawn lies before what is seen first."""
        return self.first < self.opened


def last_steps(journal: Journal, until: int | None, kept: int = KEPT, opened: int = OPENED) -> Steps:
    """The last steps of a history, or of its part up to ``until``. Raises UnknownName when there is no such step."""
    last = len(journal) if until is None else until
    if not 0 <= last <= len(journal):
        raise UnknownName(f"no step {last}: there are steps 0 to {len(journal)}")
    return Steps(max(0, last + 1 - kept), max(0, last + 1 - min(opened, kept)), last)


def command(journal: Journal, number: int, limit: int = 18) -> str:
    """The step's command without its tokens: ``admit r0``; plain text."""
    if number == 0:
        return f"new {journal.behaviour.num_blocks}"
    return words_of(journal.steps[number - 1], limit)


def words_of(step: Step, limit: int) -> str:
    """``release r0``, of several ``release r0 +2``."""
    verb, args = step.command
    what = [*args.get("names", ()), *map(str, args.get("ids", ()))] or [args["name"]] * ("name" in args)
    more = f" +{len(what) - 1}" if len(what) > 1 else ""
    room = max(4, limit - len(verb) - len(more) - 1)
    return " ".join([verb, *(short(name, room) for name in what[:1])]) + more


def safe(text: str) -> str:
    """Plain text for where plotly reads markup, or mathematics between dollars."""
    return escape(text, quote=False).replace("$", "&#36;")


def span_text(steps: Steps) -> str:
    """``steps 0-6``, with the dash that figures have."""
    if steps.last == 0:
        return "the new pool"
    return f"steps {steps.first:,}{TO}{steps.last:,}"


def pool_text(journal: Journal, steps: Steps, *more: str) -> str:
    """The quiet line under a title: which pool, which steps, and what to know besides; plain text."""
    size = f"{short(journal.name, 40)}: {journal.behaviour.num_blocks:,} blocks of {count(journal.behaviour.block_size, 'token')}"
    return " · ".join([size, span_text(steps), *filter(None, more)])

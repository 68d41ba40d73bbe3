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
    first = max(0, last + 1 - kept)
    few = last + 1 - first <= 1.5 * opened
    return Steps(first, first if few else last + 1 - opened, last)


def command(journal: Journal, number: int, limit: int = 18) -> str:
    """The step's command without its tokens: ``admit r0``; plain text."""
    if number == 0:
        return f"new {journal.behaviour.num_blocks}"
    return words_of(journal.steps[number - 1], limit)


def words_of(step: Step, limit: int) -> str:
    """``release r0``, of several ``release r0 +2``."""
    verb, args = step.command
    what = [*args.get("names", ()), *map(str, args.get("ids", ()))]
    what += [args["name"]] if "name" in args else []
    more = f" +{len(what) - 1}" if len(what) > 1 else ""
    room = max(4, limit - len(verb) - len(more) - 1)
    return " ".join([verb, *(short(name, room) for name in what[:1])]) + more


def safe(text: str) -> str:
    """Plain text for where plotly reads markup, or mathematics between dollars."""
    return escape(text, quote=False).replace("$", "&#36;")


def span_text(journal: Journal, steps: Steps) -> str:
    """``steps 0-6``, with the dash that figures have; of a part how many there are in all."""
    if not len(journal):
        return "the new pool"
    whole = "" if steps.number > len(journal) else f" of {len(journal):,}"
    return f"steps {steps.first:,}{TO}{steps.last:,}{whole}"


def pool_text(journal: Journal, steps: Steps, *more: str) -> str:
    """The quiet line under a title: which pool, which steps, and what to know besides; plain text."""
    behaviour = journal.behaviour
    size = f"{short(journal.name, 40)}: {count(behaviour.num_blocks, 'block')} of {count(behaviour.block_size, 'token')}"
    return " · ".join([size, span_text(journal, steps), *filter(None, more)])


def disc_size(pitch: float) -> float:
    """How wide a numbered disc is where rows are so far apart."""
    return pitch - 4 if pitch >= 20 else pitch - 1


def letter_size(disc: float) -> float:
    """The type in which two digits fit in a disc."""
    return max(7, min(11, disc - 5))

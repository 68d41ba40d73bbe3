"""A thing that shows itself: text for a terminal, HTML for a notebook, and the object behind it.

Must not know: how the two forms are made (``text`` and ``html`` do), nor the live pool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvnb.journal import Journal, State
from kvnb.views import html, text

if TYPE_CHECKING:
    from kvnb.lab import Lab
    from kvnb.results import StepResult


class Shown:
    """Text and HTML of one look at a pool; ``value`` is what was looked at."""

    def __init__(self, plain: str, markup: str, value: Any = None) -> None:
        self.text = plain
        self.html = markup
        self.value = value

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.text, "text/html": self.html}

    def __repr__(self) -> str:
        return self.text


def step_shown(result: StepResult) -> Shown:
    """A finished step, with the state after it."""
    journal, state = result.lab.journal, result.state
    return Shown(text.step_text(result.step, state), html.step_html(journal, result.step, state), result)


def state_shown(lab: Lab) -> Shown:
    """The pool as it is now."""
    return at_shown(lab.journal, lab.state, len(lab.journal))


def at_shown(journal: Journal, state: State, step: int) -> Shown:
    """The pool after some step."""
    return Shown(text.state_text(journal, state, step), html.state_html(journal, state, step), state)


def note_shown(plain: str, value: Any = None) -> Shown:
    """Text that needs no picture."""
    return Shown(plain, html.text_html(plain), value)

"""The story behind a question: a pool of its own, played as far as the question, one step further, or under other rules.

Must not know: what is asked about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from kvnb.journal import State, Step
from kvnb.lab import Lab

NUM_BLOCKS, BLOCK_SIZE = 11, 4


@dataclass(frozen=True)
class Story:
    """Commands as they are typed: ``lines`` have happened when the question is asked, ``then`` is what it asks about.

    settings
        Of its pool, by the keywords of ``Lab``; without them 11 blocks of 4 tokens, block ids only.
    """

    lines: tuple[str, ...] = ()
    then: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    def play(self, lines: tuple[str, ...], **settings: Any) -> Lab:
        """A new pool on which ``lines`` were run; ``settings`` go before the story's own. Raises as the commands do."""
        given = {"num_blocks": NUM_BLOCKS, "block_size": BLOCK_SIZE, "name": "quiz", "device": "none", **self.settings}
        lab = Lab(**{**given, **settings})
        for line in lines:
            _run(lab, line)
        return lab


def _run(lab: Lab, line: str) -> None:
    verb, *words = line.split()
    flags = {word.removeprefix("--"): True for word in words if word.startswith("--")}
    getattr(lab, verb)(*(word for word in words if not word.startswith("--")), **flags)


class Scene:
    """One playing of a story, with what else has to be known to judge an answer. Each pool is made when it is asked for."""

    def __init__(self, story: Story) -> None:
        self.story = story

    @cached_property
    def before(self) -> Lab:
        """The pool when the question is asked."""
        return self.story.play(self.story.lines)

    @cached_property
    def after(self) -> Lab:
        """The pool after what the question asks about."""
        return self.story.play((*self.story.lines, *self.story.then))

    def under(self, **settings: Any) -> Lab:
        """The same commands under other settings, to the end."""
        return self.story.play((*self.story.lines, *self.story.then), **settings)

    def instead(self, *lines: str) -> Lab:
        """Other commands in place of those that the question asks about."""
        return self.story.play((*self.story.lines, *lines))

    @property
    def asked(self) -> list[Step]:
        """The steps that the question asks about."""
        return self.after.journal.steps[len(self.story.lines) :]

    @property
    def names(self) -> list[str]:
        """The requests of the story, in the order of their arrival."""
        return [line.split()[1] for line in (*self.story.lines, *self.story.then) if line.startswith("admit ")]

    @property
    def queue(self) -> tuple[int, ...]:
        """The free queue when the question is asked, front first."""
        return self.before.free_queue

    @property
    def state(self) -> State:
        """The pool's state when the question is asked; for looking only."""
        return self.before.state

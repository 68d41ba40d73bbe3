"""What is asked: a question on a story, a command to be typed, a state to be built.

Must not know: which ones there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from kvnb.lab import Lab
from kvnb.quiz.answers import Kind
from kvnb.quiz.scenes import Scene, Story


class Slip(NamedTuple):
    """What a wrong answer commonly means.

    value
        The answer of whoever thinks so, read from the story's pool, or from one under the rule that was thought of.
    says
        What is wrong about it, in a sentence or two.
    """

    value: Callable[[Scene], Any]
    says: str


class Detour(NamedTuple):
    """What a command that does not do commonly does.

    did
        Told the scene and the pool after the command.
    says
        What is wrong about it.
    """

    did: Callable[[Scene, Lab], bool]
    says: str


class Found(NamedTuple):
    """What there is of a state that was to be built: whether it is there, the blocks to look at, and a sentence."""

    right: bool
    says: str
    ids: tuple[int, ...] = ()


@dataclass(frozen=True)
class Item:
    """What all have. ``title`` stands in the list, ``asks`` is the question, ``hint`` and ``solution`` are for who wants them."""

    number: int
    title: str
    asks: str
    hint: str
    solution: str


@dataclass(frozen=True)
class Question(Item):
    """A question on a story.

    answer
        Reads the right answer from the scene.
    points
        The blocks in question; they are marked in the pictures.
    """

    story: Story
    kind: Kind
    answer: Callable[[Scene], Any]
    slips: tuple[Slip, ...]
    points: Callable[[Scene], Iterable[int]]


@dataclass(frozen=True)
class Task(Item):
    """A command to be typed, judged by the pool after it.

    sample
        A command that does it.
    done
        Whether the pool after the command is as it should be.
    """

    story: Story
    sample: str
    done: Callable[[Scene, Lab], bool]
    detours: tuple[Detour, ...]
    points: Callable[[Scene], Iterable[int]]


@dataclass(frozen=True)
class Challenge(Item):
    """A state to be built in a pool of one's own.

    looks
        Looks for it in the pool.
    sample
        Commands that build it in a pool of 11 blocks of 4 tokens.
    """

    looks: Callable[[Lab], Found]
    sample: tuple[str, ...]

"""What a verb is: its arguments with their types, a line of help, examples, and the function that does it.

Must not know: which verbs there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from kvnb.commands.grammar import Word
from kvnb.errors import CommandError, one_line
from kvnb.prompts import as_tokens

Kind = Literal["changes", "looks", "manages"]
Convert = Callable[[Word], Any]


@dataclass(frozen=True)
class Arg:
    """One argument of a verb.

    name
        The keyword it arrives under; an option is typed ``--name`` with hyphens.
    convert
        Makes a value of a word; raises CommandError. None for a flag, which is given or not.
    option, many, required
        Whether it is typed with ``--``, may be repeated, must be there.
    suggest
        What completion offers: ``request``, ``preempted``, ``running``, ``pool``, ``file``, ``block`` (a cached one), ``entry``
        (a block in the table of the request named first) or a fixed choice.
    short, words
        A letter of its own for an option, as ``-o``; how many words its value has: the value of two is a tuple.
    """

    name: str
    help: str
    convert: Convert | None = None
    option: bool = False
    many: bool = False
    required: bool = False
    suggest: str | tuple[str, ...] = ()
    metavar: str = ""
    short: str = ""
    words: int = 1

    @property
    def typed(self) -> str:
        """``--free-to`` for an option, ``NAME`` for an argument told by its place."""
        return "--" + self.name.replace("_", "-") if self.option else self.metavar or self.name.upper()

    @property
    def usage(self) -> str:
        """How it stands in a usage line."""
        typed = self.short or self.typed
        shown = f"{typed} {self.metavar or self.name.upper()}" if self.option and self.convert else typed
        shown = shown + "..." if self.many else shown
        return shown if self.required else f"[{shown}]"


@dataclass(frozen=True)
class Verb:
    """One row of the table.

    kind
        ``changes`` (one journal step), ``looks`` (none) or ``manages`` (pools and files).
    run
        Called with the session and the arguments that were given; returns something that can be shown.
    """

    name: str
    kind: Kind
    help: str
    args: tuple[Arg, ...]
    run: Callable[..., Any]
    examples: tuple[str, ...]

    @property
    def usage(self) -> str:
        """``admit NAME [TEXT] [--tokens TOKENS]``."""
        return " ".join([self.name, *(arg.usage for arg in self.args)])

    @property
    def places(self) -> list[Arg]:
        """The arguments told by their place, in order."""
        return [arg for arg in self.args if not arg.option]

    @property
    def options(self) -> dict[str, Arg]:
        """What is typed with ``--``, flags included, by how it is typed."""
        return {typed: arg for arg in self.args if arg.option for typed in (arg.typed, arg.short) if typed}


def text(word: Word) -> Any:
    """A text as it stands; ints that an expression gave stay ints."""
    return word.text if word.value is None or isinstance(word.value, str) else word.value


def name(word: Word) -> str:
    """A name. Raises CommandError for an empty one."""
    if not word.text:
        raise CommandError("a name is empty: give at least one character")
    return word.text


def whole(word: Word) -> int:
    """A whole number. Raises CommandError."""
    try:
        return int(word.text)
    except ValueError as error:
        raise CommandError(f"{one_line(word.text)} is not a whole number") from error


def step_or_name(word: Word) -> int | str:
    """A step's number, or a name. Raises CommandError for an empty one."""
    return whole(word) if word.text.removeprefix("-").isdecimal() else name(word)


def number(word: Word) -> float:
    """A number. Raises CommandError."""
    try:
        return float(word.text)
    except ValueError as error:
        raise CommandError(f"{one_line(word.text)} is not a number") from error


def tokens(word: Word) -> list[int]:
    """Ints separated by commas, or what an expression gave. Raises CommandError."""
    if word.value is not None and not isinstance(word.value, str):
        return as_tokens(word.value)
    try:
        return [int(part) for part in word.text.replace(",", " ").split()]
    except ValueError as error:
        raise CommandError(f"{one_line(word.text)} is no list of tokens: give whole numbers such as 1,2,3") from error

"""From what stands in the fields of a dashboard to the line that one would have typed, and to the cell of all of them.

Must not know: widgets, how a line is run.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import count
from typing import NamedTuple

from kvnb.errors import CommandError
from kvnb.journal import State
from kvnb.views.words import listed

VERBS = ("admit", "append", "generate", "release", "preempt", "reset", "undo")
"""What can be clicked, in the order of the buttons."""
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")


class Fields(NamedTuple):
    """What stands in the fields: a request, a text, how many tokens."""

    name: str = ""
    text: str = ""
    tokens: int = 1


def line(verb: str, fields: Fields, state: State) -> str:
    """``admit r0 'a text'``. Without a name: a new one for ``admit``, for the others the only request that it can mean.

    Raises CommandError when there is none, or are several.
    """
    if verb in ("reset", "undo"):
        return verb
    name = fields.name or (_new_name(state.requests) if verb == "admit" else _only(verb, state))
    words = [name]
    if verb in ("admit", "append") and fields.text:
        words.append(fields.text)
    if verb == "generate":
        words.append(str(fields.tokens))
    return " ".join([verb, *map(quoted, words)])


def _new_name(taken: Container[str]) -> str:
    return next(name for name in map("r{}".format, count()) if name not in taken)


def _only(verb: str, state: State) -> str:
    names = [name for name, request in state.requests.items() if verb == "release" or request.state == "running"]
    if len(names) == 1:
        return names[0]
    which = f"choose one of {listed(names)}" if names else "there is none that it can mean"
    raise CommandError(f"{verb} needs a request: {which}")


def quoted(word: str) -> str:
    """``word`` as one word of a line that stands for nothing else: no option, no variable, no end."""
    if word and not word.startswith("-") and _PLAIN.issuperset(word):
        return word
    if "'" not in word:
        return f"'{word}'"
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def cell(lines: Sequence[str]) -> str:
    """A cell that does again what was clicked; empty when nothing was."""
    return "\n".join(["%%kvpool", *lines]) if lines else ""

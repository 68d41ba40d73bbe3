"""Kinds of answers: how each is read, tolerantly, from what was typed, and how it is written.

Must not know: questions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kvnb.errors import named
from kvnb.views.words import shortened


@dataclass(frozen=True)
class Kind:
    """A kind of answer.

    takes, example
        What it is, in words, and how one is typed.
    read
        Makes a value of a text; raises ValueError for what is none.
    write
        The value as it is said.
    """

    takes: str
    example: str
    read: Callable[[str], Any]
    write: Callable[[Any], str]

    def same(self, one: Any, other: Any) -> bool:
        """Whether two values are the same answer; numbers to two places."""
        if isinstance(one, float) and isinstance(other, float):
            return abs(one - other) < 0.005
        return bool(one == other)


_NOTHING = {"none", "nothing", "nobody", "empty"}
_YES, _NO = {"yes", "y", "true"}, {"no", "n", "false"}
_NUMBER = re.compile(r"(\d{1,6}(?:\.\d{0,6})?|\.\d{1,6})(?:/(\d{1,6}))?(%?)", re.ASCII)


def _ids(text: str) -> tuple[int, ...]:
    """``5 6``, ``5, 6``, ``[5, 6]``, ``blocks 5* and 6``; ``none`` and ``[]`` for no block."""
    words = re.sub(r"[\[\](){},;*]|\b(?:frozenset|set|blocks?|and)\b", " ", text.lower()).split()
    if (not words and not text.strip()) or any(not re.fullmatch(r"\d{1,6}", word, re.ASCII) for word in set(words) - _NOTHING):
        raise ValueError
    if _NOTHING & set(words) and len(words) > 1:
        raise ValueError
    return tuple(int(word) for word in words if word not in _NOTHING)


def _number(text: str) -> float:
    """``4``, ``0.9``, ``90%``, ``9/10``, ``4 tokens``."""
    match = _NUMBER.fullmatch(re.sub(r"\b(?:tokens?|blocks?|steps?)\b|\s", "", text.lower()))
    if match is None or (match[2] and not int(match[2])):
        raise ValueError
    return float(match[1]) / int(match[2] or 1) / (100 if match[3] else 1)


def _yes_no(text: str) -> bool:
    word = text.strip().lower().rstrip(".!")
    if word not in _YES | _NO:
        raise ValueError
    return word in _YES


def _word(text: str) -> str:
    if len(text.split()) != 1:
        raise ValueError
    return text.strip()


def write_ids(ids: tuple[int, ...] | frozenset[int]) -> str:
    """``5 6``, or ``none``; a set in the order of the ids."""
    return " ".join(shortened(ids if isinstance(ids, tuple) else sorted(ids))) or "none"


def _write_number(number: float) -> str:
    return f"{number:.4f}".rstrip("0").rstrip(".")


ORDER = Kind("block ids in order", "5 6 7", _ids, write_ids)
SET = Kind("block ids in any order, or none", "5 6", lambda text: frozenset(_ids(text)), write_ids)
NUMBER = Kind("a number", "7", _number, _write_number)
YES_NO = Kind("yes or no", "yes", _yes_no, lambda yes: "yes" if yes else "no")
NAME = Kind("a request's name", "s", _word, named)

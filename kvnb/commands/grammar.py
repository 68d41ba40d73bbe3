"""Cutting a line into words: shell quoting, ``$name`` and ``{expression}`` as whole words, a trailing ``;``.

Must not know: verbs and options, nor how an expression is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from kvnb.errors import CommandError, one_line

_VARIABLE = re.compile(r"\$[A-Za-z_]\w*\Z")
_SPACE = " \t\r\n"


class Word(NamedTuple):
    """One word of a line.

    text
        As typed, quotes and backslashes resolved.
    bare
        Nothing in it was quoted: only such a word can be an option, a variable or an expression.
    value
        What a ``$name`` or ``{expression}`` stood for; ``text`` is then its string form.
    """

    text: str
    bare: bool = True
    value: Any = None


class Line(NamedTuple):
    """The words of a line, and whether it ended in ``;``: its result is then not shown."""

    words: list[Word]
    silent: bool


def split(line: str) -> Line:
    """Cut ``line`` into words. Raises CommandError for a quote that is not closed."""
    stripped = line.rstrip()
    # A `;` inside an open quote needs no care: the quote is then not closed at all, which is an error.
    body = stripped[:-1]
    escaped = (len(body) - len(body.rstrip("\\"))) % 2
    silent = stripped.endswith(";") and not escaped
    return Line(_words(body if silent else line), silent)


def _words(line: str) -> list[Word]:
    words: list[Word] = []
    place = 0
    while (place := _skip_space(line, place)) < len(line):
        word, place = _next_word(line, place)
        words.append(word)
    return words


def split_unfinished(line: str) -> tuple[list[Word], str]:
    """The finished words of a line that is being typed, and its last word as typed so far: a quote may be open."""
    words: list[Word] = []
    place = 0
    while (place := _skip_space(line, place)) < len(line):
        try:
            word, end = _next_word(line, place)
        except CommandError:
            break
        if end == len(line):
            break
        words.append(word)
        place = end
    return words, line[place:]


def expand(words: list[Word], evaluate: Callable[[str], Any]) -> list[Word]:
    """Replace words that are exactly ``$name`` or ``{expression}``, unquoted, by their values. Raises CommandError."""
    return [_expanded(word, evaluate) for word in words]


def _expanded(word: Word, evaluate: Callable[[str], Any]) -> Word:
    if not word.bare or not is_expression(word.text):
        return word
    source = word.text[1:] if word.text.startswith("$") else word.text[1:-1]
    try:
        value = evaluate(source)
    except Exception as error:  # whatever the user's expression raises is the user's one line
        raise CommandError(_no_value(word, f"{type(error).__name__}: {one_line(str(error), 100)}")) from error
    if value is None:
        raise CommandError(_no_value(word, "it is None"))
    return Word(str(value), False, value)


def _no_value(word: Word, why: str) -> str:
    return f"{one_line(word.text)} has no value here ({why}): quote it to pass the text itself"


def is_expression(text: str) -> bool:
    """Whether a bare word stands for a value."""
    return bool(_VARIABLE.match(text)) or (len(text) > 2 and text[0] == "{" and text[-1] == "}")


def _skip_space(line: str, place: int) -> int:
    while place < len(line) and line[place] in _SPACE:
        place += 1
    return place


def _next_word(line: str, place: int) -> tuple[Word, int]:
    end = _expression_end(line, place)
    return (Word(line[place:end]), end) if end else _word(line, place)


def _word(line: str, place: int) -> tuple[Word, int]:
    parts: list[str] = []
    bare = True
    while place < len(line) and line[place] not in _SPACE:
        if line[place] in "'\"":
            text, place = _quoted(line, place)
            bare = False
        elif line[place] == "\\" and place + 1 < len(line):
            text, place, bare = line[place + 1], place + 2, False
        else:
            text, place = line[place], place + 1
        parts.append(text)
    return Word("".join(parts), bare), place


def _quoted(line: str, place: int) -> tuple[str, int]:
    quote, start = line[place], place
    parts: list[str] = []
    place += 1
    while place < len(line) and line[place] != quote:
        if quote == '"' and line[place] == "\\" and line[place + 1 : place + 2] in ('"', "\\"):
            place += 1
        parts.append(line[place])
        place += 1
    if place == len(line):
        raise CommandError(f"the quote in {one_line(line[start:])} is not closed: close it, or put a backslash before it")
    return "".join(parts), place + 1


def _expression_end(line: str, place: int) -> int:
    """Where the ``{expression}`` that begins here ends, 0 when none does."""
    if line[place] != "{":
        return 0
    depth, quote, escaped = 0, "", False
    for end in range(place, len(line)):
        letter = line[end]
        if quote:
            quote = quote if escaped or letter != quote else ""
            escaped = letter == "\\" and not escaped
        elif letter in "'\"":
            quote = letter
        else:
            depth += (letter == "{") - (letter == "}")
        if depth == 0:
            return end + 1 if line[end + 1 : end + 2] in ("", *_SPACE) else 0
    return 0

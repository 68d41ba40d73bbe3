"""From the words of a line to a verb and its arguments.

Must not know: what a verb does.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from os.path import expanduser
from typing import Any

from kvnb.commands.grammar import Word, is_expression
from kvnb.commands.verb import Arg, Verb, step_or_name, whole
from kvnb.errors import CommandError, nearest, one_line

HELP = ("-h", "--help")


def find_verb(word: str, verbs: Mapping[str, Verb]) -> Verb:
    """The verb of that name. Raises CommandError with the nearest ones."""
    if word.lstrip("%") == "kvpool" and word != "kvpool":
        raise CommandError(f"{word} begins a line of a notebook's cell: here give the command alone, as in `new 11`")
    if word not in verbs:
        raise CommandError(f"unknown verb {one_line(word)}: {nearest(word, verbs, most=30)}")
    return verbs[word]


def wants_help(words: list[Word]) -> bool:
    """Whether ``-h`` or ``--help`` stands among the options."""
    for word in words:
        if word.bare and word.text == "--":
            return False
        if word.bare and word.text in HELP:
            return True
    return False


def parse(verb: Verb, words: list[Word]) -> dict[str, Any]:
    """The arguments by name; what was not given is not in it. Raises CommandError, in one line, for what is wrong."""
    given, placed = _options(verb, words)
    for arg, group in zip(verb.places, _by_place(verb, placed), strict=True):
        if group:
            given[arg.name] = [_convert(arg, word) for word in group] if arg.many else _convert(arg, group[0])
    missing = [arg.typed for arg in verb.args if arg.required and arg.name not in given]
    if missing:
        raise CommandError(f"{verb.name} needs {missing[0]}: {verb.usage}")
    return given


def _options(verb: Verb, words: list[Word]) -> tuple[dict[str, Any], list[Word]]:
    given: dict[str, Any] = {}
    placed: list[Word] = []
    rest = iter(words)
    for word in rest:
        if word.bare and word.text == "--":
            placed += rest
        elif _is_option(verb, word):
            arg, value = _option(verb, word, rest)
            if arg.many:
                value = [*given.get(arg.name, ()), value]
            elif arg.name in given:
                raise CommandError(f"{arg.typed} is given twice: once is enough")
            given[arg.name] = value
        else:
            placed.append(word)
    return given, placed


def _is_option(verb: Verb, word: Word) -> bool:
    """Whether a word is to be read as an option; -5 is a number where the verb takes numbers."""
    if word.text[1:].isdecimal() and any(arg.convert in (whole, step_or_name) for arg in verb.places):
        return False
    return word.bare and word.text.startswith("-") and len(word.text) > 1


def _option(verb: Verb, word: Word, rest: Any) -> tuple[Arg, Any]:
    typed, equals, attached = word.text.partition("=")
    arg = verb.options.get(typed)
    if arg is None:
        raise CommandError(_unknown_option(verb, word.text, typed))
    if arg.convert is None:
        if equals:
            raise CommandError(f"{typed} takes no value: leave {one_line('=' + attached)} out")
        return arg, True
    if equals and is_expression(attached):
        raise CommandError(f"{typed}={attached} is read as it stands: write {typed} {attached} for the value")
    values = [Word(attached)] if equals else [*islice(rest, arg.words)]
    if len(values) < arg.words:
        raise CommandError(f"{typed} needs {'a value' if arg.words == 1 else f'{arg.words} values'}: {arg.help}")
    return arg, _convert(arg, values[0]) if arg.words == 1 else tuple(_convert(arg, value) for value in values)


def _unknown_option(verb: Verb, word: str, typed: str) -> str:
    known = [*verb.options, "--help"]
    return (
        f"{verb.name} has no option {one_line(typed)}: {nearest(typed, known, most=12)} (a text that begins with - goes after --)"
    )


def _by_place(verb: Verb, placed: list[Word]) -> list[list[Word]]:
    groups: list[list[Word]] = []
    rest = list(placed)
    for arg in verb.places:
        take = len(rest) if arg.many else 1
        groups.append(rest[:take])
        rest = rest[take:]
    if rest:
        raise CommandError(_too_many(verb, rest[0]))
    return groups


def _too_many(verb: Verb, extra: Word) -> str:
    if any(arg.name == "text" for arg in verb.places):
        return f"{one_line(extra.text)} is one word too many: put quotes around a text with spaces"
    return f"{one_line(extra.text)} is one word too many: {verb.usage}"


def _convert(arg: Arg, word: Word) -> Any:
    assert arg.convert is not None, "a flag has no value"
    if arg.suggest == "file" and word.bare:
        # As a shell does it: quoted, a tilde is a tilde. A Path would make a dot of nothing.
        word = word._replace(text=expanduser(word.text))  # noqa: PTH111
    value = arg.convert(word)
    if isinstance(arg.suggest, tuple) and arg.suggest and value not in arg.suggest:
        raise CommandError(f"{arg.typed} cannot be {one_line(word.text)}: {nearest(word.text, arg.suggest)}")
    return value

"""Running a line or a script of lines against a session.

Must not know: where lines come from and where results go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from kvnb.commands.grammar import Word, expand, split
from kvnb.commands.help import overview, verb_help
from kvnb.commands.parse import HELP, find_verb, parse, wants_help
from kvnb.commands.table import VERBS
from kvnb.commands.verb import Verb
from kvnb.errors import CommandError, KvnbError
from kvnb.session import Session
from kvnb.views.shown import note_shown, state_shown

Evaluate = Callable[[str], Any]


class Outcome(NamedTuple):
    """What a line gave, and whether its ``;`` asks not to show it; ``line`` is its number in its script."""

    result: Any
    silent: bool
    line: int = 1


def run_line(session: Session, line: str, evaluate: Evaluate) -> Outcome:
    """Run one command. Raises a KvnbError, and changes nothing, when it cannot be done.

    evaluate
        Gives the value of the expression in ``$name`` or ``{expression}``.
    """
    words, silent = split(line)
    return Outcome(run_words(session, words, evaluate), silent)


def run_words(session: Session, words: list[Word], evaluate: Evaluate, body: str | None = None) -> Any:
    """Run the command that ``words`` make; ``body`` is the text of the cell below, taken as the command's text."""
    if not words:
        return state_shown(session.lab())
    if words[0].bare and words[0].text in (*HELP, "help"):
        return note_shown(verb_help(find_verb(words[1].text, VERBS)) if len(words) > 1 else overview())
    verb = find_verb(words[0].text, VERBS)
    if wants_help(words[1:]):
        return note_shown(verb_help(verb))
    given = parse(verb, expand(words[1:], evaluate))
    return verb.run(session, **(given if body is None else _with_body(verb, given, body)))


def _with_body(verb: Verb, given: dict[str, Any], body: str) -> dict[str, Any]:
    if not any(arg.name == "text" for arg in verb.args):
        raise CommandError(f"{verb.name} takes no text from the cell's body: type %kvpool {verb.usage}")
    if "text" in given:
        raise CommandError(f"{verb.name} has a text on its line and one in the cell's body: give one of them")
    return {**given, "text": body}


def run_script(session: Session, script: str, evaluate: Evaluate) -> Iterator[Outcome]:
    """Run one command a line, ``#`` lines and empty ones left out; stops at the first error, naming its line.

    What ran before the error stays; the line that failed changed nothing.
    """
    for number, line in enumerate(script.split("\n"), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                yield run_line(session, line, evaluate)._replace(line=number)
            except KvnbError as error:
                raise type(error)(f"line {number}: {error}") from error

"""The verb that asks: the questions, an answer to one, its hint and its solution. No pool of the session is changed by it.

Must not know: the questions, how an answer is judged. They come with the first use.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kvnb.commands.changes import CHANGES
from kvnb.commands.grammar import split
from kvnb.commands.parse import find_verb, parse
from kvnb.commands.verb import Arg, Verb, name, text, whole
from kvnb.errors import CommandError
from kvnb.session import Session

if TYPE_CHECKING:
    from kvnb.lab import Lab
    from kvnb.quiz import Item, Verdict
    from kvnb.views.shown import Shown


def _quiz(
    session: Session,
    number: int | None = None,
    answer: Sequence[Any] = (),
    hint: bool = False,
    solution: bool = False,
    pool: str | None = None,
) -> Shown:
    from kvnb.quiz import find, shown

    if number is None:
        if hint or solution or pool is not None:
            raise CommandError("--hint, --solution and --pool belong to one question: give its number")
        return shown.list_shown(session.answered)
    item = find(number)
    _check(item, hint + solution + bool(answer) + (pool is not None))
    if hint or solution:
        return shown.hint_shown(item) if hint else shown.solution_shown(item)
    verdict = _verdict(session, item, answer, pool)
    if verdict is None:
        return shown.item_shown(item)
    if verdict.right:
        session.answered.add(number)
    return shown.verdict_shown(verdict)


def _check(item: Item, asked_for: int) -> None:
    if asked_for > 1:
        raise CommandError(f"question {item.number}: give an answer, --pool, --hint or --solution, one of them")


def _verdict(session: Session, item: Item, answer: Sequence[Any], pool: str | None) -> Verdict | None:
    """None when nothing was answered."""
    from kvnb.quiz import Challenge, Question, Task, judge, judge_pool

    if isinstance(item, Challenge):
        if answer:
            raise CommandError(f"question {item.number} is answered by a pool: quiz {item.number} --pool NAME")
        return None if pool is None else judge_pool(item, session.lab(pool))
    if pool is not None:
        raise CommandError(f"question {item.number} has a pool of its own: leave --pool out")
    assert isinstance(item, Question | Task)
    return judge(item, _typed(answer, isinstance(item, Task)), _do) if answer else None


def _typed(answer: Sequence[Any], is_command: bool) -> str:
    """The words as one text; a command given as several words is the line that they make."""
    words = [str(word) for word in answer]
    return " ".join(map(shlex.quote, words) if is_command and len(words) > 1 else words)


def _do(lab: Lab, line: str) -> object:
    """Run one typed command that changes a pool, on a pool that is nobody's."""
    words = split(line).words
    if not words:
        raise CommandError("the command is empty: type one that changes a pool, such as admit r3 TEXT")
    verb = find_verb(words[0].text, {verb.name: verb for verb in CHANGES})
    apart = Session()
    apart.labs[lab.name], apart.current = lab, lab.name
    return verb.run(apart, **parse(verb, words[1:]))


QUIZ = (
    Verb(
        "quiz", "looks", "questions on the pool, and answers that are judged by the state of a pool",
        (
            Arg("number", "which question; without it, all of them", whole, metavar="N"),
            Arg("answer", "your answer: block ids, a number, yes or no, a name, a command", text, many=True),
            Arg("hint", "what to look at", option=True),
            Arg("solution", "the answer, and why", option=True),
            Arg("pool", "your pool, where the question is to build one", name, option=True, suggest="pool", metavar="NAME"),
        ),
        _quiz, ("quiz", "quiz 4", "quiz 4 5 6 7", "quiz 4 --hint", "quiz 4 --solution", "quiz 15 --pool pool"),
    ),
)  # fmt: skip

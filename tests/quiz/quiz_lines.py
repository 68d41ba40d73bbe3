"""Typing quiz lines without IPython, and what a text becomes of an answer's value."""

from __future__ import annotations

from typing import Any

import pytest

from kvnb.commands import run_line
from kvnb.errors import KvnbError
from kvnb.quiz import ITEMS, Challenge, Question, Task, Verdict, judge
from kvnb.quiz.scenes import Scene
from kvnb.session import Session

QUESTIONS = [item for item in ITEMS.values() if isinstance(item, Question)]
TASKS = [item for item in ITEMS.values() if isinstance(item, Task)]
CHALLENGES = [item for item in ITEMS.values() if isinstance(item, Challenge)]


def quiz(session: Session, line: str = "", **names: Any) -> Any:
    """What ``quiz LINE`` shows; ``names`` is what ``$name`` and ``{expression}`` see."""
    return run_line(session, f"quiz {line}".rstrip(), lambda source: eval(source, dict(names))).result


def refusal(session: Session, line: str) -> str:
    """The one line that says why ``quiz LINE`` cannot be done."""
    with pytest.raises(KvnbError) as caught:
        quiz(session, line)
    assert str(caught.value).isprintable()
    return str(caught.value)


def nothing_typed(lab: object, line: str) -> None:
    """Stands for the running of a command where no command is asked for."""
    raise AssertionError("a question on a story runs no command")


def verdict_on(question: Question, value: Any) -> Verdict:
    """The verdict on the answer that is written as ``value``."""
    return judge(question, question.kind.write(value), nothing_typed)


def right_answer(question: Question) -> str:
    """As it is typed."""
    return question.kind.write(question.answer(Scene(question.story)))

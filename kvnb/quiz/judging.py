"""Whether an answer is right, by the state of a pool, and what to say of it.

Must not know: how the verdict is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kvnb.errors import CommandError, KvnbError, UnknownName, named, nearest, one_line
from kvnb.lab import Lab
from kvnb.quiz.answers import NAME
from kvnb.quiz.items import Challenge, Item, Question, Task
from kvnb.quiz.remarks import remark
from kvnb.quiz.scenes import Scene

Do = Callable[[Lab, str], object]
"""Runs a typed command on a pool; raises CommandError for a line that cannot be read, another KvnbError for a refusal."""


class Verdict(NamedTuple):
    """What became of an answer.

    given
        The answer as it was understood.
    says
        What there is to say of it: the solution, or what is wrong.
    lab, ids
        The pool that shows it, and the blocks in it to look at.
    """

    item: Item
    right: bool
    given: str
    says: str
    lab: Lab
    ids: tuple[int, ...]


def judge(item: Question | Task, typed: str, do: Do) -> Verdict:
    """The verdict on what was typed. Raises CommandError, or UnknownName, for what is no answer of the kind that is asked."""
    return _judge_command(item, typed, do) if isinstance(item, Task) else _judge_answer(item, typed)


def judge_pool(item: Challenge, lab: Lab) -> Verdict:
    """Whether the pool is in the state that was to be built. The pool is only looked at."""
    found = item.looks(lab)
    return Verdict(item, found.right, "", found.says, lab, found.ids)


def _judge_answer(question: Question, typed: str) -> Verdict:
    scene, kind = Scene(question.story), question.kind
    answer, right = _read(question, typed, scene), question.answer(scene)
    points = tuple(question.points(scene))
    if kind.same(answer, right):
        return Verdict(question, True, kind.write(right), question.solution, scene.after, points)
    says = _slip(question, scene, answer) or remark(answer, right, scene.state)
    return Verdict(question, False, kind.write(answer), says, scene.before, points)


def _read(question: Question, typed: str, scene: Scene) -> Any:
    try:
        answer = question.kind.read(typed)
    except ValueError:
        takes = f"{question.kind.takes}, such as {question.kind.example}"
        raise CommandError(f"question {question.number} takes {takes}: {one_line(typed)} is something else") from None
    if question.kind is NAME and answer not in scene.names:
        raise UnknownName(f"no request {named(answer)} in this story: {nearest(answer, scene.names)}")
    return answer


def _slip(question: Question, scene: Scene, answer: Any) -> str:
    for slip in question.slips:
        if question.kind.same(answer, slip.value(scene)):
            return slip.says
    return ""


def _judge_command(task: Task, typed: str, do: Do) -> Verdict:
    scene = Scene(task.story)
    lab, points = scene.instead(), tuple(task.points(scene))
    try:
        do(lab, typed)
    except CommandError:
        raise
    except KvnbError as error:
        return Verdict(task, False, typed, f"The pool refuses that: {error}.", lab, points)
    if task.done(scene, lab):
        return Verdict(task, True, typed, task.solution, lab, points)
    says = next((detour.says for detour in task.detours if detour.did(scene, lab)), "Look at what it did to the queue.")
    return Verdict(task, False, typed, says, lab, points)

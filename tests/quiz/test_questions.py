"""Every question: its answer is the pool's, each misconception is told from all others, and a story is small."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from helpers import assert_sound, run_python
from quiz_lines import CHALLENGES, QUESTIONS, TASKS, nothing_typed, quiz, right_answer, verdict_on

from kvnb import Lab
from kvnb.errors import KvnbError, UnknownName
from kvnb.quiz import ITEMS, Challenge, Item, Question, Task, find, judge, judge_pool
from kvnb.quiz.scenes import Scene, Story
from kvnb.session import Session

EACH = pytest.mark.parametrize("item", ITEMS.values(), ids=lambda item: item.title)
QUESTION = pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.title)
CHALLENGE = pytest.mark.parametrize("challenge", CHALLENGES, ids=lambda challenge: challenge.title)


def test_they_are_numbered_through_from_1():
    assert list(ITEMS) == list(range(1, len(ITEMS) + 1))
    assert [find(number) for number in ITEMS] == list(ITEMS.values())
    with pytest.raises(UnknownName, match="no question 0: there are 1 to 18"):
        find(0)


@EACH
def test_it_asks_in_a_sentence_or_two_and_has_a_hint_and_a_solution(item: Item):
    assert len(item.asks) < 280
    for says in (item.title, item.asks, item.hint, item.solution):
        assert says
        assert says == says.strip()
        assert says.count("`") % 2 == 0
    assert all(says[-1] in ".?)" for says in (item.asks, item.hint, item.solution))
    assert len(item.title) < 70


@pytest.mark.parametrize("item", [*QUESTIONS, *TASKS], ids=lambda item: item.title)
def test_its_story_runs_on_a_small_pool_without_memory_which_is_sound_all_along(item: Question | Task):
    lines = (*item.story.lines, *item.story.then)
    for until in range(len(lines) + 1):
        lab = item.story.play(lines[:until])
        assert lab.behaviour.num_blocks <= 16
        assert lab.worker is None
        assert_sound(lab)


@QUESTION
def test_the_answer_that_is_read_from_the_pool_is_right(question: Question):
    verdict = judge(question, right_answer(question), nothing_typed)
    assert verdict.right
    assert verdict.says == question.solution


OTHERWISE = (
    {"prefix_caching": False}, {"free_to": "front-back"}, {"free_order": "reverse"}, {"full_hit": True}, {"num_blocks": 9},
    {"block_size": 5},
)  # fmt: skip


def answer_under(question: Question, settings: dict[str, Any]) -> object:
    """What the answer would be if the same story were told of another pool; None where nothing of the kind happens there."""
    story = replace(question.story, settings={**question.story.settings, **settings})
    try:
        return question.answer(Scene(story))
    except (StopIteration, IndexError, KeyError, KvnbError):
        return None


@QUESTION
def test_no_answer_is_written_down_for_on_another_pool_it_is_another(question: Question):
    answer = question.answer(Scene(question.story))
    assert any(answer_under(question, settings) != answer for settings in OTHERWISE)


@QUESTION
def test_each_misconception_has_an_answer_and_a_sentence_of_its_own(question: Question):
    scene = Scene(question.story)
    values = [question.answer(scene), *(slip.value(scene) for slip in question.slips)]
    assert question.slips
    for place, value in enumerate(values):
        assert not any(question.kind.same(value, other) for other in values[:place])
    says = [verdict_on(question, value).says for value in values[1:]]
    assert says == [slip.says for slip in question.slips]
    assert len(set(says)) == len(says)
    assert not any(verdict_on(question, value).right for value in values[1:])


@QUESTION
def test_the_blocks_in_question_are_blocks_and_not_the_answer_itself(question: Question):
    scene = Scene(question.story)
    points = list(question.points(scene))
    assert points
    assert set(points) <= set(range(1, scene.state.num_blocks))
    answer = question.answer(scene)
    if isinstance(answer, frozenset):
        assert set(points) != answer


@pytest.mark.parametrize(
    ("number", "typed", "says"),
    [
        (4, "2 3 10 9 8 7 6 4", "The right blocks, back to front: the FRONT is where blocks are taken."),
        (4, "4 6 7 8 9 10 2 3 3", "Block 3 stands in it twice: a block is in one place."),
        (4, "4 6 8 7 9 10 3 2", "The right blocks. In order are the first 2 of 8."),
        (4, "4 6 7 8 9 10 3 2 0", "Block 0 is the null block: it is never in the queue, and nobody gets it."),
        (4, "4 6 7 8 9 10 3 2 11", "There is no block 11: this pool has blocks 0 to 10."),
        (4, "4 6 7 8 9 10 3 5", "Block 5 does not belong there. Now it is held by 1 request."),
        (4, "4 6", "All of these, and 6 blocks more."),
        (6, "2 7", "Block 7 does not belong there. Now it is free, without a hash."),
        (10, "2", "Block 2 does not belong there. Now it is free, with a hash."),
        (10, "0", "Block 0 is the null block: it is never in the queue, and nobody gets it."),
        (14, "12", "That is too many."),
        (14, "4", "That is too few."),
    ],
)
def test_of_other_wrong_answers_it_says_where_they_part_from_the_pool(number: int, typed: str, says: str):
    question = find(number)
    assert isinstance(question, Question)
    verdict = judge(question, typed, nothing_typed)
    assert (verdict.right, verdict.says) == (False, says)


# --- commands and states ---------------------------------------------------------------------------------------


def test_a_sample_command_does_it_and_so_do_others(session: Session):
    for task in TASKS:
        assert quiz(session, f"{task.number} {task.sample}").value.right
    assert quiz(session, "8 append r2 zzzzzzzz").value.right
    assert quiz(session, "8 'admit r3 zzzzz'").value.right
    assert quiz(session, "8 -- admit r3 --tokens 1,2,3,4,5").value.right


DETOURS = {
    "evict 5": "`evict` takes a hash off by hand",
    "admit r3 ABCDEFGHIJxxy": "That is a hit",
    "admit r3 zz": "It needed one block",
    "release r2": "It took no block",
}


@pytest.mark.parametrize("typed", DETOURS)
def test_each_detour_is_told_from_the_others(session: Session, typed: str):
    verdict = quiz(session, f"8 {typed}").value
    assert not verdict.right
    assert verdict.says.startswith(DETOURS[typed])


def test_every_detour_is_tried():
    assert [len(task.detours) for task in TASKS] == [len(DETOURS)]


def test_what_the_pool_refuses_is_not_yet_and_what_is_no_command_is_an_error(session: Session):
    verdict = quiz(session, "8 admit r3 zzzzzzzzzzzzzzzz").value
    assert verdict.says == "The pool refuses that: r3 needs 4 blocks, 2 free: release or preempt one of r2."
    assert not verdict.right


@CHALLENGE
def test_the_sample_builds_the_state_that_is_asked_for_and_a_new_pool_does_not_have_it(challenge: Challenge):
    lab = Story().play(challenge.sample)
    assert judge_pool(challenge, lab).right
    assert not judge_pool(challenge, Story().play(())).right
    assert not judge_pool(challenge, Story().play((), prefix_caching=False)).right


@CHALLENGE
def test_a_state_is_gone_when_the_commands_are_undone(challenge: Challenge):
    lab = Story().play(challenge.sample)
    while lab.journal.lineage():
        lab.undo()
    assert not judge_pool(challenge, lab).right


def test_a_block_that_was_evicted_by_hand_or_in_the_wrong_order_does_not_count():
    challenge = next(item for item in CHALLENGES if "last block evicted" in item.title)
    by_hand = Story().play(("admit a ABCDEFGH", "release a"))
    by_hand.evict(2)
    assert judge_pool(challenge, by_hand).says == "No cached block has been handed to another request yet."
    forward = Story().play(challenge.sample, free_order="forward")
    assert judge_pool(challenge, forward).says.startswith("Cached blocks have been handed to other requests, but none")


def test_a_prompt_counts_as_known_whole_only_if_its_last_block_was_known_too():
    challenge = next(item for item in CHALLENGES if "known whole" in item.title)
    for prompts, is_known in ((("ABCDEFGH", "ABCDwxyz"), False), (("ABCDEFGH", "ABCDEFGHi"), False), (("ABCD", "ABCD"), True)):
        lab = Lab(11, block_size=4, device="none")
        for name, prompt in zip("ab", prompts, strict=True):
            lab.admit(name, prompt)
        assert judge_pool(challenge, lab).right == is_known, prompts
    seed = Lab(11, block_size=4, device="none", full_hit=True)
    seed.admit("a", "ABCDEFGH")
    seed.admit("b", "ABCDEFGH")
    assert judge_pool(challenge, seed).says == "Step 2: 8 of 8 tokens came from the cache."


def test_when_no_block_is_free_free_blocks_cannot_be_cached():
    challenge = next(item for item in CHALLENGES if "free blocks" in item.title)
    lab = Story().play(("admit a ABCDEFGHIJABCDEFGHIJABCDEFGHIJABCDEFGHIJ",))
    assert judge_pool(challenge, lab).says == "No block is free, and usage is 1. At least one must be free, and cached."


def test_the_quiz_needs_nothing_but_the_standard_library():
    code = """
import sys
sys.modules.update(dict.fromkeys(["IPython", "torch", "numpy", "pandas", "plotly", "ipywidgets", "anywidget"]))
from kvnb.commands import run_line
from kvnb.session import Session
session = Session()
for line in ("quiz", "quiz 4", "quiz 4 5 6", "quiz 4 --solution"):
    result = run_line(session, line, eval).result
    assert result.text and result.html
print(run_line(session, "quiz 9 none", eval).result.value.right)
"""
    assert run_python(code) == "True"

"""Whatever is answered: one line or a verdict, and nothing of the session has changed."""

from __future__ import annotations

from helpers import snapshot
from hypothesis import given, settings
from hypothesis import strategies as st
from quiz_lines import QUESTIONS, quiz, right_answer

from kvnb.commands import run_line
from kvnb.errors import KvnbError
from kvnb.quiz import ITEMS, Verdict
from kvnb.session import Session

IDS = st.lists(st.integers(0, 12), max_size=10).map(lambda ids: " ".join(map(str, ids)))
NUMBERS = st.integers(0, 40).map(str) | st.floats(0, 2).map(str)
WORDS = st.sampled_from(["yes", "no", "none", "a", "s", "u", "[]"])
COMMANDS = st.sampled_from(
    ["admit", "append", "release", "preempt", "evict", "undo", "reset", "generate", "step", "new"]
).flatmap(
    lambda verb: st.lists(st.sampled_from(["r2", "r3", "zz", "5", "10", "abcdefghi"]), max_size=2).map(
        lambda w: " ".join([verb, *w])
    )
)
TEXTS = st.text(max_size=20)
ANSWERS = IDS | NUMBERS | WORDS | COMMANDS | TEXTS


def test_any_answer_gets_a_verdict_or_one_line_and_no_pool_is_touched():
    session = Session()
    run_line(session, "new 11 --device none --name mine", eval)
    run_line(session, "admit r0 ABCDEFGHIJKLMNO", eval)
    lab = session.lab()
    before = snapshot(lab)

    @given(number=st.sampled_from(list(ITEMS)), typed=ANSWERS, is_pool=st.booleans())
    @settings(max_examples=200)
    def check(number: int, typed: str, is_pool: bool) -> None:
        refused = ""
        try:
            shown = quiz(session, f"{number} --pool mine" if is_pool else f"{number} $typed", typed=typed)
        except KvnbError as error:
            refused = str(error)
        if not refused:
            assert isinstance(shown.value, Verdict)
            assert shown.text.startswith(f"{number}. ")
        assert all(line.isprintable() for line in (refused or shown.text).split("\n"))
        assert snapshot(lab) == before
        assert (session.labs, session.current) == ({"mine": lab}, "mine")

    check()


@given(place=st.integers(0, len(QUESTIONS) - 1), typed=IDS | NUMBERS | WORDS)
def test_only_the_pools_own_answer_is_right(place: int, typed: str):
    question = QUESTIONS[place]
    try:
        verdict = quiz(Session(), f"{question.number} $typed", typed=typed).value
    except KvnbError:
        return
    assert verdict.right == question.kind.same(question.kind.read(typed), question.kind.read(right_answer(question)))
    assert verdict.says

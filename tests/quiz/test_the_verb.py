"""``quiz`` as it is typed: the list, a question, an answer, a hint; and that no pool of the session is touched."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from helpers import snapshot
from quiz_lines import CHALLENGES, QUESTIONS, quiz, refusal, right_answer

from kvnb.commands import run_line
from kvnb.quiz import ITEMS, Question, Task
from kvnb.session import Session

NUMBERS = pytest.mark.parametrize("number", ITEMS)


def ticked(session: Session) -> list[int]:
    """The questions that the list marks as answered."""
    return [int(line.split()[1]) for line in str(quiz(session)).splitlines() if line.startswith("*")]


class Markup(HTMLParser):
    """The tags of a page, and how many are left open."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert {name for name, _ in attrs} <= {"style"}
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_list_has_a_line_a_question_and_ticks_what_was_answered(session: Session):
    says = str(quiz(session)).splitlines()
    assert says[0] == "quiz: 0 of 18 answered"
    assert [line[2:].strip() for line in says[1:-1]] == [f"{number}  {item.title}" for number, item in ITEMS.items()]
    quiz(session, "4 1 2 3")
    quiz(session, "9 --solution")
    assert ticked(session) == []
    quiz(session, "9 none")
    quiz(session, f"4 {right_answer(QUESTIONS[3])}")
    assert ticked(session) == [4, 9]
    assert str(quiz(session)).startswith("quiz: 2 of 18 answered (*)")
    assert quiz(session).value == (4, 9)
    assert quiz(session).html.count("✓") == 2
    assert ticked(Session()) == []


def test_a_question_shows_its_story_and_asks(session: Session):
    assert str(quiz(session, "4")).splitlines() == [
        "4. Front or back: the free queue after a release (11 blocks of 4 tokens)",
        "  1. admit r0 ABCDEFGHIJKLMN",
        "  2. admit r1 ABCDEFxx",
        "  r0: 14 tokens, running, block table [1 2 3 4]",
        "  r1: 8 tokens, running, block table [1 5]",
        "  free queue (front first, * = cached): 6 7 8 9 10",
        "  then:",
        "  3. release r0",
        "  `r0` ends. What is the free queue then, front first?",
        "  the answer: block ids in order, such as `%kvpool quiz 4 5 6 7`",
    ]


def test_what_it_says_an_answer_looks_like_can_be_typed(session: Session):
    for item in ITEMS.values():
        for line in re.findall(r"`%kvpool quiz (\d+ [^`]*)`", str(quiz(session, str(item.number)))):
            if "NAME" not in line:
                assert quiz(session, line).value.item is item


def test_an_answer_is_judged_and_the_queue_is_pointed_at(session: Session):
    assert str(quiz(session, "9 3")).splitlines() == [
        "9. not yet: 3",
        f"  {ITEMS[9].asks}",
        "  That is the first cached block from the FRONT, but `r2` hits it: it is plucked from the queue and keeps its hash.",
        "  no request",
        "  free queue (front first, * = cached): 7 8 9 10 4 3* 6 5* 2* 1*",
        "                                                   ^^ ^",
        "  quiz 9 --hint helps",
    ]
    right = str(quiz(session, "4 4 6 7 8 9 10 3 2")).splitlines()
    assert right[0] == "4. right: 4 6 7 8 9 10 3 2"
    assert right[-2:] == [
        "  free queue (front first, * = cached): 4 6 7 8 9 10 3* 2*",
        "                                        ^            ^^ ^^",
    ]


def test_an_answer_can_be_the_value_of_an_expression(session: Session):
    assert quiz(session, "4 {queue}", queue=(4, 6, 7, 8, 9, 10, 3, 2)).value.right
    assert quiz(session, "6 $blocks", blocks=frozenset({2, 3, 4})).value.right
    assert quiz(session, "9 {set()}").value.right
    assert quiz(session, "12 {1 - 1 / 10}").value.right


@NUMBERS
def test_hint_and_solution_can_be_asked_for_and_are_folded_in_the_question(session: Session, number: int):
    item, page = ITEMS[number], quiz(session, str(number)).html
    assert page.count("<details") == page.count("<summary") == 2
    assert item.hint in str(quiz(session, f"{number} --hint"))
    solution = quiz(session, f"{number} --solution")
    assert item.solution in str(solution)
    if isinstance(item, Question):
        assert str(solution).splitlines()[0] == f"{number}. solution: {right_answer(item)}"
    for said in ("hint", "solution"):
        shown = quiz(session, f"{number} --{said}").html
        assert Markup(shown).tags <= {"div", "span", "b", "i", "code", "br"}
    assert not session.answered


@NUMBERS
def test_what_is_shown_is_markup_that_an_untrusted_notebook_keeps(session: Session, number: int):
    run_line(session, "new 11 --device none --name mine", eval)
    item = ITEMS[number]
    typed = "7" if isinstance(item, Question) else "admit r3 zz" if isinstance(item, Task) else "--pool mine"
    typed = {2: "t", 7: "no"}.get(number, typed)
    for line in ("", f"{number}", f"{number} {typed}"):
        markup = Markup(quiz(session, line).html)
        assert not markup.open
        assert markup.tags <= {
            "div", "span", "b", "i", "br", "code", "details", "summary", "table", "thead", "tbody", "tr", "th", "td",
        }  # fmt: skip


def test_what_was_typed_is_escaped(session: Session):
    for line in (r"8 admit '<img src=x>' zzzzzzzz", r"8 'admit <script> zz'", r'8 admit "<b>\x1b[2J" ' + "z" * 40):
        shown = quiz(session, line)
        assert "<img" not in shown.html
        assert "<script" not in shown.html
        assert "\x1b" not in shown.text + shown.html
    escape = quiz(session, "8 $typed", typed="admit '<b>\x1b[31m' zz")
    assert "\x1b" not in escape.text + escape.html
    assert "\\x1b" in escape.text
    assert "&lt;b&gt;" in escape.html
    assert "<h1>" in refusal(session, "4 '<h1>'")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("99", "no question 99: there are 1 to 18"),
        ("four", "'four' is not a whole number"),
        ("4 banana", "question 4 takes block ids in order, such as 5 6 7: 'banana' is something else"),
        ("1 ''", "question 1 takes a number, such as 7: '' is something else"),
        ("7 maybe", "question 7 takes yes or no, such as yes: 'maybe' is something else"),
        ("2 bob", "no request bob in this story: there are a, s, t, u"),
        ("4 1 2 --hint", "question 4: give an answer, --pool, --hint or --solution, one of them"),
        ("4 --hint --solution", "question 4: give an answer, --pool, --hint or --solution, one of them"),
        ("4 --pool mine", "question 4 has a pool of its own: leave --pool out"),
        ("15 1 2", "question 15 is answered by a pool: quiz 15 --pool NAME"),
        ("15 --pool mine", "no pool mine: there is none yet"),
        ("--hint", "--hint, --solution and --pool belong to one question: give its number"),
        ("8 new 11", "unknown verb 'new': there are admit, prefill"),
        ("8 ''", "the command is empty: type one that changes a pool, such as admit r3 TEXT"),
        ("8 admit", "admit needs NAME: admit NAME"),
        ("8 admit r3 z --pool mine", "question 8: give an answer, --pool, --hint or --solution, one of them"),
    ],
)
def test_what_is_no_answer_gets_one_line(session: Session, line: str, says: str):
    assert refusal(session, line).startswith(says)
    assert not session.answered


def test_a_state_is_judged_in_the_pool_that_is_named(session: Session):
    for line in ("new 11 --device none --name other", "new 11 --device none --name mine", "admit a ABCDEFGH", "admit b ABCDEFGH"):
        run_line(session, line, eval)
    assert not quiz(session, "15 --pool other").value.right
    assert ticked(session) == []
    verdict = quiz(session, "15 --pool mine").value
    assert verdict.right
    assert verdict.ids == (2, 3)
    assert ticked(session) == [15]


def test_no_pool_of_the_session_and_no_journal_is_touched(session: Session):
    run_line(session, "new 11 --device none --name quiz --log quiz.jsonl", eval)
    run_line(session, "admit r0 ABCDEFGHIJKLMNO", eval)
    lab = session.lab()
    before, log = snapshot(lab), lab.log_path.read_bytes() if lab.log_path else b""
    for item in ITEMS.values():
        quiz(session, str(item.number))
        quiz(session, f"{item.number} --solution")
    for question in QUESTIONS:
        assert quiz(session, f"{question.number} {right_answer(question)}").value.right
    quiz(session, "8 admit r3 zzzzzzzz")
    quiz(session, "8 release r2")
    for challenge in CHALLENGES:
        quiz(session, f"{challenge.number} --pool quiz")
    assert snapshot(lab) == before
    assert (session.labs, session.current) == ({"quiz": lab}, "quiz")
    assert lab.log_path is not None
    assert lab.log_path.read_bytes() == log


def test_the_same_lines_give_the_same_bytes():
    def told() -> list[tuple[str, str]]:
        session = Session()
        lines = ["", "4", "4 1 2 3", "2 s", "8 admit r3 zz", "8 admit r3 zzzzz", "9 none", "6 --solution", ""]
        return [(shown.text, shown.html) for shown in (quiz(session, line) for line in lines)]

    assert told() == told()

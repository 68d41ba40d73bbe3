"""Answers as people type them."""

from __future__ import annotations

from typing import Any

import pytest

from kvnb.quiz.answers import NAME, NUMBER, ORDER, SET, YES_NO, Kind


@pytest.mark.parametrize("typed", ["5 6", "5,6", "5, 6", "[5, 6]", "(5, 6)", "blocks 5 and 6", "5* 6", "5;6", "{5, 6}", " 5  6 "])
def test_block_ids_can_be_written_in_many_ways(typed: str):
    assert ORDER.read(typed) == (5, 6)
    assert SET.read(typed) == frozenset({6, 5})


@pytest.mark.parametrize("typed", ["none", "None", "nothing", "empty", "[]", "()", "set()"])
def test_no_block_is_an_answer_too(typed: str):
    assert ORDER.read(typed) == ()
    assert SET.read(typed) == frozenset()


@pytest.mark.parametrize(
    ("typed", "number"),
    [
        ("4", 4),
        ("4.0", 4),
        ("0.9", 0.9),
        (".9", 0.9),
        ("90%", 0.9),
        ("90 %", 0.9),
        ("9/10", 0.9),
        ("8 tokens", 8),
        ("block 3", 3),
    ],
)
def test_a_number_can_be_a_share_or_have_its_word_behind_it(typed: str, number: float):
    assert NUMBER.read(typed) == pytest.approx(number)


def test_numbers_are_the_same_to_two_places():
    assert NUMBER.same(0.9, 0.9000001)
    assert NUMBER.same(0.91, 10 / 11)
    assert not NUMBER.same(0.9, 0.91)


@pytest.mark.parametrize(
    ("typed", "value"), [("yes", True), ("Yes.", True), ("y", True), ("true", True), ("no", False), ("N", False)]
)
def test_yes_and_no_have_short_forms(typed: str, value: bool):
    assert YES_NO.read(typed) is value


@pytest.mark.parametrize(
    ("kind", "typed"),
    [
        *((ORDER, typed) for typed in ("", "five", "5 -6", "5 none", "9" * 5000, "٣", "5.5")),
        *((SET, typed) for typed in ("  ", "a b")),
        *((NUMBER, typed) for typed in ("", "nan", "inf", "1/0", "1e3", "-1", "4 5 x")),
        *((YES_NO, typed) for typed in ("", "maybe")),
        *((NAME, typed) for typed in ("", "a b")),
    ],
)
def test_what_is_something_else_is_refused(kind: Kind, typed: str):
    with pytest.raises(ValueError):
        kind.read(typed)


@pytest.mark.parametrize(
    ("kind", "value"),
    [(ORDER, (4, 10, 3)), (ORDER, ()), (SET, frozenset({10, 3})), (NUMBER, 10 / 11), (NUMBER, 4.0), (YES_NO, False)],
)
def test_what_is_written_is_read_as_the_same(kind: Kind, value: Any):
    assert kind.same(kind.read(kind.write(value)), value)

"""From fields to the line that one would have typed."""

from __future__ import annotations

import pytest
from helpers import seed_lab
from hypothesis import given
from hypothesis import strategies as st

from kvnb import Lab
from kvnb.commands import VERBS as TABLE
from kvnb.commands.grammar import expand, split
from kvnb.commands.parse import parse
from kvnb.errors import CommandError
from kvnb.views.dashboard.lines import VERBS, Fields, cell, line, quoted

EMPTY = Lab(11, block_size=4, device="none").state
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), min_size=1)


def refuse(source: str) -> object:
    raise AssertionError(f"{source} was evaluated")


@given(words)
def test_a_word_comes_back_from_the_line_as_it_was_whatever_is_in_it(word: str) -> None:
    parts, silent = split(f"append {quoted(word)}")
    assert not silent
    assert [part.text for part in expand(parts, refuse)] == ["append", word]


@given(words, words)
def test_a_name_and_a_text_are_never_an_option_nor_a_variable(name: str, text: str) -> None:
    typed = line("admit", Fields(name, text), EMPTY)
    parts, _ = split(typed)
    assert parse(TABLE["admit"], expand(parts[1:], refuse)) == {"name": name, "text": text}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_that_can_be_clicked_is_in_the_table(verb: str) -> None:
    assert TABLE[verb].kind == "changes"
    parts, _ = split(line(verb, Fields("r0", "abc", 3), seed_lab(1).state))
    assert parse(TABLE[verb], parts[1:]) is not None


def test_an_admission_without_a_name_gets_the_first_that_is_free() -> None:
    assert line("admit", Fields(text="abc"), EMPTY) == "admit r0 abc"
    assert line("admit", Fields(text="abc"), seed_lab(2).state) == "admit r2 abc"


def test_the_other_verbs_mean_the_only_request_and_of_several_one_has_to_be_chosen() -> None:
    assert line("append", Fields(text="x y"), seed_lab(1).state) == "append r0 'x y'"
    assert line("generate", Fields(tokens=7), seed_lab(1).state) == "generate r0 7"
    with pytest.raises(CommandError, match="release needs a request: choose one of r0 and r1"):
        line("release", Fields(), seed_lab(2).state)
    with pytest.raises(CommandError, match="preempt needs a request: there is none"):
        line("preempt", Fields(), EMPTY)


def test_a_preempted_request_can_be_released_but_not_preempted_again() -> None:
    lab = seed_lab(1)
    lab.preempt("r0")
    assert line("release", Fields(), lab.state) == "release r0"
    with pytest.raises(CommandError, match="there is none"):
        line("preempt", Fields(), lab.state)


def test_reset_and_undo_take_nothing_from_the_fields() -> None:
    assert [line(verb, Fields("r0", "abc", 3), EMPTY) for verb in ("reset", "undo")] == ["reset", "undo"]


def test_what_was_clicked_is_a_script_and_nothing_is_no_cell() -> None:
    assert cell(["admit r0 'a b'", "undo"]) == "%%kvpool\nadmit r0 'a b'\nundo"
    assert cell([]) == ""

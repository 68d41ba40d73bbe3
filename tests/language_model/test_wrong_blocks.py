"""A wrong block is a wrong answer: the fact in a shared prefix changes when a block table points elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from conversations import CODE_QUESTION, asked, keeper, tokens_of
from helpers import failing

from kvnb import Lab
from kvnb.errors import CommandError, RequestError, SettingError, UnknownName

CODES = ("4417", "7203")


@pytest.fixture
def told(pool: Callable[..., Lab]) -> Lab:
    """A pool in which two requests have read prompts that differ in one block, the one with the code, and what follows."""
    lab = pool()
    for name, code in zip("ab", CODES, strict=True):
        lab.admit(name, chat=asked(CODE_QUESTION, keeper(code)))
    return lab


def block_of_the_code(lab: Lab) -> int:
    """Which entry of the tables of ``a`` and ``b`` holds all the places in which the codes differ."""
    one, other = (tokens_of(lab, name) for name in "ab")
    places = {place // 16 for place, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]}
    assert len(places) == 1
    return places.pop()


def test_the_fact_changes_with_the_block_and_comes_back_with_undo(told: Lab) -> None:
    entry = block_of_the_code(told)
    told.admit("r1", chat=asked("Please tell me the secret code of the warehouse.", keeper(CODES[0])), defer=True)
    mine, other = told.block_table("r1")[entry], told.block_table("b")[entry]
    assert mine == told.block_table("a")[entry]
    told.corrupt("r1", mine, other)
    told.step()
    wrong = told.generate("r1", 30)
    assert CODES[1] in wrong.text
    assert CODES[0] not in wrong.text
    assert not told.prove("r1").holds
    assert any("block tables" in equation for equation in failing(told.check()))
    assert told.block_table("r1")[entry] == mine
    assert told.prove("a").holds
    told.undo(len(wrong.steps) + 2)
    assert not failing(told.check())
    told.step()
    assert CODES[0] in told.generate("r1", 30).text
    assert told.prove("r1").holds
    assert told.verify().holds


def test_a_request_that_is_corrupted_after_it_was_computed_is_found_by_its_proof(told: Lab) -> None:
    entry = block_of_the_code(told)
    table = told.block_table("a")
    assert told.prove("a").holds
    told.corrupt("a", table[entry], told.block_table("b")[entry])
    proof = told.prove("a")
    assert not proof.holds
    assert max(proof.key_difference, proof.value_difference) > 0.1
    told.undo()
    assert told.prove("a").holds


def test_what_cannot_be_corrupted_is_refused_in_a_line_and_changes_nothing(told: Lab) -> None:
    digest, block = told.digest, told.block_table("a")[0]
    for error, arguments in (
        (UnknownName, ("z", 1, 2)), (UnknownName, ("a", 79, 2)), (UnknownName, ("a", block, 0)), (UnknownName, ("a", block, 80)),
        (RequestError, ("a", block, block)), (CommandError, ("a", "1", 2)),
    ):  # fmt: skip
        with pytest.raises(error) as refused:
            told.corrupt(*arguments)  # type: ignore[arg-type]
        assert "\n" not in str(refused.value)
    assert told.digest == digest
    with pytest.raises(SettingError, match="corrupt needs memory"):
        Lab(11, device="none").corrupt("r0", 1, 2)

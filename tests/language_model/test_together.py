"""Several requests decode together, also when blocks run out: each says what it says alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from conversations import asked
from helpers import assert_sound

from kvnb import Lab
from kvnb.errors import CommandError, RequestError

ASKED = {
    "paris": "What is the capital of France? Say one sentence about it.",
    "week": "Name the days of the week.",
    "sea": "Why is the sea salty? Answer in two sentences.",
    "cat": "What does a cat eat? Answer in two sentences.",
}
LONGEST = 24


@pytest.fixture(scope="module")
def alone(smollm2: object) -> dict[str, str]:
    """What each says when it has a pool to itself."""
    said = {}
    for name, question in ASKED.items():
        lab = Lab(20, model=smollm2.source, device="cpu")  # type: ignore[attr-defined]
        lab.admit(name, chat=asked(question))
        said[name] = lab.generate(name, LONGEST).text
    return said


def admit_all(lab: Lab) -> None:
    for name, question in ASKED.items():
        lab.admit(name, chat=asked(question))


def test_in_one_pass_each_gets_its_own_next_token(pool: Callable[..., Lab], alone: dict[str, str]) -> None:
    lab = pool(60)
    admit_all(lab)
    together = lab.decode(LONGEST)
    assert together.text == alone
    assert together.num_passes <= LONGEST
    assert not together.preempted
    assert_sound(lab)


def test_under_pressure_the_newest_is_preempted_and_comes_back_to_say_the_same(
    pool: Callable[..., Lab], alone: dict[str, str]
) -> None:
    lab = pool(12)
    admit_all(lab)
    together = lab.decode(LONGEST, release=True)
    assert together.preempted
    assert together.text == alone
    assert set(together.finish_reason.values()) <= {"stop", "length"}
    assert lab.requests == ()
    assert_sound(lab)
    assert lab.verify().holds


def test_who_finds_no_room_is_told_of(pool: Callable[..., Lab]) -> None:
    lab = pool(13)
    admit_all(lab)
    together = lab.decode(LONGEST, ignore_eos=True)
    assert "length" in together.finish_reason.values()
    assert None in together.finish_reason.values()
    assert "found no room to go on" in repr(together)
    assert_sound(lab)


def test_what_cannot_decode_is_refused_before_the_first_pass(pool: Callable[..., Lab]) -> None:
    lab = pool(40)
    with pytest.raises(RequestError, match="no request to decode"):
        lab.decode(3)
    lab.admit("r0", chat=asked("Hello"))
    lab.admit("r1", chat=asked("Hello again"), defer=True)
    digest = lab.digest
    for arguments in ((0,), (3, "r0", "r0"), (3, "r1"), (3, "r0")):
        with pytest.raises((CommandError, RequestError)):
            lab.decode(*arguments)
    assert lab.digest == digest

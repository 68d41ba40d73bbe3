"""Several requests decode together: packed passes, vLLM's order of preempting and resuming, every act a step of the journal."""

from __future__ import annotations

import pytest
from helpers import assert_sound
from memory_labs import small

from kvnb.errors import CommandError, KvnbError
from kvnb.lab import Lab

PROMPTS = {"a": "ABCDEFGH", "b": "ABCDxyz", "c": "other words"}


def alone(k: int) -> dict[str, tuple[int, ...]]:
    """What each request generates when it is alone in a pool."""
    made = {}
    for name, prompt in PROMPTS.items():
        lab = small(30)
        lab.admit(name, prompt)
        made[name] = lab.generate(name, k).tokens
    return made


def admitted(num_blocks: int) -> Lab:
    lab = small(num_blocks)
    for name, prompt in PROMPTS.items():
        lab.admit(name, prompt)
    return lab


def test_each_gets_the_tokens_that_it_makes_alone_in_one_pass_a_round() -> None:
    lab = admitted(30)
    made = lab.decode(6)
    assert made.tokens == alone(6)
    assert made.num_passes == 6
    assert [step.command.verb for step in made.steps] == ["append", "append", "append", "step"] * 6
    assert all(lab.prove(name).holds for name in PROMPTS)
    assert_sound(lab)


def test_when_blocks_run_out_the_newest_is_preempted_and_comes_back_when_another_ends() -> None:
    lab = admitted(9)
    made = lab.decode(12, release=True)
    assert made.tokens == alone(12)
    assert set(made.preempted) <= {"b", "c"}
    assert made.preempted[0] == "c"
    assert set(made.finish_reason.values()) == {"length"}
    assert lab.requests == ()
    assert_sound(lab)
    assert lab.verify().holds


def test_who_finds_no_room_stays_preempted_and_is_told_of() -> None:
    lab = admitted(9)
    made = lab.decode(12)
    assert made.finish_reason["a"] == "length"
    assert None in made.finish_reason.values()
    assert "found no room to go on" in repr(made)
    assert "blocks ran out; preempted: " in repr(made)
    assert_sound(lab)


def test_one_that_is_alone_and_finds_no_block_keeps_what_it_has() -> None:
    lab = small(4)
    lab.admit("a", "ABCDEFGHIJ")
    made = lab.decode(9)
    assert (len(made.tokens["a"]), made.finish_reason["a"], made.preempted) == (2, None, ())
    assert lab.state.requests["a"].state == "running"


def test_only_those_that_are_named_decode() -> None:
    lab = admitted(30)
    made = lab.decode(2, "c", "a")
    assert set(made.tokens) == {"a", "c"}
    assert lab.state.requests["b"].num_tokens == len(PROMPTS["b"])


def test_a_preempted_request_is_resumed_by_decoding() -> None:
    lab = admitted(30)
    lab.preempt("b")
    made = lab.decode(3)
    assert made.tokens == alone(3)


def test_equal_seeds_draw_the_same_together_as_alone() -> None:
    lab, other = admitted(30), small(30)
    other.admit("b", PROMPTS["b"])
    assert lab.decode(5, temperature=1.0, seed=3).tokens["b"] == other.generate("b", 5, temperature=1.0, seed=3).tokens


@pytest.mark.parametrize("wrong", [(0,), (-1,), (2, "nobody"), (2, "a", "a"), (2, "late"), (2, "a")])
def test_what_cannot_decode_is_refused_in_a_line_and_changes_nothing(wrong: tuple[int, ...]) -> None:
    lab = admitted(30)
    lab.admit("late", "zz", defer=True)
    digest = lab.digest
    with pytest.raises(KvnbError) as refused:
        lab.decode(*wrong)  # type: ignore[arg-type]
    assert "\n" not in str(refused.value)
    assert lab.digest == digest
    with pytest.raises(CommandError):
        lab.decode("many")  # type: ignore[arg-type]


def test_one_that_never_fits_again_does_not_keep_others_waiting() -> None:
    lab = small(7, block_size=2, sliding_window=4)
    lab.admit("long", "AB")
    for letter in "CDEFGHIJKLMNOPQRS":
        lab.append("long", letter)
    lab.preempt("long")
    lab.evict(*lab.cached)
    lab.admit("short", "xy")
    lab.preempt("short")
    made = lab.decode(4)
    assert made.finish_reason == {"long": None, "short": "length"}
    assert_sound(lab)


def test_of_one_request_the_sentence_is_singular() -> None:
    lab = small(30)
    lab.admit("a", "ABC")
    assert repr(lab.decode(2)).startswith("1 request decodes: 2 tokens in 2 forward passes")

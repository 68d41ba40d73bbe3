from __future__ import annotations

import pytest

from kvnb.manager.command import Command
from kvnb.manager.tokenizers import TOKENIZERS


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (Command("admit", {"name": "r0", "text": "ABC"}), "admit r0 ABC"),
        (Command("admit", {"name": "r0", "text": "two words"}), "admit r0 'two words'"),
        (Command("admit", {"name": "r0", "tokens": [1, 2]}), "admit --tokens 1,2 r0"),
        (Command("admit", {"name": "r0"}), "admit r0"),
        (Command("append", {"name": "r0", "text": "-x"}), "append -- r0 -x"),
        (Command("release", {"names": ["r0", "r 1"]}), "release r0 'r 1'"),
        (Command("evict", {"ids": [3, 4]}), "evict 3 4"),
        (Command("reset", {}), "reset"),
        (Command("undo", {}), "undo"),
    ],
)
def test_a_command_prints_as_the_line_that_gives_it(command: Command, line: str) -> None:
    assert str(command) == line


def test_a_command_survives_a_round_trip_through_plain_values() -> None:
    command = Command("admit", {"name": "r0", "text": "ABC"})
    assert command.to_dict() == {"verb": "admit", "name": "r0", "text": "ABC"}
    assert Command.from_dict(command.to_dict()) == command


def test_plain_values_without_a_verb_are_no_command() -> None:
    with pytest.raises(KeyError):
        Command.from_dict({"name": "r0"})


def test_with_chars_a_token_is_a_character() -> None:
    assert TOKENIZERS["chars"]("Aé😀") == [65, 233, 128512]


def test_with_bytes_a_token_is_a_byte_of_utf_8() -> None:
    assert TOKENIZERS["bytes"]("Aé") == [65, 0xC3, 0xA9]


def test_half_an_emoji_can_be_cut_into_bytes() -> None:
    assert TOKENIZERS["bytes"]("\ud83d") == [0xED, 0xA0, 0xBD]

from __future__ import annotations

import pytest

from kvnb import errors
from kvnb.errors import KvnbError, MissingPackage, counted, named, nearest, one_line


def test_an_error_shows_as_one_line_in_a_notebook() -> None:
    assert errors.OutOfBlocks("r3 needs 3 blocks")._render_traceback_() == ["OutOfBlocks: r3 needs 3 blocks"]


@pytest.mark.parametrize("kind", KvnbError.__subclasses__())
def test_every_error_has_an_exit_code_and_says_what_it_is(kind: type[KvnbError]) -> None:
    assert kind.exit_code in (1, 2)
    assert kind.__doc__


def test_a_missing_package_comes_with_its_pip_command() -> None:
    assert str(MissingPackage.named("pandas", "a table")) == "a table needs pandas: pip install pandas"


def test_a_long_or_many_lined_text_is_shortened_and_escaped() -> None:
    assert one_line("a\nb") == r"'a\nb'"
    assert one_line("x" * 100) == repr("x" * 57 + "...")


@pytest.mark.parametrize(("name", "shown"), [("r1", "r1"), ("r-1.b_c", "r-1.b_c"), ("a b", "'a b'"), ("é", "'é'"), ("", "''")])
def test_only_a_plain_name_stands_unquoted(name: str, shown: str) -> None:
    assert named(name) == shown


def test_one_thing_is_singular() -> None:
    assert [counted(n, "block") for n in (0, 1, 2)] == ["0 blocks", "1 block", "2 blocks"]


def test_the_nearest_names_are_suggested_else_the_first_ones() -> None:
    assert nearest("admt", ["admit", "reset"]) == "did you mean admit?"
    assert nearest("zzz", ["a", "b"]) == "there are a, b"
    assert nearest("zzz", ["a"]) == "there is a"
    assert nearest("zzz", []) == "there is none yet"
    assert nearest("zzz", "abcdefg") == "there are a, b, c, d, e and 2 more"

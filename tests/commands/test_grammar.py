from __future__ import annotations

import shlex

import pytest
from command_lines import words
from hypothesis import given
from hypothesis import strategies as st

from kvnb.commands.grammar import Word, expand, is_expression, split
from kvnb.errors import CommandError

SHELL_LINES = st.text(st.sampled_from("ab é'\"\\\t\n-#$=,*"), max_size=30).filter(lambda line: not line.endswith("\\"))


def values(line: str, **names: object) -> list[object]:
    """What the words of a line stand for."""
    expanded = expand(split(line).words, lambda source: eval(source, dict(names)))
    return [word.text if word.value is None else word.value for word in expanded]


@given(SHELL_LINES)
def test_a_line_is_cut_as_a_shell_cuts_it(line: str) -> None:
    try:
        expected = shlex.split(line)
    except ValueError:
        with pytest.raises(CommandError, match="is not closed"):
            split(line)
    else:
        assert words(line) == expected


@given(st.lists(st.text(), max_size=5))
def test_whatever_is_quoted_arrives_as_it_was(texts: list[str]) -> None:
    assert words(" ".join(map(shlex.quote, texts))) == texts


@given(st.lists(st.text(min_size=1), max_size=5))
def test_nothing_quoted_is_expanded(texts: list[str]) -> None:
    def never(source: str) -> object:
        raise AssertionError(f"{source} was evaluated")

    quoted = "'" + "' '".join(text.replace("'", "") for text in texts) + "'"
    expand(split(quoted).words, never)


@pytest.mark.parametrize("line", ["'a b", '"a b', "x'", "admit r0 'a;"])
def test_a_quote_that_is_not_closed_is_an_error_that_shows_it(line: str) -> None:
    with pytest.raises(CommandError, match=r"the quote in .* is not closed: close it") as caught:
        split(line)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "expected", "silent"),
    [
        ("show;", ["show"], True),
        ("show ;  ", ["show"], True),
        ("admit r0 'a;'", ["admit", "r0", "a;"], False),
        ("admit r0 'a;';", ["admit", "r0", "a;"], True),
        ("admit r0 'a';", ["admit", "r0", "a"], True),
        ("admit r0 a;b", ["admit", "r0", "a;b"], False),
        ("admit r0 a\\;", ["admit", "r0", "a;"], False),
        (";", [], True),
        ("", [], False),
    ],
)
def test_a_semicolon_at_the_end_silences(line: str, expected: list[str], silent: bool) -> None:
    assert words(line) == expected
    assert split(line).silent is silent


def test_a_number_sign_in_a_line_is_a_letter() -> None:
    assert words("admit r0 #1 a#b") == ["admit", "r0", "#1", "a#b"]


def test_a_dollar_name_stands_for_its_value() -> None:
    assert values("admit r0 $ids", ids=[1, 2]) == ["admit", "r0", [1, 2]]


@pytest.mark.parametrize("word", ["'$x'", '"$x"', "\\$x", "a$x", "$x.y", "$", "$1", "$HOME/a", "x=$x", "${x}"])
def test_anything_else_with_a_dollar_is_text(word: str) -> None:
    assert values(f"admit {word}", x="value") == ["admit", *shlex.split(word)]


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("{1 + 2}", 3),
        ("{[i for i in range(3)]}", [0, 1, 2]),
        ("{ {1: {2: 3}}[1][2] }", 3),
        ("{'a b' + \"c}d\"}", "a bc}d"),
        ("{x['a {b']}", 5),
        ("{f'{y} {y}'}", "7 7"),
        ("{'\\'}' * 2}", "'}'}"),
        ("{'''a 'b' }'''}", "a 'b' }"),
    ],
)
def test_braces_hold_an_expression_with_spaces_strings_and_braces(word: str, value: object) -> None:
    assert values(f"admit {word}", x={"a {b": 5}, y=7) == ["admit", value]


@pytest.mark.parametrize("word", ["{}", "{a}b", "a{b}", "{a", "'{1}'", '"{1}"', "\\{1}", "x={1}"])
def test_other_braces_are_text(word: str) -> None:
    assert values(f"admit {word}") == ["admit", *shlex.split(word)]


def test_json_in_quotes_stays_json() -> None:
    assert values("""admit r0 '{"a": [1, 2]}'""") == ["admit", "r0", '{"a": [1, 2]}']


@pytest.mark.parametrize("word", ["$nothing", "{1 +}", "{1 / 0}", "{ }", "{nothing}", "{fail()}", "{None}", "$none"])
def test_an_expression_without_a_value_is_one_line_that_says_so(word: str) -> None:
    def fail() -> None:
        raise ValueError("one line\nand another")

    with pytest.raises(CommandError, match="quote it to pass the text itself") as caught:
        values(f"admit r0 {word}", none=None, fail=fail)
    assert str(caught.value).isprintable()


def test_a_value_is_never_an_option() -> None:
    (word,) = expand([Word("$x")], lambda source: "--all")
    assert not word.bare
    assert not is_expression("--all")

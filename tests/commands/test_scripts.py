from __future__ import annotations

from typing import Any

import pytest
from command_lines import run

from kvnb.commands import Outcome, run_script
from kvnb.errors import CommandError, KvnbError, OutOfBlocks, UnknownName
from kvnb.session import Session

SCRIPT = """
# the seed's pool
new 11

admit r0 ABCDEFGHIJKLMNO;
  # an indented comment
admit r1 ABCDEFGHIJxxxx
"""


def script(session: Session, text: str, **names: Any) -> list[Outcome]:
    return list(run_script(session, text, lambda source: eval(source, dict(names))))


def test_a_script_runs_line_by_line_without_comments_and_empty_lines(session: Session) -> None:
    outcomes = script(session, SCRIPT)
    assert [outcome.silent for outcome in outcomes] == [False, True, False]
    assert session.lab().block_table("r1") == (1, 2, 5, 6)


def test_a_number_sign_that_does_not_begin_a_line_is_text(session: Session) -> None:
    script(session, "new 11\nadmit r0 #1\nadmit r1 A#b")
    assert [step.command.args["text"] for step in session.lab().journal.steps] == ["#1", "A#b"]


@pytest.mark.parametrize(
    ("last", "kind", "says"),
    [
        ("admid r1 A", CommandError, "line 5: unknown verb 'admid'"),
        ("release r9", UnknownName, "line 5: no request r9"),
        (f"admit r1 {'z' * 37}", OutOfBlocks, "line 5: "),
        ("admit r1 'A", CommandError, "line 5: the quote in"),
        ("admit r1 $nothing", CommandError, "line 5: '$nothing' has no value here"),
    ],
)
def test_the_first_error_stops_names_its_line_and_what_ran_before_stays(
    session: Session, last: str, kind: type[KvnbError], says: str
) -> None:
    with pytest.raises(kind) as caught:
        script(session, f"# one\nnew 11\n\nadmit r0 ABCDE\n{last}\nadmit r2 A")
    assert str(caught.value).startswith(says)
    assert session.lab().requests == ("r0",)
    assert len(session.lab().journal) == 1


def test_results_come_one_by_one_so_that_each_is_shown_before_the_next_runs(session: Session) -> None:
    lines = run_script(session, "new 11\nadmit r0 ABC", lambda source: None)
    next(lines)
    assert session.lab().requests == ()
    next(lines)
    assert session.lab().requests == ("r0",)


def test_variables_have_values_in_a_script_too(session: Session) -> None:
    script(session, "new 11\nadmit r0 $ids\nadmit r1 {ids[1:]}", ids=[1, 2, 3])
    assert [step.command.args["tokens"] for step in session.lab().journal.steps] == [[1, 2, 3], [2, 3]]


@pytest.mark.parametrize("letter", ["\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x85"])
def test_only_a_newline_ends_a_line(session: Session, letter: str) -> None:
    script(session, f"new 11\r\nadmit r0 'a{letter}b'\r\n")
    assert session.lab().journal.steps[0].command.args["text"] == f"a{letter}b"


def test_an_empty_script_gives_nothing(session: Session) -> None:
    assert script(session, "\n# nothing\n\n") == []


def test_a_script_of_changes_gives_what_the_lines_give_one_by_one(session: Session) -> None:
    script(session, SCRIPT)
    other = Session()
    run(other, "new 11", "admit r0 ABCDEFGHIJKLMNO", "admit r1 ABCDEFGHIJxxxx")
    assert session.lab().digest == other.lab().digest

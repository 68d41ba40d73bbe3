from __future__ import annotations

import pytest
from front_ends import Shell

from kvnb.errors import UnknownName


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("bogus", "CommandError: unknown verb 'bogus'"),
        ("admit", "CommandError: admit needs NAME"),
        ("admit r1 'x", 'CommandError: the quote in "\'x" is not closed'),
        ("release r9", "UnknownName: no request r9: there is r0"),
        ("admit r0 A", "RequestError: r0 "),
        (f"admit r1 {'z' * 37}", "OutOfBlocks: r1 needs 10 blocks, 8 free"),
        (f"admit r1 {'z' * 41}", "NeverFits: "),
        ("reset", "ResetRefused: "),
        ("new 0", "SettingError: the number of blocks is 0"),
        ("load missing.jsonl", "JournalError: cannot read missing.jsonl"),
        ("admit r1 $nothing", "CommandError: '$nothing' has no value here"),
        ("release {'a' + chr(27) + chr(10) + chr(0x2028)}", "UnknownName: no request 'a\\x1b\\n\\u2028'"),
    ],
)
def test_an_error_is_one_line_and_changes_nothing(shell: Shell, line: str, says: str) -> None:
    shell.ok("%kvpool new 11;", "%kvpool admit r0 ABCDEFGH")
    digest = shell.lab.digest
    assert shell.error_line(f"%kvpool {line}").startswith(says)
    assert shell.lab.digest == digest


def test_an_error_in_a_cell_magic_is_one_line_too(shell: Shell) -> None:
    assert shell.error_line("%%kvpool\nnew 11\n\nadmid r0 A").startswith("CommandError: line 3: unknown verb 'admid'")
    assert shell.error_line("%%kvpool release r0\nbody").startswith("CommandError: release takes no text from the cell's body")
    assert shell.error_line("%%kvpool admit r0 A\nbody").startswith("CommandError: admit has a text on its line and one in")


def test_what_ran_before_an_error_in_the_cell_stays(shell: Shell) -> None:
    ran = shell.run("%kvpool new 11\n%kvpool admit r0 ABC\n%kvpool release r9\n%kvpool admit r1 ABC")
    assert isinstance(ran.error, UnknownName)
    assert len(ran.shown) == 2
    assert shell.lab.requests == ("r0",)


def test_what_ran_before_an_exception_of_the_users_own_stays(shell: Shell) -> None:
    ran = shell.run("%kvpool new 11\n%kvpool admit r0 ABC\n1 / 0\n%kvpool admit r1 ABC")
    assert isinstance(ran.error, ZeroDivisionError)
    assert shell.lab.requests == ("r0",)
    shell.ok("%kvpool admit r1 ABC")
    assert shell.lab.requests == ("r0", "r1")


def test_an_error_can_be_caught_in_python(shell: Shell) -> None:
    shell.ok(
        "%kvpool new 11;",
        "from kvnb import KvnbError\ntry:\n    %kvpool release r9\nexcept KvnbError as error:\n    caught = str(error)",
    )
    assert shell.ip.user_ns["caught"].startswith("no request r9")


def test_the_empty_cell_magic_is_refused_by_ipython_itself(shell: Shell) -> None:
    assert "cell body is empty" in shell.run("%%kvpool").printed

from __future__ import annotations

import pytest
from front_ends import Shell
from IPython.core.completer import provisionalcompleter
from kernels import Kernel

from kvnb.commands.table import VERBS


@pytest.fixture
def busy(shell: Shell) -> Shell:
    shell.ok("%kvpool new 11;\n%kvpool admit r0 ABCDEFGH;\n%kvpool admit 'my req' ABCDEFGHIJKL;")
    return shell


def completed(shell: Shell, cell: str) -> list[str]:
    """What the cell's text becomes, with the cursor at ``|``, for each completion offered."""
    cursor = cell.index("|")
    text = cell.replace("|", "")
    with provisionalcompleter():
        found = list(shell.ip.Completer.completions(text, cursor))
    return [text[: one.start] + one.text + text[one.end :] for one in found]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("%kvpool sho|", ["%kvpool show"]),
        ("  %kvpool sho|", ["  %kvpool show"]),
        ("x = %kvpool sho|", ["x = %kvpool show"]),
        ("a = 1\n%kvpool sho|", ["a = 1\n%kvpool show"]),
        ("%kvpool release |", ["%kvpool release r0", "%kvpool release 'my req'"]),
        ("%kvpool release 'my r|", ["%kvpool release 'my req'"]),
        ("%kvpool release r0 my|", ["%kvpool release r0 'my req'"]),
        ("%kvpool new 11 --free-o|", ["%kvpool new 11 --free-order"]),
        ("%kvpool sho| queue", ["%kvpool show queue"]),
        ("%kvpool sho|\n%kvpool usage", ["%kvpool show\n%kvpool usage"]),
        ("%%kvpool\nsho|", ["%%kvpool\nshow"]),
        ("%%kvpool\nnew 11\nrelease |", ["%%kvpool\nnew 11\nrelease r0", "%%kvpool\nnew 11\nrelease 'my req'"]),
        ("%%kvpool --into x\n  usa|", ["%%kvpool --into x\n  usage"]),
        ("%%kvpool adm|", ["%%kvpool admit"]),
        ("%kvpool append |", ["%kvpool append r0", "%kvpool append 'my req'"]),
        ("%kvpool evict |", ["%kvpool evict 1", "%kvpool evict 2", "%kvpool evict 3", ]),
    ],
)  # fmt: skip
def test_tab_offers_what_fits_at_the_cursor(busy: Shell, cell: str, expected: list[str]) -> None:
    assert completed(busy, cell)[: len(expected)] == expected
    assert len(completed(busy, cell)) <= len(expected) + 1


def test_tab_offers_all_verbs_in_the_order_of_the_table(busy: Shell) -> None:
    assert completed(busy, "%kvpool |") == [f"%kvpool {verb}" for verb in VERBS]


@pytest.mark.parametrize("cell", ["%%kvpool admit r9\nsho|", "sho|", "print('%kvpool sho|')", "%time sho|"])
def test_elsewhere_ipython_completes_as_ever(busy: Shell, cell: str) -> None:
    assert not any("show" in text for text in completed(busy, cell))


def test_python_names_are_still_completed(busy: Shell) -> None:
    busy.ok("variable_of_mine = 1")
    assert "variable_of_mine" in completed(busy, "variable_of|")


@pytest.fixture(scope="module")
def kernel(running_kernel: Kernel) -> Kernel:
    running_kernel.run("%load_ext kvnb", "%kvpool new 11;\n%kvpool admit r0 ABCDEFGH;\n%kvpool admit 'my req' ABCDEFGHIJKL;")
    return running_kernel


def test_a_kernel_completes_verbs_with_their_kind(kernel: Kernel) -> None:
    reply = kernel.complete("%kvpool ")
    assert reply["matches"] == list(VERBS)
    assert (reply["cursor_start"], reply["cursor_end"]) == (8, 8)
    assert {match["type"] for match in reply["metadata"]["_jupyter_types_experimental"]} == {"verb"}


def test_a_kernel_completes_names_with_spaces_from_where_their_quote_begins(kernel: Kernel) -> None:
    reply = kernel.complete("a = 1\n%kvpool release 'my r")
    assert reply["matches"] == ["'my req'"]
    assert (reply["cursor_start"], reply["cursor_end"]) == (22, 27)


def test_a_kernel_completes_in_the_middle_of_a_line(kernel: Kernel) -> None:
    reply = kernel.complete("%kvpool appe r0", 12)
    assert (reply["matches"], reply["cursor_start"], reply["cursor_end"]) == (["append"], 8, 12)


@pytest.mark.parametrize("code", ["%kvpool", "%%kvpool"])
def test_a_kernel_shows_help_on_inspection(kernel: Kernel, code: str) -> None:
    reply = kernel.inspect(code)
    assert reply["found"]
    assert "admit NAME [TEXT]" in reply["data"]["text/plain"]


def test_the_question_mark_shows_help_in_a_kernel(kernel: Kernel) -> None:
    assert kernel.run("%kvpool?").error is None

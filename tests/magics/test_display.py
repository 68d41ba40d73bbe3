from __future__ import annotations

import pytest
from front_ends import Shell

from kvnb import Lab
from kvnb.commands.table import VERBS
from kvnb.results import StepResult


def test_three_lines_in_one_cell_show_three_results_once_each(shell: Shell) -> None:
    ran = shell.ok("%kvpool new 11\n%kvpool admit r0 ABCDE\n%kvpool admit r1 FGHIJ")
    assert [text.split(":")[0] for text in ran.texts] == ["pool", "r0", "r1"]
    assert ran.printed == "", "nothing is shown again as Out[n]"
    assert "Out" not in shell.ip.user_ns or not shell.ip.user_ns["Out"]


@pytest.mark.parametrize("setting", ["all", "last", "last_expr", "none", "last_expr_or_assign"])
def test_a_result_is_shown_once_however_ipython_shows_values(shell: Shell, setting: str) -> None:
    shell.ip.ast_node_interactivity = setting
    ran = shell.ok("%kvpool new 11\n%kvpool show", "1\n%kvpool usage\n%kvpool usage")
    assert len(ran.shown) == 2
    assert "usage" not in ran.printed


def test_other_values_of_a_cell_are_shown_as_ever(shell: Shell) -> None:
    assert "Out[2]: 42" in shell.ok("%kvpool new 11;\n42").printed


@pytest.mark.parametrize(
    "cell",
    [
        "if True:\n    %kvpool usage",
        "for _ in range(1):\n    %kvpool usage",
        "def look():\n    %kvpool usage\nlook()",
        "%%kvpool\nusage",
        "kvpool usage",
        "%time %kvpool usage",
        "get_ipython().run_line_magic('kvpool', 'usage')",
    ],
)
def test_a_result_is_shown_once_wherever_the_magic_stands(shell: Shell, cell: str) -> None:
    shell.ok("%kvpool new 11")
    ran = shell.ok(cell)
    assert ran.texts == ["usage 0.00 = 1 - 10/10 free; cached 0 blocks, 0 of them free; free and empty 10"]
    assert "Out[" not in ran.printed


def test_an_assigned_result_is_the_object_that_python_gives(shell: Shell) -> None:
    shell.ok("%kvpool new 11;")
    ran = shell.ok("r = %kvpool admit r0 ABCDEFGHIJKLMNO\nq = %kvpool show queue\nt = %kvpool log;")
    names = shell.ip.user_ns
    assert isinstance(names["r"], StepResult)
    assert (names["r"].num_tokens, names["r"].hit_blocks, names["r"].new_blocks) == (15, (), (1, 2, 3, 4))
    assert names["r"].block_table == (1, 2, 3, 4)
    assert names["q"].value == (5, 6, 7, 8, 9, 10)
    assert list(names["t"]["verb"]) == ["admit"]
    assert len(ran.shown) == 2, "an assigned result is shown like any other; the ; silenced the last"


def test_new_gives_the_lab(shell: Shell) -> None:
    shell.ok("x = %kvpool new 11;")
    assert isinstance(shell.ip.user_ns["x"].value, Lab)


@pytest.mark.parametrize(
    "cell", ["%kvpool new 11;", "%kvpool new 11 ; ", "%%kvpool ;\nnew 11\nusage", "%%kvpool\nnew 11;\nusage;"]
)
def test_a_semicolon_silences(shell: Shell, cell: str) -> None:
    ran = shell.ok(cell)
    assert ran.shown == []
    assert ran.printed == ""
    assert shell.lab.behaviour.num_blocks == 11


def test_a_script_shows_every_result_and_into_keeps_them(shell: Shell) -> None:
    ran = shell.ok("%%kvpool --into results\nnew 11\n# a comment\nadmit r0 ABCDE\nrelease r0;")
    results = shell.ip.user_ns["results"]
    assert len(results) == 3
    assert results[1].block_table == (1, 2)
    assert [text.split(":")[0] for text in ran.texts] == ["pool", "r0"]


def test_into_keeps_the_result_of_a_body_too(shell: Shell) -> None:
    shell.ok("%kvpool new 11;", "%%kvpool admit r0 --into result\nABCDE")
    assert shell.ip.user_ns["result"].block_table == (1, 2)


@pytest.mark.parametrize("target", ["", "1x", "a.b", "'a b'"])
def test_into_needs_a_variables_name(shell: Shell, target: str) -> None:
    assert "--into needs the name of a variable" in shell.error_line(f"%%kvpool --into {target}\nnew 11")


def test_the_magic_alone_shows_the_pool(shell: Shell) -> None:
    assert shell.ok("%kvpool new 11", "%kvpool").texts[0].startswith("pool: 11 blocks of 4 tokens, step 0")


def test_every_result_has_text_and_html_with_all_names_escaped(shell: Shell) -> None:
    name = "<script>alert(1)</script>&\"'"
    shell.ok(f"name = {name!r}", "%kvpool new 40 --name $name")
    for line in ["admit $name $name", "append $name $name", "preempt $name", "admit $name", "show", "show tables", "show map",
                 "show queue", "show block 1", "show request $name", "usage", "check", "metrics", "log", "log events", "at 1",
                 "save run.jsonl", "replay", "verify", "list", "use $name", "release $name", "undo", "reset -h", "evict 3",
                 "load run.jsonl --copy", "close $name"]:  # fmt: skip
        (bundle,) = shell.ok(f"%kvpool {line}").shown
        assert set(bundle) == {"text/plain", "text/html"}, line
        assert bundle["text/plain"], line
        assert "<script" not in bundle["text/html"], line
        assert len(bundle["text/html"]) < 20_000, line


def test_help_can_be_asked_for_in_every_way(shell: Shell) -> None:
    assert "%kvpool VERB ..." in shell.ok("%kvpool -h").texts[0]
    assert "admit NAME [TEXT]" in shell.ok("%kvpool admit -h").texts[0]
    page = shell.ip.object_inspect_text("%kvpool", detail_level=0)
    for verb in VERBS.values():
        assert f"%kvpool {verb.usage}" in page
        assert verb.help in page

from __future__ import annotations

import numpy as np
import pytest
from front_ends import Shell
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

BODIES = [
    "ABC",
    '{"a": 1, "b": [2, {"c": null}]}',
    "$HOME and ${HOME} and $x",
    "{x} {{x}} {1 + 1}",
    "it's \"quoted\" 'twice'",
    "back\\slash \\n \\",
    "<script>alert(1)</script>",
    "one\ntwo\n\n  indented\n\ttab",
    "# not a comment",
    "%kvpool release r0\n%%kvpool\n!ls\n?",
    "--all -h -- ;",
    "semicolon;",
    "é 漢字 🙂 \u202e \u2028 \x1b[31m",
    "  leading and trailing  ",
    ">>> 1 + 1\n2\n>>> for i in x:\n...     pass",
    "In [1]: a\nOut[1]: b",
    "... and so on",
]


@pytest.mark.parametrize("body", BODIES)
def test_the_body_of_a_cell_arrives_unchanged(shell: Shell, body: str) -> None:
    shell.ok("x = 5", "%kvpool new 400;", f"%%kvpool admit r0\n{body}")
    assert shell.last_text == body


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), min_size=1, max_size=40))
def test_any_body_arrives_unchanged(shell: Shell, body: str) -> None:
    # A body of nothing but space is IPython's own error.
    if body.strip() and not body.endswith("\n"):
        shell.ok("%kvpool new 400;", f"%%kvpool admit r0\n{body}")
        assert shell.last_text == body


def test_a_body_arrives_from_python_and_below_another_magic_too(shell: Shell) -> None:
    shell.ok("%kvpool new 40;", "get_ipython().run_cell_magic('kvpool', 'admit r0', 'one\\ntwo')")
    assert shell.last_text == "one\ntwo"
    shell.ok("%%time\n%%kvpool admit r1\nthree")
    assert shell.last_text == "three"


def test_a_body_can_be_appended(shell: Shell) -> None:
    shell.ok("%kvpool new 11;", "%kvpool admit r0 A", "%%kvpool append r0\n{B}")
    assert shell.last_text == "{B}"


@pytest.mark.parametrize(
    "text", ['{"a": 1}', "$HOME", "{x}", "a {x} b", "it's", 'say "hi"', "a\\b", "<script>", "🙂 é", "a;", "-x", "a?"]
)
def test_a_quoted_text_on_the_line_arrives_unchanged(shell: Shell, text: str) -> None:
    quoted = "'" + text.replace("'", "'\"'\"'") + "'"
    shell.ok("x = 5", "%kvpool new 11;", f"%kvpool admit r0 {quoted}")
    assert shell.last_text == text


def test_nothing_inside_a_text_is_expanded(shell: Shell) -> None:
    shell.ok("x = 5", "%kvpool new 11;", "%kvpool admit r0 'a $x {x}'")
    assert shell.last_text == "a $x {x}"
    shell.ok("%kvpool append r0 a{x}$x")
    assert shell.last_text == "a{x}$x"


@pytest.mark.parametrize(
    ("value", "expected"),
    [([7, 8], [7, 8]), (np.array([7, 8], dtype=np.uint16), [7, 8]), (range(2), [0, 1]), (np.arange(3)[::2], [0, 2])],
)
def test_a_variable_can_hold_tokens(shell: Shell, value: object, expected: list[int]) -> None:
    shell.ok("%kvpool new 11;")
    shell.ip.user_ns["value"] = value
    shell.ok("%kvpool admit r0 $value", "%kvpool admit r1 --tokens $value", "%kvpool admit r2 {value[:]}")
    assert [step.command.args["tokens"] for step in shell.lab.journal.steps] == [expected] * 3
    assert all(type(token) is int for token in shell.lab.journal.steps[0].command.args["tokens"])


@pytest.mark.parametrize("value", ["np.ones(3)", "np.ones((2, 2), dtype=int)", "3.5", "[None]", "{'a': 1}", "object()", "[-1]"])
def test_a_value_that_is_neither_text_nor_tokens_is_one_line(shell: Shell, value: str) -> None:
    shell.ok("import numpy as np", f"value = {value}", "%kvpool new 11;")
    assert shell.error_line("%kvpool admit r0 $value").startswith("CommandError: tokens are ")
    assert len(shell.lab.journal) == 0


def test_variables_and_expressions_are_those_of_the_notebook(shell: Shell) -> None:
    shell.ok("n, name, prompt = 11, 'my request', 'a text'", "%kvpool new $n;", "%kvpool admit $name {prompt.upper() * 2};")
    assert shell.lab.requests == ("my request",)
    assert shell.last_text == "A TEXTA TEXT"


def test_inside_a_function_its_own_names_come_first(shell: Shell) -> None:
    shell.ok(
        "prompt = 'global'",
        "%kvpool new 40;",
        "def go(prompt, n):\n    %kvpool admit {'r' + str(n)} $prompt\n    %kvpool append {'r' + str(n)} {prompt[:n]}",
        "go('local', 2)",
    )
    assert [step.command.args["text"] for step in shell.lab.journal.steps] == ["local", "lo"]


def test_expressions_may_hold_comprehensions_over_the_functions_names(shell: Shell) -> None:
    shell.ok("%kvpool new 11;", "def go(ids):\n    %kvpool admit r0 {[i + n for i in ids for n in ids]}", "go([1, 2])")
    assert shell.lab.journal.steps[-1].command.args["tokens"] == [2, 3, 3, 4]


@pytest.mark.parametrize(
    "name", ["a b", "it's", 'say "hi"', "é漢🙂", "<script>", "$x", "{x}", "-x", "#1", "a;", "a\tb", "--all", "\\"]
)
def test_any_name_works_with_every_verb(shell: Shell, name: str) -> None:
    typed = "'" + name.replace("'", "'\"'\"'") + "'"
    shell.ok(
        f"%kvpool new 40 --name {typed}", f"%kvpool admit {typed} ABCDE --pool {typed}", f"%kvpool append {typed} F",
        f"%kvpool show request {typed}", f"%kvpool preempt {typed}", f"%kvpool admit {typed}", f"%kvpool release {typed}",
        "%kvpool undo", f"%kvpool use {typed}", "%kvpool list", "%kvpool check", "%kvpool metrics", "%kvpool log",
        f"%kvpool save {typed}.jsonl", f"%kvpool load {typed}.jsonl --name {typed}2", f"%kvpool verify {typed}.jsonl",
        f"%kvpool close {typed}2",
    )  # fmt: skip
    assert list(shell.session.labs) == [name]
    assert shell.lab.requests == (name,)

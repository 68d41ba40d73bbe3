"""Records of what is no plain cell: clicks in a dashboard, which belong to the next one; odd texts; a reload half way."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from helpers import needs
from kernels import Kernel, unpacked

needs("anywidget")
LAB = "get_ipython()._kvnb_extension.magics.session.lab()"
CONTROLS = "get_ipython()._kvnb_extension.magics.session.panels['pool'].dashboard.controls"


@pytest.fixture
def kernel(running_kernel: Kernel) -> Kernel:
    """A kernel with a pool and its dashboard, as in a notebook that somebody looks at."""
    running_kernel.run("%reload_ext kvnb", "%kvpool new 11 --device none\n%kvpool admit r0 ABCDE")
    running_kernel.run("%kvpool dashboard", cell_id="a")
    return running_kernel


def value(kernel: Kernel, expression: str) -> Any:
    """The value of an expression, asked for as a page does, which is no cell."""
    reply = kernel.client.execute("", silent=True, user_expressions={"it": expression}, reply=True, timeout=60)
    return ast.literal_eval(reply["content"]["user_expressions"]["it"]["data"]["text/plain"])


def click(kernel: Kernel, verb: str) -> None:
    """What a page sends when a button is clicked."""
    content = {"comm_id": value(kernel, f"{CONTROLS}.buttons['{verb}'].model_id")}
    content["data"] = {"method": "custom", "content": {"event": "click"}}
    kernel.client.shell_channel.send(kernel.client.session.msg("comm_msg", content))


def test_a_click_is_a_step_without_a_cell(kernel: Kernel) -> None:
    click(kernel, "release")
    assert value(kernel, f"len({LAB}.journal)") == 2
    assert value(kernel, f"({LAB}.journal.steps[1].cell, dict({LAB}.journal.steps[1].origin))") == (None, {"clicked": True})
    assert value(kernel, f"list({LAB}.journal.to_frame().origin)") == ["", "clicked"]
    assert value(kernel, f"list({LAB}.journal.to_frame().cell)[1]") == ""


def test_the_next_cell_that_runs_has_it_in_its_record_whatever_it_does(kernel: Kernel) -> None:
    before = value(kernel, f"{LAB}.digest")
    click(kernel, "release")
    click(kernel, "undo")
    (record,) = kernel.run("1 + 1").records
    assert record["previous"] == before
    assert [(step["command"]["verb"], step["origin"]) for step in unpacked(record)] == [
        ("release", {"clicked": True}),
        ("undo", {"clicked": True}),
    ]
    assert kernel.run("1 + 1").records == [], "and no other one"


def test_a_cell_with_steps_of_its_own_tells_them_from_those_that_were_clicked_before(kernel: Kernel) -> None:
    click(kernel, "release")
    (record,) = kernel.run("%kvpool admit r1 ABC").records
    assert [(step["command"]["verb"], step.get("origin")) for step in unpacked(record)] == [
        ("release", {"clicked": True}),
        ("admit", None),
    ]


def test_the_journal_of_a_notebook_with_clicks_can_be_saved_loaded_and_verified(kernel: Kernel) -> None:
    click(kernel, "release")
    said = kernel.run("%kvpool save clicked.jsonl", "%kvpool load clicked.jsonl --name again", "%kvpool verify").texts
    assert "2 steps" in said[0]
    assert value(kernel, f"dict({LAB}.journal.steps[1].origin)") == {"clicked": True}


def test_a_prompt_that_no_message_can_have_is_in_the_record_all_the_same(kernel: Kernel) -> None:
    ran = kernel.run("%kvpool admit half {'ab\\ud800'}")
    assert ran.error is None
    (record,) = ran.records
    assert "packed" in record
    assert unpacked(record)[0]["command"]["name"] == "half"


def test_a_cell_that_reloads_the_extension_in_its_middle_leaves_what_it_did_before_and_after(kernel: Kernel) -> None:
    cell = "%kvpool new 11 --device none\n%kvpool admit a AB\n%reload_ext kvnb\n%kvpool new 12 --device none\n%kvpool admit b CD"
    before, after = kernel.run(cell).records
    assert [step["command"]["name"] for record in (before, after) for step in unpacked(record)] == ["a", "b"]
    assert [record["header"]["behaviour"]["num_blocks"] for record in (before, after)] == [11, 12]
    assert before["source"] == after["source"]

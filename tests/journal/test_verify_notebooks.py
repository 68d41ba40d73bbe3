"""An executed notebook is verified by itself: what holds, what is only said, and what fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT, seed_lab
from made_notebooks import RECORD, MadeNotebook

from kvnb.errors import JournalError
from kvnb.journal import records
from kvnb.journal.verification import Verification, verify_file

NEW, A, B, C = "%kvpool new 11", "%kvpool admit a ABCDEFG", "%kvpool admit b ABCDxx", "%kvpool release a"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """Where a notebook is saved."""
    return tmp_path / "lesson.ipynb"


def verified(notebook: MadeNotebook, here: Path) -> Verification:
    return verify_file(notebook.save(here))


def said(verification: Verification) -> list[str]:
    """All findings, and the first differences."""
    found = [finding.says for finding in verification.findings]
    for checked in verification.journals:
        found += [finding.says for finding in checked.findings]
        found += [f"{d.why} at step {d.number}"] if (d := checked.verdict.difference) else []
    return found


def refusal(notebook: MadeNotebook, here: Path) -> str:
    with pytest.raises(JournalError) as caught:
        verified(notebook, here)
    assert str(caught.value).isprintable()
    return str(caught.value)


# --- what holds ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ids", [True, False])
def test_a_notebook_that_was_run_from_top_to_bottom_holds_and_nothing_is_odd(here: Path, ids: bool) -> None:
    notebook = MadeNotebook(NEW, A, B, C, ids=ids)
    found = verified(notebook, here)
    (checked,) = found.journals
    assert (found.holds, found.kind, said(found)) == (True, "notebook", [])
    assert (checked.journal_id, checked.journal.digest) == ("pool#1", notebook.lab.digest)
    assert [cell.place for cell in checked.cells] == [1, 2, 3, 4]
    assert found.to_dict()["journals"][0]["verified"] == 3


def test_several_pools_and_pools_that_were_replaced_are_told_apart(here: Path) -> None:
    notebook = MadeNotebook(NEW, f"{A}\n{NEW}\n{A}", f"{NEW} --name b\n{A}\n{B} --pool pool", "%kvpool close b", C)
    found = verified(notebook, here)
    assert (found.holds, said(found)) == (True, [])
    assert [(checked.journal_id, len(checked.journal)) for checked in found.journals] == [
        ("pool#1", 1),
        ("pool#2", 3),
        ("b#3", 1),
    ]


def test_a_journal_that_was_loaded_stands_in_the_record_of_its_cell(here: Path, tmp_path: Path) -> None:
    file = seed_lab().save(tmp_path / "run.jsonl")
    found = verified(MadeNotebook(f"%kvpool load {file}", "%kvpool release --all"), here)
    assert (found.holds, said(found)) == (True, [])
    assert [len(checked.journal) for checked in found.journals] == [7]


def test_a_record_of_many_steps_is_packed_and_holds(here: Path) -> None:
    lines = [f"%kvpool admit r{n} ABC\n%kvpool release r{n}" for n in range(150)]
    notebook = MadeNotebook("\n".join([NEW, *lines]))
    assert "packed" in notebook.records(0)[0]
    assert verified(notebook, here).holds


def test_a_cell_that_failed_holds_with_what_it_did(here: Path) -> None:
    found = verified(MadeNotebook(NEW, f"{A}\n%kvpool release nobody\n{B}", C), here)
    assert (found.holds, said(found)) == (True, [])


@pytest.mark.parametrize("name", ["01-pool", "02-memory", "03-watch"])
def test_the_notebooks_of_the_repository_hold_and_nothing_in_them_is_odd(name: str) -> None:
    found = verify_file(ROOT / "notebooks" / f"{name}.ipynb")
    assert (found.holds, said(found)) == (True, [])
    assert len(found.journals) >= 3


# --- what is said, and holds ---------------------------------------------------------------------------------


def test_cells_that_ran_out_of_order_are_named(here: Path) -> None:
    notebook = MadeNotebook(NEW)
    notebook.write(C)
    notebook.write(A)
    notebook.run(2, 1)
    found = verified(notebook, here)
    assert found.holds
    assert said(found) == ["pool#1: cell 2 [3] ran after cell 3 [2], which stands below it"]


def test_a_click_is_no_fault(here: Path) -> None:
    notebook = MadeNotebook(NEW, A)
    with notebook.lab.clicked():
        notebook.lab.release("a")
        notebook.lab.undo()
    notebook.run(notebook.write("1 + 1"))
    found = verified(notebook, here)
    assert (found.holds, said(found)) == (True, ["pool#1: steps 2-3 are clicked, not made by a cell"])


def test_records_of_an_earlier_kernel_hold_where_the_later_one_did_the_same(here: Path) -> None:
    notebook = MadeNotebook(NEW, A, "1 + 1", B, C)
    notebook.restart()
    notebook.run(2, 2, 2, 2, 0, 1)
    found = verified(notebook, here)
    assert found.holds
    assert said(found) == [
        "pool#1: cell 4 [4] goes on from cell 2 [6], but ran before it: the kernel was started again, or the pool made again"
    ]


def test_two_histories_of_two_kernels_are_both_verified(here: Path) -> None:
    notebook = MadeNotebook(NEW, A, B)
    notebook.restart()
    for source in (NEW, B, A):
        notebook.run(notebook.write(source))
    found = verified(notebook, here)
    assert found.holds
    assert [(checked.journal_id, [cell.place for cell in checked.cells]) for checked in found.journals] == [
        ("pool#1", [1, 2, 3]), ("pool#1", [4, 5, 6]),
    ]  # fmt: skip


def test_the_first_cell_run_again_makes_a_pool_that_the_old_steps_still_follow(here: Path) -> None:
    notebook = MadeNotebook(NEW, A, B)
    notebook.run(0)
    found = verified(notebook, here)
    assert found.holds
    assert "the steps of pool#1 in 2 cells from cell 2 [2] on follow those of pool#2: they are of an earlier run" in said(found)


def test_a_copied_cell_is_named(here: Path) -> None:
    notebook = MadeNotebook(NEW, A)
    notebook.cells.append({**notebook.cells[1], "id": "another"})
    found = verified(notebook, here)
    assert found.holds
    assert said(found) == [
        "the output of cell 3 [2] is that of cell 2 [2]",
        "pool#1: step 1 is in cells 2 and 3: a copy, or the same done again",
    ]


def test_a_cell_without_history_and_one_that_was_not_run_are_named(here: Path) -> None:
    notebook = MadeNotebook(NEW)
    notebook.run(notebook.write(A), history=False)
    notebook.write(B)
    found = verified(notebook, here)
    assert found.holds
    assert said(found) == [
        "cell 2 ran outside the history: whether what stands in it is what ran cannot be told",
        "cell 3 has not been run",
    ]


# --- what fails ----------------------------------------------------------------------------------------------


def test_steps_that_are_in_no_cell_are_a_gap(here: Path) -> None:
    notebook = MadeNotebook(NEW, A, f"{B}\n{C}\n%kvpool undo", "%kvpool reset", "%kvpool release b")
    del notebook.cells[2]
    found = verified(notebook, here)
    assert not found.holds
    assert "pool#1: steps 2-4 are in no cell, so that what follows in cell 4 [5] cannot be checked" in said(found)


def test_a_cell_run_again_in_place_of_its_first_run_leaves_a_gap_and_says_why(here: Path) -> None:
    notebook = MadeNotebook(NEW, A, "%kvpool append a X")
    notebook.run(2)
    found = verified(notebook, here)
    assert not found.holds
    assert said(found) == [
        "cell 3 [4] was run again: what its run before did is in no cell",
        "pool#1: step 2 is in no cell, so that what follows in cell 3 [4] cannot be checked",
    ]


def test_an_edited_cell_is_stale(here: Path) -> None:
    notebook = MadeNotebook(NEW, A, B)
    notebook.cells[1]["source"] += " "
    found = verified(notebook, here)
    assert (found.holds, said(found)) == (False, ["cell 2 [2] is stale: what stands in it is not what ran"])


def test_a_source_in_lines_is_the_same_source(here: Path) -> None:
    notebook = MadeNotebook(f"{NEW}\n{A}\n")
    notebook.cells[0]["source"] = notebook.cells[0]["source"].splitlines(keepends=True)
    assert said(verified(notebook, here)) == []


def test_a_pool_that_was_made_in_no_cell_fails(here: Path) -> None:
    notebook = MadeNotebook(NEW, A, B)
    del notebook.cells[0]
    found = verified(notebook, here)
    assert not found.holds
    says = "pool#1: its pool was made in no cell, so that its steps in 2 cells from cell 1 [2] on cannot be checked"
    assert said(found) == [says]


def test_steps_that_follow_what_no_cell_did_are_of_another_run(here: Path) -> None:
    notebook = MadeNotebook(NEW, A, C)
    notebook.restart()
    notebook.cells[1]["source"] = B
    notebook.run(0, 1)
    found = verified(notebook, here)
    assert not found.holds
    says = "pool#1: step 2 in cell 3 [3] does not follow what the other cells did: it is of another run"
    assert said(found) == [f"{says}, whose steps before it are in no cell"]


def test_the_last_record_taken_out_is_missed_by_its_cells_source(here: Path) -> None:
    notebook = MadeNotebook(NEW, f"x = {A}\nif False:\n    {B}\n%kvpool append a X;", B)
    notebook.drop(1)
    notebook.drop(2)
    found = verified(notebook, here)
    assert not found.holds
    makes = "its source makes 0 pools and 2 steps at least, its output has the record of 0 pools and 0 steps"
    assert f"cell 2 [2]: {makes}" in said(found)


def test_a_changed_step_is_named_with_its_cell_and_what_a_fresh_pool_does(here: Path) -> None:
    notebook = MadeNotebook(NEW, A, B, C)
    notebook.records(2)[0]["steps"][0]["command"]["text"] = "ABCDEFGH"
    found = verified(notebook, here)
    assert not found.holds
    assert said(found) == [
        "cell 3 [3]: the digest chain breaks at step 2, what stands there was changed",
        "the events differ at step 2",
    ]


def test_a_history_with_right_digests_that_no_pool_would_make_differs_at_its_step(here: Path) -> None:
    notebook = MadeNotebook(NEW, A)
    lab = notebook.lab
    forged = lab.journal.next_step(lab.journal.steps[0].command._replace(verb="release", args={"names": ["a"]}), [])
    lab.journal.steps.append(forged)
    notebook.run(notebook.write("1"))
    assert said(verified(notebook, here)) == ["the events differ at step 2"]


# --- what cannot be read -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ({"schema": 2}, "its record has schema 2, this kvnb reads 1: pip install -U kvnb"),
        ({"journal": None}, "its record does not say which journal it goes on with"),
        ({"previous": "0" * 63}, "its record does not say which journal it goes on with"),
        ({"previous": "0" * 64}, "the header in its record and the digest before it differ"),
        ({"header": 3}, "the header in its record is not an object"),
        ({"header": {}}, "the header in its record has schema None"),
        ({"steps": None}, "not a list of steps"),
        ({"steps": [1]}, "not a list of steps"),
        ({"steps": [{}]}, "do not begin with the number of a step"),
        ({"steps": [{"step": 1}]}, "step 1 in its record has another number, or no digest"),
        ({"steps": [{"step": 1, "digest": "0" * 64}]}, "step 1 is not a step"),
        ({"steps": [{"step": 1, "digest": "0" * 64, "command": {"verb": "reset"}, "events": [["fly"]]}]}, "step 1 is not a step"),
        ({"source": 5}, "its record does not say of which cell it is"),
        ({"execution_count": "1\x1b[31m"}, "its record does not say of which cell it is"),
    ],
)  # fmt: skip
def test_a_malformed_record_is_refused_in_one_line_with_its_cell(here: Path, damage: dict[str, Any], says: str) -> None:
    notebook = MadeNotebook("1", NEW)
    notebook.records(1)[0].update(damage)
    line = refusal(notebook, here)
    assert "cell 2: " in line
    assert says in line


@pytest.mark.parametrize("damage", [{"packed": "!"}, {"packed": "AAAA"}, {"count": 3}, {"first": "x"}, {"packed": None}])
def test_packed_steps_that_are_not_what_they_announce_are_refused(here: Path, damage: dict[str, Any]) -> None:
    notebook = MadeNotebook("\n".join([NEW, A, *["%kvpool append a X\n%kvpool undo"] * 110]))
    notebook.records(0)[0].update(damage)
    assert "the packed steps in its record" in refusal(notebook, here)


def test_packed_steps_beyond_all_measure_are_refused(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = MadeNotebook("\n".join([NEW, A, *["%kvpool append a X\n%kvpool undo"] * 110]))
    monkeypatch.setattr(records, "LARGEST", 1000)
    assert "cannot be read" in refusal(notebook, here)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"cells": []}', '{"nbformat": 3, "cells": []}', "[" * 100_000])
def test_a_file_that_is_no_notebook_is_refused_in_one_line(here: Path, content: str) -> None:
    here.write_text(content)
    with pytest.raises(JournalError, match=r"lesson\.ipynb"):
        verify_file(here)


@pytest.mark.parametrize("cell", [1, {}, {"cell_type": "code"}, {"cell_type": "code", "source": 5, "outputs": []}])
def test_a_damaged_cell_is_refused_in_one_line(here: Path, cell: Any) -> None:
    here.write_text(json.dumps({"nbformat": 4, "cells": [cell]}))
    with pytest.raises(JournalError, match=r"a cell in it is none of nbformat 4"):
        verify_file(here)


def test_a_notebook_that_was_not_run_is_refused_with_the_way_out(here: Path) -> None:
    notebook = MadeNotebook()
    notebook.write(NEW)
    assert "has no record of a pool: run its cells with %load_ext kvnb" in refusal(notebook, here)


def test_records_are_found_under_the_name_that_cells_give_them() -> None:
    assert records.MIME == RECORD

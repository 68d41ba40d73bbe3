"""Whatever is done in whatever cells: the notebook verifies, and whatever is taken out of it or changed is found and named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from made_notebooks import MadeNotebook

from kvnb.errors import JournalError
from kvnb.journal.stories import Finding
from kvnb.journal.verification import Verification, verify_file

names = st.sampled_from(["r0", "r1", "r2", "r3"])
texts = st.builds(lambda base, n: (base * n)[:n], st.sampled_from(["a", "ab", "aab"]), st.integers(1, 20))
pools = st.sampled_from(["", "", "", " --pool b"])


def line(pattern: str, *parts: st.SearchStrategy[Any]) -> st.SearchStrategy[str]:
    return st.builds(lambda pool, *values: f"%kvpool {pattern.format(*values)}{pool}", pools, *parts)


commands = st.one_of(
    line("admit {} {}", names, texts), line("admit {} {}", names, texts), line("append {} {}", names, texts),
    line("append {} a --draft {}", names, texts), line("accept {} 1", names), line("release {}", names),
    line("admit {} {} --chunk 3", names, texts), line("prefill {}", names), line("preempt {}", names), line("admit {}", names),
    line("undo"), line("evict {}", st.integers(1, 8)), line("reset"), line("release --all"),
    st.builds("%kvpool new {} --block-size 2".format, st.integers(9, 12)),
    st.builds("%kvpool new {} --name b --free-to back".format, st.integers(9, 10)), st.just("%kvpool show"), st.just("1 + 1"),
)  # fmt: skip
cells = st.lists(st.lists(commands, min_size=1, max_size=4).map("\n".join), min_size=1, max_size=6)


def executed(sources: list[str]) -> MadeNotebook:
    return MadeNotebook("%kvpool new 10 --block-size 2\n%kvpool new 10 --name b\n%kvpool use pool", *sources)


def findings(verification: Verification) -> list[Finding]:
    return [*verification.findings, *(finding for checked in verification.journals for finding in checked.findings)]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("notebook") / "lesson.ipynb"


@given(cells)
@settings(max_examples=60, deadline=None)
def test_a_notebook_that_was_run_verifies_with_all_its_steps(here: Path, sources: list[str]) -> None:
    notebook = executed(sources)
    found = verify_file(notebook.save(here))
    assert (found.holds, findings(found)) == (True, [])
    recorded = sum(len(record["steps"]) for index in range(len(notebook.cells)) for record in notebook.records(index))
    assert sum(len(checked.journal) for checked in found.journals) == recorded
    told = {checked.journal_id: checked.journal.digest for checked in found.journals}
    assert all(told[lab.journal_id] == lab.digest for lab in notebook.session.labs.values())


def assert_found(notebook: MadeNotebook, here: Path, index: int) -> None:
    """The notebook does not hold, and what is said names the cell, or a step that it made."""
    path, refused = notebook.save(here), ""
    try:
        found = verify_file(path)
    except JournalError as error:
        refused = str(error)
    if refused:
        assert f"cell {index + 1}: " in refused
    else:
        assert not found.holds
        assert index + 1 in [place for finding in findings(found) if finding.fails for place in finding.cells]


def choose(data: st.DataObject, notebook: MadeNotebook, what: str = "") -> tuple[int, int]:
    """The cell and the place of a record; with ``what`` of one that has any of these."""
    there = [(i, j) for i in range(len(notebook.cells)) for j, r in enumerate(notebook.records(i)) if not what or r[what]]
    assume(there)
    return data.draw(st.sampled_from(there))


def failed(notebook: MadeNotebook, index: int) -> bool:
    return any(output["output_type"] == "error" for output in notebook.cells[index]["outputs"])


@given(cells, st.data())
@settings(max_examples=60, deadline=None)
def test_a_record_that_was_taken_out_is_found(here: Path, sources: list[str], data: st.DataObject) -> None:
    notebook = executed(sources)
    index, which = choose(data, notebook)
    # How far a cell came that failed, only its record says: what follows in other cells can still show that it is missing.
    assume(not failed(notebook, index))
    notebook.drop(index, which)
    assert_found(notebook, here, index)


@given(cells, st.data())
@settings(max_examples=40, deadline=None)
def test_a_record_that_was_taken_out_of_a_failed_cell_leaves_a_gap(here: Path, sources: list[str], data: st.DataObject) -> None:
    notebook = executed([*sources, "%kvpool use pool", "%kvpool admit last a\n%kvpool release nobody", "%kvpool release last"])
    index = len(notebook.cells) - 2
    assume(failed(notebook, index) and notebook.records(index) and notebook.records(index + 1))
    number = notebook.records(index)[0]["steps"][-1]["step"]
    notebook.drop(index)
    found = verify_file(notebook.save(here))
    assert not found.holds
    assert any(finding.kind == "gap" and finding.steps[1] == number for finding in found.findings if finding.steps)


@given(cells, st.data())
@settings(max_examples=60, deadline=None)
def test_a_step_that_was_taken_out_is_found(here: Path, sources: list[str], data: st.DataObject) -> None:
    notebook = executed(sources)
    index, which = choose(data, notebook, "steps")
    steps = notebook.records(index)[which]["steps"]
    number = data.draw(st.integers(0, len(steps) - 1))
    assume(not failed(notebook, index) or number < len(steps) - 1)
    del steps[number]
    assert_found(notebook, here, index)


def changed_command(step: dict[str, Any]) -> None:
    step["command"]["name"] = "rX"


def changed_event(step: dict[str, Any]) -> None:
    step["events"].append(["front", [1]])


def changed_digest(step: dict[str, Any]) -> None:
    step["digest"] = step["digest"][::-1]


def changed_number(step: dict[str, Any]) -> None:
    step["step"] += 1


@given(cells, st.data())
@settings(max_examples=60, deadline=None)
def test_a_step_that_was_changed_is_found(here: Path, sources: list[str], data: st.DataObject) -> None:
    notebook = executed(sources)
    change = data.draw(st.sampled_from([changed_command, changed_event, changed_digest, changed_number]))
    index, which = choose(data, notebook, "steps")
    change(data.draw(st.sampled_from(notebook.records(index)[which]["steps"])))
    assert_found(notebook, here, index)


@given(cells, st.data())
@settings(max_examples=40, deadline=None)
def test_a_source_that_was_changed_is_found(here: Path, sources: list[str], data: st.DataObject) -> None:
    notebook = executed(sources)
    index, _ = choose(data, notebook)
    notebook.cells[index]["source"] += data.draw(st.sampled_from([" ", "\n", "\n%kvpool show", "é"]))
    assert_found(notebook, here, index)


CHANGES = {"previous": "0" * 64, "source": "0" * 16, "steps": [], "schema": 2, "journal": "other#1", "header": None}


@given(cells, st.data())
@settings(max_examples=60, deadline=None)
def test_a_field_of_a_record_that_was_changed_is_found(here: Path, sources: list[str], data: st.DataObject) -> None:
    notebook = executed(sources)
    field = data.draw(st.sampled_from(list(CHANGES)))
    index, which = choose(data, notebook, field if field == "steps" else "")
    record = notebook.records(index)[which]
    assume(field in record and not (field in ("steps", "header") and failed(notebook, index)))
    record[field] = CHANGES[field]
    assert_found(notebook, here, index)

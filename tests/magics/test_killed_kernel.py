"""A kernel is killed: what it showed is in its log, the next kernel goes on, and the notebook of both verifies."""

from __future__ import annotations

import json
from pathlib import Path

from front_ends import RECORD
from kernels import CellRun, Kernel

from kvnb.journal import jsonl
from kvnb.journal.verification import verify_file


def cell(source: str, cell_id: str, ran: CellRun) -> dict[str, object]:
    """The cell as a front end saves it."""
    outputs = [{"output_type": "display_data", "data": {RECORD: record}, "metadata": {}} for record in ran.records]
    values = {"cell_type": "code", "id": cell_id, "source": source, "metadata": {}, "outputs": outputs}
    return values | {"execution_count": ran.execution_count}


def test_what_a_killed_kernel_showed_is_in_its_log_and_the_next_kernel_goes_on(tmp_path: Path) -> None:
    log, notebook = tmp_path / "run.jsonl", tmp_path / "lesson.ipynb"
    sources = ["%load_ext kvnb\n%kvpool new 11 --device none --log run.jsonl", "%kvpool admit r0 ABCDE", "%kvpool append r0 F"]
    kernel = Kernel(tmp_path)
    cells = [cell(source, f"c{n}", kernel.run(source, cell_id=f"c{n}")) for n, source in enumerate(sources)]
    kernel.close()
    assert len(jsonl.read(log).journal) == 2
    kernel = Kernel(tmp_path)
    more = ["%load_ext kvnb\n%kvpool load run.jsonl", "%kvpool release r0"]
    cells += [cell(source, f"d{n}", kernel.run(source, cell_id=f"d{n}")) for n, source in enumerate(more)]
    kernel.close()
    notebook.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}))
    found = verify_file(notebook)
    assert found.holds
    assert {checked.journal.digest for checked in found.journals} == {jsonl.read(log).journal.digest}


def test_a_cell_run_again_says_so_in_its_record_and_the_notebook_has_a_gap(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path)
    sources = ["%load_ext kvnb\n%kvpool new 11 --device none\n%kvpool admit r0 ABC", "%kvpool append r0 F"]
    first, _ = [kernel.run(source, cell_id=f"c{n}") for n, source in enumerate(sources)]
    again = kernel.run(sources[1], cell_id="c1")
    kernel.close()
    assert [record.get("rerun") for record in (*first.records, *again.records)] == [None, True]
    cells = [cell(sources[0], "c0", first), cell(sources[1], "c1", again)]
    path = tmp_path / "lesson.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}))
    found = verify_file(path)
    assert not found.holds
    assert [finding.kind for finding in found.findings] == ["rerun", "gap"]

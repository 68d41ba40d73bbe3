"""Run All, again and again, on one kernel."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from front_ends import RECORD, Notebook, shown_text

from kvnb.journal import jsonl
from kvnb.journal.replay import verify

CELLS = [
    "%load_ext kvnb",
    "%kvpool new 11 --log run.jsonl",
    "prompt = 'ABCDEFGHIJKLMNO'\n%kvpool admit r0 $prompt\n%kvpool admit r1 ABCDEFGHIJxxxx",
    "%%kvpool\nrelease r0\nrelease r1\nundo",
    "%kvpool new 21 --name other;\n%kvpool admit r0 zzzz --pool other",
    "%kvpool use pool\n%kvpool save copy.jsonl\n%kvpool verify copy.jsonl",
    "%kvpool log",
    "%kvpool load copy.jsonl --name again\n%kvpool list",
    "%kvpool metrics --pool pool\n%kvpool check",
]


def settled(outputs: list[Any]) -> str:
    """Outputs without what counts the runs: the journals' serials and the cells' numbers, also those in the log."""
    text = re.sub(r'"pool#\d+"|"other#\d+"|"again#\d+"', '"serial"', json.dumps(outputs, indent=1))
    return re.sub(r'"execution_count": \d+|(?<=[ >])\[\d+\](?=[ <])', "count", text)


def test_three_runs_on_one_kernel_work_and_the_third_gives_what_the_second_gave(tmp_path: Path) -> None:
    notebook = Notebook(CELLS, tmp_path)
    first, second, third = notebook.run_all(times=3)
    for run in (first, second, third):
        assert "[1 2 5 6]" in shown_text(run[2])
        assert "copy.jsonl verifies: 5 steps" in shown_text(run[5])
    for index, cell in enumerate(CELLS):
        assert settled(second[index]) == settled(third[index]), cell
    assert "it replaces pool, a pool of 5 steps, which is closed" in shown_text(third[1])
    assert abs(len(json.dumps(third)) - len(json.dumps(second))) < 50, "the notebook does not grow"
    assert verify(jsonl.read(tmp_path / "run.jsonl").journal).holds


def test_journals_are_numbered_through_the_runs(tmp_path: Path) -> None:
    runs = Notebook(CELLS[:3], tmp_path).run_all(times=3)
    records = [output["data"][RECORD] for run in runs for cell in run for output in cell if RECORD in output.get("data", {})]
    assert [record["journal"] for record in records] == ["pool#1"] * 2 + ["pool#2"] * 2 + ["pool#3"] * 2
    assert [record["execution_count"] for record in records] == [2, 3, 5, 6, 8, 9]

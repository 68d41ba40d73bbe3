from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT, seed_lab
from shell_words import Typed, kvnb

from kvnb.core.events import Back
from kvnb.journal import Journal, jsonl
from kvnb.journal.records import MIME
from kvnb.journal.verification import verify_file

HOLDS = "run.jsonl verifies: 6 steps done again give the same events, digest 3c49b917c91b\n"
LESSON = ROOT / "notebooks" / "01-pool.ipynb"


def write_lie(path: Path) -> None:
    """A journal with right digests in which block 4, freed at step 3, goes to the back: no pool would do that."""
    true = seed_lab().journal
    lie = Journal(true.behaviour, true.name)
    for step in true.steps[:3]:
        events = [Back((*step.of(Back)[0].ids, 4)) if isinstance(event, Back) else event for event in step.events]
        events = [event for event in events if type(event).__name__ != "Front"]
        lie.steps.append(lie.next_step(step.command, events if step.number == 3 else step.events))
    jsonl.save(lie, path)


def makes_steps(cell: dict[str, Any]) -> bool:
    records = [output.get("data", {}).get(MIME, {}) for output in cell.get("outputs", [])]
    return any(record.get("steps") for record in records)


def without_a_cell(source: Path, path: Path) -> None:
    """A notebook of which one cell that made steps, in the middle, is gone."""
    notebook = json.loads(source.read_text())
    made = [place for place, cell in enumerate(notebook["cells"]) if makes_steps(cell)]
    del notebook["cells"][made[len(made) // 2]]
    path.write_text(json.dumps(notebook))


def test_a_file_that_holds_is_one_line_and_zero(folder: Path) -> None:
    done = kvnb(folder, "verify", "run.jsonl")
    assert (done.returncode, done.stdout, done.stderr) == (0, HOLDS, "")


def test_a_file_that_does_not_hold_shows_the_first_difference_with_both_states_and_gives_one(typed: Typed, folder: Path) -> None:
    write_lie(folder / "lie.jsonl")
    code, out, err = typed("verify", "lie.jsonl", "run.jsonl")
    assert (code, err) == (1, "")
    assert out.startswith("lie.jsonl does NOT verify: the events differ at step 3 (release r0)\n")
    assert out.index("free queue (front first, * = cached): 7 8 9 10 3* 4") < out.index(": 4 7 8 9 10 3*")
    assert out.endswith(HOLDS)


def test_a_file_that_was_tampered_with_gives_one_and_names_the_step(typed: Typed, folder: Path) -> None:
    (folder / "run.jsonl").write_text((folder / "run.jsonl").read_text().replace("zzzzzzzz", "zzzzzzzy"))
    code, out, err = typed("verify", "run.jsonl")
    assert (code, out) == (1, "")
    assert err == "kvnb: run.jsonl: the digest chain breaks at step 6, what stands there was changed\n"


def test_what_cannot_be_read_gives_two_and_the_other_files_are_verified_all_the_same(typed: Typed) -> None:
    code, out, err = typed("verify", "nope.jsonl", "walk.kvpool", "run.jsonl")
    assert (code, out) == (2, HOLDS)
    assert err.splitlines() == [
        "kvnb: cannot read nope.jsonl: No such file or directory",
        "kvnb: walk.kvpool is no kvnb journal: verify takes one (made by save or --log), an executed notebook (.ipynb)"
        " or a report (.html)",
    ]
    assert typed("verify", "walk.kvpool")[0] == 1
    assert typed("verify") == (2, "", "kvnb: verify needs FILE: verify FILE... [--json]\n")


@pytest.mark.parametrize("name", ["pipe.jsonl", "pipe.ipynb", "pipe.html"])
def test_a_pipe_that_nobody_writes_to_is_refused_at_once(typed: Typed, folder: Path, name: str) -> None:
    os.mkfifo(folder / name)
    says = f"kvnb: cannot read {name}: it is no ordinary file, save what it gives as one\n"
    assert typed("verify", name) == (2, "", says)


def test_a_notebook_is_verified_and_one_that_lacks_a_cell_is_not(typed: Typed, folder: Path) -> None:
    shutil.copy(LESSON, folder / "lesson.ipynb")
    without_a_cell(LESSON, folder / "gap.ipynb")
    pools = verify_file(LESSON).journals
    steps = sum(len(checked.journal) for checked in pools)
    says = f"lesson.ipynb verifies: {steps} steps of {len(pools)} pools done again give the same events\n"
    assert typed("verify", "lesson.ipynb") == (0, says, "")
    code, out, _ = typed("verify", "gap.ipynb")
    assert (code, out[:26]) == (1, "gap.ipynb does NOT verify:")
    assert "in no cell" in out


def test_what_is_odd_in_a_file_that_holds_is_told(typed: Typed, folder: Path) -> None:
    with (folder / "run.jsonl").open("a") as file:
        file.write('{"step":')
    code, out, _ = typed("verify", "run.jsonl")
    assert (code, out.splitlines()[0]) == (0, HOLDS.strip())
    assert out.splitlines()[1:] == ["  an unfinished line at its end (8 bytes) was left out"]


def test_json_is_an_object_a_file_whatever_becomes_of_it(typed: Typed, folder: Path) -> None:
    write_lie(folder / "lie.jsonl")
    shutil.copy(LESSON, folder / "lesson.ipynb")
    code, out, err = typed("verify", "run.jsonl", "lie.jsonl", "lesson.ipynb", "nope.jsonl", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (2, "kvnb: cannot read nope.jsonl: No such file or directory\n")
    assert [row["file"] for row in rows] == ["run.jsonl", "lie.jsonl", "lesson.ipynb", "nope.jsonl"]
    assert [row["holds"] for row in rows] == [True, False, True, False]
    assert [row.get("kind") for row in rows] == ["journal", "journal", "notebook", None]
    assert rows[0]["journals"][0]["digest"] == seed_lab().digest
    assert rows[1]["journals"][0]["difference"]["step"] == 3
    assert rows[3]["error"] == {"kind": "JournalError", "says": "cannot read nope.jsonl: No such file or directory"}

"""What cells leave behind in a real kernel."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import pytest
from front_ends import RECORD, Shell
from kernels import Kernel, source_hash, unpacked

from kvnb import Lab
from kvnb.journal.digest import next_digest
from kvnb.journal.events import from_json
from kvnb.manager import Behaviour
from kvnb.manager.command import Command


@pytest.fixture
def kernel(running_kernel: Kernel) -> Kernel:
    """A kernel with kvnb freshly loaded and no pool."""
    running_kernel.run("%reload_ext kvnb")
    return running_kernel


def last_digest(record: dict[str, Any]) -> str:
    return str(unpacked(record)[-1]["digest"])


def test_a_cell_that_changes_a_pool_leaves_one_record(kernel: Kernel) -> None:
    cell = "%kvpool new 11 --device none\n%kvpool admit r0 ABCDE\n%kvpool admit r1 ABCDE"
    ran = kernel.run(cell)
    (record,) = ran.records
    lab = Lab(11, block_size=4, device="none")
    lab.admit("r0", "ABCDE")
    lab.admit("r1", "ABCDE")
    assert record["schema"] == 1
    assert record["journal"] == "pool#1"
    assert record["execution_count"] == ran.execution_count
    assert record["source"] == source_hash(cell)
    assert record["cell"] is None
    assert record["previous"] == record["header"]["digest"] == lab.journal.first_digest
    assert Behaviour.from_dict(record["header"]["behaviour"]) == lab.behaviour
    assert record["header"]["pool"] == "pool"
    assert [step["step"] for step in record["steps"]] == [1, 2]
    assert last_digest(record) == lab.digest
    assert set(record) == {"schema", "journal", "previous", "header", "steps", "source", "cell", "execution_count"}


def test_the_record_comes_last_and_alone(kernel: Kernel) -> None:
    ran = kernel.run("%kvpool new 11\n%kvpool admit r0 ABCDE")
    *shown, record = [set(output["data"]) for output in ran.outputs]
    assert shown == [{"text/plain", "text/html"}] * 2
    assert record == {RECORD, "text/html"}


def test_a_new_pool_without_a_step_leaves_its_header(kernel: Kernel) -> None:
    (record,) = kernel.run("%kvpool new 11").records
    assert record["steps"] == []
    assert record["header"]["digest"] == record["previous"]


@pytest.mark.parametrize(
    "look", ["show", "usage", "check", "log", "at 0", "metrics", "list", "replay", "verify", "save x.jsonl", "new -h"]
)
def test_a_cell_that_only_looks_leaves_no_record(kernel: Kernel, look: str) -> None:
    kernel.run("%kvpool new 11\n%kvpool admit r0 ABC")
    assert kernel.run(f"%kvpool {look}").records == []
    assert kernel.run("1 + 1").records == []


def test_records_chain_from_cell_to_cell_and_their_steps_give_their_digests(kernel: Kernel) -> None:
    records = [
        record
        for cell in ("new 11", "admit r0 ABCDE", "append r0 FGH", "undo")
        for record in kernel.run(f"%kvpool {cell}").records
    ]
    digest = records[0]["header"]["digest"]
    for record in records:
        assert record["previous"] == digest
        assert ("header" in record) == (record is records[0])
        for step in unpacked(record):
            digest = next_digest(digest, Command.from_dict(step["command"]), [from_json(event) for event in step["events"]])
            assert step["digest"] == digest


def test_each_pool_that_a_cell_changes_gets_its_own_record(kernel: Kernel) -> None:
    kernel.run("%kvpool new 11 --name a\n%kvpool new 11 --name b")
    ran = kernel.run("%kvpool admit r0 ABC --pool a\n%kvpool admit r0 ABC --pool b\n%kvpool use a")
    assert [record["journal"] for record in ran.records] == ["a#1", "b#2"]
    (record,) = kernel.run("%kvpool admit r1 ABC").records
    assert record["journal"] == "a#1"


def test_a_pool_replaced_or_closed_in_its_cell_keeps_its_record(kernel: Kernel) -> None:
    ran = kernel.run("%kvpool new 11\n%kvpool admit r0 ABC\n%kvpool new 12\n%kvpool admit r0 ABC\n%kvpool close")
    assert [(record["journal"], len(record["steps"])) for record in ran.records] == [("pool#1", 1), ("pool#2", 1)]


def test_a_cell_that_fails_leaves_the_record_of_what_it_did(kernel: Kernel) -> None:
    ran = kernel.run("%kvpool new 11\n%kvpool admit r0 ABC\n%kvpool release r9\n%kvpool admit r1 ABC")
    assert ran.error == ["UnknownName: no request r9: there is r0"]
    (record,) = ran.records
    assert [step["command"]["name"] for step in record["steps"]] == ["r0"]


def test_a_cell_that_runs_others_leaves_one_record_and_so_does_one_whose_outputs_are_captured(kernel: Kernel) -> None:
    nested = "%kvpool new 11 --device none;\nget_ipython().run_cell('%kvpool admit r0 ABC;')\n%kvpool admit r1 ABC;"
    for number, cell in enumerate(
        (nested, "%%capture out\n%kvpool admit r2 ABC\n%kvpool admit r3 ABC", "%kvpool reset\n1/0", "")
    ):
        ran = kernel.run(cell)
        assert [len(record["steps"]) for record in ran.records] == [2] * (number < 2), cell
        assert all(record["source"] == source_hash(cell) for record in ran.records)
    (record,) = kernel.run("%kvpool release r0").records
    assert record["steps"][0]["step"] == 5


@pytest.mark.parametrize(("steps", "packed"), [(200, False), (201, True)])
def test_above_two_hundred_steps_a_record_is_packed(kernel: Kernel, steps: int, packed: bool) -> None:
    (record,) = kernel.run(f"%kvpool new 300;\nfor i in range({steps}):\n    %kvpool admit {{f'r{{i}}'}} ABC;").records
    assert ("packed" in record) is packed
    assert ("steps" in record) is not packed
    found = unpacked(record)
    assert [step["command"]["name"] for step in found] == [f"r{n}" for n in range(steps)]
    if packed:
        assert (record["first"], record["last"]) == (found[0]["digest"], found[-1]["digest"])
        assert record["count"] == steps
        assert len(json.dumps(found)) > 3 * len(record["packed"])
        assert zlib.decompress(base64.b64decode(record["packed"])).isascii()


def test_the_cells_id_is_recorded_where_the_front_end_gives_one(kernel: Kernel) -> None:
    (record,) = kernel.run("%kvpool new 11", cell_id="abc-123").records
    assert record["cell"] == "abc-123"


def test_a_cell_without_history_leaves_its_steps_without_a_number(kernel: Kernel) -> None:
    (record,) = kernel.run("%kvpool new 11\n%kvpool admit r0 ABC", store_history=False).records
    assert "execution_count" not in record
    assert len(record["steps"]) == 1


def test_the_cell_that_loads_the_extension_is_recorded_like_any_other(running_kernel: Kernel) -> None:
    cell = "%reload_ext kvnb\n%kvpool new 11\n%kvpool admit r0 ABC"
    ran = running_kernel.run(cell)
    (record,) = ran.records
    assert record["execution_count"] == ran.execution_count
    assert record["source"] == source_hash(cell)
    (log,) = running_kernel.run("%kvpool log").texts
    assert f"[{ran.execution_count}]" in log


def test_the_log_names_the_cell_of_each_step(kernel: Kernel) -> None:
    first = kernel.run("%kvpool new 11\n%kvpool admit r0 ABC\n%kvpool admit r1 ABC").execution_count
    second = kernel.run("%kvpool release r0").execution_count
    kernel.run("log = %kvpool log;")
    assert kernel.run("print(list(log['cell']))").outputs[0]["text"].strip() == str([f"[{first}]", f"[{first}]", f"[{second}]"])


def test_the_log_notes_reruns_and_cells_out_of_order(kernel: Kernel) -> None:
    cells = {"a": "%kvpool append r0 A", "b": "%kvpool append r0 B"}
    kernel.run("%kvpool new 11;\n%kvpool admit r0 ABC")
    for cell_id in ("a", "a", "b", "a"):
        kernel.run(cells[cell_id], cell_id=cell_id)
    kernel.run("log = %kvpool log;")
    assert kernel.run("print(list(log['rerun']))").outputs[0]["text"].strip() == str(["", "", "rerun", "", "out of order"])


def test_outside_a_notebook_cells_leave_no_record_but_the_log_still_names_them(shell: Shell) -> None:
    ran = shell.ok("%kvpool new 11\n%kvpool admit r0 ABC")
    assert all(RECORD not in bundle for bundle in ran.shown)
    assert shell.lab.journal.steps[0].cell.execution_count == 2

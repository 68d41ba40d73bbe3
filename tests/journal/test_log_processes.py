"""Logs and other processes: one owner at a time, and a kill loses no finished step."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from helpers import ROOT, run_python, seed_lab

from kvnb import Lab
from kvnb.journal import jsonl

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no flock and no kill -9")

TRY_TO_WRITE = """
import sys
from kvnb import KvnbError, Lab
for attempt in (lambda: Lab(5, log=sys.argv[1], device="none"), lambda: Lab.load(sys.argv[1])):
    try:
        attempt()
    except KvnbError as error:
        print(type(error).__name__, error)
"""

WORK_FOR_EVER = """
import itertools, sys
from kvnb import Lab
lab = Lab(50, block_size=2, log=sys.argv[1], device="none")
told = lambda result: print(result.number, flush=True)
for n in itertools.count():
    name = f"r{n}"
    told(lab.admit(name, "prompt" * (n % 7 + 1)))
    told(lab.append(name, "x" * (n % 9 + 1)))
    told(lab.undo() if n % 5 == 0 else lab.preempt(name))
    told(lab.release(name))
"""


def test_a_second_process_may_not_write_the_same_log(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lab = seed_lab(2, log=path)
    before = path.read_bytes()
    lines = run_python(TRY_TO_WRITE, str(path)).splitlines()
    assert len(lines) == 2
    assert all(line.startswith("JournalError") and "is being written by another pool" in line for line in lines)
    assert path.read_bytes() == before
    lab.close()
    assert run_python(TRY_TO_WRITE, str(path)) == ""


def kill_after(path: Path, moment: int) -> int:
    """Run a working process, kill it once it has told ``moment`` steps, and give the last step that it told."""
    with subprocess.Popen(
        [sys.executable, "-c", WORK_FOR_EVER, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        told = [int(process.stdout.readline()) for _ in range(moment)]
        process.kill()
        told += [int(line) for line in process.stdout.read().split("\n")[:-1]]
    return told[-1]


@pytest.mark.parametrize("moment", [1, 2, 3, 17, 60, 150, 400])
def test_a_killed_process_loses_no_finished_step_and_its_log_goes_on(tmp_path: Path, moment: int) -> None:
    path = tmp_path / "log.jsonl"
    finished = kill_after(path, moment)
    assert finished >= moment
    assert len(jsonl.read(path).journal) in (finished, finished + 1)
    lab = Lab.load(path)
    lab.admit("after", "the kill")
    assert lab.verify().holds
    lab.close()
    assert Lab.load(path).digest == lab.digest


def test_a_running_log_can_be_read_by_another_process(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lab = seed_lab(3, log=path)
    code = "import sys; from kvnb import Lab; print(Lab.load(sys.argv[1], copy=True).digest)"
    assert run_python(code, str(path)) == lab.digest


def test_a_log_is_free_again_when_its_process_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    run_python("import sys; from kvnb import Lab; Lab(5, log=sys.argv[1], device='none').admit('a', 'b')", str(path))
    assert len(Lab.load(path).journal) == 1

"""Logs and other processes: one owner at a time, and a kill loses no finished step."""

from __future__ import annotations

import random
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

WORK_AND_BE_KILLED = """
import itertools, os, signal, sys, time
from kvnb import Lab

def work(path, tell):
    lab = Lab(50, block_size=2, log=path, device="none")
    told = lambda result: os.write(tell, b"%d\\n" % result.number)
    os.write(tell, b"0\\n")
    for n in itertools.count():
        name = f"r{n}"
        told(lab.admit(name, "prompt" * (n % 7 + 1)))
        told(lab.append(name, "x" * (n % 9 + 1)))
        told(lab.undo() if n % 5 == 0 else lab.preempt(name))
        told(lab.release(name))

for number, line in enumerate(sys.stdin):
    steps, seconds = line.split()
    hear, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(hear)
        work(f"{sys.argv[1]}/{number}.jsonl", tell)
    os.close(tell)
    with open(hear) as heard:
        told = [heard.readline() for _ in range(int(steps) + 1)]
        time.sleep(float(seconds))
        os.kill(child, signal.SIGKILL)
        told += heard.readlines()
    os.waitpid(child, 0)
    print(int(told[-1]), flush=True)
"""
"""A process that is warm forks one that works for ever, and kills it."""


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


def test_killed_at_fifty_random_moments_no_finished_step_is_lost_and_the_log_goes_on(tmp_path: Path) -> None:
    moments = random.Random(7)
    with subprocess.Popen(
        [sys.executable, "-c", WORK_AND_BE_KILLED, str(tmp_path)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        finished = []
        for number in range(50):
            # Wherever the process is after so many steps and so much of a moment, in a write too, it is killed.
            process.stdin.write(f"{moments.choice([0, 1, 2, 3, 17, 60, 150])} {moments.random() * 0.004}\n")
            process.stdin.flush()
            finished.append(int(process.stdout.readline()))
            assert_goes_on(tmp_path / f"{number}.jsonl", finished[-1])
        process.stdin.close()
    assert len(set(finished)) > 10


def assert_goes_on(path: Path, finished: int) -> None:
    """Whatever the kill left, all finished steps are in it, and the pool goes on."""
    read = jsonl.read(path)
    # The kill may have come after a line was written and before its output was.
    assert len(read.journal) in (finished, finished + 1)
    lab = Lab.load(path)
    assert (lab.digest, lab.torn_bytes) == (read.journal.digest, read.torn)
    lab.admit("after", "the kill")
    assert lab.verify().holds
    lab.close()
    assert jsonl.read(path).journal.digest == lab.digest


def test_a_running_log_can_be_read_by_another_process(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lab = seed_lab(3, log=path)
    code = "import sys; from kvnb import Lab; print(Lab.load(sys.argv[1], copy=True).digest)"
    assert run_python(code, str(path)) == lab.digest


def test_a_log_is_free_again_when_its_process_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    run_python("import sys; from kvnb import Lab; Lab(5, log=sys.argv[1], device='none').admit('a', 'b')", str(path))
    assert len(Lab.load(path).journal) == 1

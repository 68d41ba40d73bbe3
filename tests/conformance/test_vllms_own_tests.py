"""vLLM's own tests of its pool, run against kvnb's: they pass, and fail as soon as kvnb is wrong.

The files of tests come from vLLM's source distribution and run in one process of their own, in which kvnb's classes
stand where vLLM's were (``own_tests_plugin.py``). Only the names of the cases are kept here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from own_tests_faults import FAULTS, NAMED

import kvnb

HERE = Path(__file__).parent
USED = HERE / "vllms_own_tests_used.txt"
NOT_USED = HERE / "vllms_own_tests_not_used.txt"
TOTAL = 114
NOT_NOTICED = {"hit_not_capped"}
"""The two cases that see it in vLLM's manager need EAGLE or sparse retention; ``test_same_as_vllm`` sees it in ours."""


def lines_of(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if not line.startswith("#")]


def used() -> dict[str, list[str]]:
    """Case to what of kvnb it is run against: ``pool``, ``manager``, or one after the other."""
    return {case: over for case, *over in (line.split() for line in lines_of(USED))}


def not_used() -> dict[str, str]:
    return dict(line.rsplit(": ", 1) for line in lines_of(NOT_USED))


@pytest.fixture(scope="module")
def passed(vllm, tmp_path_factory):
    """Case and what it is run against, to the faults (or ``none``) under which it passed."""
    folder = tmp_path_factory.mktemp("own_tests")
    results = folder / "results.json"
    cases = defaultdict(list)
    for case, over in used().items():
        for which in over:
            cases[which].append(case)
    plan = {"sources": str(vllm.folder), "results": str(results), "faults": list(FAULTS), "cases": cases}
    (folder / "plan.json").write_text(json.dumps(plan))
    output = run(vllm.folder, folder / "plan.json")
    assert results.exists(), output
    by_case: dict[tuple[str, str], set[str]] = defaultdict(set)
    for case, over, fault, ok in json.loads(results.read_text()):
        by_case[case, over] |= {fault} if ok else set()
    return dict(by_case)


def run(sources: Path, plan: Path) -> str:
    path = os.pathsep.join([str(HERE), str(Path(kvnb.__file__).parents[1])])
    environment = {
        **os.environ, "KVNB_OWN_TESTS": str(plan), "PYTHONPATH": path, "PYTEST_ADDOPTS": "",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }  # fmt: skip
    files = sorted({f"tests/v1/core/{case.partition('::')[0]}.py" for case in used()})
    options = ["-c", os.devnull, f"--rootdir={sources}", "--noconftest", "-q", "--tb=no", "-p", "no:cacheprovider",
               "-p", "no:warnings", "-p", "pytest_timeout", "--timeout=30", "-p", "own_tests_plugin"]  # fmt: skip
    command = [sys.executable, "-m", "pytest", *options, *files]
    done = subprocess.run(command, cwd=sources, env=environment, capture_output=True, text=True, timeout=300)
    return done.stdout + done.stderr


def test_the_used_cases_pass(passed, capsys):
    runs = [(case, over) for case, overs in used().items() for over in overs]
    failed = [one for one in runs if "none" not in passed.get(one, ())]
    bad = {case for case, _ in failed}
    again = sum(len(over) > 1 for over in used().values())
    with capsys.disabled():
        print(
            f"\nvLLM's own tests: {len(used()) - len(bad)}/{len(used())} passed, {again} of them twice (pool, manager), "
            f"{len(not_used())} not used (reasons in {NOT_USED.name})"
        )
    assert not failed


def test_each_used_case_fails_under_a_fault(passed):
    unmoved = [one for one, under in passed.items() if under == set(FAULTS)]
    assert not unmoved


def test_each_fault_is_noticed(passed):
    unnoticed = {fault for fault in FAULTS if all(fault in under for under in passed.values())}
    assert unnoticed - {"none"} == NOT_NOTICED


def test_the_eight_named_faults_are_planted():
    assert len(NAMED) == 8
    assert {fault.__name__ for fault in NAMED} <= FAULTS.keys()


def test_each_case_is_used_or_has_a_reason():
    assert not used().keys() & not_used().keys()
    assert len(used()) + len(not_used()) == TOTAL
    assert all(not_used().values())

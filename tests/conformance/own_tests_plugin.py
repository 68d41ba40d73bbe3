"""A pytest plugin for a process of its own: vLLM's test files find kvnb's classes where they import vLLM's.

Run by ``test_vllms_own_tests.py``. The plan in the file that ``KVNB_OWN_TESTS`` names says which cases run; each runs
once as it is and once under every fault, and what came of it is written beside the plan.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import json
import os
import sys
from pathlib import Path
from typing import Any

import own_tests_adapters
import own_tests_faults
import own_tests_manager
import pytest
from vllm_core import REAL, STAND_INS, VllmCore

PLAN = json.loads(Path(os.environ["KVNB_OWN_TESTS"]).read_text())
outcomes: dict[str, set[str]] = {}


class SamplingParams:
    """What the requests of vLLM's tests ask of sampling parameters."""

    def __init__(self, max_tokens: int = 1, prompt_logprobs: int | None = None) -> None:
        self.max_tokens = max_tokens
        self.skip_reading_prefix_cache = prompt_logprobs is not None

    def update_from_generation_config(self, *unused: Any, **also: Any) -> None:
        """There is no such configuration here."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return None


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers every import of vLLM and of what it imports with the modules of a ``VllmCore``."""

    def __init__(self, core: VllmCore) -> None:
        self.core = core

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name.partition(".")[0] not in {"vllm", *STAND_INS}:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> Any:
        return self.core[spec.name]

    def exec_module(self, module: Any) -> None:
        """The core has executed it already; a reload changes nothing, so the adapters stay."""


def pytest_configure(config: pytest.Config) -> None:
    core = VllmCore(Path(PLAN["sources"]), {("vllm.sampling_params", "SamplingParams"): SamplingParams})
    own_tests_adapters.install(core)
    sys.meta_path.insert(0, Finder(core))
    for name in REAL & core.modules.keys():
        parent, _, child = name.rpartition(".")
        setattr(importlib.import_module(parent), child, core[name])


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every function of a case of the plan once for each way in which it is to be run."""
    name = f"{metafunc.definition.path.stem}::{metafunc.definition.name}"
    over = [over for over, cases in PLAN["cases"].items() if name in {case.partition("[")[0] for case in cases}]
    ways = [(which, fault) for which in over for fault in PLAN["faults"]]
    if ways:
        metafunc.parametrize("planted", ways, indirect=True, ids=["/".join(way) for way in ways])


@pytest.fixture(autouse=True)
def planted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    over, fault = request.param
    if over == "manager":
        own_tests_manager.install(request.module, monkeypatch)
    own_tests_faults.FAULTS[fault](monkeypatch)


def pytest_collection_modifyitems(items: list[Any]) -> None:
    items[:] = [item for item in items if way_of(item) and case_of(item) in PLAN["cases"][way_of(item)[0]]]


def way_of(item: Any) -> tuple[str, str] | None:
    return item.callspec.params.get("planted") if hasattr(item, "callspec") else None


def case_of(item: Any) -> str:
    """The id that the test has in vLLM, without the way in which it is run here."""
    others = item.callspec.id.replace("/".join(way_of(item)), "").strip("-")
    return f"{item.path.stem}::{item.originalname}" + (f"[{others}]" if others else "")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    outcomes.setdefault(report.nodeid, set()).add(report.outcome)


def pytest_sessionfinish(session: pytest.Session) -> None:
    done = [[case_of(item), *way_of(item), outcomes.get(item.nodeid) == {"passed"}] for item in session.items]
    Path(PLAN["results"]).write_text(json.dumps(done))

"""What several tests need: small pools to begin with, and short words for what they look like."""

from __future__ import annotations

import importlib
import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

import pytest

from kvnb import Lab
from kvnb.core import BlockPool
from kvnb.core.hashing import sha256
from kvnb.core.invariants import Equation
from kvnb.journal import jsonl
from kvnb.manager import Behaviour
from kvnb.manager.command import Command
from kvnb.manager.engine import EngineCore

ROOT = Path(__file__).resolve().parents[1]
TRACES = ROOT.parent / "shared" / "traces"

SEED_PROMPTS = {
    "r0": "ABCDEFGHIJKLMNO",
    "r1": "ABCDEFGHIJxxxx",
    "r2": "ABCDEFGHIJKL" + "y" * 17,
    "r3": "zzzzzzzz",
}
"""The prompts of the seed's walk-through: 11 blocks of 4 tokens."""


def needs(module: str) -> ModuleType:
    """The module; where it is not installed the test is skipped, but fails under ``CI=true``."""
    try:
        return importlib.import_module(module)
    except ImportError:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"needs {module}: pip install {module}", allow_module_level=True)


def script(path: Path) -> ModuleType:
    """A script of the repository, as a module."""
    spec = importlib.util.spec_from_file_location(f"script_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def queue_ids(pool: BlockPool) -> list[int]:
    """The ids of the free queue, front first."""
    return [block.block_id for block in pool.free_block_queue]


def keys(*names: str) -> list[bytes]:
    """Block hashes to work with where it does not matter what they cover."""
    return [sha256(name) for name in names]


def failing(equations: Iterable[Equation]) -> list[str]:
    """What the equations say that do not hold."""
    return [equation.says for equation in equations if not equation.holds]


def assert_sound(lab: Lab) -> None:
    """Every invariant of the pool holds, and its journal folds to its live state."""
    assert failing(lab.check()) == []


def snapshot(lab: Lab) -> tuple[str, dict[str, Any]]:
    """The digest and everything that a command could change."""
    return lab.digest, lab.state.columns()


def engine(num_blocks: int = 11, block_size: int = 4, **settings: Any) -> EngineCore:
    """A pool with requests but without a journal."""
    return EngineCore(Behaviour(num_blocks=num_blocks, block_size=block_size, **settings))


def do(core: EngineCore, verb: str, **args: Any) -> None:
    """Run one canonical command."""
    core.run(Command(verb, args))


def seed_lab(until: int = 6, **settings: Any) -> Lab:
    """A pool after the first ``until`` commands of the seed's walk-through."""
    lab = Lab(11, block_size=4, **settings, device="none")
    script = [("admit", "r0"), ("admit", "r1"), ("release", "r0"), ("release", "r1"), ("admit", "r2"), ("admit", "r3")]
    for verb, name in script[:until]:
        if verb == "admit":
            lab.admit(name, SEED_PROMPTS[name])
        else:
            lab.release(name)
    return lab


def write_long_journal(path: Path) -> None:
    """A journal of 20,000 steps that takes some seconds to read and to run again."""
    lab = Lab(200, block_size=4, device="none")
    for number in range(10_000):
        lab.admit("r", f"{number % 37} " * 130)
        lab.release("r")
    jsonl.save(lab.journal, path)


@contextmanager
def interrupted(code: CodeType, moment: int) -> Iterator[None]:
    """Ctrl-C as the function of this code begins for the ``moment``-th time, the first being number 0."""
    left = moment

    def look(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal left
        if event == "call" and frame.f_code is code:
            left -= 1
            if left == -1:
                signal.raise_signal(signal.SIGINT)

    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(None)


def run_python(code: str, *args: str) -> str:
    """Run ``code`` in a fresh interpreter from the repository's root, and give what it printed."""
    done = subprocess.run([sys.executable, "-c", code, *args], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()

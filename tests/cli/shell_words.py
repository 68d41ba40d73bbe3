"""The shell's command as it is typed: in a process of its own, or quicker inside this one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from helpers import ROOT, seed_lab

from kvnb.journal import jsonl

WALK = """# the seed's walk-through
new 11 --device none
admit r0 ABCDEFGHIJKLMNO
admit r1 ABCDEFGHIJxxxx
release r0
release r1
admit r2 ABCDEFGHIJKLyyyyyyyyyyyyyyyyy
admit r3 zzzzzzzz
"""

Typed = Callable[..., tuple[int, str, str]]
"""What runs a command inside this process: exit code, output, errors."""

COMMAND = [sys.executable, "-m", "kvnb"]


def environment(**more: str) -> dict[str, str]:
    """Where ``python -m kvnb`` is this checkout's."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def kvnb(folder: Path, *words: str, **options: Any) -> subprocess.CompletedProcess[Any]:
    """``kvnb WORDS...`` in a process of its own."""
    options = {"text": True, **options, "env": environment(**options.get("env", {}))}
    return subprocess.run([*COMMAND, *words], cwd=folder, capture_output=True, timeout=120, **options)


def write_files(folder: Path) -> None:
    """A script, and the journal that it makes: ``walk.kvpool``, ``run.jsonl``."""
    (folder / "walk.kvpool").write_text(WALK)
    seed_lab().save(folder / "run.jsonl")


def seed_steps() -> list[dict[str, Any]]:
    """The steps of that journal as they stand in the file."""
    return [json.loads(jsonl.step_line(step)) for step in seed_lab().journal.steps]

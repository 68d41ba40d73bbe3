"""Fetches vLLM's source distribution with pip, once, into the user's cache. Nothing of it enters the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

VERSION = "0.32.0"
MARK = Path("tests", "v1", "core", "test_prefix_caching.py")


def cache_folder() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "kvnb-tests" / f"vllm-{VERSION}"


def fetch() -> Path:
    """The folder that holds ``vllm/`` and ``tests/``. Raises RuntimeError when pip cannot bring it."""
    target = cache_folder()
    if not (target / MARK).exists():
        with tempfile.TemporaryDirectory() as scratch:
            _move(_download(Path(scratch)), target)
    return target


def _download(scratch: Path) -> Path:
    # Building its metadata needs torch, so pip ends with an error; by then the sources are unpacked, which is all we want.
    command = [sys.executable, "-m", "pip", "download", "--no-clean", "--no-deps", "--no-binary", ":all:",
               "--no-build-isolation", "--dest", str(scratch / "dest"), f"vllm=={VERSION}"]  # fmt: skip
    environment = {**os.environ, "TMPDIR": str(scratch), "VLLM_TARGET_DEVICE": "empty"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    found = [path for path in scratch.glob("*/vllm_*") if (path / MARK).exists()]
    if not found:
        raise RuntimeError(f"pip did not bring vLLM {VERSION}'s sources: {done.stderr.strip()[-300:]}")
    return found[0]


def _move(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(dir=target.parent))
    for part in ("vllm", "tests"):
        shutil.copytree(source / part, staging / part, ignore=shutil.ignore_patterns("*.cu", "*.so"))
    shutil.rmtree(target, ignore_errors=True)
    staging.rename(target)

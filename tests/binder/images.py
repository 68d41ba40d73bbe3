"""What repo2docker makes of the folder ``binder/``, and of which versions an image has before anything of ours is in it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import pytest
from helpers import ROOT

BINDER = ROOT / "binder"
COPIED = "COPY --chown=0:0 src/ ${REPO_DIR}/"
# A package that conda-forge built for Python has "py" at the front of its build's name; its name and version are PyPI's.
_OF_PYTHON = re.compile(r"/([^/]+)-([^-/]+)-py[^-/]*\.(?:conda|tar\.bz2)#")


def python_version() -> str:
    """The Python of the image, such as 3.11."""
    return (BINDER / "runtime.txt").read_text().strip().removeprefix("python-")


def skip_outside_ci(reason: str) -> NoReturn:
    """Skip the test; under ``CI=true`` it fails."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def repo2docker() -> Path:
    """The folder of repo2docker's package. It is not imported: something in it warns, and warnings are errors here."""
    found = find_spec("repo2docker")
    if found is None or found.origin is None:
        skip_outside_ci("needs repo2docker: pip install jupyter-repo2docker")
    return Path(found.origin).parent


def base_versions() -> dict[str, str]:
    """The Python packages that each image of Binder begins with, by normalised name."""
    lock = repo2docker() / "buildpacks" / "conda" / f"environment.py-{python_version()}-linux-64.lock"
    return {normal(name): version for name, version in _OF_PYTHON.findall(lock.read_text())}


def normal(name: str) -> str:
    """The name of a package as PyPI compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def dockerfile(repository: Path = ROOT) -> list[str]:
    """The lines of the Dockerfile that mybinder.org would build; no Docker is needed to write it."""
    repo2docker()
    command = [sys.executable, "-m", "repo2docker", "--no-build", "--debug", "."]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def own_steps(lines: list[str]) -> list[str]:
    """The shell commands that come after the repository has been copied into the image."""
    return [line.removeprefix("RUN ") for line in lines[lines.index(COPIED) :] if line.startswith("RUN ")]


class Image:
    """A virtual environment and a copy of the repository, in which the steps of the Dockerfile are run without Docker."""

    def __init__(self, folder: Path, python: str) -> None:
        self.repository = folder / "repository"
        self.prefix = folder / "environment"
        self._constraints = folder / "constraints.txt"
        files = subprocess.check_output(["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, text=True)
        for name in filter(None, files.split("\0")):
            if (ROOT / name).is_file():
                target = self.repository / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes((ROOT / name).read_bytes())
                target.chmod((ROOT / name).stat().st_mode)
        subprocess.run([python, "-m", "venv", str(self.prefix)], check=True)

    def hold(self, versions: dict[str, str]) -> None:
        """Let pip install these versions of these packages and no others."""
        self._constraints.write_text("".join(f"{name}=={version}\n" for name, version in versions.items()))

    def run(self, step: str) -> str:
        """What the shell command printed; the test fails where the command does."""
        environment = {
            **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            "KERNEL_PYTHON_PREFIX": str(self.prefix),
            "PATH": f"{self.prefix / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PIP_CONSTRAINT": str(self._constraints),
            "PIP_COMPILE": "0",  # an image has the bytecode of all modules; here Python makes that of those it imports
        }
        done = subprocess.run(["bash", "-c", step], cwd=self.repository, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{step}\n{done.stdout}\n{done.stderr}"
        return done.stdout

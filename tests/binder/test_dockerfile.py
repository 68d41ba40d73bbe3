"""What mybinder.org builds from this repository, as far as it can be seen without building it."""

from __future__ import annotations

import re
import sys

import pytest
from helpers import ROOT, needs
from images import BINDER, COPIED, base_versions, dockerfile, normal, own_steps, python_version

packaging = needs("packaging.requirements")
specifiers = needs("packaging.specifiers")

BADGE = re.compile(r"https://mybinder\.org/v2/gh/kvnb/kvnb/HEAD\?urlpath=lab/tree/([\w./-]+)")


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return dockerfile()


def project() -> dict[str, object]:
    if sys.version_info < (3, 11):
        pytest.skip("needs tomllib, which Python 3.11 has")
    import tomllib

    return dict(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"])


def floors() -> dict[str, object]:
    """The versions that kvnb asks for, with the extra that the image takes."""
    told = project()
    asked = [packaging.Requirement(line) for line in [*told["dependencies"], *told["optional-dependencies"]["hash"]]]
    return {normal(each.name): each.specifier for each in asked}


def test_the_whole_repository_is_copied_then_our_packages_are_installed_then_the_last_step_runs(lines: list[str]):
    assert COPIED in lines
    assert own_steps(lines) == [
        '${KERNEL_PYTHON_PREFIX}/bin/pip install --no-cache-dir -r "binder/requirements.txt"',
        "chmod +x binder/postBuild",
        "./binder/postBuild",
    ]


def test_the_python_is_the_one_of_runtime_txt_and_kvnb_runs_on_it(lines: list[str]):
    name = "environment.py-" + python_version()
    coded = re.sub(r"[^\w]", lambda found: f"-{ord(found[0]):x}", name)
    assert any(line.startswith("COPY") and coded in line for line in lines)
    assert python_version() in specifiers.SpecifierSet(project()["requires-python"])


def test_torch_comes_from_the_index_of_builds_for_cpus_and_kvnb_from_the_repository():
    lines = [line for line in (BINDER / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    assert lines == ["--extra-index-url https://download.pytorch.org/whl/cpu", f"torch{floors()['torch']}", ".[hash]"]


def test_what_an_image_begins_with_meets_every_floor_of_kvnb():
    have = base_versions()
    below = {name: have[name] for name, floor in floors().items() if name in have and have[name] not in floor}
    assert below == {}, "binder would have to replace these packages of its own"
    assert {"ipython", "ipywidgets", "jupyterlab", "traitlets"} <= have.keys() & floors().keys()


def test_the_last_step_stops_at_the_first_failure_and_can_be_run():
    script = BINDER / "postBuild"
    assert script.stat().st_mode & 0o111
    assert next(line for line in script.read_text().splitlines() if not line.startswith("#")) == "set -euo pipefail"


@pytest.mark.parametrize("page", ["README.md", "binder/README.md"])
def test_the_badge_opens_the_first_notebook(page: str):
    opened = BADGE.findall((ROOT / page).read_text())
    assert opened
    assert all((ROOT / path).is_file() for path in opened)
    assert set(opened) == {"notebooks/01-pool.ipynb"}

"""The steps that build an image of Binder, taken in a fresh environment, and the notebooks in what comes out of them."""

from __future__ import annotations

import re
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from helpers import needs
from images import Image, base_versions, dockerfile, normal, own_steps, python_version, skip_outside_ci

needs("torch")

MOST = 700
"""Megabytes that the kernel of a notebook may have; Binder promises 1 GB for it and the server, which takes 130 MB."""
MEASURED = re.compile(r"^(\S+) +(\d+\.\d) s +(\d+\.\d) s +(\d+) MB", re.MULTILINE)


def python_of_the_image() -> str:
    name = f"python{python_version()}"
    if f"{sys.version_info.major}.{sys.version_info.minor}" == python_version():
        return sys.executable
    return shutil.which(name) or skip_outside_ci(f"needs {name}, which the image has")


def without_the_index(requirements: Path) -> None:
    """Take the index of torch's CPU builds out: pip tries for many minutes where a machine that tests cannot reach it."""
    lines = requirements.read_text().splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith("--extra-index-url")]
    assert len(kept) == len(lines) - 1
    requirements.write_text("".join(kept))


def installed(image: Image) -> dict[str, str]:
    listed = image.run('"$KERNEL_PYTHON_PREFIX/bin/pip" list --format=freeze')
    return {normal(name): number for name, _, number in (line.partition("==") for line in listed.splitlines())}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_binders_steps_make_a_lab_of_binders_versions_whose_notebooks_stay_below_700_mb(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """The real pip command and postBuild, with two things in place of Binder's.

    Packages that an image begins with are held at its versions, so that kvnb is seen to need no other. Torch, whose index of
    CPU builds is not asked, is the one that the tests run with.
    """
    if "+cpu" not in version("torch"):
        pytest.skip("needs a torch built for the CPU, as the image has one")
    base = base_versions()
    image = Image(tmp_path, python_of_the_image())
    image.hold({**base, "torch": version("torch")})
    steps = own_steps(dockerfile(image.repository))
    without_the_index(image.repository / "binder" / "requirements.txt")

    *_, first = [image.run(step) for step in steps]

    have = installed(image)
    assert {name: have[name] for name in base.keys() & have.keys() - {"pip", "setuptools"}} == {
        name: base[name] for name in base.keys() & have.keys() - {"pip", "setuptools"}
    }
    others = [f"notebooks/{path.name}" for path in sorted((image.repository / "notebooks").glob("0[!1]*.ipynb"))]
    rest = image.run(f"python notebooks/measure.py {' '.join(others)}")
    rest += image.run("python tests/binder/follows.py")
    with capsys.disabled():
        print(first[first.index("--- the first notebook") :] + rest)
    most = {name: int(megabytes) for name, _, _, megabytes in MEASURED.findall(first + rest)}
    assert len(most) == 1 + len(others)
    assert 0 < min(most.values()) <= max(most.values()) < MOST, most

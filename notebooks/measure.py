"""Time, memory and sizes of the notebooks, run in fresh kernels: ``python notebooks/measure.py [FILE.md|FILE.ipynb ...]``.

Memory is the most that the kernel's process had, shared libraries included; the server and the browser come on top of it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import nbformat

import build
from kvnb.export.report import report

ROW = "{:<16}{:>16}{:>10}{:>14}{:>14}{:>12}"
HEAD = ROW.format("notebook", "first picture", "in all", "kernel's most", ".ipynb", "report")


def row(name: str, cost: build.Cost, notebook: int, page: int) -> str:
    """A line of the table; sizes in bytes."""
    return ROW.format(
        name, f"{cost.first_picture:.1f} s", f"{cost.seconds:.1f} s", f"{cost.megabytes:.0f} MB", f"{notebook / 1000:.0f} kB",
        f"{page / 1000:.0f} kB",
    )  # fmt: skip


def measured(source: Path) -> str:
    """The line of one notebook, made here and now; nothing of it is kept."""
    notebook = nbformat.read(source, as_version=4) if source.suffix == ".ipynb" else build.read_source(source)
    cost = build.run(notebook)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{source.stem}.ipynb")
        nbformat.write(notebook, path)
        page = report(path, path.with_suffix(".html"))
        return row(source.stem, cost, path.stat().st_size, page.stat().st_size)


if __name__ == "__main__":
    print(HEAD)
    for source in [Path(name) for name in sys.argv[1:]] or sorted(build.HERE.glob("*.md")):
        print(measured(source), flush=True)

"""A whole lesson in JupyterLab, run from the top three times on one kernel, as a learner does it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT, needs
from jupyter_pages import NotebookPage, Server

from kvnb.journal.verification import verify_file

pytestmark = [pytest.mark.browser, pytest.mark.slow]

# Of the lessons it has the most that lives: dashboards, canvases, figures, a pool that grows while it is watched.
LESSON = ROOT / "notebooks" / "03-watch.ipynb"
PLOTLY = "application/vnd.plotly.v1+json"
SLOW = "[anywidget] Failed to initialize model."
"""What anywidget says of every widget that is not there after two seconds; it comes all the same."""


def digests(notebook: Path) -> list[str]:
    verification = verify_file(notebook)
    assert verification.holds
    return [checked.journal.digest for checked in verification.journals]


def outputs(notebook: Any) -> list[Any]:
    """All outputs, but for the images that JupyterLab keeps of the figures that were on the screen so far."""
    found = [output for cell in notebook["cells"] for output in cell.get("outputs", ())]
    for output in found:
        if PLOTLY in output.get("data", {}):
            output["data"].pop("image/png", None)
    return found


def test_each_run_leaves_the_same_histories_and_a_file_of_the_same_size(notebook: NotebookPage, server: Server) -> None:
    needs("plotly")
    mine = server.notebooks / "lesson.ipynb"
    mine.write_bytes(LESSON.read_bytes())
    notebook.open("lesson.ipynb")
    sizes = []
    for _ in range(3):
        notebook.run_all()
        left = outputs(notebook.saved())
        assert digests(mine) == digests(LESSON)
        assert not [output for output in left if output["output_type"] == "error"]
        assert "widget-view" not in json.dumps(left)
        sizes.append(len(json.dumps(left)))
    assert abs(sizes[2] - sizes[1]) < 100, f"{sizes}: the second time pools are replaced; but for that, numbers"
    assert notebook.page.locator(".kvnb-step").count() > 0, "a dashboard is drawn"
    notebook.complaints[:] = [said for said in notebook.complaints if said != SLOW]

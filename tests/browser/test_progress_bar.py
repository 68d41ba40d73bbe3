"""A long verify in JupyterLab: the bar is there while it runs, and in no file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers import needs
from jupyter_pages import RUN, NotebookPage, Server, code

pytestmark = [pytest.mark.browser, pytest.mark.slow]

VERIFY = 2
CELLS = code("%load_ext kvnb", "%kvpool load long.jsonl --device none;", "%kvpool verify")
# A fast machine may be through with one before the interrupt comes.
SEVERAL = code("%load_ext kvnb", "%kvpool load long.jsonl --device none;", "for _ in range(4):\n    %kvpool verify")
BAR = ".jp-OutputArea .widget-hprogress"


@pytest.fixture(autouse=True)
def _journal(server: Server, long_journal: Path) -> None:
    needs("tqdm")
    if not (server.notebooks / "long.jsonl").exists():
        (server.notebooks / "long.jsonl").hardlink_to(long_journal)


def opened(notebook: NotebookPage, name: str, cells: list[dict[str, Any]]) -> NotebookPage:
    """A fresh notebook with the long journal loaded, and its verify begun."""
    notebook.begin(name, cells, 0, 1)
    begin(notebook)
    return notebook


def begin(notebook: NotebookPage) -> None:
    """Begin the verify, and wait for its bar."""
    notebook.page.evaluate(f"index => {{ ({RUN})(index); }}", VERIFY)
    notebook.cell(VERIFY).locator(BAR).wait_for(state="visible")


def until_it_says(notebook: NotebookPage, words: str) -> None:
    """Wait for words below the verify: while a bar moves, the kernel's status is idle now and then."""
    notebook.cell(VERIFY).get_by_text(words).first.wait_for(state="visible")


def saved(notebook: NotebookPage) -> list[dict[str, Any]]:
    """The outputs of the verify in the file."""
    return list(notebook.saved()["cells"][VERIFY]["outputs"])


def test_a_bar_is_shown_while_a_journal_is_verified_and_is_in_no_file(notebook: NotebookPage) -> None:
    opened(notebook, "verify.ipynb", CELLS)
    assert "20000" in notebook.output(VERIFY)
    until_it_says(notebook, "verifies: 20,000 steps")
    assert notebook.cell(VERIFY).locator(BAR).count() == 0
    heights = notebook.cell(VERIFY).locator(".jp-OutputArea-child").evaluate_all("all => all.map(one => one.offsetHeight)")
    print(f"\nheights of the outputs: {heights}")
    outputs = saved(notebook)
    assert {output["output_type"] for output in outputs} == {"display_data"}
    assert {mime for output in outputs for mime in output["data"]} == {"text/plain", "text/html"}
    notebook.open("verify.ipynb")
    assert "verifies: 20,000 steps" in notebook.output(VERIFY)
    assert "model not found" not in notebook.output(VERIFY).lower()


def test_a_verify_can_be_interrupted_from_the_page(notebook: NotebookPage) -> None:
    opened(notebook, "interrupted.ipynb", SEVERAL)
    notebook.command("notebook:interrupt-kernel")
    until_it_says(notebook, "KeyboardInterrupt")
    assert notebook.cell(VERIFY).locator(BAR).count() == 0
    outputs = saved(notebook)
    *shown, error = outputs
    assert error["ename"] == "KeyboardInterrupt"
    assert {output["output_type"] for output in shown} == {"display_data"}
    assert shown[0]["data"] == {"text/plain": [], "text/html": []}, "where the bar was"
    begin(notebook)
    until_it_says(notebook, "verifies: 20,000 steps")

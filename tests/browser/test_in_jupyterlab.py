from __future__ import annotations

import re

import pytest
from jupyter_pages import NotebookPage, Server, code, exported, of_somebody_else, without_scripts

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CELLS = code(
    "%load_ext kvnb",
    "%kvpool new 11",
    "%kvpool admit r0 ABCDEFGHIJKLMNO",
    "%kvpool admit r1 ABCDEFGHIJxxxx",
    "%kvpool release r9",
    "%kvpool usage",
    "%kvpool admit r2 A;",
    "",
)

LIGHTNESS = """element => {
  const parts = colour => colour.match(/[0-9.]+/g).map(Number);
  const light = ([r, g, b]) => (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
  const opaque = node => {
    for (; node; node = node.parentElement) {
      const colour = parts(getComputedStyle(node).backgroundColor);
      if (colour.length < 4 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  return [...element.querySelectorAll('*')].filter(node => [...node.childNodes].some(c => c.nodeType === 3 && c.data.trim()))
    .map(node => [node.textContent, light(parts(getComputedStyle(node).color)), light(opaque(node))]);
}"""


def opened(notebook: NotebookPage, name: str) -> NotebookPage:
    """A fresh notebook of the cells above, all of them run but the empty last."""
    notebook.begin(name, CELLS, *range(7))
    return notebook


@pytest.fixture(scope="module")
def finished(looked_at: NotebookPage) -> NotebookPage:
    """The notebook after all its cells ran, for looking only."""
    return opened(looked_at, "finished.ipynb")


def queue(text: str) -> list[str]:
    """The block ids that can be read between the words ``free queue`` and the line of figures."""
    return re.findall(r"\d+", text.split("free queue")[1].split("step")[0])


def test_results_can_be_read_in_the_notebook(finished: NotebookPage) -> None:
    assert "r0: 15 tokens, 0 block(s) from cache, 4 new" in finished.output(2)
    assert "r1: 14 tokens, 2 block(s) from cache, 2 new" in finished.output(3)
    assert queue(finished.output(3)) == ["7", "8", "9", "10"]


def test_an_error_is_one_line(finished: NotebookPage) -> None:
    assert finished.output(4).strip() == "UnknownName: no request r9: there are r0, r1"


def test_tab_offers_the_verbs_with_their_kind(notebook: NotebookPage) -> None:
    opened(notebook, "completion.ipynb")
    notebook.cell(7).locator(".cm-content").click()
    notebook.page.keyboard.type("%kvpool ")
    notebook.page.keyboard.press("Tab")
    popup = notebook.page.locator(".jp-Completer")
    popup.wait_for(state="visible")
    assert {"new", "admit", "release", "verb"} <= set(popup.inner_text().split())
    notebook.page.keyboard.type("rel")
    notebook.page.keyboard.press("Enter")
    notebook.page.keyboard.type(" ")
    notebook.page.keyboard.press("Tab")
    popup.get_by_text("request").first.wait_for(state="visible")
    assert {"r0", "r1"} <= set(popup.inner_text().split())


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_every_word_of_a_result_stands_out_from_what_is_behind_it(notebook: NotebookPage, theme: str) -> None:
    opened(notebook, f"{theme.split()[1]}.ipynb")
    notebook.command("apputils:change-theme", theme=theme)
    notebook.page.wait_for_function(f"document.body.dataset.jpThemeLight === '{str(theme.endswith('Light')).lower()}'")
    for index in (1, 2, 3, 5):
        notebook.output(index)
        words = notebook.cell(index).locator(".jp-Cell-outputArea").evaluate(LIGHTNESS)
        assert words
        for word, text, behind in words:
            assert abs(text - behind) > 0.25, (theme, word)
    notebook.command("apputils:change-theme", theme="JupyterLab Light")


def test_a_record_adds_nothing_below_a_result(finished: NotebookPage) -> None:
    children = "area => [...area.querySelectorAll(':scope > .lm-Widget')].map(e => [e.innerText, e.offsetHeight])"
    for index in (1, 2, 3):
        result, *record = finished.cell(index).locator(".jp-Cell-outputArea").evaluate(children)
        assert result[1] > 20
        assert record == [["", 0]]


def test_a_record_below_a_silent_cell_is_an_empty_line_at_most(finished: NotebookPage) -> None:
    assert finished.output(6).strip() == ""
    with_record, without_output = (finished.cell(index).bounding_box()["height"] for index in (6, 0))
    assert with_record - without_output <= 25


def test_a_reopened_notebook_that_nobody_trusts_still_shows_the_queue(notebook: NotebookPage) -> None:
    opened(notebook, "mine.ipynb")
    notebook.begin("theirs.ipynb", of_somebody_else(notebook.saved()["cells"]))
    trusted = notebook.page.evaluate("window.jupyterapp.shell.currentWidget.content.model.cells.get(3).trusted")
    assert not trusted
    assert "r1: 14 tokens, 2 block(s) from cache, 2 new" in notebook.output(3)
    assert queue(notebook.output(3)) == ["7", "8", "9", "10"]


@pytest.mark.filterwarnings("ignore:Your element with mimetype:UserWarning")
def test_an_exported_page_shows_the_results_and_no_trace_of_the_records(notebook: NotebookPage, server: Server) -> None:
    opened(notebook, "exported.ipynb")
    notebook.command("docmanager:save")
    page = exported(server, "exported.ipynb")
    assert "kvnb.record" in (server.notebooks / "exported.ipynb").read_text()
    assert "kvnb.record" not in page
    notebook.page.goto("about:blank")
    notebook.page.set_content(without_scripts(page))
    text = notebook.page.locator("body").inner_text()
    assert "r1: 14 tokens, 2 block(s) from cache, 2 new" in text
    assert "Traceback" not in text

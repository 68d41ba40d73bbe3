"""What is clicked in a dashboard, in JupyterLab: pool, journal and cell are the same as if it had been typed."""

from __future__ import annotations

from typing import Any

import pytest
from dashboards import LAB, Board, ask, board, do
from helpers import needs
from jupyter_pages import NotebookPage, Server, code

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PANEL, SCRATCH, PASTED = 2, 3, 4
NASTY = [
    "it's", 'say "so"', "$x", "{y}", "a; b;", "--all", "-1", "<b>bold</b>", "# no comment", "back\\slash", " two  spaces ",
    "ä€😀",
]  # fmt: skip
CELLS = code("%load_ext kvnb\nx = y = 'expanded'", "%kvpool new 11;", "%kvpool dashboard", "", "")


@pytest.fixture(scope="module")
def opened(looked_at: NotebookPage, server: Server) -> NotebookPage:
    """A pool with memory and a model, and its dashboard."""
    needs("torch")
    looked_at.page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=server.url)
    looked_at.begin("clicks.ipynb", CELLS, 0, 1)
    return looked_at


@pytest.fixture
def shown(opened: NotebookPage) -> Board:
    """The dashboard of a pool that nothing happened to yet."""
    opened.run(1, PANEL)
    return board(opened, PANEL).at(0)


def facts(page: NotebookPage) -> Any:
    """The pool's digest and its number of steps."""
    return ask(page, f"[{LAB}.digest, len({LAB}.journal)]")


def test_every_button_does_what_the_typed_command_does_and_the_log_says_clicked(shown: Board, opened: NotebookPage) -> None:
    clicks = [
        ("admit", "r0", "ABCDEFGHIJKLMNO", None), ("admit", "r1", "ABCDEFGHIJxxxx", None), ("append", "r1", "yy", None),
        ("generate", "r1", "", 3), ("preempt", "r1", "", None), ("admit", "r1", "", None), ("release", "r1", "", None),
        ("undo", "", "", None), ("release", "r0", "", None), ("release", "r1", "", None), ("reset", "", "", None),
    ]  # fmt: skip
    for verb, name, text, tokens in clicks:
        assert shown.click(verb, name, text, tokens).startswith("✓ "), verb
    digest, steps = facts(opened)
    assert shown.at(steps).text("step") == f"step {steps} · digest {digest[:8]}"
    log = do(opened, SCRATCH, "%kvpool log")
    assert log.count("clicked") == steps
    typed = (
        "%%kvpool", "new 11", "admit r0 ABCDEFGHIJKLMNO", "admit r1 ABCDEFGHIJxxxx", "append r1 yy", "generate r1 3",
        "preempt r1", "admit r1", "release r1", "undo", "release r0", "release r1", "reset",
    )  # fmt: skip
    do(opened, SCRATCH, "\n".join(typed))
    assert facts(opened) == [digest, steps]
    assert "clicked" not in do(opened, SCRATCH, "%kvpool log")


def test_what_is_refused_says_so_in_one_line_and_changes_nothing(shown: Board, opened: NotebookPage) -> None:
    shown.click("admit", "r0", "ABCDEFGHIJKLMNO")
    before = facts(opened)
    refused = {
        ("admit", "r0", "again"): "✕ r0 is already running: ",
        ("append", "r7", "x"): "✕ no request r7: there is r0",
        ("admit", "large", "x" * 100): "✕ large needs 25 blocks, the pool has 10",
        ("reset", "", ""): "✕ 4 blocks still in use: release or preempt r0 first",
        ("append", "r0", ""): "✕ nothing to append to r0",
    }
    for (verb, name, text), says in refused.items():
        said = shown.click(verb, name, text)
        assert said.startswith(says)
        assert "\n" not in said
    assert facts(opened) == before
    assert shown.at(1).text("clicked") == said, "the line stays"
    assert shown.host.locator("pre").text_content() == "%%kvpool\nadmit r0 ABCDEFGHIJKLMNO", "what was refused is in no cell"


def test_any_text_arrives_as_it_was_typed_and_the_copied_cell_does_it_again(shown: Board, opened: NotebookPage) -> None:
    for place, text in enumerate(NASTY):
        name = text.strip()
        assert shown.click("admit", name, text).startswith("✓ ")
        assert ask(opened, f"{LAB}.journal.steps[-1].command.args") == {"name": name, "text": text}
        shown.at(2 * place + 1)
        assert shown.tells("requests").startswith(f"Requests: {name}: {len(text.encode())} tokens"), "its tokens are bytes"
        assert shown.host.get_by_text("bold", exact=True).count() == 0
        assert shown.click("release").startswith("✓ ")
    digest, steps = facts(opened)
    shown.at(steps)
    shown.host.locator("summary").click()
    shown.button("copy as cell").click()
    shown.button("copied").wait_for()
    opened.run(1)
    opened.page.evaluate("index => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = index; }", PASTED)
    opened.cell(PASTED).locator(".cm-content").click()
    opened.page.keyboard.press("Control+a")
    opened.page.keyboard.press("Control+v")
    source = "index => window.jupyterapp.shell.currentWidget.content.widgets[index].model.sharedModel.getSource()"
    assert opened.page.evaluate(source, PASTED).startswith("%%kvpool\nadmit ")
    opened.run(PASTED)
    assert facts(opened) == [digest, steps]


def test_a_click_after_the_pool_is_no_longer_in_use_still_means_its_own_pool(shown: Board, opened: NotebookPage) -> None:
    do(opened, SCRATCH, "%kvpool new 5 --name other --device none")
    shown.click("admit", "mine", "HELLO")
    shown.at(1)
    assert ask(opened, f"[{LAB}.name, len({LAB}.journal), len({LAB[:-1]}'pool').journal)]") == ["other", 0, 1]
    assert shown.host.locator("pre").text_content() == "%%kvpool\nadmit mine HELLO --pool pool"
    do(opened, SCRATCH, "%kvpool close other")

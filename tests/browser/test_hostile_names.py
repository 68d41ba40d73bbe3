"""Names and prompts that are markup, in JupyterLab: shown as what they are, in every picture, and nothing of them runs."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from helpers import ROOT
from jupyter_pages import NotebookPage, code

sys.path.insert(0, str(ROOT / "tests" / "export"))

from hostile import MARKUP

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LOOKS = (
    """
    show|show queue|show tables|show map|show diagram|show blocks|show block 1|show request $name|usage|check|metrics|log|
    log events|at 2|diff 0 3|timeline queue|timeline usage|timeline blocks|list|replay|verify|dashboard
""".replace("\n    ", "")
    .strip()
    .split("|")
)
# JupyterLab itself makes a link of an address in plain text: it asks for nothing until somebody follows it.
FOREIGN = """() => [...document.querySelectorAll('.jp-Cell-outputArea *')].filter((element) =>
  [...element.attributes].some(({ name, value }) => name.startsWith('on') || /^\\s*javascript:/i.test(value)
    || (name === 'src' && value.includes('/far')))
  || /^(script|iframe|object|embed|base|form|template|video)$/i.test(element.tagName)
).map((element) => element.outerHTML.slice(0, 200))"""


@pytest.fixture
def ran(notebook: NotebookPage) -> NotebookPage:
    """A pool and requests of such names, and every look at them."""
    admitted = (
        "for place, text in enumerate(texts):\n    name = f'{text}{place}'\n    display(lab.admit(name, text, salt=text[:9]))"
    )
    cells: tuple[Any, ...] = (
        "%load_ext kvnb", f"texts = {MARKUP[:12] + MARKUP[16:17] + MARKUP[19:22]!r}", "all_of_it = ' '.join(texts)",
        "made = %kvpool new 800 --device none --name $all_of_it", "lab = made.value", admitted,
        *(f"%kvpool {look}" for look in LOOKS), "%kvpool release $all_of_it", "%kvpool load $all_of_it", "%kvpool undo",
    )  # fmt: skip
    notebook.begin("hostile.ipynb", code(*cells), *range(len(cells)))
    return notebook


def test_nothing_that_a_user_named_runs_in_the_notebook(ran: NotebookPage) -> None:
    seen = []
    for index in range(3, 6 + len(LOOKS)):
        # What is out of sight JupyterLab takes off the page.
        ran.cell(index).scroll_into_view_if_needed()
        ran.page.wait_for_timeout(100)
        seen.append(ran.output(index))
        assert ran.page.evaluate(FOREIGN) == [], index
    assert ran.page.evaluate("window.kvnbRan") is None
    assert sum("<script>window.kvnbRan" in text for text in seen) > 8, "it is shown as what it is"

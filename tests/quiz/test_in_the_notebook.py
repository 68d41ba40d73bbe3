"""The quiz as it stands in the first notebook: unanswered it asks, filled in it is all answered."""

from __future__ import annotations

import json
import re
from typing import Any

from helpers import ROOT
from quiz_lines import right_answer

from kvnb.commands import run_script
from kvnb.quiz import ITEMS, Challenge, Question, Task
from kvnb.session import Session

PARAMETERS = {"num_blocks": 11, "block_size": 4}


def quiz_cells() -> list[Any]:
    """The code cells of the saved notebook that ask a question."""
    notebook = json.loads((ROOT / "notebooks" / "01-pool.ipynb").read_text())
    cells = [{**cell, "source": "".join(cell["source"])} for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [cell for cell in cells if re.search(r"quiz \d", cell["source"])]


def asked(cell: Any) -> int:
    (number,) = re.findall(r"quiz (\d+)", cell["source"])
    return int(number)


def filled_in(source: str, number: int) -> str:
    """The script that a learner makes of a cell: the answer behind the number, or commands that build the state."""
    item, script = ITEMS[number], source.replace("%%kvpool\n", "").replace("%kvpool ", "")
    if isinstance(item, Challenge):
        return script.replace("# your commands, one a line", "\n".join(item.sample))
    assert isinstance(item, Question | Task)
    return f"{script} {right_answer(item) if isinstance(item, Question) else item.sample}"


def test_each_question_is_asked_once_and_in_order():
    assert list(map(asked, quiz_cells())) == list(ITEMS)


def test_a_cell_that_nobody_has_answered_asks_and_has_hint_and_solution_folded():
    for cell in quiz_cells():
        item = ITEMS[asked(cell)]
        (said,) = [output["data"] for output in cell["outputs"] if "text/plain" in output.get("data", {})]
        plain, page = "".join(said["text/plain"]), "".join(said["text/html"])
        assert item.asks in plain
        assert item.hint not in plain
        assert item.solution not in plain
        for folded in ("hint", "solution"):
            assert f">{folded}</summary>" in page


def test_whoever_fills_the_cells_in_has_answered_everything():
    session = Session()
    for cell in quiz_cells():
        for _ in run_script(session, filled_in(cell["source"], asked(cell)), PARAMETERS.__getitem__):
            pass
    assert session.answered == set(ITEMS)

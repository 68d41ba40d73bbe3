"""The third notebook: what it has in it, what it says to answers, and that what it claims is so."""

from __future__ import annotations

from typing import Any

import pytest
from helpers import SEED_PROMPTS, needs
from notebook_files import NotebookFile, code_cells, shown

from kvnb import Lab
from kvnb.core.events import Hashed, Took, Unhashed
from kvnb.views.dashboard.lines import Fields, cell, line

needs("plotly")

WATCH = NotebookFile("03-watch")
PLOTLY = "application/vnd.plotly.v1+json"


def outputs(notebook: Any) -> list[Any]:
    """What is displayed, cell after cell; records left out."""
    found = [output for cell in code_cells(notebook) for output in cell.outputs if output.output_type == "display_data"]
    return [output for output in found if output.data.get("text/plain")]


def test_every_picture_has_a_text_and_a_still_form_and_no_widget_is_in_the_file():
    for output in outputs(WATCH.saved()):
        assert output.data["text/html"]
        assert not [kind for kind in output.data if "widget" in kind]
    assert "widgets" not in WATCH.saved().metadata


def test_figures_are_small_and_the_file_is_under_a_megabyte():
    figures = [output.data[PLOTLY] for output in outputs(WATCH.saved()) if PLOTLY in output.data]
    figures += [o.data[PLOTLY] for cell in code_cells(WATCH.saved()) for o in cell.outputs if PLOTLY in o.get("data", {})]
    assert len(figures) >= 5
    assert max(len(str(figure)) for figure in figures) < 500_000
    assert WATCH.path.stat().st_size < 1_000_000


# --- the live part -----------------------------------------------------------------------------------------------


@pytest.fixture
def live() -> Lab:
    """The pool of the live part, before it is clicked."""
    lab = Lab(11, block_size=4, device="none", name="live")
    for name in ("r0", "r1"):
        lab.admit(name, SEED_PROMPTS[name])
    for token in "PQRSTU":
        for name in lab.requests:
            lab.append(name, token)
    return lab


def test_the_dashboard_of_a_notebook_that_nobody_looks_at_is_its_still_form():
    boards = [part for cell in shown(WATCH.saved()) for part in cell if part.startswith("live: 11 blocks")]
    assert [part.split("step ")[1].split("\n")[0] for part in boards] == ["2", "17"]


def test_a_request_that_decodes_takes_a_block_from_the_front_one_command_after_its_last_one_got_a_hash(live: Lab):
    full, taken = (next(step for step in live.journal.steps[2:] if step.of(event)) for event in (Hashed, Took))
    assert [step.command.args["name"] for step in (full, taken)] == ["r0", "r0"]
    assert [event.ids for event in (*full.of(Hashed), *taken.of(Took))] == [(4,), (7,)]
    assert taken.number - full.number == len(live.requests)
    assert live.journal.state_at(full.number).requests["r0"].num_tokens == 16
    first = next(step for step in live.journal.steps[2:] if step.command.args["name"] == "r1" and step.of(Took))
    assert 0 < first.number - taken.number <= 2 * len(live.requests)


def test_the_queue_is_shortest_at_the_last_two_steps_of_the_decoding(live: Lab):
    lengths = {step.number: len(live.journal.state_at(step.number).queue) for step in live.journal.steps}
    assert len(live.journal) == 14
    assert [step for step, length in lengths.items() if length == min(lengths.values())] == [13, 14]
    assert min(lengths.values()) == 1


def test_the_block_of_one_token_goes_to_the_front_and_three_to_the_back_when_r0_ends(live: Lab):
    assert live.block_table("r0") == (1, 2, 3, 4, 7, 9)
    live.release("r0")
    assert live.free_queue == (9, 10, 7, 4, 3)
    assert live.block_table("r1")[:2] == (1, 2)


def test_what_is_to_be_clicked_is_the_cell_that_stands_below(live: Lab):
    live.release("r0")
    fields = Fields("r2", "ABCDEFGHIJKLzz")
    lines = [line("admit", fields, live.state)]
    live.admit("r2", fields.text)
    lines.append(line("append", Fields("r2", "zz"), live.state))
    assert cell(lines) in [code.source for code in code_cells(WATCH.source())]


# --- the exercises -----------------------------------------------------------------------------------------------


RIGHT = {
    "queue = None": "queue = [3, 5, 6, 7, 8, 9, 10, 4, 2, 1]",
    "tables = [live": 'live.admit("r3", "ABCDEFGHi")\ntables = [live',
}
WRONG = {
    "queue = [3, 5]": "not yet: 10 blocks are free then, each of them once",
    "queue = [5, 3, 6, 7, 8, 9, 10, 4, 2, 1]": "not yet: the first 0 of 10 are right",
    "queue = [3, 5, 6, 7, 8, 9, 10, 1, 2, 4]": "not yet: the first 7 of 10 are right",
}


@pytest.mark.slow
def test_wrong_answers_are_told_and_do_not_give_the_right_one_away_and_right_ones_are_called_right():
    queue, tables = RIGHT
    answers = {queue: [*WRONG, RIGHT[queue]], tables: [RIGHT[tables]]}
    assert WATCH.answered(answers) == {queue: [*WRONG.values(), "right"], tables: ["right"]}


def test_the_right_answers_stand_in_the_text():
    text = WATCH.text.read_text(encoding="utf-8")
    assert RIGHT["queue = None"].removeprefix("queue = ") in text
    assert "ABCDEFGHi" in text


def test_a_pool_of_401_blocks_has_less_cache_and_the_same_hits():
    large, small = talks(1001), talks(401)
    assert [f"{lab.usage:.2f}" for lab in (large, small)] == ["0.38", "0.95"]
    assert [first_evicted(lab) for lab in (large, small)] == ["talk98", "talk32"]
    for lab in (large, small):
        assert (lab.state.counters.hits, lab.state.counters.queries) == (62_720, 94_000)


def talks(num_blocks: int) -> Lab:
    """The conversations of the notebook, in so many blocks."""
    names: dict[str, Any] = {}
    source = next(code.source for code in code_cells(WATCH.source()) if "large = Lab(" in code.source)
    exec(source.replace("1001", str(num_blocks)), names)
    lab = names["large"]
    assert isinstance(lab, Lab)
    return lab


def first_evicted(lab: Lab) -> str:
    """The request that was the first to cost a cached block."""
    return next(step.command.args["name"] for step in lab.journal.steps if step.of(Unhashed))


def test_under_the_older_rule_b_loses_block_5_while_block_4_waits_behind_it():
    rules = {}
    for rule in ("front-back", "back"):
        lab = rules[rule] = Lab(11, block_size=4, free_to=rule, device="none")
        for name in ("r0", "r1"):
            lab.admit(name, SEED_PROMPTS[name])
        lab.release("r0")
        lab.release("r1")
        lab.admit("r2", SEED_PROMPTS["r2"])
        lab.release("r2")
        lab.admit("a", "ABCDEFGHIJKLMNOP")
        queue = lab.free_queue
        lab.admit("b", "ABCDEFGHqqqq")
    assert not any(step.of(Unhashed) for step in rules["front-back"].journal.steps)
    assert [event.ids for event in rules["back"].journal.steps[-1].of(Unhashed)] == [(5,)]
    assert queue[:2] == (5, 4)
    assert 4 not in rules["back"].cached


def test_all_three_exits_light_when_r0_ends():
    lab = Lab(11, block_size=4, device="none")
    for name in ("r0", "r1"):
        lab.admit(name, SEED_PROMPTS[name])
    lab.release("r0")
    text = "\n".join(part for cell in shown(WATCH.saved()) for part in cell)
    for says in ("to the FRONT, reused at once", "to the BACK, kept as cache", "still above 0: in use by others"):
        assert says in text
    assert lab.free_queue == (4, 7, 8, 9, 10, 3)


def test_the_large_pool_hits_evicts_and_is_full():
    says = next(part for cell in shown(WATCH.saved()) for part in cell if "steps, usage" in part)
    assert "370 steps, usage 0." in says
    hits = int(says.split("usage")[1].split(", ")[1].split(" of")[0].replace(",", ""))
    assert hits > 20_000

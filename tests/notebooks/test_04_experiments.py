"""The fourth notebook: what it has in it, and that what it claims is so."""

from __future__ import annotations

from typing import Any

from helpers import needs, seed_lab
from notebook_files import NotebookFile, code_cells, errors, shown_below

from kvnb import Lab
from kvnb.core.events import Unhashed

needs("plotly")
needs("pandas")

EXPERIMENTS = NotebookFile("04-experiments")
PLOTLY = "application/vnd.plotly.v1+json"


def below(notebook: Any, source: str) -> str:
    """What a reader of plain text sees below the one cell that has ``source`` in it."""
    [cell] = [cell for cell in code_cells(notebook) if source in cell.source]
    return "\n".join(shown_below(cell))


# --- the file --------------------------------------------------------------------------------------------------


def test_one_cell_is_meant_to_fail():
    assert len(errors(EXPERIMENTS.saved())) == 1


def test_a_question_stands_before_each_answer():
    cells = EXPERIMENTS.saved().cells
    asked = [place for place, cell in enumerate(cells) if "**Question:**" in cell.source and cell.cell_type == "markdown"]
    assert len(asked) >= 8
    assert all(cells[place + 1].cell_type == "code" for place in asked if place < asked[-1])


def test_each_comparison_has_tables_and_one_figure_that_both_have_a_still_form():
    for cell in code_cells(EXPERIMENTS.saved()):
        if cell.source.startswith("%kvpool diff"):
            tables, figure = [output.data for output in cell.outputs if output.data.get("text/plain")]
            assert "text/html" in tables
            assert PLOTLY not in tables
            assert "data:image/svg+xml" in figure["text/html"]
            assert len(str(figure[PLOTLY])) < 50_000


# --- what it claims ----------------------------------------------------------------------------------------------


def test_the_older_rule_costs_the_unkind_day_four_tokens():
    lab = seed_lab().fork("unkind", 4)
    lab.admit("stranger", "s" * 24)
    lab.release("stranger")
    lab.admit("again", "ABCDEFGHIJKLMx")
    older = lab.fork("older", free_to="back")
    assert [pool.state.requests["again"].hits for pool in (lab, older)] == [12, 8]
    assert older.journal.forked is not None
    assert older.journal.forked.differs == 3
    assert older.journal.steps[4].of(Unhashed)[0].ids == (3,)
    assert 6 in older.journal.state_at(4).queue
    assert older.journal.state_at(4).keys[6] is None


def test_two_blocks_fewer_refuse_r3_and_evict_block_5_for_r2_and_one_more_evicts_none():
    small, large = (seed_lab().fork("f", num_blocks=size) for size in (9, 12))
    assert small.journal.forked is not None
    assert [left.command for left in small.journal.forked.refused] == ["admit r3"]
    assert below(EXPERIMENTS.saved(), "fork small").count("evict: block 5 loses its hash") == 1
    assert large.state.counters.evicted_blocks == 0


def test_smaller_blocks_find_all_22_tokens_larger_ones_16_and_blocks_of_four_20():
    found = [seed_lab().fork("f", block_size=size, num_blocks=40 // size + 1).state.counters.hits for size in (2, 4, 8)]
    assert found == [22, 20, 16]


def test_without_the_cache_nothing_is_refused_and_usage_is_higher_from_step_2_on():
    lab = seed_lab()
    plain = lab.fork("plain", prefix_caching=False)
    assert plain.journal.forked is not None
    assert (plain.journal.forked.refused, plain.journal.forked.differs) == ((), 1)
    assert plain.num_forward_tokens - lab.num_forward_tokens == 20
    (first, first_plain), (second, second_plain) = ([one.journal.state_at(k).usage for one in (lab, plain)] for k in (1, 2))
    assert first == first_plain
    assert second < second_plain


def test_the_answers_of_the_exercises():
    lab = seed_lab()
    seed = lab.fork("seed", full_hit=True).journal.forked
    assert seed is not None
    assert seed.differs == 0
    twice = Lab(11, block_size=4, device="none")
    twice.admit("a", "ABCDEFGH")
    twice.admit("b", "ABCDEFGH")
    assert [pool.state.requests["b"].hits for pool in (twice, twice.fork("seed", full_hit=True))] == [4, 8]
    window = lab.fork("window", sliding_window=8)
    assert window.journal.forked is not None
    assert window.journal.forked.differs == 5
    assert (window.free_queue, lab.free_queue) == ((1,), ())
    assert window.block_table("r2")[:3] == (0, 2, 3)


def test_answers_are_judged_by_the_pools_and_the_right_ones_stand_in_the_text():
    known, step = "# your commands, such as: %kvpool admit a ABCDEFGH", "first_step = None"
    sizes = "nothing_refused = None  # your number of blocks, block 0 included\nnothing_evicted = None"
    twice = [f'%kvpool admit {name} {{"x" * 2 * block_size}}' for name in "ab"]
    answers = {
        known: ["%kvpool admit a ABCDEFGH\n%kvpool admit b ABCDEFGHi", "\n".join(twice)],
        step: ["first_step = 6", "first_step = 5"],
        sizes: [f"nothing_refused = {refused}\nnothing_evicted = 18" for refused in (11, 12)],
    }
    assert EXPERIMENTS.answered(answers, first=4) == {
        known: ["not yet: no prompt was known as a whole when it came", "right: it differs from step 2 on"],
        step: ["not 6: look further back", "right; at the end 1 is free, in the story 0"],
        sizes: ["refused: not 11", "right, both"],
    }
    text = EXPERIMENTS.text.read_text(encoding="utf-8")
    assert all(f"`{line}`" in text for line in twice)
    assert "At step 5, `admit r2`" in text
    assert "12 and 18." in text

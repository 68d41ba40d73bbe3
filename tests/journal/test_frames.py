from __future__ import annotations

import pytest
from helpers import needs, seed_lab

from kvnb import Lab
from kvnb.errors import CommandError
from kvnb.journal.frames import rerun_notes
from kvnb.journal.journal import Cell


def test_the_table_of_steps_has_a_row_a_step() -> None:
    needs("pandas")
    frame = seed_lab().journal.to_frame("steps")
    assert list(frame.index) == [1, 2, 3, 4, 5, 6]
    assert list(frame["command"][:3]) == ["admit r0 ABCDEFGHIJKLMNO", "admit r1 ABCDEFGHIJxxxx", "release r0"]
    assert list(frame["request"]) == ["r0", "r1", "r0", "r1", "r2", "r3"]
    assert list(frame["hit"]) == [0, 2, 0, 0, 3, 0]
    assert list(frame["new"]) == [4, 2, 0, 0, 5, 2]
    assert list(frame["evicted"]) == [0, 0, 0, 0, 0, 1]
    assert list(frame["free"]) == [6, 4, 6, 10, 2, 0]
    assert list(frame["used"]) == [4, 6, 4, 0, 8, 10]
    assert list(frame["cached"]) == [3, 4, 4, 4, 8, 9]
    assert list(frame["usage"]) == pytest.approx([0.4, 0.6, 0.4, 0.0, 0.8, 1.0])


def test_the_table_of_steps_begins_with_each_digest() -> None:
    needs("pandas")
    lab = seed_lab()
    assert list(lab.journal.to_frame()["digest"]) == [step.digest[:12] for step in lab.journal.steps]


def test_after_an_undo_the_levels_are_the_earlier_ones_again() -> None:
    needs("pandas")
    lab = seed_lab(2)
    lab.undo()
    assert list(lab.journal.to_frame()["free"]) == [6, 4, 6]


def test_the_table_of_events_has_a_row_an_event() -> None:
    needs("pandas")
    frame = seed_lab(1).journal.to_frame("events")
    assert list(frame["event"]) == ["request", "tokens", "looked", "took", "extended", "hashed"]
    assert list(frame["step"]) == [1] * 6
    assert frame["ids"][3] == (1, 2, 3, 4)
    assert frame["keys"][5][0] == "2174859f29fe1b18"
    assert frame["detail"][2] == {"n": 15, "hits": 0, "preempted": False}


@pytest.mark.parametrize(("rows", "columns"), [("steps", 14), ("events", 6)])
def test_the_table_of_a_new_pool_is_empty_but_has_its_columns(rows: str, columns: int) -> None:
    needs("pandas")
    frame = Lab(5, device="none").journal.to_frame(rows)
    assert (len(frame), len(frame.columns)) == (0, columns)


def test_making_a_table_does_not_move_the_live_state() -> None:
    needs("pandas")
    lab = seed_lab(2)
    before = lab.state.columns()
    lab.journal.to_frame()
    assert lab.state.columns() == before


def test_an_unknown_table_is_an_error() -> None:
    with pytest.raises(CommandError, match=r"unknown table 'step': did you mean steps\?"):
        seed_lab().journal.to_frame("step")


def run_cells(*runs: tuple[str, int]) -> dict[int, str]:
    """The notes after one step in each of these cells (id, prompt number)."""
    lab = Lab(50, device="none")
    for number, (cell_id, execution_count) in enumerate(runs):
        lab.cell = Cell(execution_count, f"source of {cell_id}", cell_id)
        lab.admit(f"r{number}", "x")
    return rerun_notes(lab.journal)


def test_cells_run_once_in_order_have_no_note() -> None:
    assert run_cells(("a", 1), ("b", 2), ("c", 3)) == {}


def test_several_steps_of_one_run_have_no_note() -> None:
    assert run_cells(("a", 1), ("a", 1), ("b", 2)) == {}


def test_a_cell_run_twice_in_a_row_is_a_rerun() -> None:
    assert run_cells(("a", 1), ("a", 2), ("a", 2)) == {2: "rerun", 3: "rerun"}


def test_a_cell_run_again_after_others_is_out_of_order() -> None:
    assert run_cells(("a", 1), ("b", 2), ("a", 3), ("c", 4)) == {3: "out of order"}


def test_without_the_front_ends_id_a_cell_is_known_by_its_source() -> None:
    lab = Lab(50, device="none")
    for number, execution_count in enumerate([1, 2]):
        lab.cell = Cell(execution_count, "same source", None)
        lab.admit(f"r{number}", "x")
    assert rerun_notes(lab.journal) == {2: "rerun"}


def test_steps_outside_a_notebook_have_no_note() -> None:
    assert rerun_notes(seed_lab().journal) == {}

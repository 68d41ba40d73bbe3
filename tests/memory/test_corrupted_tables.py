"""A block table that points at a wrong block: what notices it, what does not, and that undo mends it."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import assert_sound, failing
from memory_labs import small

from kvnb import Lab
from kvnb.errors import JournalError, KvnbError
from kvnb.export.leaving import export
from kvnb.journal import jsonl
from kvnb.journal.contents import contents


def two() -> Lab:
    """``a`` in blocks 1 and 2, ``b`` in 1 and 3."""
    lab = small(11)
    lab.admit("a", "ABCDEFGH")
    lab.admit("b", "ABCDxyzw")
    return lab


def test_the_worker_reads_another_block_and_the_pool_knows_nothing() -> None:
    lab = two()
    lab.corrupt("b", 3, 2)
    assert lab.block_table("b") == (1, 3)
    assert lab.worker is not None
    assert lab.worker.block_table.row("b").tolist() == [1, 2]
    assert not lab.prove("b").holds
    assert lab.prove("a").holds
    assert [line.split(":")[0] for line in failing(lab.check())] == ["the worker's block tables = the manager's"]


def test_undo_points_it_back() -> None:
    lab = two()
    lab.corrupt("b", 3, 2)
    lab.undo()
    assert lab.prove("b").holds
    assert_sound(lab)


def test_the_end_of_the_request_takes_it_away() -> None:
    lab = two()
    lab.corrupt("b", 3, 2)
    lab.release("b")
    lab.admit("b", "ABCDxyzw")
    assert lab.prove("b").holds
    assert_sound(lab)


def test_it_is_a_step_that_can_be_replayed_saved_and_told(tmp_path: Path) -> None:
    lab = two()
    result = lab.corrupt("b", 3, 2)
    assert str(result).startswith("b is corrupted: it reads block 2 where its table says block 3")
    assert str(result.step.command) == "corrupt --with 2 b 3"
    assert "b</b>" in result._repr_mimebundle_()["text/html"]
    assert lab.verify().holds
    lab.save(tmp_path / "run.jsonl")
    again = Lab.load(tmp_path / "run.jsonl")
    assert again.worker is not None
    assert again.worker.block_table.row("b").tolist() == [1, 2]
    assert jsonl.read(tmp_path / "run.jsonl").journal.digest == lab.digest


def test_it_leaves_the_notebook_as_a_line_of_python(tmp_path: Path) -> None:
    lab = two()
    lab.corrupt("b", 3, 2)
    lab.undo()
    lab.append("b", "!")
    lab.undo(2)
    source = export(lab, tmp_path / "run.py").read_text()
    assert 'lab.corrupt("b", 3, 2)' in source
    assert "lab.undo(2)  # takes steps 2 to 5 back" in source
    exec(compile(source, "run.py", "exec"), {"__name__": "__main__"})


def test_a_fork_asks_first_since_it_names_blocks() -> None:
    lab = two()
    lab.corrupt("b", 3, 2)
    with pytest.raises(KvnbError, match="under other settings other tokens may be in these blocks"):
        lab.fork("older", free_to="back")
    assert len(lab.fork("older", free_to="back", evictions="skip").journal) == 2


@pytest.mark.parametrize("wrong", [("b", 2, 3), ("b", 3, 0), ("b", 3, 11), ("b", 3, 3), ("z", 1, 2)])
def test_a_block_that_is_not_there_is_refused_in_a_line(wrong: tuple[str, int, int]) -> None:
    lab = two()
    digest = lab.digest
    with pytest.raises(KvnbError) as refused:
        lab.corrupt(*wrong)
    assert "\n" not in str(refused.value)
    assert lab.digest == digest


def test_an_entry_that_is_wrong_already_can_be_made_wrong_otherwise_and_replayed() -> None:
    lab = two()
    lab.corrupt("b", 3, 2)
    lab.corrupt("b", 3, 1)
    lab.corrupt("b", 1, 2)
    assert lab.worker is not None
    assert lab.worker.block_table.row("b").tolist() == [2, 1]
    lab.undo(2)
    assert lab.worker.block_table.row("b").tolist() == [1, 2]
    assert lab.verify().holds


def test_under_a_window_the_entry_that_is_still_seen_is_corrupted() -> None:
    lab = small(6, block_size=2, sliding_window=4)
    lab.admit("a", "AB")
    for letter in "CDEFGHIJKLMNOP":
        lab.append("a", letter)
    held = [block_id for block_id in lab.block_table("a") if block_id]
    assert lab.worker is not None
    assert lab.worker.block_table.row("a").tolist().count(held[0]) == 2
    assert lab.prove("a").holds
    lab.corrupt("a", held[0], held[1])
    assert not lab.prove("a").holds
    assert failing(lab.check())


def test_the_picture_of_the_contents_shows_where_the_tokens_went() -> None:
    lab = small(11)
    lab.admit("a", "ABCDEF")
    lab.admit("b", "xyzwv")
    lab.corrupt("a", 2, 4)
    lab.append("a", "!?")
    held = contents(lab.journal, range(11))
    for block_id, slots in held.items():
        # What was computed from a NaN is one too, but for the first layer.
        there = ~lab.kv[block_id].isnan().transpose(0, 2).flatten(1).all(dim=1)
        assert [slot.written is not None for slot in slots] == there.tolist()
    assert contents(lab.journal, [4])[4] == held[4]
    assert [slot.written and (slot.written.name, slot.written.place) for slot in held[4]] == [("b", 4), None, ("a", 6), ("a", 7)]
    lab.preempt("a")
    lab.admit("a")
    again = lab.block_table("a")[1]
    assert all(slot.written and slot.written.name == "a" for slot in contents(lab.journal, [again])[again])
    assert lab.prove("a").holds


def test_several_steps_are_taken_back_at_once_or_none() -> None:
    lab = two()
    lab.generate("a", 5)
    before = len(lab.journal)
    lab.undo(5)
    assert (len(lab.journal), lab.block_table("a")) == (before + 1, (1, 2))
    assert lab.prove("a").holds
    digest = lab.digest
    for n in (0, -1, 3):
        with pytest.raises(JournalError, match="cannot go back"):
            lab.undo(n)
    assert lab.digest == digest
    lab.undo(2)
    assert lab.requests == ()
    assert lab.verify().holds

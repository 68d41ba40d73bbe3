"""The file that a running pool writes."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from helpers import assert_sound, seed_lab, snapshot

from kvnb import Lab
from kvnb.errors import JournalError
from kvnb.journal import jsonl


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


def steps_on_disk(path: Path) -> int:
    read = jsonl.read(path)
    assert read.torn == 0
    return len(read.journal)


def test_every_step_is_on_disk_when_its_command_returns(path: Path) -> None:
    lab = Lab(11, block_size=4, log=path, device="none")
    assert steps_on_disk(path) == 0
    lab.admit("r0", "ABCDEFGHI")
    assert steps_on_disk(path) == 1
    lab.append("r0", "JKL")
    lab.preempt("r0")
    lab.undo()
    assert steps_on_disk(path) == 4
    assert jsonl.read(path).journal.digest == lab.digest


def test_a_refused_command_writes_nothing(path: Path) -> None:
    lab = seed_lab(1, log=path)
    before = path.read_bytes()
    with pytest.raises(Exception, match="already running"):
        lab.admit("r0", "again")
    assert path.read_bytes() == before


def test_a_log_holds_the_lines_that_save_would_write(path: Path, tmp_path: Path) -> None:
    lab = seed_lab(log=path)
    saved = lab.save(tmp_path / "copy.jsonl").read_bytes()
    assert path.read_bytes() == saved.replace(b'"log":false', b'"log":true')


def test_loading_a_log_goes_on_with_it(path: Path) -> None:
    seed_lab(3, log=path).close()
    lab = Lab.load(path)
    assert lab.log_path == path
    lab.release("r1")
    assert steps_on_disk(path) == 4


def test_loading_a_log_rewrites_none_of_its_lines(path: Path) -> None:
    seed_lab(3, log=path).close()
    before = path.read_bytes().replace(b"kvnb 0", b"kvnb 9")  # as another version would have written it
    path.write_bytes(before)
    lab = Lab.load(path)
    assert path.read_bytes() == before
    lab.release("r1")
    assert path.read_bytes().startswith(before)


def test_loading_a_copy_leaves_the_log_alone(path: Path) -> None:
    running = seed_lab(3, log=path)
    copy = Lab.load(path, copy=True)
    copy.release("r1")
    assert copy.log_path is None
    assert steps_on_disk(path) == 3
    running.release("r1")
    assert running.digest == copy.digest


def test_a_log_cut_anywhere_in_its_last_line_loses_only_that_step(path: Path) -> None:
    seed_lab(3, log=path).close()
    whole = path.read_bytes()
    last_line = whole.rindex(b"\n", 0, -1) + 1
    expected = snapshot(seed_lab(2))
    for cut in range(last_line, len(whole)):
        path.write_bytes(whole[:cut])
        lab = Lab.load(path)
        assert snapshot(lab) == expected
        assert lab.torn_bytes == cut - last_line
        lab.release("r0")
        lab.close()
        assert path.read_bytes() == whole


def test_after_a_cut_the_log_goes_on_and_verifies(path: Path) -> None:
    seed_lab(6, log=path).close()
    path.write_bytes(path.read_bytes()[:-20])
    lab = Lab.load(path)
    lab.admit("r3", "zzzzzzzz")
    lab.undo()
    assert_sound(lab)
    assert lab.verify().holds
    lab.close()
    assert Lab.load(path, copy=True).verify().holds


def test_a_log_whose_header_is_torn_is_no_journal(path: Path) -> None:
    Lab(5, log=path, device="none").close()
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(JournalError, match="is no kvnb journal"):
        Lab.load(path)


def test_a_second_pool_in_this_process_may_not_write_the_same_log(path: Path) -> None:
    lab = seed_lab(2, log=path)
    before = path.read_bytes()
    for second in (
        lambda: Lab(5, log=path, device="none"),
        lambda: Lab(5, log=path, force=True, device="none"),
        lambda: Lab.load(path),
    ):
        with pytest.raises(JournalError, match="is being written by another pool: give another file, or close that pool"):
            second()
    assert path.read_bytes() == before
    lab.close()
    assert len(Lab.load(path).journal) == 2


def test_a_pool_that_replaces_the_owner_takes_its_log_over(path: Path) -> None:
    old = seed_lab(2, log=path)
    new = Lab(11, block_size=4, log=path, replacing=old, device="none")
    old.close()
    new.admit("x", "y")
    with pytest.raises(JournalError, match="is being written by another pool"):
        Lab(5, log=path, device="none")
    assert steps_on_disk(path) == 1


def test_a_pool_that_nobody_holds_any_more_lets_go_of_its_log(path: Path) -> None:
    lab: Lab | None = seed_lab(2, log=path)
    assert lab is not None
    del lab
    gc.collect()
    assert len(Lab.load(path).journal) == 2


def test_a_closed_pool_stays_usable_and_writes_no_more(path: Path) -> None:
    lab = seed_lab(2, log=path)
    lab.close()
    lab.close()
    lab.release("r0")
    assert (len(lab.journal), steps_on_disk(path), lab.log_path) == (3, 2, None)


def test_a_new_log_overwrites_an_old_one_which_nobody_writes(path: Path) -> None:
    seed_lab(6, log=path).close()
    Lab(5, log=path, device="none").admit("a", "b")
    assert steps_on_disk(path) == 1


def test_a_log_over_a_foreign_file_needs_force(path: Path) -> None:
    path.write_text("years of work")
    with pytest.raises(JournalError, match="exists and is no kvnb journal"):
        Lab(5, log=path, device="none")
    assert path.read_text() == "years of work"
    Lab(5, log=path, force=True, device="none").admit("a", "b")
    assert steps_on_disk(path) == 1


def test_a_log_that_cannot_be_opened_is_one_line(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "no" / "such" / "log.jsonl"):
        with pytest.raises(JournalError, match="cannot write"):
            Lab(5, log=place, device="none")


def test_bytes_that_another_hand_added_are_cut_off_by_the_next_step(path: Path) -> None:
    lab = seed_lab(2, log=path)
    with path.open("ab") as file:
        file.write(b"graffiti")
    lab.release("r0")
    assert steps_on_disk(path) == 3


def test_a_log_that_another_hand_shortened_is_made_whole_by_the_next_step(path: Path) -> None:
    lab = seed_lab(4, log=path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    lab.undo()
    assert path.read_bytes().startswith(whole)
    assert steps_on_disk(path) == 5


def test_a_log_that_grew_between_reading_and_locking_is_not_cut(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seed_lab(2, log=path).close()
    early = jsonl.read(path)
    seed_lab(3, log=path).close()
    late = path.read_bytes()
    monkeypatch.setattr(jsonl, "read", lambda *_: early)
    with pytest.raises(JournalError, match="was written to while it was being read: load it again"):
        Lab.load(path)
    assert path.read_bytes() == late

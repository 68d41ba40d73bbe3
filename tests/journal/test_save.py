"""Saving never destroys what is not ours."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from helpers import seed_lab

from kvnb import Lab
from kvnb.errors import JournalError


def test_saving_over_an_older_journal_replaces_it(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    seed_lab(2).save(path)
    seed_lab(6).save(path)
    assert len(Lab.load(path).journal) == 6


def test_saving_over_a_foreign_file_needs_force(tmp_path: Path) -> None:
    path = tmp_path / "thesis.txt"
    path.write_text("years of work")
    with pytest.raises(JournalError, match="exists and is no kvnb journal: give another name, or --force"):
        seed_lab().save(path)
    assert path.read_text() == "years of work"
    seed_lab().save(path, force=True)
    assert len(Lab.load(path).journal) == 6


def test_an_empty_file_may_be_saved_over(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.touch()
    seed_lab().save(path)
    assert len(Lab.load(path).journal) == 6


@pytest.mark.parametrize("force", [False, True])
def test_saving_over_a_log_in_use_is_refused(tmp_path: Path, force: bool) -> None:
    path = tmp_path / "log.jsonl"
    running = seed_lab(3, log=path)
    before = path.read_bytes()
    with pytest.raises(JournalError, match="is being written by another pool"):
        seed_lab().save(path, force=force)
    assert path.read_bytes() == before
    running.release("r1")
    running.close()
    assert len(Lab.load(path, copy=True).journal) == 4


def test_a_save_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    for place in (tmp_path / "no" / "such" / "folder.jsonl", tmp_path):
        with pytest.raises(JournalError, match="cannot write"):
            seed_lab().save(place)
        with pytest.raises(JournalError, match="cannot write"):
            seed_lab().save(place, force=True)


def test_a_save_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal.jsonl"
    seed_lab(2).save(path)
    before = path.read_bytes()

    def refuse(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(JournalError, match="No space left on device"):
        seed_lab(6).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_saved_file_is_readable_as_others_are(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    path = seed_lab().save(tmp_path / "journal.jsonl")
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_pool_with_a_log_can_be_saved_elsewhere(tmp_path: Path) -> None:
    lab = seed_lab(log=tmp_path / "log.jsonl")
    copy = Lab.load(lab.save(tmp_path / "copy.jsonl"))
    assert copy.digest == lab.digest
    assert copy.log_path is None


def test_saving_through_a_link_writes_what_it_leads_to(tmp_path: Path) -> None:
    target, link = tmp_path / "target.jsonl", tmp_path / "link.jsonl"
    link.symlink_to(target)
    seed_lab().save(link)
    assert link.is_symlink()
    assert Lab.load(target).digest == seed_lab().digest

"""A step that cannot be written is refused in one line; nothing has changed, and the next one finds the file right."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from helpers import assert_sound, seed_lab, snapshot

from kvnb import Lab
from kvnb.errors import JournalError
from kvnb.journal import jsonl

real_write = os.write


class FullDisk:
    """Stands for ``os.write``: takes ``room`` more bytes, then there is no space left."""

    def __init__(self, room: int) -> None:
        self.room = room

    def __call__(self, descriptor: int, data: bytes) -> int:
        if self.room <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        done = real_write(descriptor, data[: self.room])
        self.room -= done
        return done


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


@pytest.mark.parametrize("room", [0, 1, 100, 300])
def test_a_full_disk_is_one_line_and_changes_nothing(path: Path, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = seed_lab(4, log=path)
    before = snapshot(lab)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", FullDisk(room))
        with pytest.raises(JournalError) as caught:
            lab.admit("r2", "ABCDEFGHIJKL" + "y" * 17)
    assert "step 5 could not be written" in str(caught.value)
    assert "No space left on device; the pool is as before, make room" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert snapshot(lab) == before
    assert_sound(lab)


@pytest.mark.parametrize("verb", ["release", "undo"])
def test_with_room_again_the_next_command_works_and_the_file_is_right(
    path: Path, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = seed_lab(3, log=path)
    change = {"release": lambda: lab.release("r1"), "undo": lab.undo}[verb]
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", FullDisk(50))
        with pytest.raises(JournalError):
            change()
    change()
    assert jsonl.read(path).torn == 0
    assert jsonl.read(path).journal.digest == lab.digest
    lab.close()
    assert snapshot(Lab.load(path)) == snapshot(lab)


def test_the_disk_may_stay_full_for_several_commands(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = seed_lab(3, log=path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", FullDisk(10))
        for _ in range(3):
            with pytest.raises(JournalError):
                lab.release("r1")
    assert jsonl.read(path).journal.digest == lab.digest
    assert lab.release("r1").digest == seed_lab(4).digest


def test_a_write_in_small_pieces_is_finished(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "write", lambda descriptor, data: real_write(descriptor, data[:7]))
    lab = seed_lab(6, log=path)
    assert jsonl.read(path).journal.digest == lab.digest


@pytest.mark.parametrize("room", [0, 40])
def test_a_pool_whose_log_cannot_be_begun_is_not_made(path: Path, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", FullDisk(room))
        with pytest.raises(JournalError, match=r"cannot write .*No space left on device") as caught:
            Lab(5, log=path, device="none")
    assert not path.exists()
    Lab(5, log=path, device="none").admit("a", "b")
    assert caught.value.__cause__ is not None, "still held here, and with it all that it points to"
    assert len(jsonl.read(path).journal) == 1


def test_a_log_that_cannot_be_begun_lets_go_of_an_older_journal(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seed_lab(2, log=path).close()
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", FullDisk(0))
        with pytest.raises(JournalError) as caught:
            Lab(5, log=path, device="none")
    Lab(5, log=path, device="none").admit("a", "b")
    assert "No space left on device" in str(caught.value)
    assert len(jsonl.read(path).journal) == 1


def test_looking_works_while_a_shortened_log_cannot_be_mended(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = seed_lab(3, log=path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", FullDisk(0))
        path.write_bytes(b"")
        with pytest.raises(JournalError):
            lab.release("r1")
        assert lab.block_table("r1") == (1, 2, 5, 6)
        assert_sound(lab)
    lab.release("r1")
    assert jsonl.read(path).journal.digest == lab.digest == seed_lab(4).digest

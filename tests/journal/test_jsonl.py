"""Journals on file: what is written, read back, and refused."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from helpers import assert_sound, seed_lab, snapshot

from kvnb import Lab
from kvnb.errors import JournalError, KvnbError
from kvnb.journal import jsonl
from kvnb.journal.journal import Cell


def saved(tmp_path: Path, lab: Lab | None = None) -> Path:
    return (lab or seed_lab()).save(tmp_path / "journal.jsonl")


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def write_rows(path: Path, values: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in values))


def refusal(path: Path) -> str:
    """The one line that loading gives."""
    with pytest.raises(JournalError) as caught:
        Lab.load(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def refusal_of(tmp_path: Path, change: Callable[[list[dict[str, Any]]], object]) -> str:
    """The one line that loading gives for a saved pool whose lines were changed."""
    path = saved(tmp_path)
    values = rows(path)
    change(values)
    write_rows(path, values)
    return refusal(path)


def test_a_saved_pool_loads_with_its_state_its_digest_and_its_name(tmp_path: Path) -> None:
    lab = seed_lab(name="lesson")
    again = Lab.load(saved(tmp_path, lab))
    assert snapshot(again) == snapshot(lab)
    assert (again.name, again.behaviour, again.torn_bytes) == ("lesson", lab.behaviour, 0)
    assert again.journal.steps == lab.journal.steps
    assert_sound(again)


def test_a_history_with_undos_loads_with_its_state(tmp_path: Path) -> None:
    lab = seed_lab(4)
    lab.undo()
    lab.undo()
    again = Lab.load(saved(tmp_path, lab))
    assert snapshot(again) == snapshot(lab)
    again.undo()
    assert again.journal.lineage() == [1]


def test_a_loaded_pool_goes_on_as_the_saved_one_would(tmp_path: Path) -> None:
    lab = seed_lab(5)
    again = Lab.load(saved(tmp_path, lab))
    assert again.admit("r3", "zzzzzzzz").digest == lab.admit("r3", "zzzzzzzz").digest


def test_a_new_pool_without_steps_can_be_saved_and_loaded(tmp_path: Path) -> None:
    assert len(Lab.load(saved(tmp_path, Lab(5, device="none"))).journal) == 0


def test_the_header_says_what_the_file_is(tmp_path: Path) -> None:
    header = rows(saved(tmp_path))[0]
    assert list(header) == ["kvnb_journal", "pool", "behaviour", "digest", "log", "written_by"]
    assert (header["kvnb_journal"], header["pool"], header["log"]) == (1, "pool", False)
    assert header["written_by"].startswith("kvnb ")


def test_a_step_is_one_line_with_command_events_and_digest(tmp_path: Path) -> None:
    step = rows(saved(tmp_path))[1]
    assert step["command"] == {"verb": "admit", "name": "r0", "text": "ABCDEFGHIJKLMNO"}
    assert step["events"][:3] == [["request", "r0", "running"], ["tokens", "r0", 15, 15, 0], ["looked", "r0", 15, 0, False]]
    assert (step["step"], len(step["digest"]), "cell" in step) == (1, 64, False)


def test_the_cell_of_a_step_is_kept_outside_its_digest(tmp_path: Path) -> None:
    lab = seed_lab(1)
    lab.cell = Cell(3, "9f2c", "cell-id")
    lab.release("r0")
    plain = seed_lab(1)
    plain.release("r0")
    again = Lab.load(saved(tmp_path, lab))
    assert [step.cell for step in again.journal.steps] == [None, Cell(3, "9f2c", "cell-id")]
    assert again.digest == plain.digest


@pytest.mark.parametrize("text", ["línea\nzwei", '"quoted" \\ {x}', "\x00\x1b[31m", "😀 \ud83d", "# not a comment"])
def test_any_text_and_name_survive_the_file(tmp_path: Path, text: str) -> None:
    lab = Lab(50, block_size=4, device="none")
    lab.admit(text, text)
    again = Lab.load(saved(tmp_path, lab))
    assert again.requests == (text,)
    assert again.digest == lab.digest


def test_a_changed_command_is_named_by_its_step(tmp_path: Path) -> None:
    path = saved(tmp_path)
    path.write_bytes(path.read_bytes().replace(b'"ABCDEFGHIJxxxx"', b'"ABCDEFGHIJxxxy"'))
    assert "the digest chain breaks at step 2, what stands there was changed" in refusal(path)


@pytest.mark.parametrize("missing", [1, 3, 5])
def test_a_step_that_was_cut_out_is_noticed(tmp_path: Path, missing: int) -> None:
    assert f"breaks at step {missing}" in refusal_of(tmp_path, lambda lines: lines.pop(missing))


@pytest.mark.parametrize(
    ("line", "changed", "says"),
    [
        (3, {"events": [["front", [3]]]}, "breaks at step 3"),
        (0, {"behaviour": {"num_blocks": 12}}, "do not give its digest, the chain breaks at step 0"),
        (0, {"kvnb_journal": 2}, "has schema 2, this kvnb reads 1: pip install -U kvnb"),
        (0, {"behaviour": {"sliding": 4}}, "unknown setting 'sliding'"),
    ],
    ids=["an event", "a setting", "a newer schema", "a setting of a newer version"],
)
def test_what_was_changed_or_is_newer_is_named(tmp_path: Path, line: int, changed: dict[str, Any], says: str) -> None:
    def change(lines: list[dict[str, Any]]) -> None:
        for key, value in changed.items():
            lines[line][key] = {**lines[line][key], **value} if isinstance(value, dict) else value

    assert says in refusal_of(tmp_path, change)


@pytest.mark.parametrize("damage", [b"{", b"", b"[]", b"\xff\xfe", b'{"step":2}'])
def test_a_damaged_line_in_the_middle_is_named_by_its_step(tmp_path: Path, damage: bytes) -> None:
    path = saved(tmp_path)
    lines = path.read_bytes().split(b"\n")
    lines[2] = damage
    path.write_bytes(b"\n".join(lines))
    assert "step 2" in refusal(path)


@pytest.mark.parametrize("field", [{"origin": 5}, {"cell": 5}, {"cell": [1]}, {"events": [[]]}, {"events": 3}, {"command": {}}])
def test_a_line_that_is_no_step_is_named_by_its_number(tmp_path: Path, field: dict[str, Any]) -> None:
    assert "step 2 is not a step" in refusal_of(tmp_path, lambda lines: lines[2].update(field))


def test_a_line_of_brackets_without_end_is_damage_too(tmp_path: Path) -> None:
    path = saved(tmp_path)
    path.write_bytes(path.read_bytes() + b"[" * 100_000 + b"\n")
    assert "step 7 is not readable, the file is damaged there" in refusal(path)


def test_whatever_stretch_is_missing_in_the_middle_the_step_where_it_begins_is_named(tmp_path: Path) -> None:
    path = saved(tmp_path)
    good = path.read_bytes()
    ends = [place + 1 for place, byte in enumerate(good) if byte == 10]
    draw = Random(7)
    for _ in range(300):
        first, last = sorted(draw.sample(range(ends[0], ends[-2]), 2))
        path.write_bytes(good[:first] + good[last:])
        step = bisect_right(ends, first)
        assert re.search(rf"step {step}\b", refusal(path))


@pytest.mark.parametrize("content", [b"", b"\n", b"hello\n", b'{"a": 1}\n', b'{"kvnb_journal":1,"po'])
def test_a_file_that_is_no_journal_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.jsonl"
    path.write_bytes(content)
    assert "is no kvnb journal" in refusal(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    assert "cannot read" in refusal(tmp_path / "missing.jsonl")
    assert "cannot read" in refusal(tmp_path)


def test_whatever_byte_is_changed_no_other_history_is_read(tmp_path: Path) -> None:
    path, lab = tmp_path / "journal.jsonl", Lab(4, block_size=2, device="none")
    lab.admit("a", "xyz")
    lab.release("a")
    good = lab.save(path).read_bytes()
    prefixes = [lab.journal.steps[:k] for k in range(3)]
    for place in range(len(good)):
        for byte in (good[place] ^ 1, 10, 125):
            path.write_bytes(good[:place] + bytes([byte]) + good[place + 1 :])
            try:
                journal = jsonl.read(path).journal
            except KvnbError:
                continue
            assert journal.steps in prefixes
            assert journal.behaviour == lab.behaviour


@pytest.mark.parametrize(
    "command",
    [
        {"verb": "fly"}, {"verb": "admit"}, {"verb": "admit", "name": "a", "tokens": "xyz"},
        {"verb": "admit", "name": [], "text": "x"}, {"verb": "evict", "ids": ["x"]}, {"verb": "release", "names": 3},
        {"verb": "reset", "why": 1}, {"verb": "append", "name": "a", "text": "x"},
    ],
)  # fmt: skip
def test_a_forged_step_with_a_right_digest_is_refused_when_it_cannot_be_run(tmp_path: Path, command: dict[str, Any]) -> None:
    from kvnb.manager.command import Command

    lab = Lab(4, block_size=2, device="none")
    lab.journal.steps.append(lab.journal.next_step(Command.from_dict(command), []))
    jsonl.save(lab.journal, path := tmp_path / "forged.jsonl")
    assert "step 1" in refusal(path)

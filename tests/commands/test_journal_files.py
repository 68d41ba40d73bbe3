from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_lines import refusal, run

from kvnb.errors import KvnbError
from kvnb.session import Session


def digest_in(file: str) -> str:
    """The digest of the last step in a journal file."""
    last = Path(file).read_bytes().split(b"\n")[-2]
    return str(json.loads(last)["digest"])


def test_a_saved_pool_can_be_loaded_verified_and_gone_on_with(session: Session) -> None:
    run(session, "new 11", "admit r0 ABCDE", "admit r1 'a b'")
    digest = session.lab().digest
    assert str(run(session, "save run.jsonl")) == f"2 steps saved to run.jsonl, digest {digest[:12]}"
    says = str(run(session, "load run.jsonl --name again"))
    assert f"run.jsonl: 2 steps loaded, digest {digest[:12]}" in says
    assert session.current == "again"
    run(session, "release r0")
    assert digest_in("run.jsonl") == digest, "a saved file is a copy: it is not gone on with"
    assert str(run(session, "verify run.jsonl")).startswith("run.jsonl verifies: 2 steps done again give the same events")


def test_load_takes_the_files_pool_name_and_replaces_the_pool_of_that_name(session: Session) -> None:
    run(session, "new 11 --name mine", "admit r0 ABC", "save run.jsonl", "new 12 --name other")
    assert "it replaces mine, a pool of 1 step, which is closed" in str(run(session, "load run.jsonl"))
    assert session.current == "mine"


def test_a_log_holds_every_step_as_soon_as_its_line_returns(session: Session) -> None:
    assert "every step is written to run.jsonl" in str(run(session, "new 11 --log run.jsonl"))
    for line in ("admit r0 ABCDE", "append r0 F", "release r0", "undo"):
        run(session, line)
        assert digest_in("run.jsonl") == session.lab().digest


def test_a_log_is_gone_on_with_after_load(session: Session) -> None:
    run(session, "new 11 --log run.jsonl", "admit r0 ABCDE", "close")
    assert "every step is written to run.jsonl" in str(run(session, "load run.jsonl"))
    run(session, "release r0")
    assert digest_in("run.jsonl") == session.lab().digest


def test_a_copy_of_a_log_leaves_the_file_alone(session: Session) -> None:
    run(session, "new 11 --log run.jsonl", "admit r0 ABCDE", "load run.jsonl --name copy --copy", "release r0")
    assert digest_in("run.jsonl") == session.lab("pool").digest != session.lab("copy").digest


def test_a_torn_last_line_is_left_out_and_this_is_said(session: Session) -> None:
    run(session, "new 11 --log run.jsonl", "admit r0 ABCDE", "close")
    with Path("run.jsonl").open("ab") as file:
        file.write(b'{"step": 2, "comm')
    assert "an unfinished line at its end (17 bytes) was left out" in str(run(session, "load run.jsonl"))


def test_a_tilde_is_the_home_of_whoever_types_it_unless_it_is_quoted(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Path("home").resolve()
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    run(session, "new 11 --device none --log ~/log.jsonl", "admit r0 ABCDE", "save ~/run.jsonl")
    (home / "prompt.txt").write_text("ABCDEFG")
    run(session, "admit r1 --file=~/prompt.txt")
    assert sorted(path.name for path in home.iterdir()) == ["log.jsonl", "prompt.txt", "run.jsonl"]
    assert "verifies: 1 step done again" in str(run(session, "verify ~/run.jsonl"))
    assert "cannot read ~/run.jsonl" in refusal(session, "load '~/run.jsonl'")


@pytest.mark.parametrize("line", ["save notes.txt", "new 11 --name b --log notes.txt"])
def test_another_kind_of_file_is_overwritten_only_by_force(session: Session, line: str) -> None:
    run(session, "new 11")
    Path("notes.txt").write_text("mine")
    assert "notes.txt exists and is no kvnb journal: give another name, or --force" in refusal(session, line)
    assert Path("notes.txt").read_text() == "mine"
    run(session, f"{line} --force")
    assert Path("notes.txt").read_bytes().startswith(b'{"kvnb_journal":')


@pytest.mark.parametrize(
    "line", ["save run.jsonl", "new 11 --name b --log run.jsonl", "save run.jsonl --force", "load run.jsonl --name b"]
)
def test_a_log_that_a_pool_is_writing_belongs_to_that_pool(session: Session, line: str) -> None:
    run(session, "new 11 --log run.jsonl", "admit r0 ABCDE")
    assert "run.jsonl is being written by another pool: give another file, or close that pool" in refusal(session, line)
    assert digest_in("run.jsonl") == session.lab().digest


def test_the_same_lines_three_times_give_the_same_files_and_results(session: Session) -> None:
    lines = [
        "new 11 --log run.jsonl",
        "admit r0 ABCDE",
        "release r0",
        "save copy.jsonl",
        "verify run.jsonl",
        "load copy.jsonl --name b",
    ]
    runs = []
    for _ in range(3):
        told = [str(run(session, line)) for line in lines]
        runs.append((told, Path("run.jsonl").read_bytes(), Path("copy.jsonl").read_bytes()))
    assert runs[1] == runs[2]
    assert runs[0][1:] == runs[1][1:]


def test_replay_tells_the_story_and_ends_with_the_digest(session: Session) -> None:
    run(session, "new 11 --free-to back", "admit r0 ABCDE", "release r0")
    assert str(run(session, "replay")).splitlines() == [
        "pool: 11 blocks of 4 tokens, free to back",
        "1. admit r0 ABCDE",
        "     r0: 5 tokens, 0 block(s) from cache, 2 new",
        "2. release r0",
        "     r0 finishes: 2 to the back",
        f"2 steps run again: digest {session.lab().digest[:12]}, the same as recorded",
    ]


def test_replay_of_more_than_forty_steps_tells_the_first_and_last_twenty(session: Session) -> None:
    run(session, "new 60", *[f"admit r{n} A" for n in range(45)], "save run.jsonl")
    lines = str(run(session, "replay run.jsonl")).splitlines()
    assert len(lines) == 1 + 40 * 2 + 1 + 1
    assert lines[41] == "... (5 more steps) ..."
    assert lines[39] == "20. admit r19 A"
    assert lines[42] == "26. admit r25 A"
    assert len(run(session, "replay").value) == 45


def test_replay_of_forty_steps_tells_each(session: Session) -> None:
    run(session, "new 60", *[f"admit r{n} A" for n in range(40)])
    assert "more steps" not in str(run(session, "replay"))


def test_replay_prints_no_control_character_that_a_request_is_named_by(session: Session) -> None:
    run(session, "new 11", "admit $name $text", "admit r1 'x\ny'", name="a\x1b[2Jb", text="\x07\x1b]0;t\x07")
    says = str(run(session, "replay"))
    assert all(line.isprintable() for line in says.split("\n"))
    assert len(says.split("\n")) == 6


def test_verify_of_a_pool_counts_its_steps(session: Session) -> None:
    run(session, "new 11", "admit r0 ABCDE", "undo")
    assert str(run(session, "verify")).startswith("pool verifies: 2 steps done again give the same events, digest ")


@pytest.mark.parametrize("verb", ["verify", "replay", "load"])
def test_a_file_that_was_changed_by_hand_is_refused_with_the_step(session: Session, verb: str) -> None:
    run(session, "new 11", "admit r0 ABCDE", "admit r1 FGHIJ", "save run.jsonl")
    file = Path("run.jsonl")
    file.write_bytes(file.read_bytes().replace(b'"FGHIJ"', b'"FGHIK"'))
    assert "the digest chain breaks at step 2" in refusal(session, f"{verb} run.jsonl")
    file.write_text("no journal")
    assert "run.jsonl is no kvnb journal" in refusal(session, f"{verb} run.jsonl")


def test_a_line_that_could_not_be_written_to_the_log_did_not_happen(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    run(session, "new 11 --log run.jsonl", "admit r0 ABCDE")
    with monkeypatch.context() as patch:
        patch.setattr("kvnb.journal.log_file.os.write", _no_space)
        with pytest.raises(KvnbError, match=r"step 2 could not be written to run\.jsonl"):
            run(session, "release r0")
    assert session.lab().requests == ("r0",)
    run(session, "release r0")
    assert digest_in("run.jsonl") == session.lab().digest


def _no_space(descriptor: int, data: bytes) -> int:
    raise OSError(28, "No space left on device")

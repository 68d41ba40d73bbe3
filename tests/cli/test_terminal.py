"""What a shell does to a command, and what a command must not do to a terminal."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import ROOT
from shell_words import COMMAND, WALK, Typed, environment, kvnb

from kvnb import __version__
from kvnb.journal import jsonl

CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
ESCAPE = "\x1b]0;owned\x07\x1b[31m"


def test_a_reader_that_has_gone_ends_it_quietly(folder: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "log", "run.jsonl"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), cwd=folder
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == 141
    process.stderr.close()


def test_the_first_line_of_many_is_all_that_head_wants(folder: Path) -> None:
    command = f"'{sys.executable}' -m kvnb replay run.jsonl | head -1"
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment(), capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("run.jsonl: 11 blocks of 4 tokens\n", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_on_a_full_disk_is_one_line(folder: Path) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [*COMMAND, "usage", "run.jsonl"], stdout=full, stderr=subprocess.PIPE, text=True, env=environment(), cwd=folder
        )
    assert (done.returncode, done.stderr) == (1, "kvnb: cannot write the output: No space left on device\n")


def test_an_interrupt_is_one_line_and_what_was_finished_is_in_the_log(folder: Path) -> None:
    os.mkfifo(folder / "prompt")  # nobody writes into it: the script waits there
    (folder / "waits.kvpool").write_text("new 11 --device none\nadmit r0 ABC\nadmit r1 --file prompt\n")
    process = subprocess.Popen(
        [*COMMAND, "run", "waits.kvpool", "--log", "waits.jsonl"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), cwd=folder,
    )  # fmt: skip
    assert process.stdout is not None
    while not process.stdout.readline().startswith("r0: 3 tokens"):
        pass
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "kvnb: interrupted\n")
    assert len(jsonl.read(folder / "waits.jsonl").journal) == 1


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_an_output_that_has_few_letters_gets_escapes_for_the_others(folder: Path, encoding: str) -> None:
    name = "\N{SNOWMAN}" * 70
    script = f"new 11 --device none --name '{name}'\nadmit é{name} ABCDE\nshow map\nadmit é{name} A\n"
    done = kvnb(folder, "run", "-", input=script.encode(), env={"PYTHONIOENCODING": encoding}, text=False)
    assert done.returncode == 1
    assert done.stdout.count(b"\\u2603") > 100
    assert done.stderr.startswith(b"kvnb: standard input: line 4: ")
    assert done.stderr.count(b"\n") == 1


def test_names_and_prompts_cannot_speak_to_the_terminal(typed: Typed, folder: Path) -> None:
    name = f"{ESCAPE}r0\u202e"
    lines = [
        f"new 11 --device none --name '{ESCAPE}pool'", f"admit '{name}' 'AB{ESCAPE}CDEFGH'", "show", "show tables", "show map",
        "show diagram", f"show request '{name}'", "metrics", "timeline blocks", "replay", "verify", "list", "log events",
    ]  # fmt: skip
    (folder / "hostile.kvpool").write_text("\n".join([*lines, f"release '{ESCAPE}'"]))
    code, out, err = typed("run", "hostile.kvpool", "--log", "hostile.jsonl")
    assert code == 1
    assert not CONTROL.search(out + err.replace("\n", ""))
    assert err.count("\n") == 1
    for words in (["show"], ["log"], ["log", "events"], ["replay"], ["check"], ["metrics"], ["timeline"], ["show", "map"]):
        code, out, err = typed(words[0], "hostile.jsonl", *words[1:])
        assert (code, err) == (0, "")
        assert not CONTROL.search(out)
        assert not CONTROL.search(typed(words[0], "hostile.jsonl", *words[1:], "--json")[1])


def test_names_of_files_and_words_cannot_either(typed: Typed, folder: Path) -> None:
    (folder / "run.jsonl").rename(folder / f"{ESCAPE}.jsonl")
    for words in (
        ["verify", f"{ESCAPE}.jsonl"], ["verify", ESCAPE], ["run", ESCAPE], [ESCAPE], ["show", f"{ESCAPE}.jsonl", ESCAPE],
        ["show", f"{ESCAPE}.jsonl", f"--{ESCAPE}"], ["replay", f"{ESCAPE}.jsonl"],
        ["diff", f"{ESCAPE}.jsonl", f"./{ESCAPE}.jsonl"],
    ):  # fmt: skip
        _, out, err = typed(*words)
        assert out or err
        assert not CONTROL.search(out + err)


def test_a_file_name_that_is_no_text_can_be_verified(folder: Path) -> None:
    name = os.fsdecode(b"\xff.jsonl")
    (folder / "run.jsonl").rename(folder / name)
    done = kvnb(folder, "verify", name)
    assert (done.returncode, done.stdout[:24]) == (0, "\\udcff.jsonl verifies: 6")


def test_closed_streams_are_no_reason_to_fail_in_many_lines(folder: Path) -> None:
    for closed, code, says in (("<&-", 2, "kvnb: standard input is closed: "), (">&-", 0, "")):
        command = f"printf 'new 11 --device none\n' | '{sys.executable}' -m kvnb run - {closed}"
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment(), capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout) == (code, "")
        assert done.stderr.startswith(says)
        assert done.stderr.count("\n") == bool(says)


def test_the_version_is_that_of_the_package(typed: Typed) -> None:
    assert typed("--version") == (0, f"kvnb {__version__}\n", "")


BLOCKED = ["torch", "pandas", "numpy", "IPython", "plotly", "ipywidgets", "anywidget", "tqdm", "traitlets", "nbformat", "zmq"]
TEXT_VERBS = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from kvnb.cli import main
for words in (
    ["run", "walk.kvpool", "--log", "again.jsonl"], ["verify", "again.jsonl", "lesson.ipynb"], ["show", "again.jsonl"],
    ["replay", "again.jsonl"], ["log", "again.jsonl"], ["diff", "again.jsonl", "1", "3"], ["timeline", "again.jsonl"],
    ["show", "again.jsonl", "map", "--at", "3", "--json"], ["check", "again.jsonl"], ["completion", "bash"], ["-h"],
):
    assert main(words) == 0, words
print(sorted(set({BLOCKED!r}) & set(sys.modules)))
"""


def test_the_text_verbs_need_the_standard_library_alone(folder: Path) -> None:
    (folder / "walk.kvpool").write_text(WALK.replace(" --device none", ""))
    (folder / "lesson.ipynb").write_bytes((ROOT / "notebooks" / "01-pool.ipynb").read_bytes())
    done = subprocess.run([sys.executable, "-S", "-c", TEXT_VERBS], cwd=folder, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert "memory: none, torch is not installed" in done.stdout
    assert done.stdout.endswith("[]\n")


def test_the_text_verbs_load_nothing_heavy_where_it_is_installed(folder: Path) -> None:
    (folder / "lesson.ipynb").write_bytes((ROOT / "notebooks" / "01-pool.ipynb").read_bytes())
    done = subprocess.run([sys.executable, "-c", TEXT_VERBS], cwd=folder, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("[]\n")

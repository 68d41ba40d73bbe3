"""Completion, by the shells themselves."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from helpers import needs
from shell_words import Typed

from kvnb.cli.table import COMMANDS

CASES = {
    "ve": ["verify"],
    "show ru": ["run.jsonl"],
    "show run.jsonl qu": ["queue"],
    "show run.jsonl --a": ["--at"],
    "show run.jsonl --at 3 qu": ["queue"],
    "verify run.jsonl wal": ["walk.kvpool"],
    "log run.jsonl ": ["events", "steps"],
    "completion ": ["bash", "fish", "zsh"],
    "report lesson.ipynb -p n 5 --exe": ["--execute"],
    "run walk.kvpool --log ru": ["run.jsonl"],
    "run two": ["two words.kvpool"],
}


def shell(name: str) -> str:
    """Its path; the test is skipped where it is not installed."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"needs {name}: apt-get install {name}")
    return path


@pytest.fixture
def script(typed: Typed, folder: Path, request: pytest.FixtureRequest) -> Path:
    """The completion script of the shell that the test is about, in a folder with a file whose name has a space."""
    (folder / "two words.kvpool").write_text("new 11")
    path = folder / "completion"
    path.write_text(typed("completion", request.param)[1])
    return path


def run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def in_bash(script: Path, *lines: str) -> list[list[str]]:
    """What bash offers at the end of each line."""
    ask = ""
    for line in lines:
        words = ["kvnb", *line.split(" ")]
        ask += f"COMP_WORDS=({' '.join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}; _kvnb kvnb; "
        ask += 'echo "${COMPREPLY[*]}"; '
    said = run(shell("bash"), "--norc", "-u", "-c", f"IFS=,; source {shlex.quote(str(script))}; {ask}")
    return [sorted(filter(None, found.split(","))) for found in said.splitlines()]


@pytest.mark.parametrize("script", ["bash"], indirect=True)
def test_bash_offers_commands_options_choices_and_files(script: Path) -> None:
    assert in_bash(script, *CASES) == list(CASES.values())


@pytest.mark.parametrize("script", ["bash"], indirect=True)
def test_bash_offers_every_command_and_every_option_of_each(script: Path) -> None:
    assert in_bash(script, "")[0] == sorted([*COMMANDS, "--help", "--version"])
    offered = in_bash(script, *(f"{name} --" for name in COMMANDS))
    for command, options in zip(COMMANDS.values(), offered, strict=True):
        assert options == sorted(["--help", *(arg.typed for arg in command.args if arg.option)])
    assert in_bash(script, "nonsense ", "show run.jsonl --at ") == [[], []]


@pytest.mark.parametrize("script", ["fish"], indirect=True)
def test_fish_offers_commands_options_choices_and_files(script: Path) -> None:
    ask = "".join(f"complete -C {shlex.quote('kvnb ' + line)}; echo END; " for line in CASES)
    said = run(shell("fish"), "--no-config", "-c", f"source {script}; {ask}")
    offered = [sorted(line.split("\t")[0] for line in part.split("\n") if line) for part in said.split("END\n")[:-1]]
    assert offered == list(CASES.values())


@pytest.mark.parametrize(("script", "start"), [("bash", "--norc"), ("zsh", "-f")], indirect=["script"])
def test_a_line_is_completed_when_tab_is_pressed(script: Path, start: str) -> None:
    pexpect = needs("pexpect")
    name = "bash" if start == "--norc" else "zsh"
    env = {**os.environ, "TERM": "dumb", "INPUTRC": "/dev/null"}
    terminal = pexpect.spawn(shell(name), [start, "-i"], env=env, encoding="utf-8", timeout=30, dimensions=(50, 300))
    begin = "autoload -Uz compinit && compinit -u -D; " if name == "zsh" else ""
    terminal.sendline(f"{begin}source ./completion; kvnb() {{ printf 'ran <%s>' \"$@\"; }}; echo ready-$((1+1))")
    terminal.expect("ready-2")
    for line, last in {
        "ve": "verify",
        "show run.jsonl qu": "queue",
        "completion z": "zsh",
        "run 'two": "two words.kvpool",
    }.items():
        terminal.send(f"kvnb {line}\t\n")
        terminal.expect_exact(f"<{last}>")
    terminal.sendline("exit")
    terminal.close()

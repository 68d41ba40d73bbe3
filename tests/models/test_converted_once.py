"""A GGUF file is converted once; a conversion that does not end leaves nothing that is taken for one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT, run_python
from made_models import gguf_of, model_of

from kvnb.errors import MissingPackage, SettingError
from kvnb.models import cache as kept
from kvnb.models import gguf_convert
from kvnb.models.checkpoint import open_checkpoint


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return gguf_of(model_of("Llama"), tmp_path_factory.mktemp("models") / "made.gguf")


@pytest.fixture
def file(made: Path, tmp_path: Path, cache: Path) -> Path:
    copy = tmp_path / "made.gguf"
    copy.write_bytes(made.read_bytes())
    return copy


def inside(cache: Path) -> list[str]:
    """What lies in the cache, the lock that stands at its door left out."""
    return sorted(path.name for path in (cache / "models").glob("*"))


class Steps:
    """A ``progress`` that notes what it was told, and does something in the middle."""

    def __init__(self, middle: Any = None) -> None:
        self.told: list[tuple[str, int]] = []
        self.done = 0
        self._middle = middle

    @contextmanager
    def __call__(self, things: Sequence[Any], what: str) -> Iterator[Iterable[Any]]:
        self.told.append((what, len(things)))
        yield self._each(things)

    def _each(self, things: Sequence[Any]) -> Iterator[Any]:
        for thing in things:
            if self.done == len(things) // 2 and self._middle is not None:
                self._middle()
            self.done += 1
            yield thing


def test_the_second_time_nothing_is_converted(file: Path):
    steps = Steps()
    first = open_checkpoint(file, steps)
    assert steps.told == [("converting made.gguf", 21)]
    assert steps.done == 21
    before = {path: path.stat().st_mtime_ns for path in first.folder.iterdir()}
    assert open_checkpoint(file, steps) == first
    assert steps.done == 21
    assert {path: path.stat().st_mtime_ns for path in first.folder.iterdir()} == before


def test_the_second_time_needs_none_of_the_heavy_packages(file: Path):
    open_checkpoint(file)
    code = """
import sys
from kvnb.models.checkpoint import open_checkpoint
open_checkpoint(sys.argv[1])
print(sorted({"torch", "transformers", "gguf", "numpy", "tokenizers"} & set(sys.modules)))
"""
    assert run_python(code, str(file)) == "[]"


def test_the_same_file_gives_the_same_bytes(file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    first = open_checkpoint(file).folder
    monkeypatch.setenv("KVNB_CACHE", str(tmp_path / "other"))
    second = open_checkpoint(file).folder
    assert first != second
    for path in first.iterdir():
        assert path.read_bytes() == (second / path.name).read_bytes(), path.name


def test_a_file_that_changed_is_converted_again_in_the_place_of_the_old(file: Path, cache: Path):
    first = open_checkpoint(file)
    gguf_of(model_of("Llama", seed=1), file)
    os.utime(file, ns=(1, 1))
    weights = (first.folder / "model.safetensors").read_bytes()
    assert open_checkpoint(file).folder == first.folder
    assert (first.folder / "model.safetensors").read_bytes() != weights
    assert inside(cache) == [".lock", first.folder.name]


def test_another_version_of_what_is_written_is_made_again(file: Path, monkeypatch: pytest.MonkeyPatch):
    open_checkpoint(file)
    monkeypatch.setattr(gguf_convert, "VERSION", gguf_convert.VERSION + 1)
    steps = Steps()
    open_checkpoint(file, steps)
    assert steps.done == 21


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors", "kvnb.json"])
def test_a_folder_that_was_damaged_is_made_again(file: Path, cache: Path, name: str):
    first = open_checkpoint(file)
    content = (first.folder / name).read_bytes()
    (first.folder / name).write_bytes(content[: len(content) // 2])
    if name == "tokenizer.json":
        (first.folder / name).unlink()
    assert open_checkpoint(file) == first
    assert (first.folder / name).read_bytes() == content
    assert inside(cache) == [".lock", first.folder.name]


def test_an_interrupt_leaves_nothing_and_the_next_try_begins_anew(file: Path, cache: Path):
    with pytest.raises(KeyboardInterrupt):
        open_checkpoint(file, Steps(lambda: signal.raise_signal(signal.SIGINT)))
    assert inside(cache) == [".lock"]
    steps = Steps()
    open_checkpoint(file, steps)
    assert steps.done == 21


def test_a_full_disk_leaves_nothing(file: Path, cache: Path, monkeypatch: pytest.MonkeyPatch):
    def full() -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(SettingError, match=r"cannot write the converted model to .*: No space left on device: free some"):
        open_checkpoint(file, Steps(full))
    assert inside(cache) == [".lock"]


def test_that_a_disk_is_too_small_is_told_before_anything_is_written(file: Path, cache: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(kept.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 1024})())
    steps = Steps()
    with pytest.raises(SettingError, match=r"KiB are needed, 1\.0 KiB are free: free some space, or name another"):
        open_checkpoint(file, steps)
    assert steps.told == []
    assert inside(cache) == []


def test_a_cache_that_cannot_be_written(file: Path, cache: Path):
    cache.write_text("no folder")
    with pytest.raises(SettingError, match=r"cannot write the converted model to .*: Not a directory: free some space, or name"):
        open_checkpoint(file)


def test_without_a_named_cache_it_is_the_users(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("KVNB_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert tmp_path / "home" in open_checkpoint(file).folder.parents
    monkeypatch.setitem(sys.modules, "platformdirs", None)
    with pytest.raises(MissingPackage, match="the cache of converted models, where KVNB_CACHE is not set, needs platformdirs"):
        open_checkpoint(file)


SLOW = """
import sys
from contextlib import contextmanager
from kvnb.models.checkpoint import open_checkpoint
@contextmanager
def progress(things, what):
    def each():
        for number, thing in enumerate(things):
            if number == 10:
                print("half", flush=True)
                sys.stdin.readline()
            yield thing
    yield each()
open_checkpoint(sys.argv[1], progress)
"""


def begin(file: Path) -> subprocess.Popen[str]:
    """A process that is half way through converting ``file``, and goes on when it is spoken to."""
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", SLOW, str(file)], cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "half\n"
    return process


def test_what_a_killed_process_left_is_not_taken_for_a_model_and_is_swept(file: Path, cache: Path):
    with begin(file) as process:
        process.kill()
    assert [name.partition("-")[0] for name in inside(cache)] == [".lock", "making"]
    steps = Steps()
    checkpoint = open_checkpoint(file, steps)
    assert steps.done == 21
    assert inside(cache) == [".lock", checkpoint.folder.name]


def test_two_processes_that_convert_the_same_file_do_not_disturb_each_other(file: Path, cache: Path):
    with begin(file) as process:
        checkpoint = open_checkpoint(file)
        assert len(inside(cache)) == 3, "the other's half made folder is left alone"
        process.communicate("\n")
    assert process.returncode == 0
    assert inside(cache) == [".lock", checkpoint.folder.name]
    assert json.loads((checkpoint.folder / "kvnb.json").read_text())["source"] == str(file)
    assert open_checkpoint(file) == checkpoint

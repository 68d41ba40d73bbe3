from __future__ import annotations

from pathlib import Path

import pytest
from shell_words import Typed, write_files

from kvnb.cli import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a script and its journal, where the commands run."""
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def typed(folder: Path, capsys: pytest.CaptureFixture[str]) -> Typed:
    """Runs ``kvnb WORDS...`` in this process: exit code, output, errors."""

    def run(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(words)
        return (code, *capsys.readouterr())

    return run

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kvnb import Lab
from kvnb.errors import CommandError, JournalError, KvnbError
from kvnb.export import SUFFIXES, export


@pytest.fixture
def lab() -> Lab:
    lab = Lab(11, block_size=4, device="none")
    lab.admit("r0", "ABCDEFGHIJKLMNO")
    return lab


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_exporting_three_times_works_and_gives_the_same_bytes(lab: Lab, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"run{suffix}"
    first = export(lab, path).read_bytes()
    for _ in range(2):
        assert export(lab, path).read_bytes() == first
    lab.release("r0")
    assert export(lab, path).read_bytes() != first
    assert [found.name for found in tmp_path.iterdir()] == [path.name], "nothing else is written"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_another_file_is_overwritten_only_by_force(lab: Lab, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"mine{suffix}"
    path.write_text("mine")
    with pytest.raises(JournalError, match="--force to overwrite it"):
        export(lab, path)
    assert path.read_text() == "mine"
    export(lab, path, force=True)
    assert path.read_text() != "mine"


@pytest.mark.parametrize("suffix", [".py", ".ipynb"])
def test_an_export_that_was_edited_since_is_its_editors(lab: Lab, tmp_path: Path, suffix: str) -> None:
    path = export(lab, tmp_path / f"run{suffix}")
    edited = path.read_text().replace("ABCDEFGHIJKLMNO", "ABC")
    path.write_text(edited)
    with pytest.raises(JournalError, match="was edited since"):
        export(lab, path)
    assert path.read_text() == edited


def test_a_notebook_that_was_only_run_since_is_overwritten(lab: Lab, tmp_path: Path) -> None:
    path = export(lab, tmp_path / "run.ipynb")
    saved = json.loads(path.read_text())
    for cell in saved["cells"]:
        # This is how JupyterLab writes it.
        cell["source"] = cell["source"].splitlines(keepends=True)
        cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["x"]}] * (cell["cell_type"] == "code")
    path.write_text(json.dumps(saved))
    export(lab, path)
    assert "splitlines" not in path.read_text()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_a_pool_is_writing_is_left_alone(lab: Lab, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"held{suffix}"
    writer = Lab(11, device="none", log=path)
    before = path.read_bytes()
    for force in (False, True):
        with pytest.raises(JournalError, match="being written by another pool"):
            export(lab, path, force=force)
    assert path.read_bytes() == before
    writer.close()


@pytest.mark.parametrize("name", ["run", "run.txt", "run.html.bak", ".py/x", "no/such/run.py", "folder.py"])
def test_a_name_that_cannot_be_is_one_line_and_writes_nothing(lab: Lab, tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(KvnbError) as caught:
        export(lab, tmp_path / name)
    assert str(caught.value).isprintable()
    assert [found.name for found in tmp_path.iterdir()] == ["folder.py"]


def test_the_suffixes_that_there_are_are_listed(lab: Lab) -> None:
    with pytest.raises(CommandError, match=r"has to end in one of \.jsonl, \.py, \.ipynb, \.html"):
        export(lab, "run.doc")

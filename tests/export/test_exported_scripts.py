from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import ROOT, needs
from histories import labs, story_lab
from hypothesis import given, settings

from kvnb import Lab
from kvnb.errors import JournalError
from kvnb.export import export
from kvnb.export.script import script


def run(path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script as a user would, in a process of its own."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run([sys.executable, path.name], cwd=path.parent, env=env, capture_output=True, text=True, timeout=120)


@given(labs())
@settings(max_examples=150, deadline=None)
def test_the_script_of_any_history_makes_the_same_pool(lab: Lab) -> None:
    text = script(lab.journal)
    names: dict[str, Lab] = {}
    exec(compile(text.encode(), "exported", "exec"), {"print": lambda says: None}, names)
    again = names["lab"]
    assert again.digest == lab.digest
    assert again.name == lab.name
    assert [step.events for step in again.journal.steps] == [step.events for step in lab.journal.steps]
    assert all(line.isprintable() for line in text.split("\n")), "a reader sees what runs"


@pytest.mark.slow
def test_a_script_with_memory_runs_in_another_process_with_another_seed_of_hashes(tmp_path: Path) -> None:
    needs("torch")
    path = export(story_lab(), tmp_path / "run.py")
    for seed in ("0", "123"):
        done = run(path, PYTHONHASHSEED=seed)
        assert done.returncode == 0, done.stderr
        assert "as recorded" in done.stdout


def test_a_script_that_was_changed_says_that_the_digest_differs(tmp_path: Path) -> None:
    lab = Lab(11, block_size=4, device="none")
    lab.admit("r0", "ABCD")
    path = export(lab, tmp_path / "run.py")
    path.write_text(path.read_text().replace('"ABCD"', '"ABCE"'))
    done = run(path)
    assert done.returncode == 1
    assert "AssertionError: the digest is " in done.stderr


def test_a_script_reads_like_one_that_somebody_wrote() -> None:
    lab = Lab(11, block_size=4, device="none", none_hash="ab")
    lab.admit("r0", "ABCDEFG", salt="s", lora="a=b")
    lab.append("r0", tokens=[72], draft="IJ")
    lab.accept("r0", 1)
    lab.undo()
    assert script(lab.journal).split("\n")[2:] == [
        "",
        "from kvnb import Lab",
        "",
        "lab = Lab(",
        "    11,",
        '    name="pool",',
        "    block_size=4,",
        "    prefix_caching=True,",
        '    free_to="front-back",',
        '    free_order="reverse",',
        "    full_hit=False,",
        "    sliding_window=None,",
        '    hash="sha256",',
        "    # The parent hash of first blocks. Left out, it comes from PYTHONHASHSEED, as in vLLM: another digest.",
        '    none_hash="ab",',
        '    tokenizer="chars",',
        '    device="none",',
        ")",
        "",
        'lab.admit("r0", "ABCDEFG", salt="s", lora=("a", "b"))',
        'lab.append("r0", tokens=[72], draft="IJ")',
        'lab.accept("r0", 1)',
        "lab.undo()  # takes step 3 back",
        "",
        f'assert lab.digest == "{lab.digest}", f"the digest is {{lab.digest}}"',
        'print(f"{lab.name}: {len(lab.journal)} steps, digest {lab.digest} as recorded")',
        "",
    ]


def test_tokens_that_the_model_made_have_their_origin_beside_them() -> None:
    needs("torch")
    lines = script(story_lab().journal).split("\n")
    made = [line for line in lines if "# made by the model tiny, temperature 0.8, seed 3: " in line]
    assert [line.partition("[")[0] for line in made] == ['lab.append("r0", tokens='] * 2
    assert [line for line in lines if "fail=True" in line] == ['lab.append("r2", "Z", fail=True)  # the forward pass failed here']
    assert '    device="auto",  # any device: the digest is the same' in lines


def test_new_weights_need_a_model_that_a_tokenizer_in_a_file_sizes(tmp_path: Path) -> None:
    needs("torch")
    lab = story_lab()
    object.__setattr__(lab.journal.behaviour, "tokenizer", "sha256:" + "0" * 64)
    for name in ("run.py", "run.ipynb"):
        with pytest.raises(JournalError, match="step 12 changes the model's weights"):
            export(lab, tmp_path / name)
    assert list(tmp_path.iterdir()) == []

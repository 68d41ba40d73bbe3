"""What importing kvnb and loading its magics brings with it: next to nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from front_ends import environment
from helpers import ROOT, run_python

HEAVY = [
    "torch", "pandas", "plotly", "ipywidgets", "numba", "numpy", "jupyterlab", "zmq", "nbformat", "nbclient", "tokenizers",
    "tqdm",
]  # fmt: skip

NOT_BEFORE_A_COMMAND = [
    "kvnb.commands", "kvnb.cli", "kvnb.lab", "kvnb.memory", "kvnb.results", "kvnb.export", "kvnb.views", "kvnb.live",
    "kvnb.journal.verification", "kvnb.journal.notebook_file", "kvnb.tensors.store",
]  # fmt: skip
NOT_BEFORE_THEY_ARE_ASKED_FOR = [
    "kvnb.export",
    "kvnb.views.figures.timeline",
    "kvnb.views.dashboard.dashboard",
    "kvnb.tensors.store",
]

SHELL = """
import json, sys, time
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

ip = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
ip.run_cell("%load_ext no_such_extension" if len(sys.argv) < 2 else "1")
before, start = set(sys.modules), time.perf_counter()
result = ip.run_cell("%load_ext kvnb")
spent = time.perf_counter() - start
assert result.success
assert ip.find_line_magic("kvpool")
print(json.dumps([sorted(set(sys.modules) - before), 1000 * spent]))
"""


def test_importing_kvnb_loads_only_itself() -> None:
    loaded = json.loads(
        run_python("import sys, json; b = set(sys.modules); import kvnb; print(json.dumps(sorted(set(sys.modules) - b)))")
    )
    assert {name for name in loaded if name.partition(".")[0] == "kvnb"} == {"kvnb", "kvnb.errors", "kvnb.version"}
    assert not set(loaded) & {"IPython", "traitlets", *HEAVY}


def test_a_lab_works_with_every_other_package_out_of_reach() -> None:
    blocked = ["IPython", "traitlets", *HEAVY]
    code = f"""
import sys
sys.modules.update(dict.fromkeys({blocked!r}))
from kvnb import Lab
lab = Lab(11, block_size=4)
lab.admit("r0", "ABCDEFGHIJKLMNO")
lab.release("r0")
print(lab.admit("r1", "ABCDEFGHIJxxxx"))
print(lab.verify().holds, all(equation.holds for equation in lab.check()))
"""
    assert run_python(code).splitlines()[0] == "r1: 14 tokens, 2 block(s) from cache, 2 new"
    assert run_python(code).splitlines()[-1] == "True True"


def test_a_lab_works_without_any_installed_package() -> None:
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from kvnb import Lab; print(Lab(11).admit('r0', 'A' * 20).new_blocks)"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert (done.stdout.strip(), done.stderr) == ("(1, 2)", "")


def test_a_table_without_pandas_says_in_one_line_how_to_get_it() -> None:
    code = """
import sys
sys.modules["pandas"] = None
from kvnb import KvnbError, Lab
try:
    Lab(11, device="none").journal.to_frame()
except KvnbError as error:
    print(error)
"""
    assert run_python(code) == "a table of the journal needs pandas: pip install pandas"


def loaded_by(cell: str, folder: Path, *options: str) -> tuple[set[str], float]:
    """The modules that a cell brings to a fresh IPython, and how many milliseconds it takes."""
    done = subprocess.run(
        [sys.executable, *options, "-c", SHELL.replace("%load_ext kvnb", cell.replace("\n", "\\n"))],
        capture_output=True, text=True, timeout=120, env=environment(folder), cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    modules, spent = json.loads(done.stdout.splitlines()[-1])
    return set(modules), spent


def test_loading_the_magics_brings_nothing_heavy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loaded, spent = loaded_by("%load_ext kvnb", tmp_path, "-W", "error")
    assert not loaded & {*HEAVY, *NOT_BEFORE_A_COMMAND}
    with capsys.disabled():
        print(f"\n%load_ext kvnb: {spent:.0f} ms after IPython's own start, {len(loaded)} modules")


def test_a_pool_without_memory_loads_no_torch_nor_anything_heavy_even_to_show_itself(tmp_path: Path) -> None:
    cell = "%load_ext kvnb\n%kvpool new 11 --device none\n%kvpool admit r0 ABC\n%kvpool show"
    loaded, _ = loaded_by(cell, tmp_path)
    assert "kvnb.views.text" in loaded
    assert not loaded & {*HEAVY, *NOT_BEFORE_THEY_ARE_ASKED_FOR}


def test_the_tests_run_on_this_checkout() -> None:
    import kvnb

    assert Path(kvnb.__file__).is_relative_to(ROOT)
    assert os.environ.get("PYTHONHASHSEED") is None

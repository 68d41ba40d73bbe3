from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from front_ends import Notebook, Shell, Terminal, fresh_shell, shown_text
from kernels import Kernel

Tell = Callable[[list[str]], list[str]]


@pytest.fixture
def bare_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Shell]:
    """A fresh IPython in an empty folder, kvnb not loaded."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.chdir(tmp_path)
    with fresh_shell(capsys) as shell:
        yield shell


@pytest.fixture
def shell(bare_shell: Shell) -> Shell:
    """A fresh IPython with kvnb loaded and no pool yet."""
    bare_shell.ok("%load_ext kvnb")
    return bare_shell


@pytest.fixture(scope="module")
def running_kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A kernel that the tests of a module share; each begins with what it needs."""
    kernel = Kernel(tmp_path_factory.mktemp("kernel"))
    yield kernel
    kernel.close()


@pytest.fixture(params=["in this process", "in a kernel", "in a terminal"])
def tell(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tell]:
    """Runs lines, a cell each, after ``%load_ext kvnb``, and gives the text that each shows."""
    if request.param == "in this process":
        shell: Shell = request.getfixturevalue("shell")
        yield lambda lines: ["\n".join(shell.ok(line).texts) for line in lines]
    elif request.param == "in a kernel":
        yield lambda lines: [shown_text(cell) for cell in Notebook(["%load_ext kvnb", *lines], tmp_path).run_all()[0][1:]]
    else:
        terminal = Terminal(tmp_path)
        assert terminal.run("%load_ext kvnb") == ""
        yield lambda lines: [terminal.run(line) for line in lines]
        terminal.close()

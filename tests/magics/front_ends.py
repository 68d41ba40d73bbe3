"""The places where cells are run: a shell in this process, a real kernel, a terminal."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from helpers import ROOT, needs
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

RECORD = "application/vnd.kvnb.record+json"


class Ran(NamedTuple):
    """What a cell did: the MIME bundles it displayed, what it printed, the error that ended it."""

    shown: list[dict[str, Any]]
    printed: str
    error: BaseException | None

    @property
    def texts(self) -> list[str]:
        """What was displayed, as plain text."""
        return [bundle["text/plain"] for bundle in self.shown if "text/plain" in bundle]


class Shell:
    """A fresh IPython without a front end; ``run`` takes a cell and gives what came of it."""

    def __init__(self, ip: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
        self.ip = ip
        self._capsys = capsys

    def run(self, *cells: str, **options: Any) -> Ran:
        """Run cells as a front end does, and give what came of the last."""
        ran = Ran([], "", None)
        for cell in cells:
            self.ip.display_pub.outputs.clear()  # type: ignore[attr-defined]
            self._capsys.readouterr()
            result = self.ip.run_cell(cell, store_history=True, **options)
            shown = [output["data"] for output in self.ip.display_pub.outputs]  # type: ignore[attr-defined]
            printed = self._capsys.readouterr()
            ran = Ran(shown, printed.out + printed.err, result.error_in_exec or result.error_before_exec)
        return ran

    def ok(self, *cells: str, **options: Any) -> Ran:
        """As ``run``, for cells that must not fail."""
        ran = Ran([], "", None)
        for cell in cells:
            ran = self.run(cell, **options)
            assert ran.error is None, f"{cell}: {ran.error}"
        return ran

    def error_line(self, cell: str) -> str:
        """What is printed for the error of a cell: one line."""
        ran = self.run(cell)
        assert ran.error is not None
        (line,) = ran.printed.splitlines()
        return line

    @property
    def session(self) -> Any:
        """The pools behind the magics."""
        return self.ip._kvnb_extension.magics.session  # type: ignore[attr-defined]

    @property
    def lab(self) -> Any:
        """The pool in use."""
        return self.session.lab()

    @property
    def last_text(self) -> str:
        """The text of the last step's command."""
        return str(self.lab.journal.steps[-1].command.args["text"])


@contextmanager
def fresh_shell(capsys: pytest.CaptureFixture[str], config: Config | None = None) -> Iterator[Shell]:
    """A new shell as the one IPython of this process."""
    settings = Config({"HistoryManager": {"enabled": False}, "InteractiveShell": {"colors": "nocolor", "xmode": "Plain"}})
    settings.merge(config or Config())
    kept = sys.modules["__main__"], sys.displayhook, sys.excepthook
    InteractiveShell.clear_instance()
    ip = InteractiveShell.instance(config=settings, display_pub_class=CapturingDisplayPublisher)
    try:
        yield Shell(ip, capsys)
    finally:
        atexit.unregister(ip.atexit_operations)  # hundreds of shells would each tidy up again at the very end
        InteractiveShell.clear_instance()
        sys.modules["__main__"], sys.displayhook, sys.excepthook = kept


def environment(folder: Path) -> dict[str, str]:
    """Environment of a process that finds kvnb and keeps everything it writes in ``folder``."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    homes = {name: str(folder / name.lower()) for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR")}
    return {**os.environ, **homes, "JUPYTER_RUNTIME_DIR": str(folder / "run"), "PYTHONPATH": path, "TERM": "dumb"}


class Notebook:
    """A notebook in a real kernel, through nbclient: ``run_all`` runs its cells on the one kernel, again and again."""

    def __init__(self, cells: list[str], folder: Path) -> None:
        self.nb = needs("nbformat.v4").new_notebook(cells=[needs("nbformat.v4").new_code_cell(cell) for cell in cells])
        resources = {"metadata": {"path": str(folder)}}
        self.client = needs("nbclient").NotebookClient(self.nb, timeout=120, kernel_name="python3", resources=resources)
        self.env = environment(folder)

    def run_all(self, times: int = 1) -> list[list[list[Any]]]:
        """The outputs of every cell in each run."""
        runs = []
        with self.client.setup_kernel(env=self.env):
            for _ in range(times):
                for index, cell in enumerate(self.nb.cells):
                    self.client.execute_cell(cell, index)
                runs.append([[dict(output) for output in cell.outputs] for cell in self.nb.cells])
        return runs


def shown_text(outputs: list[Any]) -> str:
    """The text of what a cell displayed; an error or anything printed besides fails the test."""
    texts = []
    for output in outputs:
        assert output["output_type"] == "display_data", output
        texts.append(output["data"].get("text/plain", ""))
    return "\n".join(filter(None, texts))


class Terminal:
    """IPython in a terminal: ``run`` types a line and gives what is printed before the next prompt."""

    def __init__(self, folder: Path) -> None:
        options = ["-m", "IPython", "--simple-prompt", "--no-banner", "--no-confirm-exit", "--colors=NoColor"]
        self.child = needs("pexpect").spawn(
            sys.executable,
            options,
            cwd=str(folder),
            env=environment(folder),
            encoding="utf-8",
            timeout=60,
            dimensions=(50, 500),
            echo=False,
        )
        self._count = 0
        self._until_prompt()

    def run(self, line: str) -> str:
        """What the line prints."""
        self.child.sendline(line)
        return self._until_prompt()

    def close(self) -> None:
        """Leave IPython."""
        self.child.sendline("exit")
        self.child.expect(needs("pexpect").EOF)
        self.child.close()

    def _until_prompt(self) -> str:
        self._count += 1
        self.child.expect_exact(f"In [{self._count}]: ")
        return str(self.child.before).replace("\r\n", "\n").strip("\n")

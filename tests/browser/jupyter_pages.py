"""JupyterLab in Chromium: one server, one browser, a page a notebook."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Container, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from helpers import ROOT, needs

# Where the notebook is on the page: another tab, a docked panel, may be the current one.
PANEL = "[...(window.jupyterapp?.shell.widgets('main') ?? [])].find(({ content }) => content?.model?.cells)"
# The page waits for the kernel, runs a cell, and tells when its outputs are complete.
READY = f"""() => {{
  const panel = {PANEL}, kernel = panel?.sessionContext?.session?.kernel;
  return kernel?.connectionStatus === 'connected' && kernel.status === 'idle' && panel.content.widgets.length > 0;
}}"""
RUN = f"""async index => {{
  const app = window.jupyterapp, {{ id, content }} = {PANEL};
  app.shell.activateById(id);
  content.activeCellIndex = index;
  content.deselectAll();
  await app.commands.execute('notebook:run-cell');
}}"""
RUN_ALL = "window.jupyterapp.commands.execute('notebook:run-all-cells').then(() => null)"


APPS = {"jupyterlab": "LabApp", "notebook": "JupyterNotebookApp"}
_pages = count()


class Server:
    """JupyterLab, or Notebook 7, on a free port; everything it writes is in ``folder``."""

    def __init__(self, folder: Path, app: str = "jupyterlab") -> None:
        self.notebooks = folder / "notebooks"
        self.notebooks.mkdir()
        self._settings = folder / "settings"
        news = self._settings / "@jupyterlab" / "apputils-extension" / "notification.jupyterlab-settings"
        news.parent.mkdir(parents=True)
        news.write_text('{"fetchNews": "false", "checkForUpdates": false}')
        port = _free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.app = app
        self._log = folder / "server.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    sys.executable, "-m", app, "--allow-root", "--no-browser", "--ip=127.0.0.1", f"--port={port}",
                    "--ServerApp.port_retries=0", "--IdentityProvider.token=", f"--ServerApp.root_dir={self.notebooks}",
                    f"--{APPS[app]}.expose_app_in_browser=True", "--ServerApp.disable_check_xsrf=True",
                ],
                env=_environment(folder), cwd=folder, stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip
        self._wait()

    def write(self, name: str, cells: list[dict[str, Any]]) -> None:
        """A notebook file of these cells."""
        kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
        notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
        (self.notebooks / name).write_text(json.dumps(notebook))

    def calm(self, names: Container[str]) -> None:
        """End the kernels of these notebooks, and forget the theme that was chosen: the next page finds all as the first did."""
        with urlopen(f"{self.url}/api/sessions") as told:
            sessions = [session for session in json.load(told) if session["path"] in names]
        for session in sessions:
            with urlopen(Request(f"{self.url}/api/sessions/{session['id']}", method="DELETE")):
                pass
        (self._settings / "@jupyterlab" / "apputils-extension" / "themes.jupyterlab-settings").unlink(missing_ok=True)

    def close(self) -> None:
        """End the server and its kernels."""
        self._process.terminate()
        self._process.wait(30)

    def _wait(self) -> None:
        until = time.monotonic() + 90
        while time.monotonic() < until:
            assert self._process.poll() is None, self._log.read_text()
            try:
                with urlopen(f"{self.url}/api/status", timeout=5):
                    return
            except (URLError, OSError):
                time.sleep(0.2)
        raise AssertionError(f"JupyterLab did not come up:\n{self._log.read_text()}")


class NotebookPage:
    """An open notebook; ``complaints`` are the errors that the browser's console got, ``asked`` what it asked servers for."""

    def __init__(self, page: Any, server: Server) -> None:
        self.page = page
        self._server = server
        # A workspace of its own: a page that is loaded again opens what any page of its workspace had open last.
        self._workspace = f"page-{next(_pages)}"
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.opened: set[str] = set()
        self._name = ""
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda message: self.complaints.append(message.text) if message.type == "error" else None)

    def open(self, name: str) -> None:
        """Open a notebook and wait for its kernel."""
        self.opened.add(name)
        self._name = name
        lab = f"lab/workspaces/{self._workspace}/tree/{name}?reset"
        self.page.goto(f"{self._server.url}/{lab if self._server.app == 'jupyterlab' else f'notebooks/{name}'}")
        self.page.wait_for_function(READY)

    def begin(self, name: str, cells: list[dict[str, Any]], *indices: int) -> None:
        """Open a new notebook of these cells, and run those of these numbers."""
        self._server.write(name, cells)
        self.open(name)
        self.run(*indices)

    def run(self, *indices: int) -> None:
        """Run these cells, one after the other."""
        for index in indices:
            self.page.evaluate(RUN, index)
        self.page.wait_for_function(READY)

    def run_all(self) -> None:
        """Run every cell from the top."""
        self.page.evaluate(RUN_ALL)
        self.page.wait_for_function(READY)

    def cell(self, index: int) -> Any:
        """The cell as it is on the page."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(index)

    def output(self, index: int) -> str:
        """The text that can be read below a cell."""
        area = self.cell(index).locator(".jp-Cell-outputArea")
        area.scroll_into_view_if_needed()
        return str(area.inner_text())

    def saved(self) -> Any:
        """The notebook as it is in its file, now that it is saved."""
        self.command("docmanager:save")
        return json.loads((self._server.notebooks / self._name).read_text())

    def command(self, name: str, **args: Any) -> Any:
        """Execute one of JupyterLab's commands."""
        return self.page.evaluate(
            "([name, args]) => window.jupyterapp.commands.execute(name, args).then(() => null)", [name, args]
        )


@contextmanager
def fresh_page(server: Server, browser: Any) -> Iterator[NotebookPage]:
    """A page; in the end its console has to be silent, and nobody but the server asked."""
    page = browser.new_page(viewport={"width": 1200, "height": 1400})
    page.set_default_timeout(60_000)
    opened = NotebookPage(page, server)
    yield opened
    page.close()
    server.calm(opened.opened)
    assert opened.complaints == [], opened.complaints
    own = (server.url, server.url.replace("http", "ws", 1), "data:", "blob:", "file:", "about:")
    assert [url for url in opened.asked if not url.startswith(own)] == [], "no other host is asked for anything"


def code(*sources: str) -> list[dict[str, Any]]:
    """Code cells that have not run."""
    empty = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    return [{**empty, "id": f"cell-{place}", "source": source} for place, source in enumerate(sources)]


def of_somebody_else(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """These cells and one more: the file's signature does not fit, so nobody trusts it."""
    return [*cells, {**code("'one more'")[0], "id": "one-more"}]


def exported(server: Server, name: str) -> str:
    """The page that nbconvert makes of a file."""
    page, _ = needs("nbconvert").HTMLExporter().from_filename(str(server.notebooks / name))
    return str(page)


def without_scripts(page: str) -> str:
    """A page without what it would load from elsewhere."""
    return re.sub(r"<script[^>]*src=.*?</script>", "", page, flags=re.DOTALL)


def chromium() -> str | None:
    """Where the system's Chromium is."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def _environment(folder: Path) -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    homes = {
        "IPYTHONDIR": "ipython", "JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "run",
        "JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    }  # fmt: skip
    return {**os.environ, **{name: str(folder / home) for name, home in homes.items()}, "PYTHONPATH": path}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

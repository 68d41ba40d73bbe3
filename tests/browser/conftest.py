from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from helpers import needs
from jupyter_pages import NotebookPage, Server, chromium, fresh_page

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One for all tests: it needs seconds to come up. A browser is a module's, for its event loop disturbs other tests."""
    needs("jupyterlab")
    server = Server(tmp_path_factory.mktemp("jupyterlab"))
    yield server
    server.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = needs("playwright.sync_api")
    path = chromium()
    if path is None:
        assert os.environ.get("CI") != "true", "CI needs Chromium"
        pytest.skip("needs Chromium: apt-get install chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def notebook(server: Server, browser: Any) -> Iterator[NotebookPage]:
    """A page for a notebook; a complaint on its console fails the test."""
    with fresh_page(server, browser) as page:
        yield page


@pytest.fixture(scope="module")
def looked_at(server: Server, browser: Any) -> Iterator[NotebookPage]:
    """A page that the tests of a module share: they only look at it."""
    with fresh_page(server, browser) as page:
        yield page

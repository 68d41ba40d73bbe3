from __future__ import annotations

from functools import cache

import pytest
from notebook_files import Fresh, NotebookFile


@pytest.fixture(scope="session")
def fresh() -> Fresh:
    """The notebook of that name out of a fresh kernel, run once for all tests; for looking only."""
    return cache(lambda name: NotebookFile(name).run())

from __future__ import annotations

from pathlib import Path

import pytest

from kvnb.session import Session


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A session without a pool, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return Session()

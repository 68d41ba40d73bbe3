"""A cache of converted models for each test."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where converted models go in this test."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("KVNB_CACHE", str(folder))
    return folder

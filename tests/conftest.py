"""Settings of the whole suite: no randomness, no state kept between runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from helpers import write_long_journal
from hypothesis import HealthCheck, settings
from real_model import smollm2  # noqa: F401  (a fixture for every folder)

# The hash of a first block depends on it (as in vLLM), so that goldens hold only without it.
os.environ.pop("PYTHONHASHSEED", None)

settings.register_profile("kvnb", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kvnb")


@pytest.fixture(scope="session")
def long_journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal file that takes seconds to run again, written once; for reading only."""
    path = tmp_path_factory.mktemp("long") / "long.jsonl"
    write_long_journal(path)
    return path


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a notebook that somebody looks at."""
    from kvnb.views import page

    monkeypatch.setattr(page, "is_live", lambda: True)

"""Every device that this machine has takes its turn."""

from __future__ import annotations

import os

import pytest

try:
    import torch
except ImportError:
    if os.environ.get("CI") == "true":
        raise
    collect_ignore_glob = ["test_*.py"]
    PRESENT: list[str] = []
else:
    # The tensors here are small: on busy cores a second thread only waits for the first.
    torch.set_num_threads(1)
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    PRESENT = [name for name, present in there.items() if present]


@pytest.fixture(params=PRESENT)
def device(request) -> str:
    return request.param

"""Every device that this machine has takes its turn."""

from __future__ import annotations

import pytest

from kvnb.tensors.shapes import DEVICES


def _present() -> list[str]:
    torch = pytest.importorskip("torch")
    # The tensors here are small: on busy cores a second thread only waits for the first.
    torch.set_num_threads(1)
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    return [name for name in DEVICES if there.get(name)]


@pytest.fixture(params=_present())
def device(request) -> str:
    return request.param

"""Pools that serve the language model which a package carries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kvnb import Lab
from kvnb.models.checkpoint import Checkpoint


@pytest.fixture
def pool(smollm2: Checkpoint) -> Callable[..., Lab]:
    """Makes a pool of SmolLM2 on the CPU."""

    def make(num_blocks: int = 80, **settings: Any) -> Lab:
        return Lab(num_blocks, model=smollm2.source, device="cpu", **settings)

    return make

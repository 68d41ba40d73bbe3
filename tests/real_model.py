"""The language model that a package carries: SmolLM2-135M-Instruct as a GGUF file, converted once a session."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kvnb.models.checkpoint import Checkpoint


def smollm2_gguf() -> Path:
    """The file, found without importing its package, which would import what it runs on.

    Where it is missing the test is skipped, but fails under ``CI=true``.
    """
    # Not at the head: conftest imports this file before it has settled the environment.
    from kvnb.errors import MissingPackage
    from kvnb.models.packaged import packaged

    try:
        return packaged("smollm2")
    except MissingPackage as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def smollm2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkpoint]:
    """SmolLM2, in a cache that the processes which a test starts find too, and that goes with the session."""
    # Not at the head: conftest imports this file before it has settled the environment.
    from helpers import needs

    from kvnb.models.checkpoint import open_checkpoint

    for package in ("gguf", "transformers", "torch"):
        needs(package)
    file = smollm2_gguf()
    with pytest.MonkeyPatch.context() as patch:
        cache = tmp_path_factory.mktemp("models")
        patch.setenv("KVNB_CACHE", str(cache))
        yield open_checkpoint(file)
        shutil.rmtree(cache)

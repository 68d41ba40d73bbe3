"""The peers that kvnb is measured beside are loaded as the conformance tests load them."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "conformance"))

from vllm_fixture import vllm

__all__ = ["vllm"]

"""kvnb: a Jupyter lab for the KV-cache block pool of an LLM serving engine, vLLM's.

``%load_ext kvnb`` brings ``%kvpool``; ``from kvnb import Lab, dashboard`` gives the same from Python. Importing kvnb loads
nothing heavy: no torch, IPython, pandas, plotly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvnb.errors import KvnbError
from kvnb.version import __version__

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from kvnb.commands.panels import dashboard
    from kvnb.lab import Lab

__all__ = ["KvnbError", "Lab", "__version__", "dashboard", "load_ipython_extension", "unload_ipython_extension"]


def __getattr__(name: str) -> Any:
    if name == "Lab":
        from kvnb.lab import Lab

        return Lab
    if name == "dashboard":
        from kvnb.commands.panels import dashboard

        return dashboard
    raise AttributeError(f"module 'kvnb' has no attribute {name!r}")


def load_ipython_extension(ip: InteractiveShell) -> None:
    """``%load_ext kvnb``: adds ``%kvpool``, ``%%kvpool``, their completion and the cell records."""
    from kvnb.magics import load

    load(ip)


def unload_ipython_extension(ip: InteractiveShell) -> None:
    """``%unload_ext kvnb``: takes away everything that loading added; open logs are closed."""
    from kvnb.magics import unload

    unload(ip)

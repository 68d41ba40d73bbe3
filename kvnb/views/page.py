"""The page that an output goes to: whether somebody looks at it, and what pictures of one pool have in common on it.

Must not know: what the pictures show.
"""

from __future__ import annotations

import sys
from threading import RLock
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

from kvnb.journal import Journal

_lock = RLock()
_pools: WeakKeyDictionary[Journal, str] = WeakKeyDictionary()


def is_live() -> bool:
    """Whether somebody's notebook runs this cell: it tells the cell's id, which programs that execute notebooks do not.

    Those would write into the file what only this kernel knows: a widget's state, a mark that differs at each run.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    kernel: Any = getattr(shell, "kernel", None)
    request = kernel.get_parent("shell") if hasattr(kernel, "get_parent") else {}
    return bool(request.get("metadata", {}).get("cellId"))


def pool_id(journal: Journal) -> str:
    """What pictures of one pool have in common on a page: no other journal of any kernel has it."""
    with _lock:
        return _pools.setdefault(journal, uuid4().hex)


def in_pool(markup: str, journal: Journal | None) -> str:
    """A picture whose tiles are selected together with those of all others of the pool, on a page that is live."""
    return f'<div data-kvnb-pool="{pool_id(journal)}">{markup}</div>' if journal is not None and is_live() else markup

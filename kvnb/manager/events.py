"""What can happen to a request: a closed list, beside the pool's own events.

Must not know: who listens.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from kvnb.core.events import Ids

State = Literal["running", "preempted"]


class RequestIs(NamedTuple):
    """Request ``name`` is now in ``state``; a preempted one has an empty block table."""

    name: str
    state: State


class Tokens(NamedTuple):
    """Request ``name`` now has ``n`` tokens, all of them scheduled."""

    name: str
    n: int


class Looked(NamedTuple):
    """A lookup that was counted: of ``n`` tokens ``hits`` were cached (vLLM: ``PrefixCacheStats.record``).

    preempted
        True for a request that resumes; vLLM keeps those out of its prefix-cache counters.
    """

    name: str
    n: int
    hits: int
    preempted: bool


class Extended(NamedTuple):
    """``ids`` were appended to the block table of request ``name``."""

    name: str
    ids: Ids


class Ended(NamedTuple):
    """Request ``name`` is gone, with its block table."""

    name: str


ManagerEvent = RequestIs | Tokens | Looked | Extended | Ended

"""What can happen to a request: a closed list, beside the pool's own events.

Must not know: who listens.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from kvnb.core.events import Ids

State = Literal["running", "preempted"]


class RequestIs(NamedTuple):
    """Request ``name`` is now in ``state``; a preempted one has an empty block table, nothing scheduled, no drafts."""

    name: str
    state: State


class Tokens(NamedTuple):
    """Request ``name`` now has ``n`` tokens, ``scheduled`` of them with slots, and ``draft`` tokens that may be rejected."""

    name: str
    n: int
    scheduled: int
    draft: int


class Looked(NamedTuple):
    """A lookup that was counted: of ``n`` tokens ``hits`` were cached (vLLM: ``PrefixCacheStats.record``).

    preempted
        True for a request that resumes; vLLM keeps those out of its prefix-cache counters.
    """

    name: str
    n: int
    hits: int
    preempted: bool


class Deferred(NamedTuple):
    """``n`` scheduled tokens of request ``name`` wait for a later forward pass; their full blocks are in the map already."""

    name: str
    n: int


class Computed(NamedTuple):
    """A forward pass computed the deferred tokens of ``names``, ``n`` in all (what no command deferred goes without saying)."""

    names: tuple[str, ...]
    n: int


class Extended(NamedTuple):
    """``ids`` were appended to the block table of request ``name``; 0 stands where no memory is needed."""

    name: str
    ids: Ids


class Nulled(NamedTuple):
    """``n`` entries of the block table of ``name``, from the entry ``first`` on, left the window: they are block 0 now."""

    name: str
    first: int
    n: int


class Ended(NamedTuple):
    """Request ``name`` is gone, with its block table."""

    name: str


ManagerEvent = RequestIs | Tokens | Looked | Deferred | Computed | Extended | Nulled | Ended

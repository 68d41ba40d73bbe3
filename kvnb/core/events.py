"""What can happen to the pool: a closed list. Each event is an effect with its block ids, one per call.

Must not know: who listens. A fold over these events rebuilds the pool's state and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

Ids = tuple[int, ...]
Why = Literal["reuse", "evict", "uncomputed"]


class Took(NamedTuple):
    """``ids`` left the front of the free queue for a new owner; their ref_cnt is now 1."""

    ids: Ids


class Hit(NamedTuple):
    """``ids`` gained an owner; those that lay in the free queue were plucked from it."""

    ids: Ids


class Dropped(NamedTuple):
    """``ids`` lost an owner."""

    ids: Ids


class Front(NamedTuple):
    """``ids`` were put at the front of the free queue, ``ids[0]`` to be reused next."""

    ids: Ids


class Back(NamedTuple):
    """``ids`` were put at the back of the free queue, ``ids[-1]`` to be reused last."""

    ids: Ids


class Hashed(NamedTuple):
    """``ids`` were entered in the map under ``keys`` (16 hex digits each)."""

    ids: Ids
    keys: tuple[str, ...]


class Unhashed(NamedTuple):
    """``ids`` lost their hash: handed to a new owner (``reuse``), on command (``evict``) or never computed (``uncomputed``)."""

    ids: Ids
    why: Why


class Cleared(NamedTuple):
    """Every hash was dropped at once; the order of the free queue stayed."""


PoolEvent = Took | Hit | Dropped | Front | Back | Hashed | Unhashed | Cleared
Emit = Callable[[PoolEvent], None]

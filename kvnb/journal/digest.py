"""The running digest: equal digests mean equal settings, commands and events, from the first step on.

Must not know: names of pools, cells, versions, times: they stay outside the digest.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from kvnb.journal.events import Event, to_json
from kvnb.manager.behaviour import Behaviour
from kvnb.manager.command import Command


def canonical(value: Any) -> bytes:
    """One spelling for one value: JSON, keys sorted, no spaces, ASCII only."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")


def first_digest(behaviour: Behaviour) -> str:
    """d0 in hex: SHA-256 over the settings that decide what the pool does."""
    return sha256(canonical(behaviour.to_dict())).hexdigest()


def next_digest(previous: str, command: Command, events: Sequence[Event]) -> str:
    """d_k in hex: SHA-256 over d_(k-1), the command and what it did."""
    step = [command.to_dict(), [to_json(event) for event in events]]
    return sha256(bytes.fromhex(previous) + canonical(step)).hexdigest()

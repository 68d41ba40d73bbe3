"""Pools with memory, and words for what is in it."""

from __future__ import annotations

from typing import Any

from helpers import needs

from kvnb import Lab
from kvnb.tensors.worker import Worker

needs("torch")


def small(num_blocks: int | None = 11, **settings: Any) -> Lab:
    """A pool on the CPU, blocks of 4 tokens."""
    return Lab(num_blocks, **{"block_size": 4, "device": "cpu", **settings})


def worker_of(lab: Lab) -> Worker:
    """The owner of the memory of a pool that has any."""
    assert lab.worker is not None
    return lab.worker


def hashes(lab: Lab) -> dict[int, str]:
    """The bytes of every block, hashed."""
    return {block_id: worker_of(lab).store.block_hash(block_id) for block_id in range(lab.behaviour.num_blocks)}


def changed(lab: Lab, before: dict[int, str]) -> set[int]:
    """The blocks whose bytes are not what they were."""
    return {block_id for block_id, value in hashes(lab).items() if value != before[block_id]}

"""Which device, how much of its memory is free, and which precisions it can keep K and V in.

Must not know: blocks, requests, models.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch

from kvnb.errors import SettingError, nearest, one_line
from kvnb.tensors.memory import free_main_memory
from kvnb.tensors.shapes import DEVICES, DTYPES, check_dtype

_TORCH_DTYPES = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "fp8_e4m3": torch.float8_e4m3fn,
    "fp8_e5m2": torch.float8_e5m2,
}


def pick_device(name: str) -> torch.device:
    """The device of that name in ``DEVICES``; ``auto`` is cuda, else mps, else cpu.

    Raises SettingError where this machine has none such, and for ``none``, which has no memory.
    """
    if name not in DEVICES:
        raise SettingError(f"unknown device {one_line(name)}: {nearest(name, DEVICES)}")
    if name == "none":
        raise SettingError("device none keeps no memory, block ids only: use --device cpu (or auto)")
    if name == "auto":
        return torch.device(next(found for found in ("cuda", "mps", "cpu") if _has(found)))
    if not _has(name):
        what = {"cuda": "CUDA device", "mps": "Apple GPU (mps)"}[name]
        raise SettingError(f"this machine has no {what}: use --device cpu (or auto)")
    return torch.device(name)


def _has(name: str) -> bool:
    if name == "cuda":
        return torch.cuda.is_available()
    return name == "cpu" or torch.backends.mps.is_available()


def free_bytes(device: torch.device) -> int:
    """Bytes that a new allocation on ``device`` may take now."""
    if device.type == "cuda":
        # What torch has reserved and does not use is free too, though the driver counts it as taken.
        idle = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0]) + idle
    if device.type == "mps":
        left = torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory()
        return min(max(int(left), 0), free_main_memory())
    return free_main_memory()


def torch_dtype(name: str, device: torch.device) -> torch.dtype:
    """The torch dtype that ``name`` in ``DTYPES`` stands for.

    Raises SettingError for an unknown name, and for one that ``device`` cannot convert to and from; it names those that work.
    """
    check_dtype(name)
    if not works(name, device.type):
        able = ", ".join(other for other in DTYPES if works(other, device.type))
        raise SettingError(f"{device.type} cannot keep {name}: use --dtype {able.replace(', ', ' or ')}")
    return _TORCH_DTYPES[name]


@contextmanager
def one_thread(device: torch.device) -> Iterator[None]:
    """On a CPU, compute with one thread inside, and with as many as before afterwards.

    The tensors are small. Where other work shares the cores, or a container has fewer than it sees, each operation would
    wait for a thread that has no core: a pass took 15 times as long with two threads on two busy cores.
    """
    before = torch.get_num_threads()
    try:
        if device.type == "cpu":
            torch.set_num_threads(1)
        yield
    finally:
        if device.type == "cpu":
            torch.set_num_threads(before)


@cache
def works(name: str, device_type: str) -> bool:
    """Whether the device converts float32 to ``name`` and back; found by trying."""
    try:
        there = torch.ones(2, device=device_type).to(_TORCH_DTYPES[name])
        return bool((there.float() == 1).all())
    except (RuntimeError, TypeError):  # how torch says that a device lacks a dtype; the answer is the caller's to tell
        return False

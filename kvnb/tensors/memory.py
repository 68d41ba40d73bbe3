"""How much main memory this process may still take: what the machine has left, or its container, whichever is less.

Must not know: tensors, devices, block pools. A process that takes more is killed, not refused: Linux promises memory it lacks.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kvnb.errors import MissingPackage


def free_main_memory(root: Path = Path("/")) -> int:
    """Bytes; the least of what the machine has available and what each cgroup above this process has left.

    root
        Where ``proc`` and ``sys`` are found.

    Raises MissingPackage where neither ``/proc/meminfo`` nor psutil can say. Source: proc(5) ``MemAvailable``;
    the Linux kernel's cgroup-v2 and cgroup-v1 memory documents.
    """
    return min([_available(root), *_left_in_cgroups(root)])


def _available(root: Path) -> int:
    meminfo = _read(root / "proc/meminfo") or ""
    for line in meminfo.splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return _available_elsewhere()


def _available_elsewhere() -> int:
    try:
        import psutil  # type: ignore[import-untyped,unused-ignore]  # comes with ipykernel
    except ImportError:
        raise MissingPackage.named("psutil", "asking macOS or Windows for free memory") from None
    return int(psutil.virtual_memory().available)


def _left_in_cgroups(root: Path) -> Iterator[int]:
    for line in (_read(root / "proc/self/cgroup") or "").splitlines():
        number, controllers, path = line.split(":", 2)  # hierarchy, controllers, path: cgroups(7)
        if number == "0" and not controllers:
            names = ("memory.max", "memory.current", "inactive_file")
            yield from _left_upwards(root / "sys/fs/cgroup", path, *names)
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            yield from _left_upwards(root / "sys/fs/cgroup/memory", path, *names)


def _left_upwards(mount: Path, path: str, limit: str, usage: str, inactive: str) -> Iterator[int]:
    """What is left in the group at ``path`` and in each above it.

    A container sees its own group at the mount's root while the path may be the host's: what is not there is passed over.
    """
    group = mount / path.strip("/")
    for folder in (group, *group.parents):
        if not folder.is_relative_to(mount):
            return
        most, used = _read(folder / limit), _read(folder / usage)
        if most and used and most.strip() != "max":
            # Pages of files that nobody reads now are given back before the limit bites.
            yield max(int(most) - int(used) + _stat(folder, inactive), 0)


def _stat(folder: Path, name: str) -> int:
    for line in (_read(folder / "memory.stat") or "").splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return int(value)
    return 0


def _read(path: Path) -> str | None:
    try:
        return path.read_text()
    except OSError:
        return None

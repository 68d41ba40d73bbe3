"""The folder of converted files: one folder for each, made elsewhere and renamed, so that it is there whole or not at all.

Must not know: what is converted, and how.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows has no flock; there what a killed process left half made stays.
    fcntl = None  # type: ignore[assignment]

from kvnb.errors import MissingPackage, SettingError
from kvnb.tensors.shapes import human_bytes

STAMP = "kvnb.json"
"""Lies in each folder: what it was made from. While the folder is made, its maker holds a lock on it."""

_MAKING = "making-"


def cache_folder() -> Path:
    """Where converted files lie: ``$KVNB_CACHE``, else the user's cache. Raises MissingPackage without ``platformdirs``."""
    named = os.environ.get("KVNB_CACHE")
    if named:
        return Path(os.path.expanduser(named)).absolute()  # noqa: PTH111  (Path raises for ~nobody)
    try:
        from platformdirs import user_cache_path
    except ImportError as error:
        raise MissingPackage.named("platformdirs", "the cache of converted models, where KVNB_CACHE is not set,") from error
    return user_cache_path("kvnb", appauthor=False)


def stamp_of(source: Path, version: int) -> dict[str, Any]:
    """What tells whether ``source`` is still the file that was converted, and by this version."""
    about = source.stat()
    return {"source": str(source.resolve()), "size": about.st_size, "mtime_ns": about.st_mtime_ns, "version": version}


def kept(stamp: dict[str, Any]) -> Path | None:
    """The folder that was made for ``stamp``, if there is one."""
    folder = _place(stamp)
    try:
        return folder if json.loads((folder / STAMP).read_bytes()) == stamp else None
    except (OSError, ValueError):
        return None


def make(stamp: dict[str, Any], needed: int, fill: Callable[[Path], None]) -> Path:
    """Have ``fill`` write into a fresh folder, and put that in its place.

    needed
        Bytes that it will write.

    Raises SettingError when they do not fit or cannot be written; then, and after an interrupt, nothing is left.
    """
    place = _place(stamp)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(place.parent).free
        if free < needed:
            raise SettingError(_advice(place, f"{human_bytes(needed)} are needed, {human_bytes(free)} are free"))
        with _fresh(place.parent, stamp) as folder:
            fill(folder)
            _put(folder, place, stamp)
    except OSError as error:
        raise SettingError(_advice(place, error.strerror or str(error))) from error
    return place


def _advice(place: Path, why: str) -> str:
    return f"cannot write the converted model to {place.parent}: {why}: free some space, or name another folder in KVNB_CACHE"


def _place(stamp: dict[str, Any]) -> Path:
    """One folder for each source file: what it held before has no use."""
    source = Path(stamp["source"])
    readable = re.sub(r"[^A-Za-z0-9._-]+", "_", source.stem)[:60]
    return cache_folder() / "models" / f"{readable}-{sha256(os.fsencode(source)).hexdigest()[:16]}"


@contextmanager
def _fresh(parent: Path, stamp: dict[str, Any]) -> Iterator[Path]:
    """A folder to fill; it is taken away unless it was renamed meanwhile. What killed processes left is taken away, too."""
    folder = parent / f"{_MAKING}{secrets.token_hex(8)}"
    with ExitStack() as after:
        for path in (folder, _old(folder)):
            after.callback(shutil.rmtree, path, ignore_errors=True)
        with (parent / ".lock").open("w") as gate:
            _lock(gate, wait=True)
            _sweep(parent)
            folder.mkdir()
            held = after.enter_context((folder / STAMP).open("w"))
            _lock(held, wait=True)
        held.write(json.dumps(stamp))
        held.flush()
        if fcntl is None:
            # Windows renames no folder in which a file is open.
            held.close()
        yield folder


def _old(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}-old")


def _put(folder: Path, place: Path, stamp: dict[str, Any]) -> None:
    if kept(stamp) is None and place.exists():
        # A folder is not renamed onto one that is not empty.
        place.rename(_old(folder))
    try:
        folder.rename(place)
    except OSError:
        # Another process was faster: what it made is the same.
        if kept(stamp) is None:
            raise


def _sweep(parent: Path) -> None:
    """Take away the folders whose makers are gone: nobody holds their stamps."""
    for folder in parent.glob(f"{_MAKING}*") if fcntl is not None else ():
        with suppress(OSError):
            stamp = folder / STAMP
            if stamp.exists():
                with stamp.open() as file:
                    _lock(file, wait=False)
            shutil.rmtree(folder, ignore_errors=True)


def _lock(file: IO[str], wait: bool) -> None:
    """Raises BlockingIOError when another process has it and this one does not wait. The lock ends with the file."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)

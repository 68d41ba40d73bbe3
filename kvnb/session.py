"""The pools of one notebook or shell: their names, and which of them is in use.

Must not know: how commands are typed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from kvnb.errors import UnknownName, named, nearest

if TYPE_CHECKING:
    from kvnb.journal.journal import Cell
    from kvnb.lab import Lab

DEFAULTS: dict[str, Any] = {
    "block_size": 4,
    "prefix_caching": True,
    "free_to": "front-back",
    "free_order": "reverse",
    "full_hit": False,
    "sliding_window": None,
    "hash": "sha256",
    "tokenizer": None,
    "device": "auto",
    "dtype": "float32",
}
"""What ``new`` takes where nothing is said. Block size 4, so that a lesson fits a line; vLLM's own is 16."""


class Panel(Protocol):
    """What stands open for a pool, and outlives it when another pool takes its name."""

    def renew(self, lab: Lab) -> None:
        """Show the pool that took the name."""

    def close(self) -> None:
        """Be gone."""


class Session:
    """A table of pools. At most one pool of a name; a new one takes the old one's place."""

    def __init__(self) -> None:
        self.labs: dict[str, Lab] = {}
        # By the name of a pool, or by the path of a journal file that is only looked through.
        self.panels: dict[str | Path, Panel] = {}
        self.current: str | None = None
        self.defaults = dict(DEFAULTS)
        # The numbers of the quiz's questions that were answered.
        self.answered: set[int] = set()
        self.on_start: list[Callable[[Lab], None]] = []
        self._started = 0
        self._cell: Cell | None = None

    @property
    def cell(self) -> Cell | None:
        """The notebook cell that is running, as it enters the steps of every pool."""
        return self._cell

    @cell.setter
    def cell(self, cell: Cell | None) -> None:
        self._cell = cell
        for lab in self.labs.values():
            lab.cell = cell

    def lab(self, name: str | None = None) -> Lab:
        """The pool of that name, or the one in use. Raises UnknownName."""
        name = name or self.current
        if name is None:
            raise UnknownName("no pool yet: make one with `new 11`")
        if name not in self.labs:
            raise UnknownName(f"no pool {named(name)}: {nearest(name, self.labs)}")
        return self.labs[name]

    def new(self, num_blocks: int | None = None, *, name: str = "pool", **settings: Any) -> tuple[Lab, Lab | None]:
        """Make a pool and use it; the second value is the pool of that name that it replaced, closed."""
        from kvnb.lab import Lab

        given = {**self.defaults, **settings}
        if settings.get("model", "tiny") != "tiny" and "tokenizer" not in settings:
            given["tokenizer"] = None  # a checkpoint has its own
        return self._start(name, lambda old: Lab(num_blocks, name=name, replacing=old, **given))

    def load(
        self,
        path: str | Path,
        *,
        name: str | None = None,
        copy: bool = False,
        device: str | None = None,
        model: str | None = None,
    ) -> tuple[Lab, Lab | None]:
        """Load a journal file as a pool (under the file's own pool name) and use it; see ``Lab.load``."""
        from kvnb.lab import Lab

        name = name or Lab.peek_name(path)
        where = {"device": device, "model": model}
        return self._start(name, lambda old: Lab.load(path, name=name, copy=copy, replacing=old, **where))

    def fork(self, name: str, at: int | None = None, *, pool: str | None = None, **settings: Any) -> tuple[Lab, Lab | None]:
        """Make the pool ``name`` of what another one did, under other settings, and use it; see ``Lab.fork``."""
        original = self.lab(pool)
        return self._start(name, lambda old: original.fork(name, at, replacing=old, **settings))

    def use(self, name: str) -> Lab:
        """Make the pool of that name the one in use. Raises UnknownName."""
        lab = self.lab(name)
        self.current = name
        return lab

    def close(self, name: str | None = None) -> Lab:
        """Forget a pool, its log file let go; the youngest of the others comes into use. Raises UnknownName."""
        lab = self.lab(name)
        del self.labs[lab.name]
        if self.current == lab.name:
            self.current = next(reversed(self.labs), None)
        self.close_panel(lab.name)
        lab.close()
        return lab

    def close_panel(self, name: str | Path) -> None:
        """Close what stands open for that pool or file, if anything does."""
        panel = self.panels.pop(name, None)
        if panel is not None:
            panel.close()

    def close_all(self) -> None:
        """Forget every pool, and close what else stands open."""
        while self.labs:
            self.close(next(iter(self.labs)))
        while self.panels:
            self.close_panel(next(iter(self.panels)))

    def _start(self, name: str, make: Callable[[Lab | None], Lab]) -> tuple[Lab, Lab | None]:
        old = self.labs.get(name)
        try:
            lab = make(old)
            lab.journal_id = f"{name}#{self._started + 1}"
            lab.cell = self._cell
            self.labs[name] = lab
        except BaseException:
            if old and self.labs.get(name) is old:
                old.rewrite_log()
            raise
        self._started += 1
        self.current = name
        if old:
            old.close()
        if name in self.panels:
            self.panels[name].renew(lab)
        for listener in self.on_start:
            listener(lab)
        return lab, old

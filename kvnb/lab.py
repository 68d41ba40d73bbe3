"""Lab: the one object that users hold. It composes the pool, its journal and its log file.

Must not know: IPython, and how anything is drawn (results draw themselves when they are shown).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from kvnb.core import BlockPool
from kvnb.core.hashing import HASH_FUNCTIONS, none_hash
from kvnb.core.invariants import Equation
from kvnb.errors import CommandError, SettingError, named, nearest, one_line
from kvnb.journal import Journal, State, Step, jsonl, replay
from kvnb.journal.journal import Cell
from kvnb.journal.log_file import LogFile, check_may_overwrite, check_not_in_use
from kvnb.manager import Behaviour, KVCacheManager
from kvnb.manager.command import Command
from kvnb.manager.engine import EngineCore
from kvnb.prompts import Tokenizer, get_tokenizer, prompt_of
from kvnb.results import StepResult

DEVICES = ("none",)


class Lab:
    """A pool of ``num_blocks`` blocks, block 0 included, with its requests and its history.

    block_size
        Tokens a block; 16 is vLLM's default.
    name
        How the pool is called in journals and lists.
    prefix_caching, free_to, free_order, full_hit, hash
        See ``Behaviour``.
    tokenizer
        ``chars``, ``bytes`` or the path of a ``tokenizer.json``.
    device
        ``none``: block ids only, no memory behind them.
    log
        A file that gets every step before the command returns; ``force`` lets it overwrite what is no journal.

    Raises SettingError or JournalError, and leaves nothing behind. Every command raises a KvnbError and changes
    nothing when it cannot be done; after an interrupt the state is that before or after the command.
    """

    def __init__(
        self,
        num_blocks: int,
        *,
        block_size: int = 16,
        name: str = "pool",
        prefix_caching: bool = True,
        free_to: str = "front-back",
        free_order: str = "reverse",
        full_hit: bool = False,
        hash: str = "sha256",
        tokenizer: str = "chars",
        device: str = "none",
        log: str | Path | None = None,
        force: bool = False,
        replacing: Lab | None = None,
    ) -> None:
        if device not in DEVICES:
            raise SettingError(f"unknown device {one_line(str(device))}: {nearest(str(device), DEVICES)}")
        self._tokenizer = get_tokenizer(tokenizer)
        behaviour = Behaviour(
            num_blocks=num_blocks, block_size=block_size, prefix_caching=prefix_caching, free_to=free_to,
            free_order=free_order, full_hit=full_hit, hash=hash, none_hash=_root(hash), tokenizer=self._tokenizer.identity,
        )  # fmt: skip
        self._begin(Journal(behaviour, name))
        if log is not None:
            file = LogFile.open(Path(log), force, replacing._log if replacing else None)
            self._write_to(file, file.start)

    @classmethod
    def load(cls, path: str | Path, *, name: str | None = None, copy: bool = False, replacing: Lab | None = None) -> Lab:
        """The pool that a journal file describes, after its last finished step.

        A file that a pool was writing with ``log`` is gone on with; ``copy`` leaves it alone. ``name`` is another
        name for the pool. ``lab.torn_bytes`` says how much of an unfinished line was left out. Raises JournalError
        for a file that cannot be trusted.
        """
        path = Path(path)
        read = jsonl.read(path)
        lab = cls.__new__(cls)
        read.journal.name = name or read.journal.name
        identity = read.journal.behaviour.tokenizer
        lab._tokenizer = Tokenizer(identity, None if not identity.startswith("sha256:") else _MissingTokenizer(identity))
        lab._begin(read.journal)
        lab.torn_bytes = read.torn
        if read.log and not copy:
            file = LogFile.open(path, replacing=replacing._log if replacing else None)
            lab._write_to(file, file.go_on)
        return lab

    @staticmethod
    def peek_name(path: str | Path) -> str:
        """The pool name in a journal file. Raises JournalError as ``load``."""
        return jsonl.read(Path(path)).journal.name

    def _begin(self, journal: Journal) -> None:
        self._journal = journal
        self.journal_id = journal.name
        self.cell: Cell | None = None
        self.torn_bytes = 0
        self._log: LogFile | None = None
        self._engine, self._events = replay.rebuild(journal)
        self._torn = False

    def _write_to(self, file: LogFile, begin: Callable[[Journal], None]) -> None:
        try:
            begin(self._journal)
        except BaseException:
            file.abandon()
            raise
        self._log = file

    # --- changing ------------------------------------------------------------------------------------------

    def admit(
        self,
        name: str,
        text: str | None = None,
        *,
        tokens: Iterable[int] | None = None,
        file: str | Path | None = None,
    ) -> StepResult:
        """Start a request, or without a prompt resume a preempted one.

        Raises RequestError, UnknownName, OutOfBlocks, NeverFits or CommandError.
        """
        name = _name(name)
        prompt = prompt_of(self._tokenizer, text, tokens, file)
        if not prompt and name not in self._alive().scheduler.requests:
            raise CommandError(f"{named(name)} needs a prompt: only a preempted request is admitted without one")
        return self._change("admit", name=name, **prompt)

    def append(self, name: str, text: str | None = None, *, tokens: Iterable[int] | None = None) -> StepResult:
        """Give a running request more tokens. Raises as ``admit``."""
        name = _name(name)
        prompt = prompt_of(self._tokenizer, text, tokens, None)
        if not prompt:
            raise CommandError(f"nothing to append to {named(name)}: give a text or tokens")
        return self._change("append", name=name, **prompt)

    def release(self, *names: str, all: bool = False) -> StepResult:
        """End requests; ``all`` of them, in the order of their admission. Raises UnknownName or RequestError."""
        if all and names:
            raise CommandError("give names or all, not both")
        if all:
            names = tuple(self._alive().scheduler.requests)
        return self._change("release", names=[_name(name) for name in names])

    def preempt(self, name: str) -> StepResult:
        """Take a running request's blocks away; it keeps its tokens. Raises UnknownName or RequestError."""
        return self._change("preempt", name=_name(name))

    def evict(self, *ids: int) -> StepResult:
        """Drop the hashes of these blocks. Raises UnknownName for block 0 and ids out of range."""
        return self._change("evict", ids=[_block_id(block_id) for block_id in ids])

    def reset(self) -> StepResult:
        """Drop the whole prefix cache. Raises ResetRefused while a request holds a block."""
        return self._change("reset")

    def undo(self) -> StepResult:
        """Go back one step; the journal only grows, by a step that says so. Raises JournalError at the start."""
        self._alive()
        events = replay.undo_events(self._journal)
        self._torn = True
        self._commit(self._journal.next_step(Command(replay.UNDO, {}), events, self.cell))
        # The step exists now; the pool it describes is built from the journal.
        self._alive()
        return StepResult(self, self._journal.steps[-1], ())

    def _change(self, verb: str, **args: Any) -> StepResult:
        engine, command = self._alive(), Command(verb, args)
        apply = engine.plan(command)
        self._torn = True
        apply()
        step = self._journal.next_step(command, self._events, self.cell)
        self._commit(step)
        self._events.clear()
        self._torn = False
        return StepResult(self, step, engine.scheduler.kv_cache_manager.block_table(args.get("name", "")))

    def _commit(self, step: Step) -> None:
        if self._log:
            self._log.commit(self._journal, step)
        self._journal.steps.append(step)

    def _alive(self) -> EngineCore:
        """The engine; after a command that was cut off in the middle, one rebuilt from the journal."""
        if self._torn:
            self._engine, self._events = replay.rebuild(self._journal)
            if self._log:
                # A file that cannot be mended now is mended, or complained of, by the next step.
                with suppress(OSError):
                    self._log.mend(self._journal)
            self._torn = False
        return self._engine

    # --- looking -------------------------------------------------------------------------------------------

    @property
    def journal(self) -> Journal:
        """The history: every finished step. For looking only."""
        self._alive()
        return self._journal

    @property
    def name(self) -> str:
        """The pool's name."""
        return self._journal.name

    @property
    def behaviour(self) -> Behaviour:
        """The settings that decide what the pool does."""
        return self._journal.behaviour

    @property
    def manager(self) -> KVCacheManager:
        """The block tables. A rebuild after an interrupt or an undo makes a new one."""
        return self._alive().scheduler.kv_cache_manager

    @property
    def pool(self) -> BlockPool:
        """The blocks, the free queue, the map."""
        return self.manager.block_pool

    @property
    def requests(self) -> tuple[str, ...]:
        """Names of the running and preempted requests, in the order of admission."""
        return tuple(self._alive().scheduler.requests)

    @property
    def free_queue(self) -> tuple[int, ...]:
        """Block ids, front first."""
        return tuple(block.block_id for block in self.pool.free_block_queue)

    def block_table(self, name: str) -> tuple[int, ...]:
        """The block ids of a request, in the order of its tokens. Raises UnknownName."""
        self._alive().scheduler.find(name)
        return self.manager.block_table(name)

    @property
    def cached(self) -> frozenset[int]:
        """Ids of the blocks that carry a hash."""
        return frozenset(block.block_id for block in self.pool.blocks if block.block_hash is not None)

    @property
    def usage(self) -> float:
        """1 - free / (N - 1)."""
        return self.pool.get_usage()

    @property
    def digest(self) -> str:
        """Hex SHA-256 over the settings and every step."""
        return self.journal.digest

    @property
    def state(self) -> State:
        """The journal folded to its last step: what is drawn. For looking only."""
        return self.journal.state

    @property
    def log_path(self) -> Path | None:
        """The file that steps are written to, if any."""
        return self._log.path if self._log else None

    def check(self) -> list[Equation]:
        """Every invariant as an equation, and last that the journal, folded, is the live pool."""
        engine = self._alive()
        same = self._journal.state.columns() == replay.live_columns(engine)
        fold = Equation("journal folded = live pool", f"{len(self._journal)} steps, {'no' if same else 'a'} difference", same)
        return [*engine.scheduler.check(), fold]

    def verify(self) -> replay.Verdict:
        """Run the whole journal again on a fresh pool and compare every step."""
        return replay.verify(self.journal)

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the journal to a file, all or nothing. Raises JournalError when that would overwrite another's file."""
        path = Path(path)
        check_may_overwrite(path, force)
        check_not_in_use(path)
        jsonl.save(self.journal, path)
        return path

    def rewrite_log(self) -> None:
        """Make the log file, if any, hold this journal again: a successor that did not come to be may have begun in it."""
        if self._log:
            self._log.start(self._journal)

    def close(self) -> None:
        """Let go of the log file; the pool stays usable, its steps are no longer written."""
        if self._log:
            self._log.close()
            self._log = None

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from kvnb.views.shown import state_shown

        return state_shown(self)._repr_mimebundle_()

    def __repr__(self) -> str:
        size = f"{self.behaviour.num_blocks} blocks of {self.behaviour.block_size} tokens"
        return f"<Lab {self.name!r}: {size}, step {len(self._journal)}>"


class _MissingTokenizer:
    """Stands for a tokenizer file that a loaded journal does not carry: its steps hold tokens, new text cannot be cut."""

    def __init__(self, identity: str) -> None:
        self.identity = identity

    def encode(self, text: str) -> Any:
        raise CommandError(f"this journal's tokenizer file ({self.identity[:14]}...) is not loaded: give --tokens")


def _root(hash_name: str) -> str:
    seed = os.environ.get("PYTHONHASHSEED")
    return none_hash(HASH_FUNCTIONS[hash_name], seed).hex() if hash_name in HASH_FUNCTIONS else ""


def _name(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise CommandError(f"{name!r} is no request name: give a text that is not empty")
    return name


def _block_id(block_id: Any) -> int:
    try:
        return int(block_id.__index__())
    except AttributeError as error:
        raise CommandError(f"{block_id!r} is no block id: give whole numbers") from error

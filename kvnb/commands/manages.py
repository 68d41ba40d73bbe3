"""The verbs that manage pools and files: no journal step, but pools come and go.

Must not know: how they were typed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kvnb.commands.verb import Arg, Verb, name, whole
from kvnb.core.policy import FREE_RULES
from kvnb.errors import printable
from kvnb.journal import Journal, jsonl, replay
from kvnb.journal.verification import verify_file
from kvnb.lab import Lab
from kvnb.manager.behaviour import FREE_ORDERS
from kvnb.manager.hash_functions import HASH_FUNCTIONS
from kvnb.session import Session
from kvnb.tensors.shapes import DEVICES, DTYPES, SHAPES
from kvnb.views import html, text, verdicts
from kvnb.views.forks import origin_text
from kvnb.views.progress import progress
from kvnb.views.shown import Shown, note_shown, state_shown
from kvnb.views.words import count

STORY = 40
"""How many steps a replay tells in full; of more, the first and last half of that."""


def _new(session: Session, num_blocks: int | None = None, no_prefix_caching: bool = False, **settings: Any) -> Shown:
    if no_prefix_caching:
        settings["prefix_caching"] = False
    lab, old = session.new(num_blocks, **settings)
    block_size = lab.behaviour.block_size
    notes = [f"block 0 is the null block, {count(lab.behaviour.num_blocks - 1, 'block')} can be used"]
    notes += [f"block size {block_size} keeps a lesson on one line; vLLM's default is 16"] * (block_size < 16)
    return _started(lab, old, notes)


def _load(session: Session, file: str, **options: Any) -> Shown:
    lab, old = session.load(file, **options)
    notes = [f"{printable(file)}: {count(len(lab.journal), 'step')} loaded, digest {lab.digest[:12]}"]
    notes += [origin_text(lab.journal.forked)] if lab.journal.forked else []
    notes += [f"an unfinished line at its end ({count(lab.torn_bytes, 'byte')}) was left out"] * bool(lab.torn_bytes)
    return _started(lab, old, notes)


def _started(lab: Lab, old: Lab | None, notes: list[str]) -> Shown:
    notes += started_notes(lab, old)
    shown = state_shown(lab)
    plain = "\n".join([shown.text, *(f"  {note}" for note in notes)])
    return Shown(plain, shown.html + html.text_html("\n".join(notes)), lab, lab.journal)


def started_notes(lab: Lab, old: Lab | None) -> list[str]:
    """What to know of a pool that has just come into use, in place of the pool ``old``."""
    notes = [memory_text(lab)]
    if lab.log_path:
        notes.append(f"every step is written to {printable(str(lab.log_path))}")
    if old:
        notes.append(f"it replaces {printable(old.name)}, a pool of {count(len(old.journal), 'step')}, which is closed")
    return notes


def memory_text(lab: Lab) -> str:
    """What stands behind the blocks, in a line."""
    if lab.worker:
        return f"memory: {lab.worker.describe()}"
    if lab.memory.device == "auto":
        return "memory: none, torch is not installed (pip install torch); the blocks are ids only"
    return "memory: none, the blocks are ids only"


def _save(session: Session, file: str, force: bool = False, pool: str | None = None) -> Shown:
    lab = session.lab(pool)
    path = lab.save(file, force=force)
    return note_shown(f"{count(len(lab.journal), 'step')} saved to {printable(str(path))}, digest {lab.digest[:12]}", path)


def _journal(session: Session, file: str | None, pool: str | None) -> tuple[Journal, str]:
    if file is not None:
        return jsonl.read(Path(file), lambda lines: progress(lines, "read")).journal, printable(file)
    lab = session.lab(pool)
    return lab.journal, printable(lab.name)


def _replay(session: Session, file: str | None = None, pool: str | None = None) -> Shown:
    journal, what = _journal(session, file, pool)
    with progress(journal.steps, "replay") as steps:
        again = Journal(journal.behaviour, journal.name, replay.replay(journal, steps))
    lines = [f"{what}: {text.size_text(journal.behaviour)}"]
    lines += [f"{step.number}. {printable(str(step.command))}\n     {text.sentence(step)}" for step in _told(again)]
    if len(again) > STORY:
        lines.insert(1 + STORY // 2, f"... ({len(again) - STORY:,} more steps) ...")
    same = "the same as recorded" if again.digest == journal.digest else f"NOT the recorded {journal.digest[:12]}"
    return note_shown("\n".join([*lines, f"{count(len(again), 'step')} run again: digest {again.digest[:12]}, {same}"]), again)


def _told(journal: Journal) -> list[Any]:
    return journal.steps if len(journal) <= STORY else journal.steps[: STORY // 2] + journal.steps[-STORY // 2 :]


def _verify(session: Session, file: str | None = None, pool: str | None = None) -> Shown:
    if file is not None:
        verification = verify_file(Path(file), progress)
        return note_shown(verdicts.verification_text(verification, printable(file)), verification)
    lab = session.lab(pool)
    verdict = lab.verify()
    return note_shown(verdicts.verdict_text(lab.journal, verdict, printable(lab.name)), verdict)


def _list(session: Session) -> Shown:
    rows = [
        {
            "current": lab.name == session.current, "name": lab.name, "blocks": lab.behaviour.num_blocks,
            "block_size": lab.behaviour.block_size, "step": len(lab.journal), "usage": lab.usage,
            "log": str(lab.log_path or ""),
        }
        for lab in session.labs.values()
    ]  # fmt: skip
    lines = [
        f"{'*' if lab.name == session.current else ' '} {text.pool_line(lab.journal, len(lab.journal))}, usage {lab.usage:.2f}"
        for lab in session.labs.values()
    ]
    return Shown("\n".join(lines) or "no pool yet: make one with `new 11`", html.pools_html(rows), rows)


def _use(session: Session, name: str) -> Shown:
    return state_shown(session.use(name))


def _close(session: Session, name: str | None = None) -> Shown:
    lab = session.close(name)
    then = f"{printable(session.current)} is in use" if session.current else "no pool is left"
    return note_shown(f"{printable(lab.name)} is closed, {then}", lab)


_FILE = Arg("file", "a journal file; without one, the pool's own journal", name, suggest="file")
_CHECKED = Arg("file", "a journal, an executed notebook or a report; without one, the pool's own journal", name, suggest="file")
_FORCE = Arg("force", "overwrite a file that is no kvnb journal", option=True)

MANAGES = (
    Verb(
        "new", "manages", "a pool of N blocks, block 0 included; a pool of that name is replaced",
        (
            Arg("num_blocks", "how many blocks; or give --memory", whole, metavar="N"),
            Arg("block_size", "tokens a block", whole, option=True, metavar="TOKENS"),
            Arg("name", "how the pool is called", name, option=True),
            Arg("no_prefix_caching", "no hashes, no hits: a plain allocator", option=True),
            Arg(
                "free_to", "front-back (vLLM today) or back (older)", name,
                option=True, suggest=tuple(FREE_RULES), metavar="RULE",
            ),
            Arg("free_order", "reverse (vLLM) or forward", name, option=True, suggest=FREE_ORDERS, metavar="ORDER"),
            Arg("full_hit", "a lookup may hit the whole prompt", option=True),
            Arg("sliding_window", "tokens a layer looks back, 2 or more", whole, option=True, metavar="W"),
            Arg("hash", "the hash function", name, option=True, suggest=tuple(HASH_FUNCTIONS), metavar="FUNCTION"),
            Arg("none_hash", "the parent hash of first blocks; without it, of PYTHONHASHSEED", name, option=True, metavar="HEX"),
            Arg("tokenizer", "chars, bytes or the path of a tokenizer.json", name, option=True, suggest="file"),
            Arg("device", "where the memory is; none: block ids only", name, option=True, suggest=DEVICES),
            Arg("dtype", "what K and V are kept in", name, option=True, suggest=tuple(DTYPES)),
            Arg("shape", "a well-known model's layers, KV heads and head size", name, option=True, suggest=tuple(SHAPES)),
            Arg("layers", "layers of the model", whole, option=True),
            Arg("kv_heads", "KV heads a layer", whole, option=True),
            Arg("head_size", "elements a head", whole, option=True),
            Arg("model", "tiny (random weights), smollm2, or a path: a folder, a GGUF file", name, option=True, suggest="file"),
            Arg("memory", "instead of N: 2GiB, or 90% of what is free", name, option=True, metavar="BYTES"),
            Arg("log", "a file that gets every step as it happens", name, option=True, suggest="file", metavar="FILE"),
            _FORCE,
        ),
        _new,
        (
            "new 11", "new 11 --block-size 16 --name big", "new 11 --sliding-window 8", "new 11 --log run.jsonl",
            "new 11 --device none", "new --memory 16MiB --dtype bfloat16", "new 9 --shape smollm2-135m --block-size 16",
        ),
    ),
    Verb(
        "save", "manages", "write the journal to a file",
        (Arg("file", "the file", name, required=True, suggest="file"), _FORCE), _save, ("save run.jsonl",),
    ),
    Verb(
        "load", "manages", "the pool of a journal file; one that was written by --log is gone on with",
        (
            Arg("file", "a file made by save or --log", name, required=True, suggest="file"),
            Arg("name", "another name for the pool", name, option=True),
            Arg("copy", "leave the file alone", option=True),
            Arg("device", "another device for its memory; none: block ids only", name, option=True, suggest=DEVICES),
            Arg("model", "where its model is now: a folder or a GGUF file", name, option=True, suggest="file"),
        ),
        _load, ("load run.jsonl", "load run.jsonl --name again --copy", "load run.jsonl --device none"),
    ),
    Verb("replay", "manages", "run a journal again and tell its story", (_FILE,), _replay, ("replay", "replay run.jsonl")),
    Verb(
        "verify", "manages", "run a journal again and compare every step; of a notebook or a report, those in its cells",
        (_CHECKED,), _verify, ("verify", "verify run.jsonl", "verify lesson.ipynb"),
    ),
    Verb("list", "manages", "the pools, * = in use", (), _list, ("list",)),
    Verb(
        "use", "manages", "make another pool the one in use",
        (Arg("name", "the pool", name, required=True, suggest="pool"),), _use, ("use pool",),
    ),
    Verb(
        "close", "manages", "forget a pool and let its log go",
        (Arg("name", "the pool", name, suggest="pool"),), _close, ("close", "close pool"),
    ),
)  # fmt: skip

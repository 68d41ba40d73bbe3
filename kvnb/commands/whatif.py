"""The verb that asks what if: a pool's commands again, under other settings.

Must not know: how it was typed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kvnb.commands.manages import MANAGES, started_notes
from kvnb.commands.verb import Arg, Verb, name, whole
from kvnb.errors import CommandError, named
from kvnb.journal import Journal
from kvnb.session import Session
from kvnb.views import forks, html
from kvnb.views.shown import Shown

_SWITCHES = ("prefix_caching", "full_hit")


def _fork(
    session: Session,
    name: str,
    at: int | None = None,
    keep_evictions: bool = False,
    skip_evictions: bool = False,
    pool: str | None = None,
    **settings: Any,
) -> Shown:
    if keep_evictions and skip_evictions:
        raise CommandError("--keep-evictions and --skip-evictions exclude each other: give one of them")
    for switch in _SWITCHES:
        on, off = settings.pop(switch, False), settings.pop(f"no_{switch}", False)
        typed = switch.replace("_", "-")
        if on and off:
            raise CommandError(f"--{typed} and --no-{typed} exclude each other: give one of them")
        if on or off:
            settings[switch] = on
    if settings.get("sliding_window") == 0:
        settings["sliding_window"] = None
    original = session.lab(pool).journal
    again = _of_itself(session, name, original) if pool is None else []
    lab, old = session.fork(
        name, at, pool=pool, evictions="keep" if keep_evictions else "skip" if skip_evictions else "ask", **settings
    )
    notes = [*started_notes(lab, old), *again]
    plain = "\n".join([forks.fork_text(original, lab.journal), *(f"  {note}" for note in notes)])
    return Shown(plain, forks.fork_html(original, lab.journal) + html.text_html("\n".join(notes)), lab, lab.journal)


def _of_itself(session: Session, name: str, original: Journal) -> list[str]:
    """A note for whoever types the line of a fork once more: by now the fork is the pool in use, and is forked itself."""
    forked = original.forked
    if forked is None or original.name != name or forked.pool == name or forked.pool not in session.labs:
        return []
    names = named(name), named(forked.pool)
    return [f"this is a fork of the fork {names[0]}, which was in use: to fork {names[1]} again, add --pool {names[1]}"]


_NEW = {arg.name: arg for arg in MANAGES[0].args}
_TAKEN = (
    "free_to", "free_order", "hash", "tokenizer", "device", "dtype", "shape", "layers", "kv_heads", "head_size", "model",
    "memory", "log", "force",
)  # fmt: skip
_SETTINGS = (
    replace(_NEW["num_blocks"], help="how many blocks, block 0 included", option=True),
    _NEW["block_size"],
    Arg("prefix_caching", "with hashes and hits", option=True),
    _NEW["no_prefix_caching"],
    *(_NEW[setting] for setting in _TAKEN[:2]),
    _NEW["full_hit"],
    Arg("no_full_hit", "a lookup leaves the last token out", option=True),
    replace(_NEW["sliding_window"], help="tokens a layer looks back, 2 or more; 0: all of them"),
    *(_NEW[setting] for setting in _TAKEN[2:]),
)

WHAT_IF = (
    Verb(
        "fork", "manages", "what if: the pool's commands again, under other settings, as a new pool",
        (
            Arg("name", "how the new pool is called; one of that name is replaced", name, required=True, suggest="pool"),
            Arg("at", "up to step K; without it, all", whole, option=True, metavar="K"),
            *_SETTINGS,
            Arg("keep_evictions", "evict the blocks of these numbers, whatever is in them by then", option=True),
            Arg("skip_evictions", "leave commands out that name blocks", option=True),
        ),
        _fork,
        (
            "fork older --free-to back", "fork older --at 3 --free-to back", "fork small --num-blocks 9",
            "fork plain --no-prefix-caching", "fork wide --block-size 16 --device none",
        ),
    ),
)  # fmt: skip

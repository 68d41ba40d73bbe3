"""The verbs that look: no journal step, nothing changes.

Must not know: how a look is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvnb.commands.panels import dashboard_verb, dock_verb
from kvnb.commands.verb import Arg, Verb, name, step_or_name, whole
from kvnb.errors import CommandError, named, one_line
from kvnb.journal.prefills import prefills
from kvnb.session import Session
from kvnb.views import html, metrics, text
from kvnb.views.figures import NAMES
from kvnb.views.shown import (
    Moment,
    Shown,
    at_shown,
    block_shown,
    blocks_shown,
    contents_shown,
    diagram_shown,
    diff_shown,
    map_shown,
    note_shown,
    pool_shown,
    pools_shown,
    proof_shown,
    queue_shown,
    request_shown,
    tables_shown,
    timeline_shown,
)

if TYPE_CHECKING:
    import pandas as pd

PARTS = ("state", "blocks", "queue", "tables", "map", "diagram", "block", "request")


_PARTS = {
    "state": pool_shown, "blocks": blocks_shown, "queue": queue_shown, "tables": tables_shown, "map": map_shown,
    "diagram": diagram_shown,
}  # fmt: skip


def _show(
    session: Session,
    what: str = "state",
    which: str | None = None,
    contents: bool = False,
    at: int | None = None,
    pool: str | None = None,
) -> Shown:
    _check_show(what, which, contents)
    moment = Moment.of(session.lab(pool), at)
    if which is not None:
        return block_shown(moment, _block_id(which)) if what == "block" else request_shown(moment, which)
    return contents_shown(moment) if contents else _PARTS[what](moment)


def _check_show(what: str, which: str | None, contents: bool) -> None:
    if contents and what != "map":
        more = "" if what == "block" else " (show block ID shows slots)"
        raise CommandError(f"--contents belongs to show map; show {what} has none{more}")
    if (which is None) == (what in ("block", "request")):
        behind = "needs a name or id behind it" if which is None else "takes nothing behind it"
        raise CommandError(f"show {what} {behind}")


def _block_id(which: str) -> int:
    if not which.isdecimal():
        raise CommandError(f"{one_line(which)} is no block id: give a whole number")
    return int(which)


def _usage(session: Session, pool: str | None = None) -> Shown:
    lab = session.lab(pool)
    return Shown(text.usage_text(lab.state), html.usage_html(lab.state), lab.usage)


def _check(session: Session, pool: str | None = None) -> Shown:
    equations = session.lab(pool).check()
    return Shown(text.check_text(equations), html.check_html(equations), equations)


def _metrics(session: Session, pool: str | None = None) -> Shown:
    lab = session.lab(pool)
    return note_shown(metrics.metrics_text(lab.name, lab.behaviour, lab.state, prefills(lab.journal)))


def _prove(session: Session, name: str, pool: str | None = None) -> Shown:
    lab = session.lab(pool)
    return proof_shown(lab, lab.prove(name))


def _log(session: Session, rows: str = "steps", pool: str | None = None) -> pd.DataFrame:
    return session.lab(pool).journal.to_frame(rows)


def _diff(session: Session, a: int | str, b: int | str, pool: str | None = None) -> Shown:
    if isinstance(a, int) and isinstance(b, int):
        return diff_shown(session.lab(pool), a, b)
    if isinstance(a, int) or isinstance(b, int):
        raise CommandError(f"{named(str(a))} and {named(str(b))}: give two steps of one pool, or the names of two pools")
    if pool is not None:
        raise CommandError("diff of two pools names them both: leave --pool out")
    return pools_shown(session.lab(a), session.lab(b))


def _timeline(session: Session, which: str = "queue", pool: str | None = None, **options: Any) -> Shown:
    if "by" in options and which != "queue":
        raise CommandError(f"--by colours the queue's heat map: leave it out for timeline {which}")
    if "until" in options:
        session.lab(pool).journal.state_at(options["until"])
    return timeline_shown(session.lab(pool), which, **options)


def _at(session: Session, step: int, pool: str | None = None) -> Shown:
    lab = session.lab(pool)
    return at_shown(lab.journal, lab.journal.state_at(step), step)


_PANEL = (
    Arg("file", "a journal file to look through; without one, the pool in use", name, suggest="file"),
    Arg("close", "take it away again", option=True),
)

LOOKS = (
    Verb(
        "show", "looks", "the pool, or one part of it",
        (
            Arg("what", "state (all of it), blocks, queue, tables, map, diagram, block ID or request NAME", name, suggest=PARTS),
            Arg("which", "the block id or the request", name, suggest="request"),
            Arg("contents", "with map: what is in memory, slot by slot", option=True),
            Arg("at", "as it was after step K; 0 is the new pool", whole, option=True, metavar="K"),
        ),
        _show,
        (
            "show", "show blocks", "show queue", "show tables", "show map", "show diagram", "show block 5", "show request r0",
            "show map --contents", "show queue --at 2",
        ),
    ),
    Verb("usage", "looks", "1 - free / (N - 1), and apart from it what is cached", (), _usage, ("usage",)),
    Verb("check", "looks", "every invariant as an equation with numbers", (), _check, ("check",)),
    Verb("metrics", "looks", "Prometheus text with vLLM's names", (), _metrics, ("metrics",)),
    Verb(
        "log", "looks", "the journal as a DataFrame, a row a step or a row an event",
        (Arg("rows", "steps or events", name, suggest=("steps", "events")),), _log, ("log", "log events"),
    ),
    Verb(
        "prove", "looks", "compute a request again without a cache, and compare logits, K, V and the next token",
        (Arg("name", "the request", name, required=True, suggest="running"),), _prove, ("prove r0",),
    ),
    Verb(
        "at", "looks", "the pool as it was after step K; 0 is the new pool",
        (Arg("step", "the step's number", whole, required=True, metavar="K"),), _at, ("at 0", "at 3"),
    ),
    Verb(
        "diff", "looks", "what changed from step A to step B, or two pools side by side",
        (
            Arg("a", "a step's number, 0 is the new pool; or a pool's name", step_or_name, required=True, suggest="pool"),
            Arg("b", "another's", step_or_name, required=True, suggest="pool"),
        ),
        _diff, ("diff 0 3", "diff 2 3", "diff pool pool"),
    ),
    Verb(
        "timeline", "looks", "the history as a figure: the free queue's order, usage, each block's life, or what prefills cost",
        (
            Arg("which", "what of it; prefill: tokens computed, and saved by the cache", name, suggest=NAMES),
            Arg("by", "what colours a long queue's heat map", name, option=True, suggest=("cached", "age", "owner")),
            Arg("until", "the last step that is drawn", whole, option=True, metavar="K"),
            Arg("dark", "for a dark page", option=True),
        ),
        _timeline, ("timeline", "timeline usage", "timeline blocks", "timeline prefill"),
    ),
    Verb(
        "dashboard", "looks", "the pool live, in one panel: watch it, drive it, go back in time", _PANEL, dashboard_verb,
        ("dashboard", "dashboard --close"),
    ),
    Verb("dock", "looks", "the dashboard beside the notebook, in JupyterLab", _PANEL, dock_verb, ("dock", "dock --close")),
)  # fmt: skip

"""Timelines: the order of the free queue, usage, the life of each block, what prefills cost; as plotly, as SVG, as text.

Must not know: the live pool, notebooks. plotly is imported when a figure is asked for, numpy for a heat map.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from kvnb.errors import CommandError, MissingPackage, UnknownName, nearest, one_line
from kvnb.journal import Journal

if TYPE_CHECKING:
    import plotly.graph_objects as go  # type: ignore[import-untyped]

NAMES = ("queue", "usage", "blocks", "prefill")
OPTIONS = ("dark", "until", "by")
"""``by`` is the queue's."""


def figure(journal: Journal, name: str, **options: Any) -> go.Figure:
    """The figure ``queue``, ``usage``, ``blocks`` or ``prefill`` of a journal; see ``queue_figure`` and its like for the options.

    Raises UnknownName for another name, MissingPackage without plotly.
    """
    check_name(name)
    for option in options:
        if option not in OPTIONS or (option == "by" and name != "queue"):
            raise CommandError(f"the timeline {name} has no option {one_line(option)}: {nearest(option, OPTIONS)}")
    try:
        module = import_module(f"kvnb.views.figures.{name}")
    except ModuleNotFoundError as error:
        if error.name not in ("plotly", "numpy"):
            raise
        raise MissingPackage.named(error.name, "a timeline") from error
    return cast("go.Figure", getattr(module, f"{name}_figure")(journal, **options))


def check_name(name: str) -> None:
    """Raise UnknownName unless there is a timeline of that name."""
    if name not in NAMES:
        raise UnknownName(f"no timeline {one_line(name)}: {nearest(name, NAMES)}")

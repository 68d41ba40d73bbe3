"""Dashboards: one a pool, and how a click in it becomes a line of the table of verbs.

Must not know: how a dashboard looks.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from kvnb.errors import CommandError, MissingPackage, printable
from kvnb.journal import Journal, jsonl
from kvnb.lab import Lab
from kvnb.session import Session
from kvnb.views import page
from kvnb.views.dashboard.lines import VERBS, quoted
from kvnb.views.dashboard.shown import DashboardShown

if TYPE_CHECKING:
    from kvnb.views.dashboard.dashboard import Dashboard

DRAWN = 64
"""A pool of up to so many blocks opens with the order of its free queue, a larger one with its usage."""


class Clicks:
    """Runs lines against the pool of that name, each recorded as a click; see ``Driver``."""

    def __init__(self, session: Session, lab: Lab) -> None:
        self._session, self._name = session, lab.name
        self.verbs = tuple(verb for verb in VERBS if verb != "generate" or lab.worker is not None)

    def run(self, line: str) -> str:
        """See ``Driver.run``."""
        from kvnb.commands.run import run_line

        with self._session.lab(self._name).clicked():
            result = run_line(self._session, f"{line} --pool {quoted(self._name)}", _nothing).result
        return repr(result).split("\n", 1)[0]

    def written(self, line: str) -> str:
        """See ``Driver.written``."""
        return line if self._session.current == self._name else f"{line} --pool {quoted(self._name)}"


def _nothing(source: str) -> Any:
    raise CommandError(f"a click stands for itself: {source!r} has no value")


def dashboard(of: Lab | Journal, *, docked: bool = False, close: bool = False) -> DashboardShown:
    """The dashboard of a Lab, or of a journal to look through; one of each, however often it is asked for.

    docked
        In a panel beside the notebook, where JupyterLab runs it.
    close
        Take it away; what is given back is the static form.
    Raises MissingPackage. Anywhere but in a notebook that somebody looks at it is text and static HTML.
    """
    session = _sessions.get(of) or Session()
    if isinstance(of, Lab):
        session.labs[of.name], session.current = of, of.name
        shown = _of(session, of.name, of.journal, of, close, docked)
    else:
        shown = _of(session, "journal", of, None, close, docked)
    # What is open is kept, and with it the pool; what is not open keeps nothing.
    _sessions.pop(of, None)
    if session.panels:
        _sessions[of] = session
    return shown


_sessions: WeakKeyDictionary[Lab | Journal, Session] = WeakKeyDictionary()


def dashboard_verb(session: Session, file: str | None = None, close: bool = False, pool: str | None = None) -> DashboardShown:
    """Show the dashboard of a pool, or of a journal file to look through. Raises MissingPackage, UnknownName, JournalError."""
    return _shown(session, file, close, pool, docked=False)


def dock_verb(session: Session, file: str | None = None, close: bool = False, pool: str | None = None) -> DashboardShown:
    """The same in a panel beside the notebook."""
    return _shown(session, file, close, pool, docked=True)


def _shown(session: Session, file: str | None, close: bool, pool: str | None, docked: bool) -> DashboardShown:
    if file is not None:
        return _of(session, Path(file).resolve(), jsonl.read(Path(file)).journal, None, close, docked)
    lab = session.lab(pool)
    return _of(session, lab.name, lab.journal, lab, close, docked)


def _of(session: Session, key: str | Path, journal: Journal, lab: Lab | None, close: bool, docked: bool) -> DashboardShown:
    if close or not page.is_live():
        # Where nobody looks there is no widget: the static form is all that such a notebook keeps.
        session.close_panel(key)
        return DashboardShown(journal, None)
    panel = session.panels.get(key)
    if docked and find_spec("sidecar") is None:
        raise MissingPackage.named("sidecar", "a side panel")
    if panel is None:
        panel = session.panels[key] = DashboardPanel(session, journal, lab)
    assert isinstance(panel, DashboardPanel)
    panel.show(journal)
    if docked:
        panel.dashboard.dock()
    return DashboardShown(journal, panel.dashboard, docked)


def _timeline(journal: Journal) -> str:
    return "queue" if journal.behaviour.num_blocks <= DRAWN else "usage"


_resting: list[Dashboard] = []
"""A dashboard that was closed and waits for the next pool: kernels and pages keep something of every widget they had."""


def close_resting() -> None:
    """Free what waits."""
    while _resting:
        _resting.pop().close()


class DashboardPanel:
    """The dashboard of a session's pool, or of a journal file; see ``Panel``."""

    def __init__(self, session: Session, journal: Journal, lab: Lab | None) -> None:
        self._session = session
        if not _resting:
            self.dashboard = _made(journal, *self._driven(lab))
            return
        self.dashboard = _resting.pop()
        self.dashboard.follow(journal, *self._driven(lab))
        self.dashboard.controls.choose.value = _timeline(journal)

    def show(self, journal: Journal) -> None:
        """Show a file as it is now; a pool's own journal is followed already."""
        if journal is not self.dashboard.journal:
            self.dashboard.follow(journal, self.dashboard.driver, self.dashboard.held)

    def renew(self, lab: Lab) -> None:
        """See ``Panel.renew``."""
        self.dashboard.follow(lab.journal, *self._driven(lab))
        if self.dashboard.timeline.which == "queue":
            self.dashboard.controls.choose.value = _timeline(lab.journal)

    def close(self) -> None:
        """See ``Panel.close``."""
        if _resting:
            self.dashboard.close()
        else:
            self.dashboard.rest()
            _resting.append(self.dashboard)

    def _driven(self, lab: Lab | None) -> tuple[Clicks | None, str]:
        if lab is None:
            return None, "a journal file, to look through"
        return Clicks(self._session, lab), f"{printable(lab.came_from)}, not driven yet" if lab.came_from else ""


def _made(journal: Journal, clicks: Clicks | None, held: str) -> Dashboard:
    try:
        from kvnb.views.dashboard.dashboard import Dashboard
    except ModuleNotFoundError as error:
        if error.name not in ("ipywidgets", "anywidget"):
            raise
        raise MissingPackage.named(error.name, "a dashboard") from error
    return Dashboard(journal, clicks, held, _timeline(journal))

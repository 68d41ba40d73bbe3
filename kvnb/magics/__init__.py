"""IPython only: ``%kvpool`` and ``%%kvpool``, their completion, what cells leave behind.

Must not know: how a command works; every line goes to ``kvnb.commands``, which is imported when the first one comes.
"""

from __future__ import annotations

from IPython.core.interactiveshell import InteractiveShell

from kvnb.magics.cells import CellRecorder
from kvnb.magics.completion import make_matcher
from kvnb.magics.kvpool import KVPool
from kvnb.magics.statements import BareMagic

_KEY = "_kvnb_extension"


class Extension:
    """All that loading adds to one shell, so that unloading can take it away again."""

    def __init__(self, ip: InteractiveShell) -> None:
        self.ip = ip
        self.magics = KVPool(shell=ip)
        self.recorder = CellRecorder(ip, self.magics.session)
        self.matcher = make_matcher(self.magics.session)
        self.bare = BareMagic()

    def add(self) -> None:
        """Register everything, once."""
        self.ip.register_magics(self.magics)
        self.ip.ast_transformers.append(self.bare)
        if self.ip.displayhook.exec_result is not None:
            self.magics.loaded_in(self.ip.displayhook.exec_result)
        if self.ip.Completer is not None:
            self.ip.Completer.custom_matchers.append(self.matcher)
        self.recorder.register()

    def remove(self) -> None:
        """Take everything away and close the pools' logs."""
        from kvnb.commands.panels import close_resting
        from kvnb.views.canvas import close_all

        self.magics.session.close_all()
        close_all()  # canvases go back to their still forms
        close_resting()
        self.recorder.unregister()
        self.ip.ast_transformers.remove(self.bare)
        if self.ip.Completer is not None:
            self.ip.Completer.custom_matchers.remove(self.matcher)
        for kind in ("line", "cell"):
            self.ip.magics_manager.magics[kind].pop("kvpool", None)
        self.ip.magics_manager.registry.pop(KVPool.__name__, None)
        self.ip.configurables.remove(self.magics)  # type: ignore[arg-type]


def load(ip: InteractiveShell) -> None:
    """Add the extension to ``ip``; a second time changes nothing."""
    if not hasattr(ip, _KEY):
        extension = Extension(ip)
        extension.add()
        setattr(ip, _KEY, extension)


def unload(ip: InteractiveShell) -> None:
    """Take the extension away from ``ip``; where there is none, nothing happens."""
    extension = ip.__dict__.pop(_KEY, None)
    if extension is not None:
        extension.remove()

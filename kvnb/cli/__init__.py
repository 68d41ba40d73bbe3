"""The shell's ``kvnb``: scripts, verification, looks at journal files, reports, with exit codes.

Must not know: IPython, and how a command works; every verb is that of ``kvnb.commands``.
"""

from kvnb.cli.shell import main

__all__ = ["main"]

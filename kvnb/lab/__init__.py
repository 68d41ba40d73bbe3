"""Lab: the one object that users hold. It composes the pool, its memory, its journal and its log file.

Must not know: IPython, and how anything is drawn (results draw themselves when they are shown).
"""

from kvnb.lab.lab import Lab

__all__ = ["Lab"]

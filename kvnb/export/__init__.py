"""Leaving the notebook: a script, a clean notebook, one HTML file, a report.

Must not know: IPython's magics, sessions, how commands are typed.
"""

from kvnb.export.leaving import SUFFIXES, export

__all__ = ["SUFFIXES", "export"]

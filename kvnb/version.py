"""The version, alone, so that every package may read it.

Must not know: anything else of kvnb.
"""

__version__ = "0.1.0"

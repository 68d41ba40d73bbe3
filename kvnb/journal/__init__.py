"""What happened: commands with their events and a running digest; files, folds, replay, verification.

Must not know: notebooks, views, tensors. pandas is imported only when a table is asked for.
"""

from kvnb.journal.journal import Journal, Step
from kvnb.journal.state import State

__all__ = ["Journal", "State", "Step"]

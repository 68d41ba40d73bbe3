"""The table of verbs, and everything made from it: reading a line, running it, help, completion.

Must not know: IPython. A terminal, a magic and a script run the same table.
"""

from kvnb.commands.run import Outcome, run_line, run_script
from kvnb.commands.table import VERBS

__all__ = ["VERBS", "Outcome", "run_line", "run_script"]

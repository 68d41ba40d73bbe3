"""The table of verbs: the one source of what can be typed, clicked, run in a script, completed and looked up.

Must not know: IPython.
"""

from __future__ import annotations

from dataclasses import replace

from kvnb.commands.changes import CHANGES
from kvnb.commands.leaving import LEAVING
from kvnb.commands.looks import LOOKS
from kvnb.commands.manages import MANAGES
from kvnb.commands.quiz import QUIZ
from kvnb.commands.verb import Arg, Verb, name
from kvnb.commands.whatif import WHAT_IF

_POOL = Arg("pool", "the pool, if not the one in use", name, option=True, suggest="pool", metavar="NAME")
_NAMES_ITS_POOL = ("new", "load", "list", "use", "close", "quiz")


def _row(verb: Verb) -> Verb:
    return verb if verb.name in _NAMES_ITS_POOL else replace(verb, args=(*verb.args, _POOL))


VERBS: dict[str, Verb] = {
    verb.name: _row(verb) for verb in (*MANAGES[:1], *CHANGES, *LOOKS, *MANAGES[1:], *LEAVING, *WHAT_IF, *QUIZ)
}
"""Name to verb, in the order in which help lists them."""

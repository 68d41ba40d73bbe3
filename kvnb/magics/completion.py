"""Tab completion of ``%kvpool`` lines. IPython calls its matcher interface provisional: it is used here only.

Must not know: verbs; what fits comes from ``kvnb.commands.complete``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kvnb.session import Session

if TYPE_CHECKING:
    from IPython.core.completer import CompletionContext

Matcher = Callable[["CompletionContext"], Any]


def make_matcher(session: Session) -> Matcher:
    """A matcher for ``ip.Completer.custom_matchers`` that answers for the pools of ``session``."""
    from IPython.core.completer import SimpleCompletion, context_matcher

    @context_matcher(identifier="kvnb.kvpool", priority=200)  # type: ignore[untyped-decorator,unused-ignore]
    def kvpool_matcher(context: CompletionContext) -> Any:
        line = command_part(context.text_until_cursor, context.full_text)
        if line is None:
            return {"completions": [], "suppress": False}
        from kvnb.commands.complete import complete

        fragment, found = complete(session, line)
        return {
            "completions": [SimpleCompletion(text=candidate.text, type=candidate.kind) for candidate in found],
            "matched_fragment": fragment,
            "suppress": bool(found),
            "ordered": True,
        }

    matcher: Matcher = kvpool_matcher
    return matcher


def command_part(line: str, cell: str) -> str | None:
    """What stands behind ``%kvpool`` on a line, or inside a ``%%kvpool`` script the line itself; None elsewhere.

    ``line`` ends at the cursor.
    """
    before, magic, after = line.partition("%kvpool ")
    if magic and (not before.strip() or before.strip() == "%" or before.rstrip().endswith("=")):
        return after.lstrip()
    first = cell.lstrip().split("\n", 1)[0].split()
    in_script = first[:1] == ["%%kvpool"] and (len(first) == 1 or first[1] == "--into") and not line.lstrip().startswith("%")
    return line.lstrip() if in_script else None

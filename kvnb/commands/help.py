"""Help made from the table: for ``-h``, ``%kvpool?``, the page of verbs.

Must not know: where it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kvnb.commands.table import VERBS
from kvnb.commands.verb import Verb

KINDS = {
    "manages": "pools and files",
    "changes": "changes the pool, one step of the journal each",
    "looks": "looks, and changes nothing",
}


GRAMMAR = (
    "%kvpool VERB -h explains one; a trailing ; shows nothing; x = %kvpool ... gives the object, %%kvpool --into x in a cell.",
    "$name and {expression}, unquoted and alone, stand for their values.",
    "-- ends the options; a line that begins with # is a comment.",
)


def verb_help(verb: Verb, prompt: str = "%kvpool") -> str:
    """Everything about one verb: what it does, how it is typed behind ``prompt``, each argument, examples."""
    typed = [", ".join(filter(None, (arg.short, arg.typed))) for arg in verb.args]
    width = max(map(len, typed), default=0)
    lines = [verb.help, "", f"  {prompt} {verb.usage}", *([""] if verb.args else [])]
    lines += [f"  {word:<{width}}  {arg.help}{_choices(arg.suggest)}" for word, arg in zip(typed, verb.args, strict=True)]
    return "\n".join([*lines, "", *(f"  {prompt} {example}" for example in verb.examples)])


def overview() -> str:
    """All verbs, a line each."""
    lines = [
        "%kvpool VERB ... runs one command on a pool of KV-cache blocks; %kvpool alone shows the pool.",
        "%%kvpool runs a script, one command a line; %%kvpool admit NAME takes the cell's body as the prompt.",
    ]
    return "\n".join([*lines, *by_kind(VERBS.values(), KINDS), "", *GRAMMAR])


def by_kind(verbs: Iterable[Verb], kinds: Mapping[str, str]) -> list[str]:
    """The verbs under their kinds, a line each; ``kinds`` says what each kind is."""
    verbs = list(verbs)
    width = max(len(verb.name) for verb in verbs)
    lines = []
    for kind, says in kinds.items():
        lines += ["", says, *(f"  {verb.name:<{width}}  {verb.help}" for verb in verbs if verb.kind == kind)]
    return lines


def markdown_table(verbs: Iterable[Verb]) -> str:
    """The table of ``docs/verbs.md``: verb, kind, what it does."""
    rows = ["| verb | kind | what it does |", "|---|---|---|"]
    rows += [f"| `{verb.usage}` | {verb.kind} | {verb.help} |" for verb in verbs]
    return "\n".join(rows)


def _choices(suggest: str | tuple[str, ...]) -> str:
    return f" ({', '.join(suggest)})" if isinstance(suggest, tuple) and len(suggest) > 1 else ""

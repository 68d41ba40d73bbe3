"""Typing command lines without IPython: what they give, what they refuse."""

from __future__ import annotations

from ast import literal_eval
from typing import Any

import pytest

from kvnb.commands import run_line
from kvnb.commands.grammar import expand, split
from kvnb.commands.parse import find_verb, parse
from kvnb.commands.table import VERBS
from kvnb.errors import KvnbError
from kvnb.session import Session


def run(session: Session, *lines: str, **names: Any) -> Any:
    """Run the lines, and give the result of the last; ``names`` is what ``$name`` and ``{expression}`` see."""
    result = None
    for line in lines:
        result = run_line(session, line, lambda source: eval(source, dict(names))).result
    return result


def refusal(session: Session, line: str, **names: Any) -> str:
    """The one line that says why ``line`` cannot be done."""
    with pytest.raises(KvnbError) as caught:
        run(session, line, **names)
    says = "".join(caught.value._render_traceback_())
    assert says.isprintable(), "an error is one line of printable text"
    assert str(caught.value) in says
    return str(caught.value)


def words(line: str) -> list[str]:
    """The words of a line as plain strings."""
    return [word.text for word in split(line).words]


def parsed(line: str) -> dict[str, Any]:
    """The arguments that a line gives its verb; an expression can only be a literal."""
    first, *rest = split(line).words
    return parse(find_verb(first.text, VERBS), expand(rest, literal_eval))

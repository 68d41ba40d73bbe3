"""What a cell's source says that it does at least."""

from __future__ import annotations

import pytest

from kvnb.commands.table import VERBS
from kvnb.journal.typed import CHANGES, STARTS, Typed, typed


def test_every_verb_that_makes_a_step_is_known() -> None:
    assert set(CHANGES) == {verb.name for verb in VERBS.values() if verb.kind == "changes"}
    assert {"new", "load"} <= set(STARTS)


@pytest.mark.parametrize(
    ("source", "steps", "pools"),
    [
        ("%kvpool new 11\n%kvpool admit r0 ABC\n%kvpool show", 1, 1),
        ("x = %kvpool admit r0 ABC;\n%kvpool release r0;", 2, 0),
        ("%%kvpool\nnew 11\n# admit a b\n\n  admit r0 ABC\nshow", 1, 1),
        ("%%kvpool --into them\nnew 11\nadmit r0 ABC", 1, 1),
        ("%%kvpool ;\nnew 11", 0, 1),
        ("%%kvpool admit r0\nnew 11\nadmit r1 ABC", 1, 0),
        ("%%capture\n%kvpool new 11", 0, 1),
        ("%%writefile x\n%kvpool new 11", 0, 0),
        ("if False:\n    %kvpool new 11", 0, 0),
        ("text = 'a\\\n%kvpool new 11\\\n'", 0, 0),
        ('text = """\n%kvpool new 11\n"""', 0, 0),
        ("%kvpool new -h\n%kvpool admit --help\n%kvpool release?", 0, 0),
        ("%kvpool", 0, 0),
        ("%%kvpool", 0, 0),
        ("", 0, 0),
        ("print(1)", 0, 0),
    ],
)
def test_only_what_is_sure_to_run_is_counted(source: str, steps: int, pools: int) -> None:
    assert typed(source) == Typed(steps, pools)

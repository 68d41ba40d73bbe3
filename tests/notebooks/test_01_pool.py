"""The first notebook: what it has in it, and that what it claims is so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import permutations

from notebook_files import NotebookFile, errors

from kvnb import KvnbError, Lab
from kvnb.core.events import Unhashed

POOL = NotebookFile("01-pool")
SECTIONS = [
    "The idea in one minute", "A picture", "How it really works", "What a block is", "The pool", "The free queue",
    "Reference counts", "Allocate: `get_new_blocks`", "Hit: `touch`", "Free: where a block goes back to",
    "Block tables are append-only", "When a block gets its hash", "When prefix caching is off", "Clearing the cache",
    "Code: the whole story", "Remember this", "Try it", "Check yourself", "Build it yourself", "Sources",
]  # fmt: skip


# --- the file --------------------------------------------------------------------------------------------------


def test_one_cell_is_meant_to_fail():
    assert len(errors(POOL.saved())) == 1


def test_it_is_short_and_its_headings_are_the_sections_of_the_lesson():
    notebook = POOL.saved()
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert re.findall(r"^##+ (.*)$", text, re.MULTILINE) == SECTIONS
    assert len(notebook.cells) <= 96
    assert POOL.path.stat().st_size < 500_000


# --- what it claims --------------------------------------------------------------------------------------------


def test_a_stranger_in_need_of_six_blocks_shows_the_older_rules_fault_in_the_seeds_story():
    lost = {}
    for rule in ("back", "front-back"):
        lab = Lab(11, block_size=4, free_to=rule, device="none")
        lab.admit("r0", "ABCDEFGHIJKLMNO")
        lab.admit("r1", "ABCDEFGHIJxxxx")
        lab.release("r0")
        lab.release("r1")
        lost[rule] = lab.admit("stranger", "s" * 24).evicted
        assert (6 in lab.free_queue) == (rule == "back")
    assert lost == {"back": (3,), "front-back": ()}


Script = tuple[tuple[str, ...], ...]


def test_no_run_is_smaller_than_the_one_that_shows_the_older_rules_fault():
    """All runs of admit, append, preempt and release on 3 blocks; the blocks are of 2 tokens, to have fewer of them."""
    scripts: list[Script] = [()]
    for steps in range(1, 5):
        scripts = [(*script, move) for script in scripts for move in _moves(_played(script, "back"))]
        scripts = [script for script in scripts if _runs(script)]
        assert any(map(_older_rule_loses, scripts)) == (steps == 4)
    smallest = (("admit", "a", "AB"), ("admit", "b", "x"), ("release", "a", "b"), ("admit", "c", "y"))
    assert _older_rule_loses(smallest)


def _moves(lab: Lab) -> Iterator[tuple[str, ...]]:
    name = "abcd"[len(lab.journal)]
    yield from (("admit", name, text) for text in ("A", "AB", "ABC", "ABCD", "x", "xy", "xyz", "xyzw", "y"))
    for request in lab.requests:
        if lab.block_table(request):
            yield from (("append", request, "p"), ("append", request, "pq"), ("preempt", request))
        else:
            yield ("admit", request)
    for count in range(1, len(lab.requests) + 1):
        yield from (("release", *names) for names in permutations(lab.requests, count))


def _played(script: Script, rule: str) -> Lab:
    lab = Lab(3, block_size=2, free_to=rule, device="none")
    for verb, *args in script:
        getattr(lab, verb)(*args)
    return lab


def _runs(script: Script) -> bool:
    try:
        _played(script, "back")
    except KvnbError:
        return False
    return True


def _older_rule_loses(script: Script) -> bool:
    """Whether the last step costs a cached block while one without a hash stays free, and today's rule loses none."""
    older, before = _played(script, "back"), _played(script[:-1], "back").free_queue
    lost = [block_id for event in older.journal.steps[-1].of(Unhashed) for block_id in event.ids]
    behind = [b for block_id in lost for b in before[before.index(block_id) :] if b in older.free_queue and b not in older.cached]
    if not behind:
        return False
    try:
        today = _played(script, "front-back")
    except KvnbError:
        return False
    return not any(step.of(Unhashed) for step in today.journal.steps)

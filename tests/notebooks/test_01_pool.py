"""The first notebook: its text, what it prints, that it runs as people run it, and that what it claims is so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import pytest
from notebook_files import NotebookFile, code_cells, errors, nbformat, shown, without_count

from kvnb import KvnbError, Lab
from kvnb.core.events import Unhashed

POOL = NotebookFile("01-pool")
SECTIONS = [
    "The idea in one minute", "A picture", "How it really works", "What a block is", "The pool", "The free queue",
    "Reference counts", "Allocate: `get_new_blocks`", "Hit: `touch`", "Free: where a block goes back to",
    "Block tables are append-only", "When a block gets its hash", "When prefix caching is off", "Clearing the cache", "Code",
    "Remember this", "Try it", "Check yourself", "Sources",
]  # fmt: skip


@pytest.fixture(scope="module")
def fresh() -> Any:
    return POOL.executed()


# --- the file --------------------------------------------------------------------------------------------------


def test_the_notebook_is_made_from_the_text():
    source, notebook = POOL.source(), POOL.saved()
    for ours, theirs in zip(source.cells, notebook.cells, strict=True):
        assert (theirs.cell_type, theirs.id, theirs.source, theirs.metadata) == (
            ours.cell_type, ours.id, ours.source, ours.metadata,
        )  # fmt: skip
    assert notebook.metadata == source.metadata


def test_every_cell_ran_in_order_and_only_the_marked_one_failed():
    notebook = POOL.saved()
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    failed = errors(notebook)
    assert failed == [cell for cell in cells if "raises-exception" in cell.metadata.get("tags", ())]
    assert len(failed) == 1


def test_the_parameters_come_first():
    assert code_cells(POOL.saved())[0].metadata.tags == ["parameters"]


def test_it_is_short_and_its_headings_are_the_sections_of_the_lesson():
    notebook = POOL.saved()
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert re.findall(r"^##+ (.*)$", text, re.MULTILINE) == SECTIONS
    assert len(notebook.cells) <= 64


def test_the_file_is_small_and_says_nothing_of_the_machine():
    text = POOL.path.read_text()
    assert len(text) < 500_000
    for word in ("/tmp", "/home", "/root", "/work", "widget-state", "iopub.", '"version"'):
        assert word not in text, word


# --- running it ------------------------------------------------------------------------------------------------


def test_a_fresh_kernel_prints_the_same(fresh: Any):
    assert shown(fresh) == shown(POOL.saved())


@pytest.mark.slow
def test_building_twice_gives_the_same_bytes(fresh: Any):
    assert nbformat.writes(POOL.executed()) == nbformat.writes(fresh)


@pytest.mark.slow
@pytest.mark.parametrize("values", [{"num_blocks": 21}, {"num_blocks": 41, "block_size": 16}], ids=str)
def test_it_runs_with_other_parameters(values: dict[str, int]):
    notebook = POOL.executed_with(**values)
    assert f"{values['num_blocks']} blocks of" in shown(notebook)[3][0]
    assert len(errors(notebook)) == 1


@pytest.mark.slow
def test_run_all_three_times_on_one_kernel_leaves_the_same(fresh: Any):
    runs = POOL.run_all(3)
    assert runs[0] == runs[1] == runs[2] == [without_count(cell.outputs) for cell in code_cells(fresh)]


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

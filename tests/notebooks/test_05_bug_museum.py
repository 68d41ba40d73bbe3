"""The fifth notebook: it is made from its text, each reported case has its exhibit, the pools in its records show the rules."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from helpers import needs
from notebook_files import NotebookFile, code_cells, errors, nbformat, shown

from kvnb.core.events import Unhashed
from kvnb.journal.journal import Journal
from kvnb.journal.verification import verify_file
from kvnb.live.wire import kv_events
from kvnb.manager.events import Looked

needs("plotly")
needs("pandas")

MUSEUM = NotebookFile("05-bug-museum")
CASES = [
    "tail-first", "front-or-back", "lifo-when-off", "below-a-block", "full-hit", "hits-in-the-queue", "counted-once",
    "usage-is-not-cache", "never-fits", "same-name-adapter", "unreachable-middle", "hash-survives", "window-flush",
    "preempt-once", "scan-pollution", "copies", "events-stream", "megabytes", "blank", "leak", "flood", "twice",
]  # fmt: skip


# --- the file --------------------------------------------------------------------------------------------------


def exhibits() -> dict[str, str]:
    """Case to the text of its exhibit."""
    parts = re.split(r"\n### \d+ · `([a-z-]+)`: ", MUSEUM.text.read_text(encoding="utf-8"))
    return {case: text.split("\n## ")[0] for case, text in zip(parts[1::2], parts[2::2], strict=True)}


def test_every_reported_case_has_its_exhibit_numbered_as_the_text_says():
    assert list(exhibits()) == CASES
    numbers = re.findall(r"\n### (\d+) · ", MUSEUM.text.read_text(encoding="utf-8"))
    assert numbers == [str(number) for number in range(1, len(CASES) + 1)]
    assert CASES.index("hits-in-the-queue") + 1 == 6  # exhibits that the text names by number
    assert CASES.index("scan-pollution") + 1 == 15


def test_every_case_that_is_tested_is_shown():
    tests = (Path(__file__).parents[1] / "test_cases.py").read_text(encoding="utf-8")
    tested = {name.replace("_", "-") for name in re.findall(r"def test_(\w+)\(", tests)}
    assert {case for case in tested if not case.endswith("older-rule")} <= set(CASES)


@pytest.mark.parametrize("case", CASES)
def test_an_exhibit_has_a_plate_with_its_source_a_question_before_the_reveal_and_a_rule(case: str):
    text = exhibits()[case]
    plate, question = text.index("\n> "), text.index("**Question:**")
    assert re.search(r"\n> .*\(https://github\.com/[\w.-]+/[\w.-]+/(issues|pull)/\d+\)", text)
    assert plate < question
    assert ("**The rule:**" in text) != (case == "scan-pollution")
    if case != "flood":
        assert question < text.rindex("\n```python")


# --- running it ------------------------------------------------------------------------------------------------


def test_it_loads_no_torch():
    assert shown(MUSEUM.saved())[-1][0] == "stdout: torch was loaded: False\n"


class Visit:
    """The notebook after a run: its parameters, and the pools in its records."""

    def __init__(self, path: Path, num_blocks: int = 11, block_size: int = 4, retries: int = 5) -> None:
        self.num_blocks, self.size, self.retries = num_blocks, block_size, retries
        verification = verify_file(path)
        assert verification.holds
        self.journals = {checked.journal.name: checked.journal for checked in verification.journals}

    def __getitem__(self, pool: str) -> Journal:
        return self.journals[pool]

    def hits(self, pool: str, name: str) -> list[int]:
        """Full blocks found at each admission of a request."""
        steps = [step for step in self[pool].steps if step.command.verb == "admit" and step.command.args["name"] == name]
        found = [divmod(step.of(Looked)[0].hits, self.size) for step in steps]
        assert all(rest == 0 for _, rest in found)
        return [blocks for blocks, _ in found]

    def evicted(self, pool: str) -> list[int]:
        """Ids that lost their hash, in order."""
        return [block_id for step in self[pool].steps for event in step.of(Unhashed) for block_id in event.ids]


OTHER = [{"num_blocks": 16, "retries": 2}, {"num_blocks": 23, "block_size": 16}]


@pytest.fixture(scope="module", params=[{}, *OTHER], ids=str)
def visit(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Visit:
    """The saved notebook, and runs under other parameters: what the text says without numbers holds in all."""
    if not request.param:
        return Visit(MUSEUM.path)
    notebook = MUSEUM.executed_with(**request.param)
    assert len(errors(notebook)) == len(errors(MUSEUM.saved()))
    path = tmp_path_factory.mktemp("visit") / "museum.ipynb"
    nbformat.write(notebook, path)
    return Visit(path, **request.param)


# --- the rules, from the pools ---------------------------------------------------------------------------------------


def test_tail_first(visit: Visit):
    assert (visit.evicted("tail"), visit.hits("tail", "sharer")) == ([3], [2])
    assert (visit.evicted("head")[0], visit.hits("head", "sharer")) == (1, [0])


def test_front_or_back(visit: Visit):
    assert (visit.evicted("today"), visit.hits("today", "a"), visit.hits("today", "b")) == ([], [0, 1], [0, 1])
    assert (visit.hits("older", "a"), visit.hits("older", "b")) == ([0, 0], [0, 0])
    assert visit.evicted("older")[0] == 1
    after = visit["older"].state_at(5)
    assert [after.keys[block_id] is None for block_id in after.queue] == [True, False]


def test_lifo_when_off(visit: Visit):
    tables = {pool: visit[pool].state.requests["b"].table for pool in ("off", "tour")}
    assert tables == {"off": [3, 2, 1], "tour": [4, 5, 6]}
    assert visit["tour"].state.requests["c"].table == [7, 8, 9]


def test_below_a_block_and_full_hit(visit: Visit):
    assert [visit.hits("short", name) for name in "abcd"] == [[0], [0], [0], [2]]
    assert visit.hits("hit", "b") == [1]
    assert [list(ids) for ids in visit["hit"].state.copies.values()] == [[1], [2, 3]]
    whole = visit["all_of_it"].state.requests["b"]
    assert whole.hits == whole.num_tokens == 2 * visit.size


def test_hits_in_the_queue(visit: Visit):
    verbs = [step.command.verb for step in visit["sold"].steps]
    assert verbs == ["admit", "admit", "release", "release", "admit"]
    before = visit["sold"].state_at(3)
    assert (len(before.queue), before.num_free_cached) == (5, 2)
    assert visit.hits("sold", "b") == [2]


def test_counted_once(visit: Visit):
    counters = visit["counted"].state.counters
    assert (counters.queries, counters.hits) == (3 * (visit.size + 1), visit.size)


def test_usage_is_not_cache_and_never_fits(visit: Visit):
    usable = visit.num_blocks - 1
    ended = visit["warm"].state_at(2)
    assert (ended.usage, ended.num_free_cached) == (0.0, usable)
    assert visit.hits("warm", "b") == [usable - 1]
    assert [(step.command.verb, step.command.args["name"]) for step in visit["small"].steps] == [("admit", "grows")]
    assert len(visit["small"].state.requests["grows"].table) == usable


def test_same_name_adapter(visit: Visit):
    assert [visit.hits("twins", name) for name in ("v1", "v2", "alice", "bob", "plain")] == [[0]] * 5
    assert [len(ids) for ids in visit["twins"].state.copies.values()] == [1] * 5
    assert visit.hits("only_the_name", "v2") == [1]


def test_unreachable_middle(visit: Visit):
    assert [visit.hits("bridge", name) for name in "abc"] == [[0], [1], [4]]
    table = visit["bridge"].state.requests["c"].table
    assert (table[0], table[2:4]) == (1, [3, 4])
    assert table[1] == visit["bridge"].state.requests["b"].table[1]


def test_hash_survives(visit: Visit):
    assert visit.hits("tags", "a") == [0, 0, 0, 0]
    state = visit["tags"].state
    assert all(state.keys[block_id] for block_id in state.requests["a"].table)


def test_window_flush(visit: Visit):
    found = {pool: visit.hits(pool, "session")[-1] for pool in ("hashed", "unhashed", "to_the_back")}
    assert found == {"hashed": 0, "unhashed": 2, "to_the_back": 0}


def preempted_in_a_row(journal: Journal) -> int:
    """The longest run of preemptions with nothing between them."""
    verbs = "".join("p" if step.command.verb == "preempt" else "." for step in journal.steps)
    return max(map(len, re.findall("p+", verbs)))


def test_preempt_once(visit: Visit):
    one, all_others = visit["stops"], visit["storm"]
    assert (preempted_in_a_row(one), preempted_in_a_row(all_others)) == (1, 4)
    for journal in (one, all_others):
        assert journal.state.requests == {}
        assert len(journal.state.queue) == 10


def test_scan_pollution(visit: Visit):
    assert [visit.hits("scan", name)[0] for name in ("ann", "ben", "cat", "dan")] == [0, 4, 4, 0]
    before = visit["scan"].state_at(len(visit["scan"]) - 3)
    assert any(before.keys[block_id] for block_id in (1, 2)), "the last one-off request takes what is left of the hot prefix"


def test_copies(visit: Visit):
    assert visit.hits("copies", "c") == [7]
    told = [event for step in kv_events(visit["copies"]) for event in step]
    [removed] = [event["block_hashes"] for event in told if event["type"] == "BlockRemoved"]
    stored = Counter(block_hash for event in told if event["type"] == "BlockStored" for block_hash in event["block_hashes"])
    assert stored[removed[0]] == 2


def test_events_stream(visit: Visit):
    names: dict[str, Any] = {"Counter": Counter}
    exec(next(cell.source for cell in code_cells(MUSEUM.source()) if "class Mirror" in cell.source), names)
    server, restarted = (list(enumerate(kv_events(visit[pool]))) for pool in ("server", "restarted"))
    scenes = [server[1:2], [*server[:2], *restarted], server]
    beliefs = []
    for scene in scenes:
        mirrors = [names["Mirror"](careful) for careful in (False, True)]
        for message in scene:
            for mirror in mirrors:
                mirror.hear(*message)
        beliefs.append([len(mirror) for mirror in mirrors])
    assert beliefs == [[0, 2], [5, 1], [4, 0]]
    there = [visit["server"].state_at(2), visit["restarted"].state, visit["server"].state]
    assert [state.num_cached for state in there] == [4, 1, 0]


def test_the_pictures_of_the_last_room_have_a_text_and_a_still_form():
    for cell in code_cells(MUSEUM.saved()):
        for output in cell.outputs:
            if output.output_type == "display_data" and "text/plain" in output.data and output.data["text/plain"]:
                assert output.data["text/html"]


# --- the exercises -----------------------------------------------------------------------------------------------


ORDER, BOTH, TWIN, GUARD = (
    "order = None",
    '# your commands, such as: %kvpool admit a {full("AB")}',
    "# your commands\n",
    "# your line",
)
ALL_OF_IT = '%kvpool admit a {"x" * ((num_blocks - 1) * block_size)}'
GUARDED = 'guarded.admit("guard", full("HOTS") + "?")'
ANSWERS = {
    ORDER: ["order = [2, 4, 1]", "order = [1, 2, 4]", "order = [1, 2]"],
    BOTH: [
        f"{ALL_OF_IT};\n%kvpool release a;",
        '%kvpool admit a {full("AB")};',
        '%kvpool admit a {full("AB")};\n%kvpool release a;',
    ],
    TWIN: ['%kvpool admit a {full("A")};\n%kvpool admit b {full("A")};\n', '%kvpool admit a {full("AB") + "x"};\n'],
    GUARD: [GUARDED, 'guarded.admit("more", full("HOTS") + "?")\nguarded.release("more")'],
}


def test_answers_are_judged_by_the_state_of_the_pool_and_the_right_ones_stand_in_the_text():
    assert MUSEUM.answered(ANSWERS, first=2) == {
        ORDER: [
            "right",
            "the right blocks in another order: who gave a block back last?",
            "not yet: the queue is 5 3 6 7 8 9 10 2 4 1, and 3 of these carry a hash",
        ],
        BOTH: [
            "right",
            "not yet: usage is 0.20, somebody still holds blocks",
            "not yet: usage is 0.00, but 8 blocks are free and empty",
        ],
        TWIN: ["right", "not yet: the most that carry one hash is 1"],
        GUARD: ["right, at a usage of 0.50", "not yet: 0 of 4 blocks are hit"],
    }
    text = MUSEUM.text.read_text(encoding="utf-8")
    for answer in (
        "[2, 4, 1]",
        ALL_OF_IT,
        "%kvpool release a",
        *(f'%kvpool admit {name} {{full("A")}}' for name in "ab"),
        GUARDED,
    ):
        assert f"`{answer}`" in text

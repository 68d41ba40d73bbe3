from __future__ import annotations

from pathlib import Path

import pytest
from helpers import run_python, seed_lab

from kvnb import Lab
from kvnb.core.events import Took
from kvnb.journal.digest import canonical, first_digest, next_digest
from kvnb.manager import Behaviour
from kvnb.manager.command import Command

SCRIPT = """
from kvnb import Lab
lab = Lab(11, block_size=4, device="none")
for name in "abcdef":
    lab.admit(name, "ABCDEFGH"[: ord(name) - 90])
    if len(lab.requests) > 2:
        lab.release(*lab.requests[:2])
lab.undo()
print(lab.digest)
"""


def test_one_value_has_one_spelling() -> None:
    assert canonical({"b": (1, 2), "a": "é"}) == b'{"a":"\\u00e9","b":[1,2]}'
    assert canonical({"a": 1, "b": 2}) == canonical({"b": 2, "a": 1})


def test_two_processes_with_different_string_hashes_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)  # each process draws its own
    digests = {run_python(SCRIPT) for _ in range(3)}
    assert len(digests) == 1
    assert len(digests.pop()) == 64


def test_equal_commands_give_equal_digests() -> None:
    assert seed_lab().digest == seed_lab().digest


def test_pool_name_and_log_path_stay_outside_the_digest(tmp_path: Path) -> None:
    plain, other = seed_lab(), seed_lab(name="other", log=tmp_path / "log.jsonl")
    assert plain.digest == other.digest


def test_every_step_changes_the_digest_and_depends_on_all_before() -> None:
    digests = [seed_lab(until).digest for until in range(7)]
    assert len(set(digests)) == 7
    assert [step.digest for step in seed_lab().journal.steps] == digests[1:]


@pytest.mark.parametrize(
    "settings",
    [
        {"num_blocks": 12}, {"block_size": 8}, {"prefix_caching": False}, {"free_to": "back"}, {"free_order": "forward"},
        {"full_hit": True}, {"none_hash": "00" * 32}, {"tokenizer": "bytes"},
    ],
)  # fmt: skip
def test_every_setting_that_decides_enters_the_first_digest(settings: dict[str, object]) -> None:
    assert first_digest(Behaviour(**{"num_blocks": 11, **settings})) != first_digest(Behaviour(num_blocks=11))  # type: ignore[arg-type]


def test_command_and_events_both_enter_the_digest() -> None:
    start = first_digest(Behaviour(num_blocks=11))
    evict, reset = Command("evict", {"ids": [1]}), Command("reset", {})
    digests = {next_digest(start, evict, []), next_digest(start, reset, []), next_digest(start, evict, [Took((1,))])}
    assert len(digests) == 3


def test_a_refused_command_leaves_the_digest() -> None:
    lab = seed_lab(1)
    before = lab.digest
    with pytest.raises(Exception, match="can never fit"):
        lab.admit("big", "x" * 100)
    assert lab.digest == before


def test_the_digest_of_a_new_pool_is_that_of_its_settings() -> None:
    lab = Lab(11, block_size=4, device="none")
    assert lab.digest == first_digest(lab.behaviour) == lab.journal.first_digest

"""The object that users hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers import assert_sound, needs, run_python, seed_lab, snapshot

from kvnb import Lab
from kvnb.errors import CommandError, KvnbError, NeverFits, RequestError, SettingError, UnknownName


def starred(lab: Lab) -> str:
    """The queue as the seed prints it: ``4 5* 6``."""
    return " ".join(f"{block_id}{'*' if block_id in lab.cached else ''}" for block_id in lab.free_queue)


def test_the_seeds_walkthrough_gives_the_tables_and_queues_that_it_prints() -> None:
    lab = Lab(11, block_size=4, device="none")
    assert starred(lab) == "1 2 3 4 5 6 7 8 9 10"
    assert lab.admit("r0", "ABCDEFGHIJKLMNO").block_table == (1, 2, 3, 4)
    assert starred(lab) == "5 6 7 8 9 10"
    assert lab.admit("r1", "ABCDEFGHIJxxxx").block_table == (1, 2, 5, 6)
    assert starred(lab) == "7 8 9 10"
    lab.release("r0")
    assert starred(lab) == "4 7 8 9 10 3*"
    lab.release("r1")
    assert starred(lab) == "6 4 7 8 9 10 3* 5* 2* 1*"
    assert lab.admit("r2", "ABCDEFGHIJKL" + "y" * 17).block_table == (1, 2, 3, 6, 4, 7, 8, 9)
    assert starred(lab) == "10 5*"
    last = lab.admit("r3", "zzzzzzzz")
    assert (last.evicted, last.block_table, starred(lab)) == ((5,), (10, 5), "")
    assert_sound(lab)


def test_a_result_carries_the_numbers_of_its_step() -> None:
    lab = seed_lab(1)
    result = lab.admit("r1", "ABCDEFGHIJxxxx")
    assert (result.number, result.num_tokens, result.num_hit_tokens) == (2, 14, 8)
    assert (result.hit_blocks, result.new_blocks, result.evicted) == ((1, 2), (5, 6), ())
    assert result.block_table == (1, 2, 5, 6)
    assert result.digest == lab.digest
    assert result.to_dict()["command"] == {"verb": "admit", "name": "r1", "text": "ABCDEFGHIJxxxx"}


def test_the_state_of_an_older_result_is_that_after_its_own_step() -> None:
    lab = Lab(11, block_size=4, device="none")
    first = lab.admit("r0", "ABCDEFGHIJKLMNO")
    lab.release("r0")
    assert first.state.columns() == seed_lab(1).state.columns()


def test_the_pool_can_be_looked_at() -> None:
    lab = seed_lab(2)
    assert lab.free_queue == (7, 8, 9, 10)
    assert lab.block_table("r1") == (1, 2, 5, 6)
    assert lab.cached == frozenset({1, 2, 3, 5})
    assert lab.usage == pytest.approx(0.6)
    assert lab.requests == ("r0", "r1")
    assert lab.pool.num_gpu_blocks == 11
    assert lab.manager.block_pool is lab.pool
    assert len(lab.journal) == 2
    assert (lab.name, lab.log_path) == ("pool", None)


def test_looking_makes_no_step() -> None:
    lab = seed_lab(3)
    before = lab.digest
    for look in ("free_queue", "cached", "usage", "digest", "state", "requests", "pool", "manager", "journal"):
        getattr(lab, look)
    lab.check()
    lab.verify()
    assert (lab.digest, len(lab.journal)) == (before, 3)


def test_vllms_block_size_is_the_default() -> None:
    lab = Lab(5, device="none")
    assert lab.behaviour.block_size == 16
    assert lab.admit("a", "x" * 17).block_table == (1, 2)


def test_a_pool_prints_in_one_line() -> None:
    assert repr(seed_lab(2)) == "<Lab 'pool': 11 blocks of 4 tokens, step 2>"


def test_release_all_ends_every_request_in_the_order_of_admission() -> None:
    lab = seed_lab(2)
    lab.preempt("r0")
    result = lab.release(all=True)
    assert lab.requests == ()
    assert result.step.command.args == {"names": ["r0", "r1"]}


def test_release_all_of_nobody_is_refused() -> None:
    with pytest.raises(RequestError, match="nothing to release"):
        Lab(5, device="none").release(all=True)


def test_names_and_all_exclude_each_other() -> None:
    with pytest.raises(CommandError, match="give names or all, not both"):
        seed_lab(1).release("r0", all=True)


@pytest.mark.parametrize("kind", [list, tuple, iter])
def test_tokens_may_be_any_iterable(kind: Any) -> None:
    assert seed_lab(1).admit("b", tokens=kind([65, 66, 67, 68, 69])).hit_blocks == (1,)


def test_tokens_may_be_a_numpy_array() -> None:
    numpy = needs("numpy")
    result = seed_lab(1).admit("b", tokens=numpy.array([65, 66, 67, 68, 69]))
    assert result.hit_blocks == (1,)
    assert result.to_dict()["command"]["tokens"] == [65, 66, 67, 68, 69]


def test_a_file_gives_its_text_and_the_journal_keeps_the_text(tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_bytes(b"ABCD\r\nE")
    lab = seed_lab(1)
    assert lab.admit("b", file=tmp_path / "prompt.txt").to_dict()["command"]["text"] == "ABCD\r\nE"


def test_with_the_bytes_tokenizer_a_token_is_a_byte() -> None:
    assert Lab(5, block_size=2, tokenizer="bytes", device="none").admit("a", "é").num_tokens == 2


MISTAKES = [
    (lambda lab: lab.admit("r0", "x"), RequestError, "r0 is already running"),
    (lambda lab: lab.admit("new"), CommandError, "new needs a prompt: only a preempted request is admitted without one"),
    (lambda lab: lab.admit("new", "a", tokens=[1]), CommandError, "only one of them"),
    (lambda lab: lab.admit("", "a"), CommandError, "'' is no request name"),
    (lambda lab: lab.admit(5, "a"), CommandError, "5 is no request name"),
    (lambda lab: lab.admit("new", 5), CommandError, "the text is int"),
    (lambda lab: lab.admit("new", tokens=[1.5]), CommandError, "whole numbers"),
    (lambda lab: lab.admit("new", tokens=[[1]]), CommandError, "whole numbers"),
    (lambda lab: lab.admit("new", tokens=[-1]), CommandError, "0 or more"),
    (lambda lab: lab.admit("new", tokens=5), CommandError, "whole numbers"),
    (lambda lab: lab.admit("new", tokens=[]), RequestError, "empty prompt"),
    (lambda lab: lab.admit("new", file="/no/such/file"), CommandError, "cannot read '/no/such/file'"),
    (lambda lab: lab.admit("new", "x" * 45), NeverFits, "new needs 12 blocks, the pool has 10: can never fit"),
    (lambda lab: lab.append("r0"), CommandError, "nothing to append to r0"),
    (lambda lab: lab.append(5), CommandError, "5 is no request name"),
    (lambda lab: lab.append("r9", "x"), UnknownName, "no request r9: there are r0, r1"),
    (lambda lab: lab.release("zzz"), UnknownName, "no request zzz: there are r0, r1"),
    (lambda lab: lab.release(5), CommandError, "5 is no request name"),
    (lambda lab: lab.preempt("zzz"), UnknownName, "no request zzz"),
    (lambda lab: lab.evict(0), UnknownName, "block 0 is the null block"),
    (lambda lab: lab.evict("1"), CommandError, "the block id is '1': give a whole number"),
    (lambda lab: lab.evict(1.0), CommandError, "the block id is 1.0: give a whole number"),
    (lambda lab: lab.evict(), RequestError, "nothing to evict"),
    (lambda lab: lab.reset(), KvnbError, "6 blocks still in use: release or preempt r0, r1 first"),
    (lambda lab: lab.block_table("zzz"), UnknownName, "no request zzz"),
    (lambda lab: lab.journal.state_at(3), UnknownName, "no step 3: there are steps 0 to 2"),
]


@pytest.mark.parametrize(("mistake", "kind", "line"), MISTAKES, ids=[line for _, _, line in MISTAKES])
def test_a_mistake_is_one_line_and_changes_nothing(mistake: Any, kind: type[KvnbError], line: str) -> None:
    lab = seed_lab(2)
    before = snapshot(lab)
    with pytest.raises(kind) as caught:
        mistake(lab)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)
    assert snapshot(lab) == before
    assert_sound(lab)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(CommandError, match="is not UTF-8 text: give --tokens"):
        Lab(5, device="none").admit("a", file=tmp_path / "binary")


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"num_blocks": 0}, "the number of blocks is 0"), ({"block_size": 0}, "block_size is 0"),
        ({"device": "tpu"}, "unknown device 'tpu'"),
        ({"tokenizer": "gpt9"}, "unknown tokenizer 'gpt9', and no such file"), ({"hash": "md5"}, "unknown hash 'md5'"),
        ({"free_to": "middle"}, "unknown free_to 'middle'"),
    ],
)  # fmt: skip
def test_a_pool_with_an_impossible_setting_is_not_made(tmp_path: Path, settings: dict[str, Any], line: str) -> None:
    with pytest.raises(SettingError, match=line):
        Lab(**{"num_blocks": 11, "device": "none", **settings}, log=tmp_path / "log.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_check_shows_seven_equations_the_last_about_the_journal() -> None:
    equations = seed_lab().check()
    assert len(equations) == 7
    assert str(equations[-1]) == "ok  journal folded = live pool: 6 steps, no difference"


def test_a_pool_that_was_changed_behind_its_journal_is_noticed() -> None:
    lab = seed_lab(4)
    lab.pool.evict_blocks([1])
    lab._recorder._execution.events.clear()
    assert [equation.says for equation in lab.check() if not equation.holds] == ["journal folded = live pool"]


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = "'IPython', 'torch', 'pandas', 'numpy', 'plotly', 'zmq'"
    code = f"import sys; from kvnb import Lab; Lab(5, device='none'); print([name for name in ({heavy}) if name in sys.modules])"
    assert run_python(code) == "[]"

"""Forks of any pool: what they do, what they say, and that they say it again when they are loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from any_labs import HOSTILE, assert_survives, labs
from helpers import SEED_PROMPTS, assert_sound, seed_lab
from hypothesis import given, settings
from hypothesis import strategies as st

from kvnb import Lab
from kvnb.errors import CommandError, JournalError, SettingError, UnknownName
from kvnb.journal import jsonl
from kvnb.journal.forked import Forked
from kvnb.views.forks import fork_html, fork_text, origin_text, sides
from kvnb.views.pools import pools_html, pools_text

OTHERS: dict[str, Any] = {
    "num_blocks": st.integers(1, 30), "block_size": st.integers(1, 5), "prefix_caching": st.booleans(),
    "free_to": st.sampled_from(["front-back", "back"]), "free_order": st.sampled_from(["reverse", "forward"]),
    "full_hit": st.booleans(), "sliding_window": st.sampled_from([None, 2, 5]), "tokenizer": st.sampled_from(["chars", "bytes"]),
    "hash": st.sampled_from(["sha256", "xxhash"]),
}  # fmt: skip
changes = st.fixed_dictionaries({}, optional=OTHERS)
KEEP_OR_SKIP = st.sampled_from(["keep", "skip"])


def told(lab: Lab) -> Forked:
    assert lab.journal.forked is not None
    return lab.journal.forked


@given(labs(), st.data())
@settings(max_examples=150)
def test_a_fork_under_the_same_settings_is_the_same_history(lab: Lab, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(lab.journal)))
    fork, line = lab.fork("same", at), lab.journal.lineage(at)
    assert fork.state.columns() == lab.journal.state_at(at).columns()
    assert [step.events for step in fork.journal.steps] == [lab.journal.steps[number - 1].events for number in line]
    assert list(told(fork).numbers) == line
    assert (told(fork).refused, told(fork).skipped, told(fork).differs) == ((), (), 0)
    if len(line) == at:
        assert fork.digest == told(fork).digest


@given(labs(), changes, KEEP_OR_SKIP, st.data())
@settings(max_examples=150)
def test_any_fork_verifies_is_sound_accounts_for_every_command_and_tells_of_itself(
    tmp_path_factory: pytest.TempPathFactory, lab: Lab, asked: dict[str, Any], evictions: Any, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(lab.journal)))
    before = lab.digest, lab.state.columns()
    fork, line = lab.fork(HOSTILE, at, evictions=evictions, **asked), lab.journal.lineage(at)
    assert (lab.digest, lab.state.columns()) == before
    assert_sound(fork)
    assert fork.verify().holds
    forked = told(fork)
    left = [left.number for left in (*forked.refused, *forked.skipped)]
    assert sorted([*forked.numbers, *left]) == line
    assert forked.num_done == len(fork.journal)
    assert forked.differs in (0, *line)
    path = tmp_path_factory.mktemp("fork") / "fork.jsonl"
    fork.save(path)
    assert Lab.load(path).journal.forked == forked
    assert_survives(fork_html(lab.journal, fork.journal))
    assert all(line.isprintable() for line in fork_text(lab.journal, fork.journal).split("\n"))
    assert_survives(pools_html(lab.journal, fork.journal))
    assert all(line.isprintable() for line in pools_text(fork.journal, lab.journal).split("\n"))


# --- what is refused, and what follows from it -------------------------------------------------------------------


@pytest.fixture
def busy() -> Lab:
    """``a`` grows, ``b`` holds what is left, and both end."""
    lab = Lab(8, block_size=2, device="none")
    lab.admit("a", "ABCD")
    lab.admit("b", "VWXYZ")
    lab.append("a", "EFG")
    lab.append("b", "!")
    lab.append("a", "H")
    lab.release("a", "b")
    lab.admit("a", "again")
    return lab


def test_what_a_refused_request_did_later_is_skipped_until_it_ends_and_its_name_is_free_again(busy: Lab) -> None:
    forked = told(busy.fork("small", num_blocks=6))
    assert [(left.number, left.command) for left in forked.refused] == [(3, "append a")]
    assert forked.refused[0].why.startswith("a needs 2 blocks, 0 free")
    assert [(left.number, left.why) for left in forked.skipped] == [(5, "its request was refused at step 3")]
    assert forked.done == ((1, 2), (4, 4), (6, 7))
    assert forked.differs == 3


def test_what_a_refused_request_holds_is_given_back_when_the_original_gives_it_back(busy: Lab) -> None:
    fork = busy.fork("small", 6, num_blocks=6)
    assert fork.requests == ()
    assert len(fork.free_queue) == 5


def test_a_release_leaves_out_a_request_that_was_never_admitted(busy: Lab) -> None:
    fork = busy.fork("tiny", num_blocks=4)
    assert [left.number for left in told(fork).refused] == [2, 3]
    assert [left.command for left in told(fork).skipped] == ["append b", "append a"]
    assert fork.journal.steps[1].command.args["names"] == ["a"]


def test_a_prefill_of_all_that_was_left_is_one_of_all_that_is_left() -> None:
    lab = Lab(20, block_size=2, device="none")
    lab.admit("a", "ABCDEF")
    lab.admit("b", "ABCDEFGHIJ", chunk=2)
    lab.prefill("b")
    lab.append("b", "K")
    plain = lab.fork("plain", prefix_caching=False)
    assert plain.journal.steps[2].command.args["n"] == 8
    assert not told(plain).refused
    back = plain.fork("cached", prefix_caching=True)
    assert back.state.columns() == lab.state.columns()


def test_a_prefill_that_a_hit_made_needless_is_skipped_and_its_request_goes_on() -> None:
    lab = Lab(20, block_size=2, prefix_caching=False, device="none")
    lab.admit("a", "ABCDEF")
    lab.admit("b", "ABCDEFG", chunk=4)
    lab.prefill("b")
    lab.append("b", "H")
    fork = lab.fork("cached", prefix_caching=True)
    assert [(left.number, left.why) for left in told(fork).skipped] == [(3, "nothing is left to prefill")]
    assert fork.state.requests["b"].num_tokens == 8


def test_a_command_by_block_id_asks_unless_nothing_else_is_different() -> None:
    lab = seed_lab(4)
    lab.evict(5)
    assert lab.fork("same").digest == lab.digest
    with pytest.raises(CommandError, match=r"step 5 is `evict 5`: .*--keep-evictions .*or --skip-evictions"):
        lab.fork("large", num_blocks=12)
    assert 5 not in lab.fork("large", evictions="keep", num_blocks=12).cached
    skipped = lab.fork("large", evictions="skip", num_blocks=12)
    assert 5 in skipped.cached
    assert [left.command for left in told(skipped).skipped] == ["evict 5"]
    assert told(lab.fork("tiny", evictions="keep", num_blocks=5)).refused[-1].why.startswith("block 5 does not exist")
    assert len(lab.fork("before", 4, num_blocks=12).journal) == 4


def test_a_text_is_cut_by_the_forks_tokenizer_and_tokens_stay_tokens() -> None:
    lab = Lab(20, block_size=4, device="none")
    lab.admit("a", "äöü")
    lab.admit("b", tokens=[1, 2, 3])
    lab.append("a", "é", draft="èx")
    lab.accept("a", 2)
    requests = lab.fork("bytes", tokenizer="bytes").state.requests
    assert {name: request.num_tokens for name, request in requests.items()} == {"a": 10, "b": 3}
    assert lab.fork("chars", tokenizer="chars").digest == lab.digest


def test_a_fork_has_the_parent_hash_of_its_original() -> None:
    lab = seed_lab(hash="xxhash")
    assert lab.fork("same").digest == lab.digest
    assert told(lab.fork("other", hash="sha256")).differs == 0


def test_clicks_are_nobodys_in_a_fork_and_what_a_model_made_stays_a_models() -> None:
    lab = Lab(11, block_size=4, device="cpu")
    lab.admit("a", "ABC")
    with lab.clicked():
        lab.generate("a", 2)
    fork = lab.fork("f", free_to="back")
    assert [step.origin and step.origin.get("clicked") for step in lab.journal.steps] == [None, True, True]
    assert all("clicked" not in (step.origin or {}) for step in fork.journal.steps)
    assert [step.origin for step in fork.journal.steps[1:]] == [{"model": "tiny"}] * 2


# --- its memory --------------------------------------------------------------------------------------------------


def test_a_fork_has_memory_where_its_original_has_it_and_it_is_what_the_original_computed() -> None:
    lab = Lab(11, block_size=4, device="cpu")
    lab.admit("a", "ABCDEFGHI")
    fork, ids = lab.fork("wide", block_size=2, num_blocks=21), lab.fork("ids", device="none")
    assert fork.prove("a").holds
    assert fork.worker is not None
    assert ids.worker is None
    assert ids.digest == lab.digest
    assert seed_lab().fork("none").worker is None
    assert seed_lab().fork("cpu", device="cpu", dtype="float16").prove("r2").name == "r2"


def test_a_token_that_the_forks_model_does_not_know_is_refused_at_its_step() -> None:
    lab = Lab(11, block_size=4, device="none")
    lab.admit("a", tokens=[1, 2])
    lab.admit("b", tokens=[999])
    lab.append("b", tokens=[1])
    fork = lab.fork("cpu", device="cpu")
    assert [left.number for left in told(fork).refused] == [2]
    assert [left.number for left in told(fork).skipped] == [3]
    assert_sound(fork)


# --- refused as a whole ------------------------------------------------------------------------------------------


def test_a_fork_that_cannot_be_is_one_line() -> None:
    lab = seed_lab()
    for error, says, call in (
        (UnknownName, "no step 7: there are steps 0 to 6", {"at": 7}),
        (UnknownName, "no step -1", {"at": -1}),
        (SettingError, "block_size is 0: give 1 or more", {"block_size": 0}),
        (SettingError, "a fork has no setting 'free': did you mean", {"free": "back"}),
        (SettingError, "unknown free_to 'middle'", {"free_to": "middle"}),
        (SettingError, "one of them", {"memory": "2MiB", "num_blocks": 3}),
        (SettingError, "a full hit leaves the model nothing", {"device": "cpu", "full_hit": True}),
    ):  # fmt: skip
        with pytest.raises(error, match=says):
            lab.fork("f", **call)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="the pool's name is ''"):
        lab.fork("")


# --- what it says ------------------------------------------------------------------------------------------------


def test_a_fork_says_what_differed_in_the_seeds_words() -> None:
    lab = seed_lab()
    assert fork_text(lab.journal, lab.fork("older", free_to="back").journal) == (
        "older: forked from pool at step 6, with --free-to back\n"
        "  6 commands: 6 done, 0 refused, 0 skipped\n"
        "  first difference at step 3, release r0\n"
        "    pool:  r0 finishes: 1 block(s) to the front, 1 to the back, 2 still in use by others\n"
        "           free queue (front first, * = cached): 4 7 8 9 10 3*\n"
        "    older: r0 finishes: 2 to the back, 2 still in use by others\n"
        "           free queue (front first, * = cached): 7 8 9 10 4 3*\n"
        "  in the end         pool             older\n"
        "  after              step 6           step 6\n"
        "  usage              1.00             1.00\n"
        "  in use             10 of 10 blocks  10 of 10 blocks\n"
        "  cached             9 blocks         9 blocks\n"
        "  tokens from cache  20 of 66         20 of 66\n"
        "  evicted            1 block          1 block"
    )


def test_a_fork_says_what_was_refused_and_what_stood_there_instead() -> None:
    lab = seed_lab()
    small = lab.fork("small", num_blocks=8)
    found = sides(lab.journal, small.journal)
    assert found is not None
    assert found[0].lines[0] == "r2: 29 tokens, 3 block(s) from cache, 5 new"
    assert found[1].lines == [
        "refused: r2 needs 8 blocks, the pool has 7: can never fit, make a pool of 9 or more",
        "free queue (front first, * = cached): 6 4 7 3* 5* 2* 1*",
    ]
    assert origin_text(told(small)) == "forked from pool at step 6, with --num-blocks 8; 6 commands: 5 done, 1 refused, 0 skipped"


def test_settings_are_told_as_they_are_typed() -> None:
    fork = seed_lab(0).fork("f", prefix_caching=False, full_hit=True, sliding_window=4).fork("g", sliding_window=None)
    assert "with --sliding-window 0;" in origin_text(told(fork))
    assert told(seed_lab(0).fork("f", prefix_caching=False)).settings == {"prefix_caching": False}


# --- in a file ---------------------------------------------------------------------------------------------------


DAMAGES: list[Any] = [
    None, 5, [], {}, {"pool": 1}, {"settings": {"a": {}}}, {"done": [[1]]},
    {"done": [[1, 9]]}, {"done": [[3, 2]]}, {"done": [[0, 1]]}, {"done": [[1, 4], [4, 5]]},
    {"refused": [[1, 2, 3]]}, {"differs": -1},
    {"step": "6"},
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES, ids=str)
def test_a_header_that_tells_no_fork_is_refused(tmp_path: Path, damage: Any) -> None:
    fork = seed_lab().fork("f", num_blocks=8)
    values = {**told(fork).to_dict(), **damage} if isinstance(damage, dict) and damage else damage
    fork.journal.forked = type("Any", (), {"to_dict": lambda self: values})()
    path = tmp_path / "f.jsonl"
    jsonl.save(fork.journal, path)
    with pytest.raises(JournalError, match="the header's settings cannot be used"):
        Lab.load(path)


def test_a_log_of_a_fork_holds_all_of_it_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "fork.jsonl"
    fork = seed_lab().fork("f", 2, free_to="back", log=path)
    fork.append("r0", "P")
    fork.close()
    again = Lab.load(path)
    assert (again.digest, again.journal.forked) == (fork.digest, fork.journal.forked)
    again.admit("r3", SEED_PROMPTS["r3"])
    assert len(Lab.load(path, copy=True).journal) == 4

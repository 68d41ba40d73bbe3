"""What each request says, followed from command to command; and what the fold makes of windows, chunks and drafts."""

from __future__ import annotations

from random import Random

from helpers import assert_sound, seed_lab

from kvnb import Lab
from kvnb.core.events import Took
from kvnb.errors import KvnbError
from kvnb.journal import State
from kvnb.journal.transcript import Transcript
from kvnb.manager.events import Extended, Nulled, RequestIs, Tokens


def said(lab: Lab, name: str, k: int | None = None) -> tuple[str, str]:
    """The tokens of a request and its drafts, as letters."""
    request = Transcript.of(lab.journal, k).requests[name]
    return "".join(map(chr, request.token_ids)), "".join(map(chr, request.drafts))


def drafting() -> Lab:
    lab = Lab(11, block_size=4, device="none")
    lab.admit("a", "ABCDEF")
    lab.append("a", "G", draft="HIJ")
    return lab


def test_a_request_says_its_prompt_and_what_was_appended() -> None:
    lab = seed_lab(1)
    lab.append("r0", "P")
    lab.append("r0", tokens=[81, 82])
    assert said(lab, "r0") == ("ABCDEFGHIJKLMNOPQR", "")


def test_accepted_drafts_are_said_and_the_others_are_not() -> None:
    lab = drafting()
    assert said(lab, "a") == ("ABCDEFG", "HIJ")
    lab.accept("a", 2)
    assert said(lab, "a") == ("ABCDEFGHI", "")
    lab.append("a", "x")
    assert said(lab, "a") == ("ABCDEFGHIx", "")


def test_drafts_given_as_tokens_are_followed_too() -> None:
    lab = Lab(11, block_size=4, device="none")
    lab.admit("a", "A")
    lab.append("a", "B", draft=[67, 68])
    assert said(lab, "a") == ("AB", "CD")


def test_an_undo_takes_the_words_back() -> None:
    lab = drafting()
    lab.accept("a", 3)
    lab.undo()
    assert said(lab, "a") == ("ABCDEFG", "HIJ")
    lab.undo()
    assert said(lab, "a") == ("ABCDEF", "")
    assert said(lab, "a", 3) == ("ABCDEFGHIJ", "")


def test_a_preempted_request_keeps_its_words_and_loses_its_drafts() -> None:
    lab = drafting()
    lab.preempt("a")
    assert said(lab, "a") == ("ABCDEFG", "")
    lab.admit("a")
    assert said(lab, "a") == ("ABCDEFG", "")


def test_a_released_request_is_gone_and_its_name_begins_anew() -> None:
    lab = drafting()
    lab.release("a")
    assert Transcript.of(lab.journal).requests == {}
    lab.admit("a", "new", salt="s", lora="ad=p")
    request = Transcript.of(lab.journal).requests["a"]
    assert (said(lab, "a"), request.salt, request.lora) == (("new", ""), "s", ("ad", "p"))


def test_a_chunked_prompt_is_known_whole() -> None:
    lab = Lab(11, block_size=4, device="none")
    lab.admit("a", "ABCDEFGHI", chunk=2)
    lab.prefill("a", 3)
    assert said(lab, "a") == ("ABCDEFGHI", "")


def test_with_bytes_an_accent_is_two_tokens() -> None:
    lab = Lab(11, block_size=4, tokenizer="bytes", device="none")
    lab.admit("a", "é")
    assert Transcript.of(lab.journal).requests["a"].token_ids == [0xC3, 0xA9]


def test_the_transcript_has_the_hashes_of_the_live_requests_or_none_when_nobody_asks() -> None:
    lab = seed_lab(2)
    live = {block.block_hash for block in lab.pool.blocks if block.block_hash}
    requests = Transcript.of(lab.journal).requests.values()
    assert {block_hash for request in requests for block_hash in request.block_hashes} == live
    assert Transcript.of(lab.journal, hashes=False).requests["r0"].block_hashes == []


def test_it_agrees_with_the_live_requests_after_any_history() -> None:
    for seed in range(30):
        lab, random = Lab(12, block_size=2, sliding_window=random_window(seed), device="none"), Random(seed)
        for _ in range(60):
            name = random.choice("abc")
            text = "AB" * random.randint(1, 4)
            change = random.choice([
                lambda: lab.admit(name, text, chunk=random.choice([None, 3])), lambda: lab.admit(name),  # noqa: B023
                lambda: lab.append(name, text[:3], draft=random.choice([None, "xyz"])),  # noqa: B023
                lambda: lab.prefill(name, 1), lambda: lab.accept(name, random.randint(0, 3)),  # noqa: B023
                lambda: lab.preempt(name), lambda: lab.release(name), lambda: lab.undo(),  # noqa: B023
            ])  # fmt: skip
            try:
                change()
            except KvnbError:
                continue
        live = lab._recorder.engine.scheduler.requests
        told = Transcript.of(lab.journal).requests
        assert {n: (r.token_ids, r.drafts) for n, r in told.items()} == {n: (r.token_ids, r.drafts) for n, r in live.items()}
        assert_sound(lab)


def random_window(seed: int) -> int | None:
    return None if seed % 3 == 0 else seed % 7 + 2


# --- the fold ------------------------------------------------------------------------------------------------------


def test_the_fold_knows_scheduled_tokens_and_drafts() -> None:
    state = State(5)
    state.apply(RequestIs("a", "running"))
    state.apply(Tokens("a", 9, 4, 0))
    request = state.requests["a"]
    assert (request.num_tokens, request.num_scheduled, request.num_drafts) == (9, 4, 0)
    state.apply(Tokens("a", 9, 9, 2))
    assert (request.num_tokens, request.num_scheduled, request.num_drafts) == (9, 9, 2)
    state.apply(RequestIs("a", "preempted"))
    assert (request.num_tokens, request.num_scheduled, request.num_drafts) == (9, 0, 0)


def test_in_the_fold_what_left_the_window_is_block_0_and_has_an_owner_less() -> None:
    state = State(6)
    for event in (RequestIs("a", "running"), Took((1, 2, 3)), Extended("a", (0, 1, 2, 3))):
        state.apply(event)
    assert state.owners == {1: ("a",), 2: ("a",), 3: ("a",)}
    state.apply(Nulled("a", 1, 2))
    assert state.requests["a"].table == [0, 0, 0, 3]
    assert state.owners == {3: ("a",)}


def test_a_history_of_chunks_drafts_and_windows_folds_to_the_live_pool_at_every_step() -> None:
    lab, seen = Lab(11, block_size=4, sliding_window=6, device="none"), []
    for change in (
        lambda: lab.admit("a", "ABCDEFGHIJKLM", chunk=5), lambda: lab.prefill("a", 4), lambda: lab.prefill("a"),
        lambda: lab.append("a", "N", draft="OPQRS"), lambda: lab.accept("a", 4), lambda: lab.append("a", "S"),
        lambda: lab.admit("b", "ABCDEFGHIJKLMNOPQRST"), lambda: lab.preempt("a"), lambda: lab.admit("a", chunk=1),
        lambda: lab.undo(), lambda: lab.release(all=True),
    ):  # fmt: skip
        change()
        assert_sound(lab)
        seen.append(lab.state.columns())
    assert [lab.journal.state_at(k + 1).columns() for k in range(len(seen))] == seen
    assert lab.verify().holds

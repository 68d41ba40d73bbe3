from __future__ import annotations

from pathlib import Path

import pytest
from helpers import ROOT, seed_lab

from kvnb import Lab
from kvnb.errors import UnknownName, printable
from kvnb.views import text
from kvnb.views.words import listed, short, shortened

HOSTILE = "\x1b[31mred\n\u202eevil\x00"
WALKTHROUGH = ROOT.parent / "shared" / "seed-walkthrough.txt"


def last(lab: Lab) -> str:
    return text.step_text(lab.journal.steps[-1], lab.state)


def test_an_admission_reads_as_in_the_seed() -> None:
    assert last(seed_lab(1)).split("\n") == [
        "r0: 15 tokens, 0 block(s) from cache, 4 new",
        "  block table [1 2 3 4]",
        "  free queue (front first, * = cached): 5 6 7 8 9 10",
    ]


def test_a_hit_an_eviction_and_an_empty_queue_read_as_in_the_seed() -> None:
    assert last(seed_lab(5, full_hit=True)).split("\n")[0] == "r2: 29 tokens, 3 block(s) from cache, 5 new"
    assert [line.strip() for line in last(seed_lab(6)).split("\n")] == [
        "r3: 8 tokens, 0 block(s) from cache, 2 new",
        "evict: block 5 loses its hash",
        "block table [10 5]",
        "free queue (front first, * = cached):",
    ]


@pytest.mark.skipif(not WALKTHROUGH.exists(), reason="needs the seed's own walk-through beside the repository")
def test_every_line_of_the_seeds_walk_through_is_said() -> None:
    lab = seed_lab()
    steps = [text.step_text(step, lab.journal.state_at(step.number)) for step in lab.journal.steps]
    said = [line.strip() for step in steps for line in step.split("\n")]
    for line in Path(WALKTHROUGH).read_text().split("\n"):
        if line.startswith("  ") and "1 2 3 4 5 6 7 8 9 10" not in line:
            assert line.strip() in said


def test_each_verb_has_its_sentence() -> None:
    lab = seed_lab(2)
    said = [
        text.sentence(result.step)
        for result in (
            lab.append("r0", "PQ"), lab.preempt("r1"), lab.admit("r1"), lab.release("r0"), lab.release("r1"),
            lab.evict(1, 9), lab.undo(), lab.reset(), lab.undo(),
        )
    ]  # fmt: skip
    assert said == [
        "r0: 17 tokens, 1 new",
        "r1 is preempted: 1 block(s) to the front, 1 to the back, 2 still in use by others; its tokens are kept",
        "r1 resumes: 14 tokens, 3 block(s) from cache, 1 new",
        "r0 finishes: 1 block(s) to the front, 2 to the back, 2 still in use by others",
        "r1 finishes: 1 block(s) to the front, 3 to the back",
        "evict: 1 hash dropped, 1 block had none",
        "undo: back to step 7",
        "reset: the prefix cache is empty, the free queue keeps its order",
        "undo: back to step 7",
    ]


def test_an_append_says_which_block_became_full() -> None:
    lab = seed_lab(1)
    lab.append("r0", "P")
    assert last(lab).split("\n")[:2] == ["r0: 16 tokens, 0 new", "  block 4 is full: it gets a hash"]


def test_two_requests_finish_together() -> None:
    lab = seed_lab(2)
    assert text.sentence(lab.release(all=True).step).startswith("r0 and r1 finish: 2 block(s) to the front, 4 to the back")


def test_undoing_the_first_step_gives_the_new_pool() -> None:
    assert text.sentence(seed_lab(1).undo().step) == "undo: back to step 0, the new pool"


def test_a_state_says_size_usage_and_what_is_cached() -> None:
    lab = seed_lab(5)
    assert text.state_text(lab.journal, lab.state, 5).split("\n") == [
        "pool: 11 blocks of 4 tokens, step 5",
        "  usage 0.80 = 1 - 2/10 free; cached 8 blocks, 1 of them free; free and empty 1",
        "  r2: 29 tokens, running, block table [1 2 3 6 4 7 8 9]",
        "  free queue (front first, * = cached): 10 5*",
    ]


def test_settings_that_are_not_vllms_are_named() -> None:
    lab = Lab(3, block_size=4, prefix_caching=False, free_to="back", free_order="forward", full_hit=True, device="none")
    assert text.size_text(lab.behaviour) == (
        "3 blocks of 4 tokens, prefix caching off, free to back, free order forward, full hit"
    )  # fmt: skip


def test_a_block_is_told_by_its_place_its_owners_and_its_copies() -> None:
    lab = seed_lab(2)
    assert text.block_text(lab.state, 0).startswith("block 0: the null block")
    assert text.block_text(lab.state, 8) == "block 8: ref_cnt 0, no hash, place 2 of 4 in the free queue"
    assert text.block_text(lab.state, 1).endswith("in the table of r0 and r1")
    with pytest.raises(UnknownName, match="no block 11"):
        text.block_text(lab.state, 11)


def test_a_request_is_told_block_by_block() -> None:
    lab = seed_lab(2)
    lines = text.request_text(lab.state, "r1", 4).split("\n")
    assert lines[0] == "r1: 14 tokens, running, 8 from cache"
    assert lines[1].startswith("  tokens 0-3: block 1, hash ")
    assert lines[1].endswith(", shared with r0")
    assert lines[4] == "  tokens 12-13: block 6, no hash"
    with pytest.raises(UnknownName, match="r9"):
        text.request_text(lab.state, "r9", 4)


def test_long_lists_are_written_from_both_ends() -> None:
    assert shortened(range(64)) == [str(n) for n in range(64)]
    assert shortened(range(1064))[31:34] == ["31", "... (1,000 more) ...", "1032"]
    lab = Lab(100_000, device="none")
    assert "31 32 ... (99,935 more) ... 99968" in text.queue_text(lab.state)
    assert listed([f"r{k}" for k in range(1000)]) == "r0, r1, r2, r3, r4, r5, r6, r7 and 992 more"


def test_control_characters_of_a_name_are_never_printed_raw() -> None:
    lab = Lab(11, block_size=4, name=HOSTILE, device="none")
    lab.admit(HOSTILE, "ABCDEFGH")
    lab.admit("other", "ABCDEFGHI")
    shown = [last(lab), text.state_text(lab.journal, lab.state, 2), text.request_text(lab.state, HOSTILE, 4)]
    shown += [text.request_text(lab.state, "other", 4), text.block_text(lab.state, 1)]
    shown += [text.sentence(lab.preempt(HOSTILE).step), text.sentence(lab.release(HOSTILE, "other").step)]
    for line in "\n".join(shown).split("\n"):
        assert line.isprintable()
    assert "\\x1b[31mred\\n\\u202eevil\\x00" in shown[-1]


def test_a_lone_surrogate_is_escaped_and_a_long_name_is_cut() -> None:
    assert printable("a\ud800é") == "a\\ud800é"
    assert short("n" * 500) == "n" * 59 + "…"
    assert short("r0") == "r0"

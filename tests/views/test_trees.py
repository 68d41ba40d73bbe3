from __future__ import annotations

import pytest
from any_labs import HOSTILE, assert_survives, labs
from helpers import seed_lab
from hypothesis import given

from kvnb import Lab
from kvnb.core.hashing import short_key
from kvnb.journal.chains import links
from kvnb.journal.transcript import Transcript
from kvnb.views.prefix_tree import Run, prefix_tree
from kvnb.views.trees import tree_html, tree_text


def tree(lab: Lab, k: int | None = None) -> str:
    state = lab.state if k is None else lab.journal.state_at(k)
    return tree_text(lab.journal, state, k)


def all_runs(runs: list[Run]) -> list[Run]:
    return [found for run in runs for found in (run, *all_runs(run.after))]


def runs_of(lab: Lab) -> list[Run]:
    return all_runs(prefix_tree(lab.state, links(lab.journal, lab.state.copies)))


def gap_lab() -> Lab:
    """The second block of two prompts was evicted; what comes after it is still in the map."""
    lab = Lab(24, block_size=4, device="none")
    lab.admit("a", "ABCDEFGHIJKLMNOPQ")
    lab.admit("b", "ABCDEFGHzzzzyyyy1")
    lab.release("a")
    lab.evict(2, 4)
    return lab


def many_lab(num_requests: int = 1000) -> Lab:
    lab = Lab(10_000, block_size=16, device="none")
    for k in range(num_requests):
        lab.admit(f"r{k}", tokens=[k % 7] * 160 + [k] * (20 + k % 80))
    return lab


# --- what it says --------------------------------------------------------------------------------------------------


def test_the_seeds_requests_part_where_their_prompts_do() -> None:
    assert tree(seed_lab(2)) == (
        "4 hashes, carried by 4 blocks\n"
        'tokens 0-7 "ABCDEFGH": blocks 1 2\n'
        '├ tokens 8-11 "IJKL": block 3\n'
        '└ tokens 8-11 "IJxx": block 5'
    )


def test_what_is_free_is_told_and_a_past_step_has_its_own_tree() -> None:
    lab = seed_lab()
    assert tree(lab, 4) == (
        "4 hashes, carried by 4 blocks\n"
        'tokens 0-7 "ABCDEFGH": blocks 1 2, free\n'
        '├ tokens 8-11 "IJKL": block 3, free\n'
        '└ tokens 8-11 "IJxx": block 5, free'
    )
    assert tree(lab, 0) == "0 hashes, carried by 0 blocks"
    assert tree(lab).splitlines()[1:] == [
        'tokens 0-27 "ABCDEFGHIJKLyyyyyyyyyyyyyyyy": blocks 1-3 6 4 7 8',
        'tokens 0-7 "zzzzzzzz": blocks 10 5',
    ]


def test_copies_of_a_hash_stand_side_by_side_the_one_a_lookup_gives_first() -> None:
    lab = Lab(11, block_size=4, device="none")
    for name in "ab":
        lab.admit(name, "ABCDEFGH", chunk=4)
    lab.prefill("a")
    assert tree(lab) == '2 hashes, carried by 3 blocks, 1 of them a duplicate\ntokens 0-7 "ABCDEFGH": blocks 1 2=3'
    page = assert_survives(tree_html(lab.journal, lab.state))
    assert "= the same hash; a lookup gives the first" in page.text


def test_what_comes_after_a_gap_is_out_of_reach() -> None:
    lab = gap_lab()
    assert tree(lab) == (
        "4 hashes, carried by 4 blocks\n"
        'tokens 0-3 "ABCD": block 1\n'
        "└ tokens 4-7: no longer in the map, a lookup stops here\n"
        '  ├ tokens 8-11 "IJKL": block 3, free, out of reach\n'
        '  └ tokens 8-15 "zzzzyyyy": blocks 6 7, out of reach'
    )
    lab.admit("c", "ABCDEFGHIJKLM")
    assert "out of reach" not in tree(lab), "the gap was filled by a request that computed it again"


def test_under_a_window_a_gap_stops_no_lookup() -> None:
    lab = Lab(24, block_size=2, sliding_window=3, device="none")
    lab.admit("a", "ABCDEFGH")
    lab.release("a")
    lab.evict(1)
    assert "no longer in the map" in tree(lab)
    assert "a lookup stops" not in tree(lab)
    assert "out of reach" not in tree(lab)


def test_salts_and_adapters_have_trees_of_their_own() -> None:
    lab = Lab(24, block_size=4, device="none")
    lab.admit("a", "ABCDE")
    lab.admit("b", "ABCDE", salt="s")
    lab.admit("c", "ABCDE", lora=("ad", "path"))
    assert [line.split(": ")[1] for line in tree(lab).splitlines()[1:]] == ["block 1", "block 3, salt s", "block 5, adapter ad"]


def test_tokens_that_are_no_letters_are_numbers() -> None:
    lab = Lab(24, block_size=2, device="none")
    lab.admit("a", tokens=[1, 2, 3, 70_000])
    assert 'tokens 0-3 "1 2 3 70000": blocks 1 2' in tree(lab)


def test_hashes_whose_step_is_not_known_stand_alone() -> None:
    lab = seed_lab(2)
    assert tree_text(lab.journal, lab.state, 0).count("what comes before it is not known") == 4
    assert_survives(tree_html(lab.journal, lab.state, 0))


# --- what must hold ------------------------------------------------------------------------------------------------


@given(labs())
def test_every_block_that_carries_a_hash_is_in_the_tree_once(lab: Lab) -> None:
    runs = runs_of(lab)
    found = [block_id for run in runs for key in run.keys for block_id in lab.state.copies.get(key, ())]
    assert sorted(found) == [block_id for block_id, key in enumerate(lab.state.keys) if key is not None]
    assert all(run.known for run in runs)
    assert all(run.cached == (key in lab.state.copies) for run in runs for key in run.keys)


@given(labs())
def test_a_run_is_one_link_of_the_chain_after_another_and_branches_follow_its_last(lab: Lab) -> None:
    chain = links(lab.journal, lab.state.copies)
    for run in runs_of(lab):
        assert [chain[key].parent for key in run.keys[1:]] == run.keys[:-1]
        assert [chain[key].place for key in run.keys] == list(range(run.place, run.place + len(run.keys)))
        assert {chain[child.keys[0]].parent for child in run.after} <= {run.keys[-1]}
        assert run.after or run.cached, "no branch ends in what is gone"


@given(labs())
def test_links_are_those_of_the_requests_own_hashes(lab: Lab) -> None:
    chain = links(lab.journal, lab.state.copies)
    for request in Transcript.of(lab.journal).requests.values():
        keys = [short_key(block_hash) for block_hash in request.block_hashes]
        size = lab.behaviour.block_size
        for place, key in enumerate(keys):
            if key in chain:
                assert chain[key].parent == (keys[place - 1] if place else None)
                assert list(chain[key].tokens) == request.token_ids[place * size : (place + 1) * size]


@given(labs())
def test_a_tree_survives_a_notebook_that_is_not_trusted(lab: Lab) -> None:
    for k in range(len(lab.journal) + 1):
        assert_survives(tree_html(lab.journal, lab.journal.state_at(k), k))
        assert all(line.isprintable() for line in tree(lab, k).splitlines())


def test_prompts_and_salts_are_escaped() -> None:
    lab = Lab(24, block_size=4, device="none")
    lab.admit("a", "<b>&<i>\x1b\n", salt=HOSTILE)
    lab.admit("b", "<b>&<script>", lora=(HOSTILE.replace("=", ""), "p"))
    assert "<b>&" in assert_survives(tree_html(lab.journal, lab.state)).text
    wide = Lab(24, block_size=12, device="none")
    wide.admit("a", "<script>&<i>\x1b\n!")
    assert_survives(tree_html(wide.journal, wide.state))


# --- sizes ---------------------------------------------------------------------------------------------------------


def test_a_thousand_requests_in_ten_thousand_blocks_are_under_sixty_kilobytes() -> None:
    lab = many_lab()
    assert len(tree_html(lab.journal, lab.state).encode()) < 60_000
    said = tree(lab)
    assert len(said) < 10_000
    assert "more branches with" in said


@pytest.mark.parametrize("length", [300, 1200])
def test_a_prompt_that_forks_at_every_block_is_cut_off_where_it_becomes_deep(length: int) -> None:
    lab = Lab(8000, block_size=1, device="none")
    for k in range(length // 4):
        lab.admit(f"r{k}", tokens=[7] * k + [8, 9])
    assert len(tree_html(lab.journal, lab.state).encode()) < 60_000
    assert "more branch" in tree(lab)


def test_long_runs_are_shown_from_both_ends() -> None:
    lab = Lab(100_000, block_size=4, device="none")
    lab.admit("a", tokens=range(300_000))
    assert "blocks 1-75000" in tree(lab)
    page = assert_survives(tree_html(lab.journal, lab.state))
    assert "… 74,994 more …" in page.text

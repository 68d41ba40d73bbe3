from __future__ import annotations

import re

import pytest
from any_labs import HOSTILE, assert_survives, labs
from helpers import seed_lab
from hypothesis import given

from kvnb import Lab
from kvnb.views.request_tables import groups, requests_html, requests_text, shared


def said(lab: Lab, k: int | None = None) -> list[str]:
    return requests_text(lab.journal, lab.state if k is None else lab.journal.state_at(k)).splitlines()


def joined(lab: Lab) -> list[str]:
    """The tiles that reach over to the line below, top to bottom."""
    return re.findall(r"height:38px[^>]*>(\d+)<", requests_html(lab.journal, lab.state))


def test_the_seeds_requests_share_their_first_blocks() -> None:
    lab = seed_lab()
    assert said(lab, 2) == [
        "r0: 15 tokens, running, block table [1 2 3 4]",
        "r1: 14 tokens, 8 from cache, running, block table [1 2 5 6]",
        "blocks 1 2 shared by r0 and r1",
    ]
    assert said(lab) == [
        "r2: 29 tokens, 12 from cache, running, block table [1 2 3 6 4 7 8 9]",
        "r3: 8 tokens, running, block table [10 5]",
    ]
    assert said(lab, 0) == ["no request"]


def test_a_shared_block_is_one_tile_over_the_lines_of_its_owners() -> None:
    lab = seed_lab(2)
    assert joined(lab) == ["1", "2"]
    lab.admit("r9", "ABCDEFGHIJKLz")
    assert joined(lab) == ["1", "2", "3", "1", "2"], "r9 shares more with r0 and stands next to it"
    assert joined(seed_lab()) == []
    assert "no block is shared" in assert_survives(requests_html(seed_lab().journal, seed_lab().state)).text


def test_chunks_drafts_and_what_is_deferred_are_told() -> None:
    lab = Lab(40, block_size=4, device="none")
    lab.admit("chunked", "ABCDEFGHIJKL", chunk=5)
    lab.admit("drafting", "xyz")
    lab.append("drafting", "w", draft="abc")
    lab.admit("gone", "mnopq")
    lab.preempt("gone")
    lab.admit("waits", "pqrst", defer=True)
    page = assert_survives(requests_html(lab.journal, lab.state))
    for words in ("5 of 12", "3 drafts", "5 not computed", "preempted: holds no block, keeps its tokens"):
        assert words in page.text


def test_long_tables_line_up_where_they_share() -> None:
    lab = Lab(2000, block_size=4, device="none")
    for k in range(3):
        lab.admit(f"r{k}", tokens=[1] * 200 + [k + 9] * (90 * k + 3))
    assert joined(lab) == ["1", "50"] * 2
    assert "blocks 1-50 shared by r0, r1 and r2" in said(lab)


@given(labs())
def test_every_request_is_in_one_group_and_sharers_are_in_the_same(lab: Lab) -> None:
    found = groups(lab.state)
    assert sorted(name for names in found for name in names) == sorted(lab.state.requests)
    for owners in lab.state.owners.values():
        assert sum(not set(owners).isdisjoint(names) for names in found) == 1


@given(labs())
def test_each_shared_block_is_told_once_with_all_its_owners(lab: Lab) -> None:
    told = [(block_id, owners) for ids, owners in shared(lab.state, list(lab.state.requests)) for block_id in ids]
    assert sorted(told) == sorted((block_id, list(owners)) for block_id, owners in lab.state.owners.items() if len(owners) > 1)


@given(labs())
def test_a_table_of_requests_survives_a_notebook_that_is_not_trusted(lab: Lab) -> None:
    for k in range(len(lab.journal) + 1):
        state = lab.journal.state_at(k)
        picture = requests_html(lab.journal, state)
        assert_survives(picture)
        for request in state.requests.values():
            assert all(re.search(rf">{block_id}\b", picture) for block_id in request.table)
        assert all(line.isprintable() for line in said(lab, k))


def test_a_hostile_name_is_text() -> None:
    lab = Lab(24, block_size=4, device="none")
    lab.admit(HOSTILE, "ABCDE")
    lab.admit("b", "ABCDEF")
    assert "\\x1b[31m" in "".join(said(lab))
    assert_survives(requests_html(lab.journal, lab.state))


@pytest.mark.parametrize("alike", [True, False])
def test_a_thousand_requests_in_ten_thousand_blocks_are_under_sixty_kilobytes(alike: bool) -> None:
    lab = Lab(10_000, block_size=16, device="none")
    for k in range(1000):
        lab.admit(f"r{k}", tokens=[0 if alike else k] * 80 + [k] * 60)
    picture = requests_html(lab.journal, lab.state)
    assert len(picture.encode()) < 60_000
    assert re.search(r"… 9\d\d more requests …", assert_survives(picture).text)
    assert len("\n".join(said(lab))) < 20_000

"""What a step's sentence says of the blocks that were given up."""

from __future__ import annotations

from helpers import seed_lab

from kvnb.views.text import sentence


def test_of_two_requests_that_end_together_a_shared_block_counts_once():
    lab = seed_lab(until=2)
    assert sentence(lab.release("r0", "r1").step) == "r0 and r1 finish: 2 block(s) to the front, 4 to the back"


def test_a_block_that_another_request_holds_is_still_in_use():
    lab = seed_lab(until=2)
    assert sentence(lab.release("r0").step) == "r0 finishes: 1 block(s) to the front, 1 to the back, 2 still in use by others"

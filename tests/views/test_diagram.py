from __future__ import annotations

import re
from base64 import b64decode
from xml.etree import ElementTree

import pytest
from any_labs import HOSTILE, assert_survives, labs
from helpers import seed_lab
from hypothesis import given

from kvnb import Lab
from kvnb.core.events import Back, Dropped, Front, Hashed, Hit, Took, Unhashed
from kvnb.views import diagram
from kvnb.views.diagram import diagram_html, diagram_text
from kvnb.views.path import legs
from kvnb.views.theme import contrast


def said(lab: Lab, k: int | None = None) -> list[str]:
    k = len(lab.journal) if k is None else k
    return diagram_text(lab.journal, lab.journal.steps[k - 1] if k else None, lab.journal.state_at(k)).splitlines()


def picture(lab: Lab, k: int | None = None) -> str:
    k = len(lab.journal) if k is None else k
    return diagram_html(lab.journal, lab.journal.steps[k - 1] if k else None, lab.journal.state_at(k))


def drawing(markup: str) -> ElementTree.Element:
    """The image inside, which must be well-formed by itself."""
    return ElementTree.fromstring(b64decode(re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', markup)[0]))


def lit(lab: Lab, k: int | None = None) -> int:
    """How many strokes are lit; two arrows are drawn in two strokes each."""
    return sum(set((path.get("class") or "").split()) >= {"way"} and len((path.get("class") or "").split()) == 2
               for path in drawing(picture(lab, k)).iter("{http://www.w3.org/2000/svg}path"))  # fmt: skip


# --- the seed's walk-through ---------------------------------------------------------------------------------------


def test_the_path_of_each_step_of_the_seed() -> None:
    lab = seed_lab()
    assert said(lab, 0) == ["the new pool", "  no step yet: every block but block 0 is in the free queue"]
    assert said(lab, 2)[1:] == [
        "  1. touch() 1 2: cache hit, ref_cnt + 1",
        "  2. get_new_blocks() 5 6: popped from the FRONT of the free queue",
        "  3. cache_full_blocks() 5: full: it enters the map",
    ]
    assert said(lab, 3)[1:] == [
        "  1. free_blocks() 4 3 2 1: ref_cnt - 1",
        "  2. prepend 4: ref_cnt == 0, no hash: to the FRONT, reused at once",
        "  3. append 3: ref_cnt == 0, has a hash: to the BACK, kept as cache",
        "  4. stays 2 1: ref_cnt still above 0: in use by others",
    ]
    assert said(lab, 5)[1] == "  1. touch() 1-3: cache hit, ref_cnt + 1; plucked from the free queue: 1-3"
    assert said(lab, 6)[1:] == [
        "  1. get_new_blocks() 10 5: popped from the FRONT of the free queue",
        "  2. evict 5: its hash is dropped, now that a new owner needs the space",
        "  3. cache_full_blocks() 10 5: full: they enter the map",
    ]


def test_only_the_path_is_lit_and_its_ids_are_written_on_it() -> None:
    lab = seed_lab()
    assert [lit(lab, k) for k in range(7)] == [0, 2, 3, 6, 5, 3, 3]
    texts = [text.text for text in drawing(picture(lab, 3)).iter("{http://www.w3.org/2000/svg}text")]
    assert {"4 3 2 1", "2 1", "free_block_queue", "cached_block_hash_to_block", "ref_cnt == 0?"} <= set(texts)


def test_the_text_for_those_who_do_not_see_tells_the_path() -> None:
    alt = re.findall(r'alt="([^"]*)"', picture(seed_lab(), 3))[0]
    assert "r0 finishes: 1 block(s) to the front, 1 to the back" in alt
    assert "prepend 4: ref_cnt == 0, no hash: to the FRONT" in alt


# --- every kind of step --------------------------------------------------------------------------------------------


def test_steps_that_take_other_paths() -> None:
    lab = Lab(11, block_size=4, device="none")
    lab.admit("a", "ABCDEFGHI")
    lab.append("a", "JKL")
    assert said(lab)[1:] == ["  1. cache_full_blocks() 3: full: it enters the map"]
    lab.admit("b", "ABCDxyzw1", defer=True)
    lab.step()
    assert said(lab)[1:] == ["  no block moves"]
    lab.preempt("b")
    assert [line.split(":")[0] for line in said(lab)[1:]] == [
        "  1. free_blocks() 5 4 1", "  2. prepend 5", "  3. append 4", "  4. stays 1",
    ]  # fmt: skip
    lab.evict(4)
    assert said(lab)[1:] == ["  1. evict 4: its hash is dropped on command"]
    lab.release(all=True)
    lab.reset()
    assert said(lab)[1:] == ["  1. evict: every hash is dropped, no block moves"]
    lab.undo()
    assert said(lab) == ["undo: back to step 7", "  no arrow is taken: undo puts every block back to where it was"]
    for k in range(len(lab.journal) + 1):
        assert_survives(picture(lab, k))


def test_a_pass_that_failed_takes_back_what_it_had_entered() -> None:
    lab = Lab(11, block_size=4, device="none")
    lab.admit("a", "ABCDEFGHI", fail=True)
    assert [line.split(":")[0].split(". ")[1] for line in said(lab)[1:]] == [
        "get_new_blocks() 1-3", "cache_full_blocks() 1 2", "evict 1 2", "free_blocks() 3 2 1", "prepend 3 2 1",
    ]  # fmt: skip


def test_blocks_that_leave_a_window_are_freed_while_their_request_runs() -> None:
    lab = Lab(11, block_size=4, sliding_window=6, device="none")
    lab.admit("a", "ABCDEFGHIJKLM")
    lab.append("a", "N")
    assert said(lab)[1:] == [
        "  1. free_blocks() 2 1: left the window, ref_cnt - 1",
        "  2. append 2 1: ref_cnt == 0, has a hash: to the BACK, kept as cache",
    ]


def test_the_older_rule_sends_every_block_to_the_back() -> None:
    lab = Lab(11, block_size=4, free_to="back", device="none")
    lab.admit("a", "ABCDE")
    lab.release("a")
    assert said(lab)[-1] == "  2. append 2 1: ref_cnt == 0: to the BACK, reused last"
    assert "always" in [text.text for text in drawing(picture(lab)).iter("{http://www.w3.org/2000/svg}text")]


@given(labs())
def test_the_legs_are_the_steps_events_and_every_freed_block_has_one_exit(lab: Lab) -> None:
    kinds = {"touch": Hit, "get_new_blocks": Took, "evict": Unhashed, "cache_full_blocks": Hashed, "free_blocks": Dropped,
             "back": Back, "front": Front}  # fmt: skip
    for step in lab.journal.steps:
        path = {leg.arrow: set(leg.ids) for leg in legs(step, lab.journal.state_at(step.number))}
        for arrow, kind in kinds.items():
            assert path.get(arrow, set()) == {block_id for event in step.of(kind) for block_id in event.ids}  # type: ignore[call-overload]
        exits = [path.get(arrow, set()) for arrow in ("back", "front", "kept")]
        assert set.union(*exits) == path.get("free_blocks", set())
        assert not exits[2] & (exits[0] | exits[1])


@given(labs())
def test_a_diagram_survives_a_notebook_that_is_not_trusted(lab: Lab) -> None:
    for k in range(len(lab.journal) + 1):
        assert_survives(picture(lab, k))
        drawing(picture(lab, k))
        assert all(line.isprintable() for line in said(lab, k))


def test_hostile_names_are_text_inside_the_image_too() -> None:
    lab = Lab(11, block_size=4, device="none")
    lab.admit(HOSTILE, "ABCDE")
    assert_survives(picture(lab))
    assert all("script" not in element.tag for element in drawing(picture(lab)).iter())


def test_a_diagram_of_a_hundred_thousand_blocks_is_as_small_as_any() -> None:
    lab = Lab(100_000, device="none")
    for k in range(100):
        lab.admit(f"r{k}", tokens=[k] * 5000)
    lab.release(*lab.requests[:50])
    assert len(picture(lab).encode()) < 30_000
    assert max(len(line) for line in said(lab)) < 300


@pytest.mark.parametrize("colours", [diagram._LIGHT, diagram._DARK], ids=["light", "dark"])
def test_text_of_the_diagram_can_be_read_on_its_ground(colours: dict[str, str]) -> None:
    for ground in ("paper", "room", "box"):
        assert all(contrast(colours[name], colours[ground]) >= 4.5 for name in ("ink", "quiet"))
        assert all(contrast(colours[name], colours[ground]) >= 3 for name in ("path", "lost"))
    assert contrast(colours["on"], colours["path"]) >= 4.5
    assert contrast("#000", colours["lost"]) >= 4.5

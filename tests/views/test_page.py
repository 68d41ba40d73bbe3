from __future__ import annotations

from helpers import seed_lab

from kvnb.views import page
from kvnb.views.shown import diff_shown, note_shown, state_shown


def test_what_is_saved_by_a_program_has_no_mark_of_the_kernel() -> None:
    lab = seed_lab()
    for shown in (state_shown(lab), diff_shown(lab, 0, 2)):
        assert shown._repr_mimebundle_()["text/html"] == shown.html


def test_live_pictures_of_one_pool_have_its_mark_and_notes_have_none(live: None) -> None:
    lab = seed_lab()
    mark = f'<div data-kvnb-pool="{page.pool_id(lab.journal)}">'
    for shown in (state_shown(lab), diff_shown(lab, 0, 2)):
        assert shown._repr_mimebundle_()["text/html"] == f"{mark}{shown.html}</div>"
    assert "data-kvnb-pool" not in note_shown("a note")._repr_mimebundle_()["text/html"]


def test_a_step_is_marked_as_its_pool_is(live: None) -> None:
    lab = seed_lab(0)
    result = lab.admit("r0", "ABCDEFGH")
    assert page.pool_id(lab.journal) in result._repr_mimebundle_()["text/html"]

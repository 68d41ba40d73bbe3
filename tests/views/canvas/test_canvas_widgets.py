from __future__ import annotations

import gc
import re
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers import needs, run_python, seed_lab

from kvnb import Lab
from kvnb.views.canvas import blocks_shown, close_all, queue_shown, shown
from kvnb.views.canvas.details import lines
from kvnb.views.canvas.frames import decode, decode_queue
from kvnb.views.tiles import marks_of

needs("anywidget")
from ipywidgets.widgets.widget import _instances  # noqa: E402

from kvnb.views.canvas.widgets import BlockMap, QueueStrip, module  # noqa: E402
from kvnb.views.page import pool_id  # noqa: E402


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    close_all()


def told(widget: Any, monkeypatch: pytest.MonkeyPatch, **content: object) -> list[dict[str, Any]]:
    """What the kernel answers to a message of the page."""
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(widget, "send", lambda message, buffers=None: sent.append(message))
    widget._handle_custom_msg(content, [])
    return sent


def test_fifty_shows_that_are_closed_leave_nothing_alive(live: None) -> None:
    lab = seed_lab()
    before, kept = set(_instances), []
    for _ in range(25):
        for show in (blocks_shown, queue_shown):
            output = show(lab.journal, lab.state, len(lab.journal))
            output._repr_mimebundle_()
            kept.append(weakref.ref(output.widget))
    assert len(set(_instances) - before) <= 2 * shown.MOST
    del output
    close_all()
    gc.collect()
    assert set(_instances) == before
    assert [ref for ref in kept if ref() is not None] == []


def test_an_output_that_is_shown_again_has_one_canvas(live: None) -> None:
    lab = seed_lab()
    output = blocks_shown(lab.journal, lab.state, len(lab.journal))
    first, second = output._repr_mimebundle_(), output._repr_mimebundle_()
    assert first == second
    assert set(first) == {"text/plain", "text/html"}, "no output names a widget: reopened, it would not be found"
    place = re.search(r'^<div data-kvnb-place="(\w{32})">', first["text/html"])
    assert place is not None
    assert output.live().place == place[1]


def test_a_live_output_keeps_its_static_form_inside(live: None) -> None:
    lab = seed_lab()
    output = blocks_shown(lab.journal, lab.state, len(lab.journal))
    assert output.html in output._repr_mimebundle_()["text/html"]


def test_an_update_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = seed_lab(4)
    for kind in (BlockMap, QueueStrip):
        widget, sent = kind(lab.journal, lab.state), []
        monkeypatch.setattr(widget, "_send", lambda message, buffers=None, sent=sent: sent.append(message))
        lab.admit(f"of {kind.__name__}", "Z" * 6)
        widget.show_step()
        assert [message["method"] for message in sent] == ["update"]
        widget.close()


def test_a_strip_tells_who_left_the_queue_since_it_was_drawn_last() -> None:
    lab = seed_lab(4)
    strip = QueueStrip(lab.journal, lab.state)
    assert decode_queue(strip.frame).gone == ()
    lab.admit("r2", "ABCDEFGHIJKLyyyyyyyyyyyyyyyyy")
    strip.show_step()
    queue = decode_queue(strip.frame)
    assert set(queue.gone) == {1, 2, 3, 4, 6, 7, 8, 9}
    assert {i for i in queue.gone if queue.frame.blocks[i].hit} == {1, 2, 3}
    strip.close()


def test_the_page_may_ask_about_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = seed_lab(2)
    widget = BlockMap(lab.journal, lab.state)
    (answer,) = told(widget, monkeypatch, ask=1)
    assert answer["about"] == 1
    assert answer["lines"][0].startswith("hash ")
    assert answer["lines"][1] == "in the table of r0 and r1"
    assert [told(widget, monkeypatch, ask=strange)[0]["lines"] for strange in (-1, 0, 99)] == [[], [], []]
    assert [told(widget, monkeypatch, ask=nonsense) for nonsense in ("5", None, True, 1.5)] == [[], [], [], []]
    widget.close()


def test_what_is_asked_of_a_past_step_is_answered_of_that_step(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = seed_lab(2)
    widget = BlockMap(lab.journal, lab.state)
    lab.release(all=True)
    assert told(widget, monkeypatch, ask=1)[0]["lines"][1] == "in the table of r0 and r1"
    widget.show_step()
    assert "free queue" in told(widget, monkeypatch, ask=1)[0]["lines"][1]
    widget.close()


def test_a_click_is_told_to_listeners(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = seed_lab(2)
    widget, heard = QueueStrip(lab.journal, lab.state), []
    widget.on_select(heard.append)
    told(widget, monkeypatch, select=7)
    told(widget, monkeypatch, select=None)
    assert heard == [7, None]
    assert widget.selected is None
    widget.close()


def test_canvases_of_one_pool_have_its_id_in_common() -> None:
    one, other = seed_lab(1), seed_lab(1)
    assert pool_id(one.journal) == pool_id(one.journal) != pool_id(other.journal)


def test_what_is_told_of_a_block_is_its_hash_its_owners_and_its_place() -> None:
    state = seed_lab(3).state
    assert lines(state, 0) == []
    assert lines(state, 4) == ["no hash", "place 1 of 6 in the free queue"]
    assert lines(state, 3) == [f"hash {state.keys[3]}", "place 6 of 6 in the free queue"]
    assert lines(state, 5)[1] == "in the table of r1"


def test_a_map_of_100_000_blocks_takes_two_bytes_a_block() -> None:
    lab = Lab(100_000, block_size=16, device="none")
    widget = BlockMap(lab.journal, lab.state)
    assert len(widget.frame) == 200_016
    assert decode(widget.frame).num_blocks == 100_000
    widget.close()


def test_the_module_puts_no_text_into_the_page_as_markup() -> None:
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "fetch(",
        "http:",
        "https:",
    ):
        assert word not in module(), word
    # The one thing that is imported is plotly.js, which the kernel sent.
    assert re.findall(r"import\(.*?\)", module()) == ["import(url)"]
    assert "const url = URL.createObjectURL(new Blob([await new Response(bytes).text()]" in module()


def test_each_part_of_the_module_says_what_it_must_not_know_and_is_small() -> None:
    parts = {path.name: path.read_text() for path in (Path(shown.__file__).parent / "js").glob("*.js")}
    assert {name for name, text in parts.items() if text not in module()} == {"loader.js"}
    for name, text in parts.items():
        assert "Must not know:" in text.split("\n\n")[0], name
        assert len(text.splitlines()) <= 200, name
        assert max(map(len, text.splitlines())) <= 130, name


def test_outputs_import_no_widget_library_before_one_is_live() -> None:
    code = "import kvnb.views.canvas, sys; print(sorted({'anywidget', 'ipywidgets', 'IPython'} & set(sys.modules)))"
    assert run_python(code) == "[]"


def test_a_widget_that_is_updated_looks_as_one_that_is_new() -> None:
    lab = seed_lab(1)
    for kind in (BlockMap, QueueStrip):
        old = kind(lab.journal, lab.state)
        for name in ("x", "y", "z"):
            lab.admit(f"{name} {kind.__name__}", "Q" * 4)
        old.show_step()
        new = kind(lab.journal, lab.state, marks_of(lab.journal.steps[-1]))
        assert old.owners == new.owners
        if kind is BlockMap:
            assert decode(old.frame).blocks == decode(new.frame).blocks
        old.close()
        new.close()


def test_a_selection_of_no_block_of_the_pool_is_not_passed_on() -> None:
    lab = seed_lab(1)
    widget, heard = BlockMap(lab.journal, lab.state), []
    widget.on_select(heard.append)
    for chosen in ("x", 11, -1, True, 5, None):
        widget._heard(widget, {"select": chosen}, [])
    assert heard == [5, None]
    widget.close()

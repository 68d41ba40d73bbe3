"""A timeline in all its forms: plotly, an image that needs nothing, text."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from xml.etree import ElementTree

import pytest
from helpers import needs, seed_lab
from journals import history

from kvnb import Lab
from kvnb.errors import UnknownName
from kvnb.journal import Journal
from kvnb.views.figures import NAMES
from kvnb.views.figures.static import blocks_svg, prefill_svg, queue_svg, usage_svg
from kvnb.views.figures.timeline import MIME, timeline_shown

SVG = {"queue": queue_svg, "usage": usage_svg, "blocks": blocks_svg, "prefill": prefill_svg}
NAMED = pytest.mark.parametrize("name", NAMES)


def words(svg: str) -> list[str]:
    """The pieces of text in an image."""
    return [node.text or "" for node in ElementTree.fromstring(svg).iter() if node.tag.endswith("text")]


def busy_lab(blocks: int) -> Lab:
    """Every block is taken and freed again with each two steps."""
    lab = Lab(blocks, block_size=1, device="none")
    for k in range(40):
        lab.admit(f"r{k}", tokens=[100 * k + place for place in range(blocks - 1)])
        lab.release(f"r{k}")
    return lab


@NAMED
def test_a_timeline_has_its_three_forms(name: str) -> None:
    needs("plotly")
    bundle = timeline_shown(seed_lab().journal, name)._repr_mimebundle_()
    assert list(bundle) == ["text/plain", "text/html", MIME]
    assert bundle["text/plain"] == repr(timeline_shown(seed_lab().journal, name))
    assert json.loads(json.dumps(bundle[MIME])) == bundle[MIME]
    assert not bundle[MIME]["config"]["typesetMath"]


def test_without_plotly_the_image_and_the_text_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvnb.views.figures.timeline.find_spec", lambda name: None)
    assert list(timeline_shown(seed_lab().journal)._repr_mimebundle_()) == ["text/plain", "text/html"]


def test_the_text_of_the_queue_is_the_seeds() -> None:
    assert timeline_shown(seed_lab().journal, "queue").text.split("\n") == [
        "free queue (front first, * = cached), steps 0-6",
        "  0  new 11      1 2 3 4 5 6 7 8 9 10",
        "  1  admit r0    5 6 7 8 9 10",
        "  2  admit r1    7 8 9 10",
        "  3  release r0  4 7 8 9 10 3*",
        "  4  release r1  6 4 7 8 9 10 3* 5* 2* 1*",
        "  5  admit r2    10 5*",
        "  6  admit r3    empty",
    ]


def test_the_text_of_usage_is_a_table() -> None:
    head, columns, *rows = timeline_shown(seed_lab().journal, "usage").text.split("\n")
    assert head == "10 of 10 blocks in use, 1 evicted so far; 20 of 66 tokens from cache, steps 0-6"
    assert columns.split("  ")[1] == "step"
    assert rows[-1].split() == ["6", "admit", "r3", "10", "0", "0", "0", "1", "0.30", "=", "20/66"]


def test_the_text_of_blocks_is_a_life_a_line() -> None:
    lines = timeline_shown(seed_lab().journal, "blocks").text.split("\n")
    assert lines[1] == "  block 1: r0 (1), r0 and r1 (2), r1 (3), free and cached (4), r2 (5-6)"
    assert lines[5] == "  block 5: r1 (2-3), free and cached (4-5), r3 (6)"


def test_long_histories_are_shortened_and_say_so() -> None:
    journal = history(5_000, 48, 4)
    for name in NAMES:
        assert "of 5,000" in timeline_shown(journal, name).text
        assert any("of 5,000" in word for word in words(SVG[name](journal)))


@NAMED
@pytest.mark.parametrize("dark", [False, True])
def test_the_image_stands_on_its_own_paper(name: str, dark: bool) -> None:
    root = ElementTree.fromstring(SVG[name](seed_lab().journal, dark=dark))
    paper = next(node for node in root if node.tag.endswith("rect"))
    assert (paper.get("width"), paper.get("height")) == (root.get("width"), root.get("height"))
    assert paper.get("fill") == ("#111" if dark else "#fff")


@NAMED
def test_the_html_is_an_image_that_asks_for_nothing_and_text(name: str) -> None:
    html = timeline_shown(seed_lab().journal, name).html
    (data,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', html)
    assert "admit r0" in words(b64decode(data).decode())
    assert "http" not in html.replace(data, "")
    assert b64decode(data).decode().count("http") == 1  # its own namespace
    assert re.search(r'<img alt="[^"]+"', html)
    assert "<pre" in html
    assert not re.search(r"<(script|style|svg)|var\(", html)


@NAMED
@pytest.mark.parametrize("journal", [history(60, 30, 4), history(5_000, 64, 4), history(3_000, 1_000), busy_lab(64).journal])
def test_the_html_is_small(name: str, journal: Journal) -> None:
    assert len(timeline_shown(journal, name).html) < 64_000


@NAMED
def test_what_a_user_typed_stays_text(name: str) -> None:
    lab = Lab(11, block_size=4, name="<i>p</i>", device="none")
    lab.admit('<b>x"', "ab")
    lab.admit("a\x1b[31m\ud800", "ab")
    shown = timeline_shown(lab.journal, name)
    assert "\x1b" not in shown.text
    assert "<b>" not in shown.html
    said = words(SVG[name](lab.journal))
    assert any('<b>x"' in word for word in said)
    assert not any("\x1b" in word for word in said)


@NAMED
def test_the_same_journal_gives_the_same_bytes(name: str) -> None:
    one, other = (timeline_shown(seed_lab().journal, name)._repr_mimebundle_() for _ in range(2))
    assert one == other


def test_a_timeline_ends_where_it_was_made() -> None:
    needs("plotly")
    lab = seed_lab(3)
    shown = timeline_shown(lab.journal, "usage")
    lab.release("r1")
    assert list(shown.value.data[0].x) == [0, 1, 2, 3]
    assert "release r1" not in shown.text


def test_large_pools_are_pixels() -> None:
    svg = queue_svg(history(3_000, 1_000))
    (data,) = re.findall(r'href="data:image/png;base64,([^"]+)"', svg)
    assert b64decode(data).startswith(b"\x89PNG\r\n\x1a\n")


def test_there_are_four_timelines() -> None:
    with pytest.raises(UnknownName, match="no timeline 'tables': there are queue, usage, blocks, prefill"):
        timeline_shown(seed_lab().journal, "tables")


@NAMED
def test_the_smallest_pools_can_be_shown(name: str) -> None:
    for num_blocks in (1, 2, 11):
        assert timeline_shown(Lab(num_blocks, device="none").journal, name).text


def test_text_does_not_depend_on_the_page_where_the_page_has_no_colour() -> None:
    needs("plotly")
    sent = json.dumps(timeline_shown(seed_lab().journal)._repr_mimebundle_()[MIME])
    assert set(re.findall(r"--jp-ui-font-color\d,([^)]*)\)", sent)) == {"#767676"}

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from helpers import ROOT
from hostile import EVERYTHING, MARKUP
from hypothesis import example, given
from hypothesis import strategies as st

from kvnb.export.clean import TAGS, clean

PIECES = st.sampled_from(
    [
        "<",
        ">",
        "</",
        "/>",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<?",
        "'",
        '"',
        "=",
        " ",
        "\n",
        "\0",
        "&lt;",
        "&#60;",
        "&",
        "x",
        "é",
        "\\",
        "script",
        "style",
        "svg",
        "math",
        "title",
        "textarea",
        "template",
        "noscript",
        "iframe",
        "img",
        "a",
        "div",
        "table",
        "td",
        "p",
        "h2",
        "<script>",
        "</script>",
        "<style>",
        "</style>",
        "<svg>",
        "</svg>",
        "<a href='",
        "<img src='",
        "<div style='",
        "<p title='",
        "javascript:",
        "java\tscript:",
        "data:text/html,",
        "data:image/png;base64,AA==",
        "http://far/",
        "//far/",
        "onerror=",
        "onload=x",
        "background:",
        "url(",
        "u\\72l(",
        "position:fixed",
        "color:red",
        ";",
        "class='kv-head",
        "id='",
        "<plaintext>",
        "<xmp>",
        "</p>",
        "</div>",
    ]
)


class Seen(HTMLParser):
    """What a reader of the cleaned text finds; open tags are closed in their order."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.odd: list[str] = []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in ("br", "col", "hr", "img", "wbr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.odd.append(tag)

    def handle_comment(self, data: str) -> None:
        self.odd.append(data)

    def handle_decl(self, decl: str) -> None:
        self.odd.append(decl)

    def unknown_decl(self, data: str) -> None:
        self.odd.append(data)

    def handle_pi(self, data: str) -> None:
        self.odd.append(data)


@given(st.lists(PIECES, max_size=30).map("".join))
@example(EVERYTHING)
def test_whatever_goes_in_only_harmless_tags_come_out_and_every_one_is_closed(markup: str) -> None:
    cleaned = clean(markup)
    seen = Seen(cleaned)
    assert set(seen.tags) <= TAGS
    assert seen.open == seen.odd == []
    for name, value in seen.attributes:
        assert not name.startswith("on")
        assert name not in ("src", "href", "style") or not re.search(r"script:|url\(|position|\\", value, re.IGNORECASE)
        assert name != "src" or value.startswith("data:image/")
        assert name != "class" or "kv-" not in value
        assert name != "id" or value.startswith("h-")
    assert clean(cleaned) == cleaned.replace('href="#h-', 'href="#h-h-').replace(' id="h-', ' id="h-h-')


@pytest.mark.parametrize("markup", MARKUP)
def test_what_runs_or_loads_leaves_nothing_behind(markup: str) -> None:
    seen = Seen(clean(markup))
    assert [value for name, value in seen.attributes if "far" in value or "kvnbRan" in value] == []
    assert seen.odd == []


@pytest.mark.parametrize(
    ("markup", "cleaned"),
    [
        ("</div></main><b>x", "<b>x</b>"),
        ("<b><i>x</b>y", "<b><i>x</i></b>y"),
        ("<a href='java\tscript:x'>x</a><a href=' #y'>y</a>", '<a>x</a><a href="#h-y" rel="noopener noreferrer">y</a>'),
        ("<a href='https://vllm.ai?a&amp;b'>x</a>", '<a href="https://vllm.ai?a&amp;b" rel="noopener noreferrer">x</a>'),
        ("<a href='02.ipynb'>x</a><a href='//far'>y</a>", '<a href="02.ipynb" rel="noopener noreferrer">x</a><a>y</a>'),
        ("<img src='x.png' alt='a &lt;b'>", "<em>[image: a &lt;b]</em>"),
        ("<p style='color:red;position:fixed;background:url(x);width:1px'>x", '<p style="color:red;width:1px">x</p>'),
        ("<h2 id='a b' class='kv-head c'>x</h2>", '<h2 class="c" id="h-a b">x</h2>'),
        ("a<script>b</script>c<style>d</style>e<unknown>f</unknown>", "acef"),
        ("1 < 2 &amp; 3 > 2", "1 &lt; 2 &amp; 3 &gt; 2"),
    ],
)
def test_the_harmless_rest_stays(markup: str, cleaned: str) -> None:
    assert clean(markup) == cleaned


def test_images_come_from_whoever_gives_them() -> None:
    given = {"here.png": "data:image/png;base64,AA==", "odd.png": "http://far/x.png"}
    assert clean("<img src='here.png' alt='a'>", given.get) == '<img alt="a" src="data:image/png;base64,AA==">'
    assert clean("<img src='odd.png'>", given.get) == "<em>[image: odd.png]</em>"


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_what_kvnb_itself_draws_stays_as_it_is(path: Path) -> None:
    cells = json.loads(path.read_text())["cells"]
    drawn = ["".join(o.get("data", {}).get("text/html", "")) for cell in cells for o in cell.get("outputs", [])]
    drawn = [markup for markup in drawn if markup and "dataframe" not in markup]
    assert len(drawn) > 10
    for markup in drawn:
        assert _parts(clean(markup)) == _parts(markup)


def _parts(markup: str) -> list[tuple[str, ...]]:
    seen = Seen(markup)
    return [*((tag,) for tag in seen.tags), *sorted((name, value.rstrip(";")) for name, value in seen.attributes)]

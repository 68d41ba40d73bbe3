"""HTML that others wrote, made harmless: a few tags and attributes stay, everything else goes.

What comes out is written anew from tags and text, every tag closed, so that no browser reads it otherwise than it was read
here; nothing in it runs, loads anything, or leaves its place on the page. The page's policy forbids the same once more.

Must not know: what the HTML shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import escape
from html.parser import HTMLParser


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TAGS = _words(
    "a abbr b blockquote br caption code col colgroup dd del details div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr i img "
    "ins kbd li mark ol p pre q s samp small span strong sub summary sup table tbody td tfoot th thead tr tt u ul var wbr"
)
_VOID = _words("br col hr img wbr")
_WITH_CONTENT = _words(
    "applet audio button canvas embed frameset head iframe math noembed noframes noscript object option plaintext script select "
    "style svg template textarea title video xmp"
)
"""Tags that go with all that is in them."""
_ATTRIBUTES = {
    "img": ("alt", "width", "height"), "td": ("colspan", "rowspan"), "th": ("colspan", "rowspan", "scope"),
    "ol": ("start",), "details": ("open",), "col": ("span",), "colgroup": ("span",),
}  # fmt: skip
_EVERYWHERE = ("title",)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_LINKS = ("http:", "https:", "mailto:")
_IMAGE = re.compile(r"data:image/(png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=\s]*\Z")
_CLASS = re.compile(r"(?!kv-)[A-Za-z][\w-]{0,40}\Z")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")

_PROPERTY = re.compile(
    r"(align-items|background(-color|-image|-size|-position|-repeat)?|border(-\w+)*|box-(shadow|sizing)|clear|color|column-gap|"
    r"display|flex(-\w+)?|float|font(-\w+)*|gap|grid(-\w+)*|height|justify-(content|items)|letter-spacing|line-height|"
    r"list-style(-type)?|margin(-\w+)?|max-(height|width)|min-(height|width)|opacity|outline(-\w+)?|overflow(-[xy]|-wrap)?|"
    r"padding(-\w+)?|row-gap|tab-size|text-(align|decoration|indent|overflow|transform)|vertical-align|white-space|width|"
    r"word-break)\Z"
)
_VALUE = re.compile(r"[\w\s#%.,()+\-*/!'\"]*\Z")
_FETCHES = re.compile(r"(url|image|image-set|cross-fade|element|paint|attr|env|src)\s*\(|-\s*(image|set)\s*\(", re.IGNORECASE)

Images = Callable[[str], str | None]
"""Gives for the source of an image that is not in the page what may stand there: a ``data:`` address, or None."""


def no_images(source: str) -> str | None:
    """None is given."""
    return None


def clean(markup: str, images: Images = no_images) -> str:
    """The same as far as it is harmless; see the head of this module."""
    cleaner = _Cleaner(images)
    cleaner.feed(markup)
    cleaner.close()
    return cleaner.finished()


def anchor(name: str) -> str:
    """The id that a heading gets of the id it had, and of which no other element of a page has one."""
    return f"h-{name}"


class _Cleaner(HTMLParser):
    def __init__(self, images: Images) -> None:
        super().__init__()
        self._images = images
        self._parts: list[str] = []
        self._open: list[str] = []
        self._gone: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _WITH_CONTENT:
            self._gone.append(tag)
        if self._gone or tag not in TAGS:
            return
        given = {name: value or "" for name, value in reversed(attrs)}
        if tag == "img":
            self._image(given)
            return
        self._parts.append(f"<{tag}{''.join(_attributes(tag, given))}>")
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # A browser reads <div/> as <div>; what never has an end cannot be gone with its content.
        if tag not in _WITH_CONTENT:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._gone:
            del self._gone[self._gone.index(tag) :]
        elif not self._gone and tag in self._open:
            while self._close_last() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if not self._gone:
            self._parts.append(escape(data).replace("\0", ""))

    def finished(self) -> str:
        """All of it, with every tag closed."""
        while self._open:
            self._close_last()
        return "".join(self._parts)

    def _close_last(self) -> str:
        tag = self._open.pop()
        self._parts.append(f"</{tag}>")
        return tag

    def _image(self, given: dict[str, str]) -> None:
        source = given.get("src", "").strip()
        found = source if _IMAGE.match(source) else self._images(source)
        if found is None or not _IMAGE.match(found):
            says = given.get("alt") or source[:80]
            self._parts.append(f"<em>{escape(f'[image: {says}]')}</em>")
            return
        self._parts.append(f'<img{"".join(_attributes("img", given))} src="{escape(found)}">')


def _attributes(tag: str, given: dict[str, str]) -> Iterator[str]:
    for name in (*_ATTRIBUTES.get(tag, ()), *_EVERYWHERE):
        if name in given:
            yield f' {name}="{escape(given[name])}"'
    classes = " ".join(name for name in given.get("class", "").split() if _CLASS.match(name))
    if classes:
        yield f' class="{classes}"'
    if tag in _HEADINGS and given.get("id"):
        yield f' id="{escape(anchor(given["id"]))}"'
    if tag == "a" and (link := _link(given.get("href", ""))):
        yield f' href="{escape(link)}" rel="noopener noreferrer"'
    if style := ";".join(_declarations(given.get("style", ""))):
        yield f' style="{escape(style)}"'


def _link(href: str) -> str:
    # Browsers drop control characters and blanks before they look for a scheme: `java\tscript:` is one.
    href = "".join(letter for letter in href if letter > " " and letter.isprintable())
    if href.startswith("#"):
        return f"#{anchor(href[1:])}"
    if _SCHEME.match(href):
        return href if href.lower().startswith(_LINKS) else ""
    return "" if href.startswith(("//", "\\", "/\\")) or ":" in href.split("/")[0] else href


def _declarations(style: str) -> Iterator[str]:
    for declaration in style.split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if _PROPERTY.match(name) and value and _VALUE.match(value) and not _FETCHES.search(value):
            yield f"{name}:{value}"

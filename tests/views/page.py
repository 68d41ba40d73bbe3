"""A picture taken apart: what tests of the HTML views look at."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from kvnb import Lab
from kvnb.views import html


class Page(HTMLParser):
    """The elements of a picture, each with its style, and the text between them."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.text = ""
        self.feed(markup)
        self.close()
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        style = dict(attrs).get("style") or ""
        self.elements.append((tag, dict(part.split(":", 1) for part in style.split(";") if part)))
        self.attributes |= {name for name, _ in attrs}
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def step_card(lab: Lab, number: int = 0) -> str:
    number = number or len(lab.journal)
    return html.step_html(lab.journal, lab.journal.steps[number - 1], lab.journal.state_at(number))


def pool_row(name: str) -> dict[str, Any]:
    return {"name": name, "blocks": 11, "block_size": 4, "step": 6, "usage": 0.8, "log": f"{name}.jsonl"}

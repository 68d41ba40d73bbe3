"""The pages of the repository: README, CONTRIBUTING, CHANGELOG, what lies in ``docs``, and the one about Binder."""

from __future__ import annotations

import re
from pathlib import Path

from helpers import ROOT

DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = [README, *sorted(ROOT.glob("C*.md")), *sorted(DOCS.glob("*.md")), ROOT / "binder" / "README.md"]
_FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def text_of(page: Path) -> str:
    """What is written on a page."""
    return page.read_text(encoding="utf-8")


def prose_of(page: Path) -> str:
    """What is written on a page outside its blocks of code."""
    return _FENCE.sub("", text_of(page))


def anchors_of(page: Path) -> set[str]:
    """What can stand behind ``#`` in a link to a page: its headings, as GitHub writes them."""
    headings = re.findall(r"^#+ (.+)$", prose_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}

"""The pages of the repository: README, CONTRIBUTING, CHANGELOG, what lies in ``docs``, and the one about Binder."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

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


def script(path: Path) -> ModuleType:
    """A script of the repository, as a module."""
    spec = importlib.util.spec_from_file_location(f"script_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

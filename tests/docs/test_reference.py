"""The reference: it is built from the docstrings without a warning, has every module, and its pages open offline."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from doc_pages import DOCS
from helpers import ROOT, needs

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="the Sphinx that it is built with needs Python 3.11")

REFERENCE = DOCS / "reference"
FETCHED = re.compile(
    r"""<(?:link|script|img|iframe|source)\b[^>]*(?:href|src|srcset)="(?:https?:)?//|url\(\s*["']?(?:https?:)?//|@import\b"""
)
WRONG = {
    ":py:obj:`kvnb.Lab.no_such_method`": "py:obj reference target not found: kvnb.Lab.no_such_method",
    "*no end": "Inline emphasis start-string without end-string.",
    ".. autoclass:: kvnb.NoSuchClass": "failed to import 'NoSuchClass'",
}
"""What a docstring may not have, and what is said of it."""


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Python in a process of its own: building changes what annotations say."""
    return subprocess.run([sys.executable, *map(str, words)], cwd=ROOT, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs("sphinx")
    needs("furo")
    out = tmp_path_factory.mktemp("reference")
    done = run(REFERENCE / "build.py", out)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == str(out / "index.html")
    return out


@pytest.mark.slow
def test_every_module_of_kvnb_is_in_the_reference(pages: Path) -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in pages.glob("*.html"))
    for path in (ROOT / "kvnb").rglob("*.py"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        assert name in ("kvnb", "kvnb.__main__") or f'id="module-{name}"' in text, name


@pytest.mark.slow
def test_what_users_hold_stands_first_and_with_all_that_it_has(pages: Path) -> None:
    first = (pages / "index.html").read_text(encoding="utf-8")
    assert first.index('href="lab.html"') < first.index('href="kvnb.core.html"')
    lab = (pages / "lab.html").read_text(encoding="utf-8")
    for name in ("admit", "free_queue", "fork", "load", "prove"):
        assert f'id="kvnb.Lab.{name}"' in lab
        assert f'href="#kvnb.Lab.{name}"' in lab


@pytest.mark.slow
def test_no_page_fetches_anything_from_another_host(pages: Path) -> None:
    files = [path for path in pages.rglob("*") if path.suffix in (".html", ".css")]
    assert len(files) > 30
    for path in files:
        found = FETCHED.search(path.read_text(encoding="utf-8"))
        assert found is None, (path, found)


@pytest.mark.slow
def test_no_page_tells_where_it_was_built(pages: Path) -> None:
    for path in pages.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert str(ROOT) not in text, path
        assert not re.search(r"\bat 0x[0-9a-f]{6}", text), path


@pytest.mark.slow
def test_a_name_that_is_not_there_and_unsound_markup_are_errors(tmp_path: Path) -> None:
    needs("sphinx")
    shutil.copy(REFERENCE / "conf.py", tmp_path)
    (tmp_path / "index.rst").write_text("\n\n".join(["Title\n=====", *WRONG]), encoding="utf-8")
    done = run("-m", "sphinx", "-b", "dummy", "-W", "--keep-going", "-q", "-D", "html_static_path=", tmp_path, tmp_path / "out")
    assert done.returncode != 0
    for says in WRONG.values():
        assert says in done.stderr

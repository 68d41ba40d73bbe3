"""Reports and pool pages in Chromium, opened as files: they draw, say nothing to the console, ask nobody, run nothing of others.

Screenshots are left in ``build/screenshots``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT, needs

from kvnb.export import export
from kvnb.export.report import report
from kvnb.journal.verification import verify_file
from kvnb.lab import Lab

sys.path.insert(0, str(ROOT / "tests" / "export"))

from hostile import RAN, hostile_lab, hostile_notebook

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PICTURES = ROOT / "build" / "screenshots"
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
DRAW_ALL = """async () => {
  for (const place of document.querySelectorAll('.kv-plot')) {
    place.parentElement.scrollIntoView();
    while (!place.parentElement.classList.contains('kv-drawn')) await new Promise((done) => setTimeout(done, 20));
  }
  scrollTo(0, 0);
  return document.querySelectorAll('.kv-drawn').length;
}"""
ON_PAGE = """() => [...document.querySelectorAll(':not(.modebar *)')].flatMap((element) => [
  ...[...element.attributes].filter(({ name }) => name.startsWith('on')).map(({ name }) => name),
  ...(/^(script|iframe|object|embed|base|link|form|input|button|template)$/i.test(element.tagName) ? [element.tagName] : []),
  ...(/^\\s*javascript:/i.test(element.getAttribute('href') ?? '') ? ['javascript:'] : []),
])"""


@contextmanager
def opened(browser: Any, path: Path, scheme: str = "light", width: int = 1280) -> Iterator[Any]:
    """The page of a file; what its console says, or what it asks of anybody, fails the test."""
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 1000})
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    yield page
    context.close()
    assert said == []
    assert [url for url in asked if not url.startswith((path.as_uri(), "data:", "blob:"))] == []


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    needs("nbconvert")
    folder = tmp_path_factory.mktemp("reports")
    PICTURES.mkdir(parents=True, exist_ok=True)
    return {path.stem: report(path, folder / f"{path.stem}.html") for path in NOTEBOOKS}


@pytest.mark.parametrize("name", [path.stem for path in NOTEBOOKS])
def test_the_report_of_each_notebook_opens_offline_and_verifies(browser: Any, reports: dict[str, Path], name: str) -> None:
    with opened(browser, reports[name]) as page:
        figures = page.evaluate(DRAW_ALL)
        assert figures == reports[name].read_text().count('class="kv-plot"')
        if figures:
            assert page.locator(".kv-plot .main-svg").first.is_visible()
            assert not page.locator(".kv-still").first.is_visible(), "the still form is for paper"
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
        for scheme, paper in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(18, 20, 23)")):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == paper
            page.screenshot(path=PICTURES / f"report-{name}-{scheme}.png")
    assert verify_file(reports[name]).holds


def test_a_figure_of_a_report_answers_to_the_pointer(browser: Any, reports: dict[str, Path]) -> None:
    shown = "() => document.querySelector('.kv-plot')._fullLayout.xaxis.range"
    with opened(browser, reports["03-watch"]) as page:
        page.evaluate(DRAW_ALL)
        plot = page.locator(".kv-plot").first
        plot.scroll_into_view_if_needed()
        plot.hover()
        before = page.evaluate(shown)
        plot.locator(".modebar-btn[data-title='Zoom in']").click()
        page.wait_for_function(f"before => ({shown})()[1] < before[1]", arg=before)


def test_a_report_in_a_small_window_or_on_paper_has_everything_in_it(browser: Any, reports: dict[str, Path]) -> None:
    with opened(browser, reports["03-watch"], "dark", 420) as page:
        page.evaluate(DRAW_ALL)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.screenshot(path=PICTURES / "report-narrow-dark.png")
        page.emulate_media(media="print")
        assert page.locator(".kv-still").first.is_visible()
        assert not page.locator(".kv-plot").first.is_visible()
        assert page.evaluate("getComputedStyle(document.body).color") == "rgb(28, 30, 34)", "ink on paper, whatever the screen is"


@pytest.fixture(scope="module", params=["report", "pool"])
def hostile(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs("nbconvert")
    folder = tmp_path_factory.mktemp("hostile")
    if request.param == "pool":
        return export(hostile_lab(), folder / "hostile.html")
    (folder / "hostile.ipynb").write_text(json.dumps(hostile_notebook()))
    return report(folder / "hostile.ipynb", folder / "hostile.html")


def test_nothing_that_others_wrote_runs_or_loads_in_a_page(browser: Any, hostile: Path) -> None:
    with opened(browser, hostile) as page:
        assert page.evaluate(DRAW_ALL) >= 1
        found = page.evaluate(ON_PAGE)
        # Two scripts of ours, the figures, the record.
        assert sorted(found) == ["SCRIPT"] * 4
        page.evaluate(
            "document.querySelectorAll('a:not([href^=http])').forEach((link) => link.dispatchEvent(new MouseEvent('click')))"
        )
        page.keyboard.press("Tab")
        page.wait_for_timeout(300)
        assert page.evaluate("window.kvnbRan") is None
        assert page.url.startswith(hostile.as_uri())
        covered = "() => [...document.querySelectorAll('main *')].filter((e) => getComputedStyle(e).position === 'fixed').length"
        assert page.evaluate(covered) == 0
        assert page.locator("header h1").count() == 1


def test_a_page_whose_cleaning_failed_would_still_run_nothing(browser: Any, tmp_path: Path) -> None:
    page_of = export(hostile_lab(), tmp_path / "page.html")
    broken = page_of.read_text().replace("<main>", f"<main><script>{RAN}</script><img src=x onerror='{RAN}'>", 1)
    page_of.write_text(broken)
    context = browser.new_context()
    page = context.new_page()
    page.goto(page_of.as_uri())
    page.wait_for_timeout(300)
    assert page.evaluate("window.kvnbRan") is None
    context.close()


def test_the_page_of_a_pool_draws_its_history_and_verifies(browser: Any, tmp_path: Path) -> None:
    lab = Lab.load(ROOT / "notebooks" / "pictures" / "watch.jsonl", copy=True, device="none")
    path = export(lab, tmp_path / "pool.html")
    with opened(browser, path) as page:
        assert page.evaluate(DRAW_ALL) == 4
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=PICTURES / f"pool-page-{scheme}.png")
    verification = verify_file(path)
    assert verification.holds
    assert verification.journals[0].journal.digest == lab.digest

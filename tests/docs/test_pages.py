"""What the pages say is there: links, files, settings, lines of Python."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from doc_pages import DOCS, PAGES, README, anchors_of, prose_of, text_of
from helpers import ROOT
from traitlets import Bool, Enum, Int, TraitType

from kvnb import Lab
from kvnb.commands.table import VERBS
from kvnb.magics.kvpool import KVPool

EVERY_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
LINK = re.compile(r"\]\(([^)\s]+)\)")
NAMED = re.compile(r"`((?:kvnb|tests|notebooks|docs|binder)/[\w./-]*)`")


@EVERY_PAGE
def test_every_link_inside_the_repository_leads_somewhere(page: Path) -> None:
    for link in LINK.findall(prose_of(page)):
        if not link.startswith("https://"):
            file, _, anchor = link.partition("#")
            target = page.parent / file if file else page
            assert target.exists(), link
            assert not anchor or anchor in anchors_of(target), link


@EVERY_PAGE
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    for name in NAMED.findall(text_of(page)):
        assert (ROOT / name).exists() or name.endswith(".html"), name  # a page is made by who reads on


@EVERY_PAGE
def test_every_command_that_a_page_shows_is_a_verb_with_these_options(page: Path) -> None:
    for line in re.findall(r"^%kvpool (.+?)(?:  |$)", text_of(page), re.MULTILINE):
        name, *words = shlex.split(line)
        assert {word for word in words if word.startswith("--")} <= VERBS[name].options.keys(), line


@EVERY_PAGE
def test_every_script_that_a_page_runs_is_there(page: Path) -> None:
    for name in re.findall(r"python3? ([\w/]+\.py)", text_of(page)):
        assert (ROOT / name).is_file(), name
    for name in re.findall(r"pytest [^`\n]*?(tests/[\w/.]+)", text_of(page)):
        assert (ROOT / name).exists(), name


@EVERY_PAGE
def test_a_page_has_one_title_and_lines_that_can_be_read_as_text(page: Path) -> None:
    assert len(re.findall(r"^# .+$", prose_of(page), re.MULTILINE)) == 1
    for line in prose_of(page).splitlines():
        assert len(line) <= 130 or line.lstrip().startswith(("|", "<", "[![")), line


def test_the_front_page_stays_one() -> None:
    assert len(text_of(README).splitlines()) <= 200


def test_every_page_can_be_reached_from_the_front_page() -> None:
    reached, left = set(), [README]
    while left:
        page = left.pop()
        if page not in reached:
            reached.add(page)
            linked = [(page.parent / link.partition("#")[0]).resolve() for link in LINK.findall(prose_of(page))]
            left += [target for target in linked if target.suffix == ".md"]
    assert reached == set(PAGES)


def test_the_badge_opens_the_first_notebook() -> None:
    (opened,) = re.findall(r"https://mybinder\.org/v2/gh/kvnb/kvnb/HEAD\?urlpath=lab/tree/([^)\s]+)", text_of(README))
    assert (ROOT / opened).is_file()
    assert f"/lab/tree/{opened}" in text_of(README).split("<!-- lab command -->")[1]


def test_the_lines_of_python_on_the_front_page_give_what_they_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"^```python\n(.*?)^```", text_of(README), re.DOTALL | re.MULTILINE)
    names: dict[str, object] = {}
    for line in block.splitlines():
        code, _, says = line.partition("#")
        if says.lstrip().startswith("("):
            assert eval(code, names) == eval(says, names), line
        else:
            exec(code, names)
    assert isinstance(names["lab"], Lab)
    assert Lab.load(tmp_path / "run.jsonl", copy=True).verify().holds


def test_the_marks_of_tests_are_explained_as_pytest_has_them() -> None:
    block = text_of(ROOT / "pyproject.toml").split("\nmarkers = [\n")[1].split("\n]")[0]
    marks = dict(re.findall(r'"(\w+): (.*)"', block))
    table = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", text_of(ROOT / "CONTRIBUTING.md"), re.MULTILINE))
    assert marks.keys() == table.keys()
    for name, says in marks.items():
        assert table[name].startswith(says.partition(",")[0]), name


def test_the_page_of_settings_lists_what_config_can_set() -> None:
    block = text_of(DOCS / "settings.md").split("<!-- settings -->\n")[1].split("\n<!-- /settings -->")[0]
    # As they are written in the class: first what a pool does, then its memory.
    traits = {name: trait for name, trait in vars(KVPool).items() if isinstance(trait, TraitType)}
    assert set(traits) == set(KVPool.class_traits(config=True))
    rows = ["| setting | at first | can be | what it says |", "|---|---|---|---|"]
    rows += [f"| `KVPool.{name}` | `{t.default_value!r}` | {can_be(t)} | {t.help} |" for name, t in traits.items()]
    assert block == "\n".join(rows)


def can_be(trait: TraitType) -> str:
    """The values that a setting takes, in words."""
    if isinstance(trait, Bool):
        return "`True`, `False`"
    if isinstance(trait, Enum):
        return ", ".join(f"`{value!r}`" for value in trait.values)
    kind = f"{trait.min} or more" if isinstance(trait, Int) else "a text"
    return f"{kind}, `None`" if trait.allow_none else kind

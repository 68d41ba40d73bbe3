"""The moving picture and the still one: the journal they are made from, what is taken of it, and that the files are of it."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path

import pytest
from helpers import ROOT, script
from notebook_files import NOTEBOOKS

from kvnb import Lab
from kvnb.commands import run_line
from kvnb.core.events import Hit, Unhashed
from kvnb.journal import State
from kvnb.manager.events import Ended
from kvnb.session import Session

make = script(NOTEBOOKS / "pictures" / "make.py")
cells = script(NOTEBOOKS / "pictures" / "cells.py")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MADE = json.loads(make.RECORD.read_text(encoding="utf-8"))
LARGEST = {".png": 600_000, ".webp": 1_500_000}


@pytest.fixture(scope="module")
def story() -> Lab:
    return Lab.load(make.JOURNAL, copy=True)


def test_the_story_verifies_and_is_short(story: Lab):
    assert story.verify().holds
    assert story.worker is None
    assert 20 <= len(story.journal) <= 30
    assert make.JOURNAL.stat().st_size < 10_000


def test_all_that_can_happen_to_a_block_happens_in_the_story(story: Lab):
    counters, steps = story.state.counters, story.journal.steps
    assert counters.hits
    assert counters.evicted_blocks
    assert counters.preempted_hits
    assert sum(len(step.of(Ended)) for step in steps) >= 3
    assert any(held_by(story.journal.state_at(step.number), 3) for step in steps)


def test_what_the_page_about_the_dashboard_tells_of_the_story_is_so(story: Lab):
    assert held_by(story.journal.state_at(4), 3) == {1, 2, 3}
    assert plucked(story, 9) == {4, 5, 6}
    assert story.journal.steps[11].command.verb == "preempt"
    assert len(story.journal.state_at(11).requests["dan"].table) == 5
    assert plucked(story, 15) == {7, 16, 17, 18}


def test_the_still_picture_has_blocks_just_shared_and_one_just_evicted(story: Lab):
    step = story.journal.steps[make.STILL - 1]
    assert MADE["still"] == make.STILL
    assert step.of(Hit)
    assert [len(event.ids) for event in step.of(Unhashed)] == [1]
    assert held_by(story.journal.state_at(make.STILL), 2)


def test_the_animation_goes_through_every_step_and_takes_ten_to_fifteen_seconds(story: Lab):
    frames = make.frames(len(story.journal))
    steps = [frame.step for frame in frames]
    assert steps == sorted(steps)
    assert set(steps) == set(range(len(story.journal) + 1))
    assert 10_000 <= sum(frame.shown for frame in frames) <= 15_000
    assert all(frame.shown >= 20 for frame in frames)
    last = {frame.step: frame.after for frame in frames}
    assert set(last.values()) == {make.SETTLED}


def test_the_files_are_of_this_journal_and_as_the_script_left_them(story: Lab):
    assert MADE["journal"] == story.digest, "make them again: python notebooks/pictures/make.py"
    for name, digest in MADE["files"].items():
        assert sha256((make.HERE / name).read_bytes()).hexdigest() == digest, name


def test_the_picture_of_the_tour_is_of_the_lines_in_readme():
    assert MADE["tour"] == cells.lines(), "make it again: python notebooks/pictures/cells.py"
    assert [cells.lines()[place].split()[2] for place in cells.shown(cells.lines())] == ["r2", "r3"]


def test_what_the_picture_of_the_tour_shows_is_what_the_commands_say():
    session = Session()
    results = [run_line(session, line.removeprefix("%kvpool "), str).result for line in cells.lines()[1:]]
    (alt,) = re.findall(r'tour-light\.png" alt="([^"]*)"', PAGES[0].read_text(encoding="utf-8"))
    for place in cells.shown(cells.lines()):
        result = results[place - 1]
        assert repr(result).splitlines()[0] in alt
        assert f"block table is {' '.join(map(str, result.block_table))}" in alt


def test_the_pages_show_each_of_them_and_no_other():
    shown = {name for page in PAGES for name in re.findall(r"pictures/([\w-]+\.(?:png|webp))", page.read_text(encoding="utf-8"))}
    assert shown == set(MADE["files"])


def test_they_are_small():
    for name in MADE["files"]:
        path = make.HERE / name
        assert path.stat().st_size <= LARGEST[path.suffix], name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_picture_has_a_dark_form_and_words_for_those_who_do_not_see_it(page: Path):
    text = page.read_text(encoding="utf-8")
    pictures = re.findall(r"<picture>.*?</picture>", text, re.DOTALL)
    assert len(pictures) == text.count("<img ")
    for picture in pictures:
        light, dark = (
            re.search(rf'{attribute}="([^"]*/\w+)-{theme}(\.\w+)"', picture)
            for attribute, theme in (("src", "light"), ("srcset", "dark"))
        )
        assert light
        assert dark
        assert light.groups() == dark.groups()
        for theme in make.THEMES:
            assert (page.parent / f"{light[1]}-{theme}{light[2]}").is_file()
        assert "(prefers-color-scheme: dark)" in picture
        assert len(re.findall(r'alt="([^"]{60,})"', picture)) == 1


def held_by(state: State, owners: int) -> set[int]:
    """The blocks that so many requests hold."""
    return {block_id for block_id, count in enumerate(state.ref_cnt) if block_id and count == owners}


def plucked(story: Lab, step: int) -> set[int]:
    """The blocks that a step found in the free queue."""
    free = set(story.journal.state_at(step - 1).queue)
    return {block_id for event in story.journal.steps[step - 1].of(Hit) for block_id in event.ids} & free

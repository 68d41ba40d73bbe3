"""The picture of the house is of this house: its layers, its rooms, what they say and import, and the ways through them."""

from __future__ import annotations

import re
import sys
from types import ModuleType
from xml.etree import ElementTree

import pytest
from doc_pages import README, text_of
from helpers import ROOT, script

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="the script reads pyproject.toml with tomllib")

SCRIPT = ROOT / "notebooks" / "pictures" / "layers.py"
THEMES = ("light", "dark")


@pytest.fixture(scope="module")
def layers() -> ModuleType:
    return script(SCRIPT)


@pytest.mark.parametrize("theme", THEMES)
def test_the_picture_is_as_the_house_is(layers: ModuleType, theme: str) -> None:
    kept = SCRIPT.with_name(f"layers-{theme}.svg").read_text(encoding="utf-8")
    assert kept == layers.picture(theme), "make it again: python notebooks/pictures/layers.py"


def test_every_room_stands_in_a_layer_and_in_the_picture(layers: ModuleType) -> None:
    rooms = {path.stem for path in (ROOT / "kvnb").iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    drawn = [box.room.name for box in layers.boxes()]
    assert set(drawn) == rooms - {"__init__", "__main__"}
    assert {name for names in layers.KINDS.values() for name in names} <= set(drawn)


def test_a_command_goes_from_each_room_to_one_that_it_imports_and_events_come_up(layers: ModuleType) -> None:
    for room, below in zip(layers.DOWN, layers.DOWN[1:], strict=False):
        files = (ROOT / "kvnb").rglob("*.py")
        texts = [
            file.read_text(encoding="utf-8") for file in files if file.relative_to(ROOT / "kvnb").parts[0] in (room, f"{room}.py")
        ]
        assert any(re.search(rf"^\s*from kvnb\.{below}\b", text, re.MULTILINE) for text in texts), (room, below)
    places = {box.room.name: box.middle for box in layers.boxes()}
    assert [places[name] for name in layers.DOWN] == sorted(places[name] for name in layers.DOWN)
    assert [places[name] for name in layers.UP] == sorted((places[name] for name in layers.UP), reverse=True)


@pytest.mark.parametrize("theme", THEMES)
def test_nothing_sticks_out_or_comes_from_elsewhere(layers: ModuleType, theme: str) -> None:
    source = layers.picture(theme)
    root = ElementTree.fromstring(source)
    _, _, wide, high = map(float, root.attrib["viewBox"].split())
    for part in root.iter("{http://www.w3.org/2000/svg}rect"):
        x, y, w, h = (float(part.attrib[name]) for name in ("x", "y", "width", "height"))
        assert x >= 0
        assert x + w <= wide
        assert y + h <= high
    assert source.count("http") == 1, "the namespace alone"


def test_the_front_page_shows_it() -> None:
    assert 'srcset="notebooks/pictures/layers-dark.svg"' in text_of(README)
    assert 'src="notebooks/pictures/layers-light.svg"' in text_of(README)

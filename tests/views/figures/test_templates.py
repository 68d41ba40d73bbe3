"""The two templates: legible on their own page, and nothing changed for other people's figures."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from helpers import needs, seed_lab

from kvnb.views.figures import NAMES, figure
from kvnb.views.theme import DARK, LIGHT, Ground, contrast

needs("plotly")
GROUNDS = pytest.mark.parametrize("of", [LIGHT, DARK], ids=lambda of: of.name)


@GROUNDS
def test_text_can_be_read_on_its_page(of: Ground) -> None:
    assert contrast(of.ink, of.paper) >= 4.5
    assert contrast(of.quiet, of.paper) >= 4.5


@GROUNDS
def test_what_is_drawn_stands_out_from_its_page(of: Ground) -> None:
    for colour in (of.used, of.ratio):
        assert contrast(colour, of.paper) >= 3


def fonts(value: Any) -> Iterator[str]:
    """Every colour of a font in a template."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name.endswith("font") and "color" in inner:
                yield inner["color"]
            yield from fonts(inner)


@GROUNDS
def test_every_font_of_a_template_can_be_read(of: Ground) -> None:
    from kvnb.views.figures.templates import template

    layout = template(of).to_plotly_json()["layout"]
    hover = layout.pop("hoverlabel")
    assert contrast(hover["font"]["color"], hover["bgcolor"]) >= 4.5
    colours = list(fonts(layout))
    assert len(colours) >= 5
    assert all(contrast(colour, of.paper) >= 4.5 for colour in colours)


def test_plotlys_default_template_stays_as_it_is() -> None:
    from plotly import io

    before, known = io.templates.default, list(io.templates)
    for name in NAMES:
        figure(seed_lab().journal, name)
    assert (io.templates.default, list(io.templates)) == (before, known)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dark", [False, True])
def test_paper_is_transparent_and_text_takes_the_notebooks_colour(name: str, dark: bool) -> None:
    drawn = figure(seed_lab().journal, name, dark=dark)
    layout = drawn.layout.template.layout
    assert layout.paper_bgcolor == layout.plot_bgcolor == "rgba(0,0,0,0)"
    assert drawn.layout.title.text.startswith('<span style="color:var(--jp-ui-font-color1,')
    assert "var(--jp-ui-font-color2," in drawn.layout.xaxis.labelalias["1"]


def test_the_dark_figure_has_the_colours_of_a_dark_page() -> None:
    light, dark = (figure(seed_lab().journal, "queue", dark=dark).layout.template.layout.font.color for dark in (False, True))
    assert (light, dark) == (LIGHT.ink, DARK.ink)


@GROUNDS
def test_the_kinds_of_blocks_differ_in_grey_print(of: Ground) -> None:
    greys = [of.used, of.kept, of.empty]
    assert all(contrast(one, other) >= 1.3 for one, other in pairwise(greys))
    assert contrast(of.used, of.stripe) >= 3

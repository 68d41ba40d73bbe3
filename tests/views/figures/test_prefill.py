"""What prefills cost, in all three forms: the bars are the fold's numbers, and what was saved is read at a glance."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest
from helpers import needs, seed_lab
from journals import history

from kvnb import Lab
from kvnb.journal import Journal
from kvnb.journal.prefills import Row, Work, prefill_rows
from kvnb.views.figures import figure
from kvnb.views.figures.sentences import percent, prefill_title, saved_labels
from kvnb.views.figures.static import prefill_svg
from kvnb.views.figures.timeline import timeline_shown
from kvnb.views.theme import DARK, LIGHT, contrast

needs("plotly")


def shared_prefix() -> Lab:
    """Two requests whose first 512 tokens are the same."""
    lab = Lab(120, block_size=16, device="none")
    prefix = list(range(512))
    for number in range(2):
        lab.admit(f"r{number}", tokens=[*prefix, *range(1000 * (number + 1), 1000 * (number + 1) + 28)])
    return lab


def everything() -> Lab:
    """Tokens of every kind."""
    lab = seed_lab(1)
    lab.append("r0", "P", draft="QR")
    lab.preempt("r0")
    lab.admit("r0")
    lab.admit("r1", "ABCDxy", fail=True)
    return lab


def stacked(drawn: Any, axis: str) -> list[Any]:
    """The bars or areas of one panel."""
    return [trace for trace in drawn.data if trace.yaxis == axis and (trace.type == "bar" or trace.stackgroup)]


def words(svg: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(svg).iter() if node.tag.endswith("text")]


def labels(drawn: Any) -> dict[int, str]:
    """What is written over the bars, by step."""
    (trace,) = [trace for trace in drawn.data if trace.type == "scatter" and trace.mode == "text"]
    return {x: re.sub("<br>", " ", re.sub("</?span[^>]*>", "", says)) for x, says in zip(trace.x, trace.text, strict=True)}


def test_at_a_glance_two_requests_with_a_shared_prefix_say_how_much_was_saved() -> None:
    lab = shared_prefix()
    drawn, svg = figure(lab.journal, "prefill"), words(prefill_svg(lab.journal))
    assert labels(drawn) == {2: "512 of 540 saved"}
    assert "512 of 540 saved" in svg
    title = "512 of 1,080 prefill tokens saved, 568 computed"
    assert title in drawn.layout.title.text
    assert title in svg
    assert timeline_shown(lab.journal, "prefill").text.split("\n") == [
        f"{title}, steps 0-2",
        "  step            saved       computed  saved so far",
        "  0     new 120   0           0",
        "  1     admit r0  0 of 540    540       0.00 = 0/540",
        "  2     admit r1  512 of 540  28        0.47 = 512/1,080",
    ]


@pytest.mark.parametrize("steps", [6, 400])
def test_bars_and_areas_are_the_numbers_of_the_fold(steps: int) -> None:
    journal = seed_lab().journal if steps == 6 else history(400, 40, 4)
    rows, drawn = prefill_rows(journal), figure(journal, "prefill")
    tokens = [[value or 0 for value in trace.y] for trace in stacked(drawn, "y2")]
    assert [list(trace.x) for trace in stacked(drawn, "y2")] == [[row.number for row in rows]] * len(tokens)
    kinds = [kind for kind in range(5) if kind < 2 or any(row.work[kind] for row in rows)]
    assert tokens == [[row.work[kind] for row in rows] for kind in kinds]
    saved, rest = stacked(drawn, "y")
    assert list(saved.y) == [round(row.total.share, 4) for row in rows if row.total.share is not None]
    assert {round(one + other, 9) for one, other in zip(saved.y, rest.y, strict=True)} == {1}


def test_what_there_is_has_a_word_beside_it_and_what_there_is_not_has_none() -> None:
    def legend(lab: Lab) -> list[str]:
        named = [trace for trace in figure(lab.journal, "prefill").data if trace.showlegend]
        return [re.sub("<[^>]+>", "", trace.name) for trace in named]

    every = ["saved: from cache", "computed", "computed again", "decode, drafts", "failed pass"]
    assert legend(everything()) == every
    assert legend(seed_lab()) == every[:2]
    svg = words(prefill_svg(everything().journal))
    assert [word for word in svg if word in every] == every
    assert timeline_shown(everything().journal, "prefill").text.split("\n")[1].split("  ")[-1] == "saved so far"


def test_every_kind_looks_otherwise_without_any_colour() -> None:
    drawn = figure(everything().journal, "prefill")
    shapes = [trace.marker.pattern.shape for trace in stacked(drawn, "y2")]
    assert shapes == [None, None, "/", ".", "x"]
    for of in (LIGHT, DARK):
        assert contrast(of.saved, of.used) >= 1.3, "without a pattern: told by how dark they are"
        assert contrast(of.ratio, of.paper) >= 3, "the edge of what was saved"
    for dark in (False, True):
        fills = re.findall(r'<rect x="-6"[^>]* fill="([^"]+)"', prefill_svg(everything().journal, dark=dark))
        assert len(set(fills)) == 5


def test_a_hover_tells_what_there_is() -> None:
    drawn = figure(everything().journal, "prefill")
    told = {
        number: [trace.hovertext[number] for trace in stacked(drawn, "y2") if trace.y[number]] for number in range(1, 6)
    }  # fmt: skip
    assert told == {
        1: ["15 computed"],
        2: ["3 decode and drafts, computed"],
        3: [],
        4: ["12 saved: read from the cache", "4 computed again after a preemption"],
        5: ["4 saved: read from the cache", "2 in a failed pass: not computed"],
    }
    assert stacked(drawn, "y")[0].hovertext[-1] == "46 %: 16 of 35 saved so far"


def test_the_title_says_what_was_computed_again_and_that_nothing_can_be_saved_without_a_cache() -> None:
    total = prefill_rows(everything().journal)[-1].total
    title = prefill_title(everything().journal, total)
    assert title == "16 of 35 prefill tokens saved, 19 computed, 4 of them again"
    plain = seed_lab(2, prefix_caching=False)
    assert "29 prefill tokens computed: with prefix caching off none is saved" in words(prefill_svg(plain.journal))
    assert "No prompt has been prefilled yet" in words(prefill_svg(Lab(11, device="none").journal))


def test_the_line_below_tells_decode_failures_and_that_there_is_no_memory() -> None:
    below = figure(everything().journal, "prefill").layout.title.text
    assert "3 decode tokens · 2 in failed passes · block ids only<" in below
    seed = seed_lab().journal
    with_memory = Journal(seed.behaviour, steps=seed.steps, memory={"device": "cpu"})
    assert "block ids only" not in figure(with_memory, "prefill").layout.title.text


def test_labels_say_as_much_as_there_is_room_for_and_are_all_of_one_kind() -> None:
    rows = [Row(3, 540, Work(512, 28), Work()), Row(4, 0, Work(0, 9), Work()), Row(7, 14, Work(8, 6), Work())]
    assert saved_labels(rows, 120) == {3: ["512 of 540 saved"], 7: ["8 of 14 saved"]}
    assert saved_labels(rows, 70) == {3: ["512 of 540", "saved"], 7: ["8 of 14", "saved"]}
    assert saved_labels(rows, 40) == {3: ["95 %", "saved"], 7: ["57 %", "saved"]}
    assert saved_labels(rows, 30) == {3: ["95 %"], 7: ["57 %"]}
    assert saved_labels(rows, 20) == {}
    assert labels(figure(history(60, 60), "prefill")) == {}


@pytest.mark.parametrize(
    ("share", "says"), [(0, "0 %"), (0.001, "<1 %"), (0.474, "47 %"), (511 / 512, ">99 %"), (0.99, "99 %"), (1, "100 %")]
)
def test_only_nothing_is_no_percent_and_only_all_is_all(share: float, says: str) -> None:
    assert percent(share) == says


def test_one_token_beside_thousands_is_seen_in_the_image() -> None:
    lab = Lab(300, block_size=16, device="none")
    lab.admit("r0", tokens=range(4001))
    lab.admit("r1", tokens=range(4001))
    svg = prefill_svg(lab.journal)
    heights = [float(high) for high in re.findall(rf'height="([\d.]+)" fill="{LIGHT.used}"', svg)]
    assert sorted(heights)[::3] == [1, 150], "of r1 a pixel, and all of r0; between them squares of the key"
    assert labels(figure(lab.journal, "prefill")) == {2: "4,000 of 4,001 saved"}


def test_the_slider_of_a_long_history_has_the_tokens_and_not_the_share() -> None:
    slider = figure(history(5_000, 200, 4), "prefill").layout.xaxis.rangeslider
    assert (slider.yaxis.rangemode, min(slider.yaxis.range) > 1) == ("fixed", True)

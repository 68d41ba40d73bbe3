"""Two pools in one figure: what its lines say is what the folds say, and both its forms can be read anywhere."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from base64 import b64decode
from typing import Any

import pytest
from helpers import SEED_PROMPTS, needs, seed_lab
from journals import history

from kvnb import Lab
from kvnb.journal import Journal
from kvnb.journal.fork import fork
from kvnb.manager import Behaviour
from kvnb.views.figures.pair_lines import pair
from kvnb.views.figures.pair_shown import PairShown
from kvnb.views.figures.static.pair import pair_svg
from kvnb.views.pools import contrast_sentence

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
needs("plotly")
MIME = "application/vnd.plotly.v1+json"
HOSTILE = "<img src=x onerror=alert(1)>$x$\x1b[31m"


@pytest.fixture
def small() -> tuple[Journal, Journal]:
    """The seed's story, and its fork with two blocks fewer, which went on with a step of its own."""
    lab = seed_lab()
    fork = lab.fork("small", num_blocks=9)
    fork.release("r2")
    return lab.journal, fork.journal


def test_each_point_is_the_fold_after_its_step(small: tuple[Journal, Journal]) -> None:
    for journal, line in zip(small, pair(*small).lines, strict=True):
        states = [journal.state_at(number) for number in line.numbers]
        assert list(line.usage) == pytest.approx([state.usage for state in states])
        ratios = [state.counters.hits / state.counters.queries if state.counters.queries else None for state in states]
        assert list(line.ratio) == ratios
        assert sum(line.lost) == journal.state.counters.evicted_blocks


def test_a_fork_stands_at_the_steps_of_its_original_and_then_goes_on(small: tuple[Journal, Journal]) -> None:
    both = pair(*small)
    assert list(both.lines[0].places) == [0, 1, 2, 3, 4, 5, 6]
    assert list(both.lines[1].places) == [0, 1, 2, 3, 4, 5, 7]
    assert both.last == 7
    assert both.names[5] == "admit r2"
    assert 7 not in both.names
    assert [line.places for line in pair(*reversed(small)).lines] == [line.places for line in reversed(both.lines)]


def test_two_forks_of_one_pool_stand_at_the_same_steps() -> None:
    lab = seed_lab()
    both = pair(lab.fork("a", num_blocks=8).journal, lab.fork("b", num_blocks=9).journal)
    assert [list(line.places) for line in both.lines] == [[0, 1, 2, 3, 4, 6], [0, 1, 2, 3, 4, 5]]
    assert [both.names[place] for place in range(7)][4:] == ["release r1", "admit r2", "admit r3"]


def test_strangers_stand_at_their_own_steps() -> None:
    other = Lab(5, block_size=4, device="none", name="other")
    other.admit("a", "A")
    both = pair(seed_lab().journal, other.journal)
    assert [len(line.places) for line in both.lines] == [7, 2]
    assert both.names == {}


def test_a_fork_of_a_history_that_is_no_longer_there_stands_at_its_own_steps() -> None:
    lab = seed_lab(3)
    fork = lab.fork("f", num_blocks=9)
    assert pair(seed_lab(2).journal, fork.journal).names == {}


def figure_of(shown: PairShown) -> Any:
    return shown.figure._repr_mimebundle_()[MIME]


def test_the_figure_has_both_lines_twice_and_the_evictions(small: tuple[Journal, Journal]) -> None:
    traces = figure_of(PairShown(*small))["data"]
    lines = [trace for trace in traces if trace["mode"] == "lines+markers"]
    assert [(trace["yaxis"], len(trace["x"])) for trace in lines] == [("y", 7), ("y2", 7), ("y", 7), ("y2", 7)]
    crosses = [trace for trace in traces if trace["mode"] == "markers" and trace["showlegend"] is False]
    assert [(trace["x"], trace["customdata"]) for trace in crosses] == [([6], [1]), ([5], [1])]


def test_a_name_is_never_markup_in_any_form() -> None:
    lab = Lab(11, block_size=4, device="none", name=HOSTILE)
    lab.admit(HOSTILE, SEED_PROMPTS["r0"])
    shown = PairShown(lab.journal, lab.fork(HOSTILE + "2", num_blocks=9).journal)
    assert "<img src=x" not in shown.html
    assert "<img src=x" not in json.dumps(figure_of(shown))
    assert "$x$" not in json.dumps(figure_of(shown))
    assert "\x1b" not in shown.text + shown.figure.text + shown.html
    svg = ET.fromstring(pair_svg(lab.journal, lab.journal))
    assert {element.tag.rpartition("}")[2] for element in svg.iter()} <= {"svg", "title", "rect", "text", "path", "circle"}


@pytest.mark.parametrize("dark", [False, True])
def test_the_still_form_is_an_image_of_the_same_size_in_light_and_dark(small: tuple[Journal, Journal], dark: bool) -> None:
    svg = pair_svg(*small, dark=dark)
    assert ET.fromstring(svg).get("width") == "860"
    assert ("#111" in svg) == dark
    inside = PairShown(*small).figure.html.split("base64,")[1].split('"')[0]
    assert b64decode(inside).decode() == pair_svg(*small)


def test_long_histories_give_small_pictures_in_which_no_eviction_is_lost() -> None:
    journal = history(4000, 200, 4)
    into = Journal(Behaviour(num_blocks=150, block_size=4), "tight")
    fork(journal, len(journal), into)
    shown = PairShown(journal, into)
    assert len(shown.html) < 150_000
    assert len(shown.figure.html) < 100_000
    assert len(json.dumps(figure_of(shown))) < 400_000
    assert [sum(line.lost) for line in pair(journal, into).lines] == [j.state.counters.evicted_blocks for j in (journal, into)]
    assert len(shown.text.splitlines()) < 80


def test_the_sentence_says_what_the_second_has_done_otherwise(small: tuple[Journal, Journal]) -> None:
    assert contrast_sentence(*small) == "small hits and evicts as much as pool, and did 1 command fewer"
    plain = seed_lab().fork("plain", prefix_caching=False).journal
    assert contrast_sentence(small[0], plain) == "plain hits 20 tokens fewer and evicts 1 block fewer than pool"


def test_the_two_outputs_of_a_notebook_are_tables_and_a_figure(
    small: tuple[Journal, Journal], monkeypatch: pytest.MonkeyPatch
) -> None:
    display = pytest.importorskip("IPython.display")
    given: list[Any] = []
    monkeypatch.setattr(display, "display", lambda what, raw=False: given.append(what))
    shown = PairShown(*small)
    shown._ipython_display_()
    assert given == [{"text/plain": shown.text, "text/html": shown.html}, shown.figure]
    assert shown._repr_mimebundle_() == {"text/plain": shown.text, "text/html": shown.html + shown.figure.html}

"""What the figures say is what the fold says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from helpers import needs, run_python, seed_lab
from journals import history

from kvnb import Lab
from kvnb.errors import CommandError, UnknownName
from kvnb.journal import Journal
from kvnb.journal.columns import levels
from kvnb.views.figures import NAMES, figure
from kvnb.views.figures.timeline import timeline_shown
from kvnb.views.theme import REQUESTS, contrast, luminance

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
needs("plotly")


def traces(drawn: Any, mode: str) -> list[Any]:
    """The traces of one mode that have a point."""
    return [trace for trace in drawn.data if trace.type == "scatter" and trace.mode == mode and trace.x not in ((None,), ())]


def places(drawn: Any, mode: str = "markers+text") -> dict[int, dict[int, int]]:
    """Step to place to block, as the points of a queue figure have it."""
    found: dict[int, dict[int, int]] = {}
    for trace in traces(drawn, mode):
        for step, place, block_id in zip(trace.x, trace.y, trace.customdata, strict=True):
            found.setdefault(step, {})[place] = block_id
    return found


def text_of(drawn: Any) -> str:
    """Everything that could be shown, as it is sent."""
    return str(drawn.to_json())


# --- the queue -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("steps", "mode"), [(6, "markers+text"), (60, "markers")])
def test_each_point_is_a_block_at_its_place(steps: int, mode: str) -> None:
    journal = seed_lab().journal if steps == 6 else history(60, 30, 4)
    drawn = places(figure(journal, "queue"), mode)
    for k in range(len(journal) + 1):
        assert list(dict(sorted(drawn.get(k, {}).items())).values()) == list(journal.state_at(k).queue)


def test_a_filled_point_carries_a_hash() -> None:
    journal = seed_lab().journal
    filled = {trace.name: trace for trace in traces(figure(journal, "queue"), "markers+text")}
    kept = filled["carries a hash"]
    assert list(zip(kept.x, kept.customdata, strict=True)) == [(3, 3), (4, 3), (4, 5), (4, 2), (4, 1), (5, 5)]
    assert kept.marker.color != filled["no hash"].marker.color


def test_a_line_ends_where_its_block_leaves_the_queue() -> None:
    empty = next(trace for trace in traces(figure(seed_lab().journal, "queue"), "lines") if trace.name == "no hash")
    pieces: list[list[float]] = [[]]
    for x in empty.x:
        if x is None:
            pieces.append([])
        else:
            pieces[-1].append(x)
    assert [max(piece) for piece in pieces if piece][:4] == [0, 0, 0, 0]
    assert all(sorted(piece) == piece for piece in pieces)


def test_a_queue_without_a_block_says_so() -> None:
    notes = [note for note in figure(seed_lab().journal, "queue").layout.annotations if "empty" in note.text]
    assert [note.x for note in notes] == [6]


@pytest.mark.parametrize("by", ["cached", "age", "owner"])
def test_a_heat_map_has_a_cell_for_each_block_in_the_queue(by: str) -> None:
    journal = history(300, 200, 4)
    cells = figure(journal, "queue", by=by).data[0].z
    for k in (0, 1, 150, 300):
        column = [int(row[k]) for row in cells]
        length = len(journal.state_at(k).queue)
        assert all(column[:length])
        assert not any(column[length:])


def test_a_heat_map_by_cached_has_one_code_for_what_carries_a_hash() -> None:
    journal = history(300, 200, 4)
    state, cells = journal.state_at(300), figure(journal, "queue").data[0].z
    codes = [int(row[300]) for row in cells[: len(state.queue)]]
    assert codes == [2 if state.keys[block_id] else 1 for block_id in state.queue]


def test_an_unknown_colouring_names_those_there_are() -> None:
    with pytest.raises(CommandError, match=r"'colour'.*cached, age, owner"):
        figure(seed_lab().journal, "queue", by="colour")


# --- usage ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [6, 400])
def test_usage_adds_up_to_the_usable_blocks(steps: int) -> None:
    journal = seed_lab().journal if steps == 6 else history(400, 40, 4)
    stacked = [trace for trace in figure(journal, "usage").data if trace.type == "bar" or trace.stackgroup]
    rows = levels(journal)
    assert [list(trace.y) for trace in stacked] == [list(c) for c in (rows.one, rows.shared, rows.cached, rows.empty)]
    assert {sum(values) for values in zip(*(trace.y for trace in stacked), strict=True)} == {journal.behaviour.num_blocks - 1}


def test_evictions_are_marked_and_counted() -> None:
    marks = next(trace for trace in figure(seed_lab().journal, "usage").data if "evictions" in (trace.name or ""))
    assert (list(marks.x), list(marks.customdata)) == ([6], [1])


def test_no_eviction_is_lost_where_steps_are_left_out() -> None:
    journal = history(5_000, 48, 4)
    drawn = figure(journal, "usage")
    marks = next(trace for trace in drawn.data if "evictions" in (trace.name or ""))
    assert sum(marks.customdata) == journal.state.counters.evicted_blocks
    assert "one in 5 is drawn" in drawn.layout.title.text


def test_the_title_of_usage_is_a_sentence_with_its_figures() -> None:
    title = figure(seed_lab().journal, "usage").layout.title.text
    assert "10 of 10 blocks in use, 1 evicted so far<" in title
    assert "20 of 66 tokens from cache" in title.split("<br>")[1]


# --- blocks --------------------------------------------------------------------------------------------------


def bars(drawn: Any) -> dict[str, Any]:
    """The traces of bars, by how thick they are."""
    return {str(trace.width): trace for trace in drawn.data if trace.type == "bar"}


def test_a_bar_is_as_long_as_its_owner_had_the_block_and_in_its_colour() -> None:
    held = bars(figure(seed_lab().journal, "blocks"))["0.78"]
    columns = zip(held.y, held.base, held.text, held.x, held.marker.color, strict=True)
    lengths = {(y, round(base + 0.46), name): (round(x + 0.08), colour) for y, base, name, x, colour in columns}
    assert lengths[3, 1, "r0"] == (2, REQUESTS[0].fill)
    assert lengths[5, 2, "r1"] == (2, REQUESTS[1].fill)
    assert lengths[9, 5, "r2"] == (2, REQUESTS[2].fill)


def test_a_shared_block_is_drawn_in_two() -> None:
    drawn = bars(figure(seed_lab().journal, "blocks"))
    assert list(drawn["0.5"].marker.color) == [REQUESTS[0].fill] * 2
    assert list(drawn["0.2"].marker.color) == [REQUESTS[1].fill] * 2
    assert set(drawn["0.5"].text) == {"r0 \N{MULTIPLICATION SIGN}2"}


def test_hits_and_lost_hashes_are_marked() -> None:
    marks = {trace.marker.symbol: trace for trace in traces(figure(seed_lab().journal, "blocks"), "markers")}
    assert list(marks["circle-open"].y) == [1, 2, 1, 2, 3]
    assert list(marks["x"].y) == [5]


def test_many_blocks_are_cells_coloured_by_who_holds_them() -> None:
    journal = history(300, 200, 4)
    cells, state = figure(journal, "blocks").data[0].z, journal.state
    kinds = [1 if int(row[-1]) == 1 else 2 if int(row[-1]) == 2 else 3 for row in cells]
    expected = [3 if state.ref_cnt[i] else 2 if state.keys[i] else 1 for i in range(1, 200)]
    assert kinds == expected


# --- all -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_command_is_the_tick_and_the_step_is_in_the_hover(name: str) -> None:
    drawn = figure(seed_lab().journal, name)
    alias = drawn.layout.xaxis.labelalias
    assert [alias[f" {k}"] for k in range(4)] == [
        "step 0, new 11", "step 1, admit r0", "step 2, admit r1", "step 3, release r0",
    ]  # fmt: skip
    assert alias["1"].endswith(">admit r0</span>")


@pytest.mark.parametrize("name", NAMES)
def test_long_histories_open_on_their_last_steps_with_a_slider(name: str) -> None:
    axis = figure(history(5_000, 200, 4), name).layout.xaxis
    assert axis.rangeslider.visible
    assert list(axis.range) == [4500.5, 5000.5]
    assert not figure(seed_lab().journal, name).layout.xaxis.rangeslider.visible


@pytest.mark.parametrize("name", NAMES)
def test_what_is_left_out_is_said(name: str) -> None:
    title = figure(history(5_000, 48, 4), name).layout.title.text
    assert "of 5,000" in title or "is drawn" in title


@pytest.mark.parametrize("name", NAMES)
def test_the_past_can_be_drawn(name: str) -> None:
    past, then = figure(seed_lab().journal, name, until=3), figure(seed_lab(3).journal, name)
    assert [trace.to_plotly_json() for trace in past.data] == [trace.to_plotly_json() for trace in then.data]
    with pytest.raises(UnknownName, match="no step 7: there are steps 0 to 6"):
        figure(seed_lab().journal, name, until=7)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dark", [False, True])
def test_two_calls_give_equal_bytes(name: str, dark: bool) -> None:
    for journal in (seed_lab().journal, history(300, 200, 4)):
        assert figure(journal, name, dark=dark).to_json() == figure(journal, name, dark=dark).to_json()


@pytest.mark.parametrize("name", NAMES)
def test_a_new_pool_and_the_smallest_one_can_be_drawn(name: str) -> None:
    for lab in (Lab(11, device="none"), Lab(2, device="none"), Lab(1, device="none")):
        assert figure(lab.journal, name).data


@pytest.mark.parametrize("name", NAMES)
def test_names_are_no_markup_no_mathematics_and_no_control_characters(name: str) -> None:
    lab = Lab(11, block_size=4, name="<i>p</i>", device="none")
    for request in ("<b>x", "$a$", "%{y}", "a\x1b[31m"):
        lab.admit(request, "ab")
    lab.release("<b>x")
    sent = text_of(figure(lab.journal, name)).replace("\\u003c", "<").replace("\\u003e", ">")
    assert "<b>x" not in sent
    assert "<i>" not in sent
    assert "$a$" not in sent
    assert "\\u001b" not in sent
    assert "admit &lt;b&gt;x" in sent.replace("\\u0026", "&")


@pytest.mark.parametrize("name", NAMES)
def test_what_a_user_typed_is_in_no_template(name: str) -> None:
    lab = Lab(11, block_size=4, device="none")
    lab.admit("%{customdata}", "ab")
    for trace in figure(lab.journal, name).data:
        for template in ("hovertemplate", "texttemplate"):
            try:
                value = trace[template]
            except (KeyError, ValueError, LookupError):
                continue
            assert "admit" not in str(value)


def test_a_name_that_is_none_is_told_the_names_there_are() -> None:
    with pytest.raises(UnknownName, match="no timeline 'que': did you mean queue"):
        figure(seed_lab().journal, "que")


def test_undone_steps_are_columns_too() -> None:
    lab = seed_lab(4)
    lab.undo()
    drawn = places(figure(lab.journal, "queue"))
    assert list(dict(sorted(drawn[5].items())).values()) == list(seed_lab(3).state.queue)


def test_titles_are_true_for_the_pools_settings() -> None:
    def title(**settings: Any) -> str:
        return str(figure(Lab(11, device="none", **settings).journal, "queue").layout.title.text)

    assert "with a hash goes to the back" in title()
    assert "whatever is freed goes to the back" in title(free_to="back")
    assert "whatever is freed goes to the front" in title(prefix_caching=False)


def test_the_names_of_figures_load_no_plotly() -> None:
    assert run_python("import sys, kvnb.views.figures.timeline; print({'plotly', 'numpy'} & set(sys.modules))") == "set()"


def test_figures_are_plain_figures(tmp_path: Any) -> None:
    drawn = figure(seed_lab().journal, "queue")
    assert type(drawn).__name__ == "Figure"
    assert json.loads(drawn.to_json())["layout"]["template"]


@pytest.mark.slow
@pytest.mark.parametrize(("steps", "num_blocks"), [(100_000, 1_000), (1_500, 100_000), (20_000, 60)])
def test_no_figure_is_over_two_megabytes(steps: int, num_blocks: int) -> None:
    journal: Journal = history(steps, num_blocks)
    sizes = {name: len(figure(journal, name).to_json()) for name in NAMES}
    sizes |= {by: len(figure(journal, "queue", by=by).to_json()) for by in ("age", "owner")}
    print(steps, num_blocks, sizes)
    assert max(sizes.values()) < 2_000_000


def test_a_pool_that_turns_over_at_each_step_under_long_names_stays_under_two_megabytes() -> None:
    lab = Lab(64, block_size=4, device="none")
    for k in range(240):
        name = f"{k} " + "\N{PILE OF POO}" * 40
        lab.admit(name, tokens=range(k * 1000, k * 1000 + 248))
        lab.release(name)
    assert len(timeline_shown(lab.journal, "blocks").value.to_json()) < 2_000_000


@pytest.mark.parametrize("option", [{"by": "age"}, {"colour": 3}])
def test_an_option_that_a_timeline_has_not_is_refused_in_one_line(option: dict[str, object]) -> None:
    with pytest.raises(CommandError, match="the timeline usage has no option"):
        figure(seed_lab().journal, "usage", **option)


def test_the_templates_have_names_and_plotlys_own_default_stays() -> None:
    pio = needs("plotly.io")
    default = pio.templates.default
    figure(seed_lab().journal, "usage")
    assert {"kvnb", "kvnb_dark"} <= set(pio.templates)
    assert pio.templates.default == default


def test_discs_of_the_queue_can_be_read_on_a_light_page_and_on_a_dark_one() -> None:
    for dark in (False, True):
        drawn = figure(seed_lab().journal, "queue", dark=dark)
        discs = [trace for trace in drawn.data if trace.mode == "markers+text"]
        assert len(discs) == 2
        for trace in discs:
            assert contrast(trace.marker.color, trace.textfont.color) >= 4.5
        light, hashed = (luminance(trace.marker.color) for trace in discs)
        assert light > hashed

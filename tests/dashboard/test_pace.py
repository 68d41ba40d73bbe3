"""When a dashboard may speak: the first time at once, the last time always, never too often."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvnb.views.dashboard import dashboard, timeline
from kvnb.views.dashboard.pace import SECOND, Budget, Pace


def test_nothing_is_sent_when_nothing_is_wanted_and_the_first_time_at_once() -> None:
    pace = Pace(0.5)
    assert pace.wait(0.0) is None
    pace.want()
    assert pace.wait(0.0) == 0
    pace.sent(0.0)
    assert pace.wait(0.0) is None


def test_the_second_time_waits_and_longer_when_others_speak_too() -> None:
    pace = Pace(0.5)
    pace.sent(10.0)
    pace.want()
    assert pace.wait(10.25) == 0.25
    assert pace.wait(10.25, crowd=2) == 0.75
    assert pace.wait(10.5) == 0


def test_what_takes_long_is_made_less_often() -> None:
    pace = Pace(1.0)
    pace.sent(2.0)
    pace.took(2.0, share=0.1)
    pace.want()
    assert pace.wait(4.0) == 18.0, "two seconds of work, a tenth of all time: twenty seconds from start to start"
    pace.sent(22.0)
    pace.took(0.01, share=0.1)
    pace.want()
    assert pace.wait(22.0) == 1.0


def test_what_somebody_waits_for_is_sent_at_once() -> None:
    pace = Pace(1.0)
    pace.sent(0.0)
    pace.at_once()
    assert pace.wait(0.0) == 0


def test_a_budget_that_is_spent_is_there_again_a_little_over_a_second_later() -> None:
    budget = Budget(rate=4)
    budget.spend(0.0, 3)
    assert budget.wait(0.25, 1) == 0
    assert budget.wait(0.25, 2) == SECOND - 0.25
    budget.spend(0.5, 1)
    assert budget.wait(0.75, 1) == SECOND - 0.75
    assert budget.wait(SECOND, 3) == 0
    assert budget.wait(SECOND, 4) == 0.5


@given(st.lists(st.floats(0.001, 0.4), min_size=50, max_size=300), st.integers(1, 4))
def test_however_often_something_happens_no_second_has_more_than_ten_messages(gaps: list[float], crowd: int) -> None:
    budget = Budget()
    kinds = [(dashboard.NEWS, 1), (dashboard.SLOW, 3), (timeline.EVERY, 1)]
    paces = [Pace(every, messages, budget) for every, messages in kinds for _ in range(crowd)]
    now, sent = 0.0, list[float]()
    for gap in gaps:
        now += gap
        for pace in paces:
            pace.want()
            if pace.wait(now, crowd) == 0:
                pace.sent(now)
                sent += [now] * pace.messages
    assert all(sum(start <= at < start + 1 for at in sent) <= 10 for start in sent)


@pytest.mark.parametrize("crowd", [1, 2, 3, 4])
def test_none_of_several_dashboards_is_kept_from_speaking(crowd: int) -> None:
    budget = Budget()
    kinds = [(dashboard.NEWS, 1), (dashboard.SLOW, 3), (timeline.EVERY, 1)]
    paces = [Pace(every, messages, budget) for every, messages in kinds for _ in range(crowd)]
    spoken = [0] * len(paces)
    for tick in range(6000):
        for place, pace in enumerate(paces):
            pace.want()
            if pace.wait(tick / 100, crowd) == 0:
                pace.sent(tick / 100)
                spoken[place] += 1
    assert min(spoken) >= 5, "in a minute"

"""``fork`` and ``diff`` of two pools, as they are typed."""

from __future__ import annotations

import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from command_lines import refusal, run
from helpers import SEED_PROMPTS, assert_sound, interrupted, needs, snapshot

from kvnb.commands.complete import complete
from kvnb.commands.panels import DashboardPanel
from kvnb.journal.execution import Execution
from kvnb.session import Session
from kvnb.views import progress as views_progress


@pytest.fixture
def story(session: Session) -> Session:
    """The seed's walk-through, in the pool ``pool``."""
    run(session, "new 11 --device none", *(f"admit {name} {SEED_PROMPTS[name]}" for name in ("r0", "r1")))
    run(session, "release r0", "release r1", *(f"admit {name} {SEED_PROMPTS[name]}" for name in ("r2", "r3")))
    return session


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ("--num-blocks 9", {"num_blocks": 9}),
        ("--block-size 2 --free-to back --free-order forward", {"block_size": 2, "free_to": "back", "free_order": "forward"}),
        ("--no-prefix-caching", {"prefix_caching": False}),
        ("--prefix-caching --no-full-hit", {}),
        ("--full-hit --sliding-window 8", {"full_hit": True, "sliding_window": 8}),
        ("--sliding-window 0", {}),
        ("--tokenizer bytes", {"tokenizer": "bytes"}),
        ("--device cpu --dtype float16 --layers 1", {}),
    ],
)
def test_a_fork_has_the_settings_that_its_line_names(story: Session, options: str, settings: dict[str, Any]) -> None:
    lab = run(story, f"fork other {options}").value
    assert dict(lab.journal.forked.settings) == settings
    assert story.lab() is lab
    assert_sound(lab)


def test_memory_in_bytes_gives_the_number_of_blocks(story: Session) -> None:
    lab = run(story, "fork other --memory 64KiB --device cpu").value
    assert lab.behaviour.num_blocks == lab.journal.forked.settings["num_blocks"]
    assert lab.worker.num_bytes <= 64 * 1024


def test_a_fork_stops_after_a_step_and_one_goes_on_from_there(story: Session) -> None:
    lab = run(story, "fork early --at 3 --free-to back").value
    assert [step.command.verb for step in lab.journal.steps] == ["admit", "admit", "release"]
    run(story, "release r1")
    assert len(lab.journal) == 4
    assert lab.verify().holds


def test_the_pool_in_use_is_forked_or_the_one_that_is_named(story: Session) -> None:
    run(story, "new 5 --name small --device none")
    assert len(run(story, "fork a").value.journal) == 0
    assert len(run(story, "fork b --pool pool").value.journal) == 6


def test_a_fork_may_take_the_place_of_a_pool_also_of_its_original(story: Session) -> None:
    says = str(run(story, "fork pool --free-to back --log pool.jsonl"))
    assert "it replaces pool, a pool of 6 steps, which is closed" in says
    assert "every step is written to pool.jsonl" in says
    assert list(story.labs) == ["pool"]
    again = str(run(story, "fork pool --log pool.jsonl --num-blocks 12"))
    assert "forked from pool at step 6, with --num-blocks 12" in again
    assert "free to back" in str(run(story, "load pool.jsonl"))


def test_the_line_of_a_fork_typed_twice_says_that_the_fork_was_forked(story: Session) -> None:
    says = "this is a fork of the fork older, which was in use: to fork pool again, add --pool pool"
    assert says not in str(run(story, "fork older --free-to back"))
    assert says in str(run(story, "fork older --free-to back"))
    assert says not in str(run(story, "fork older --free-to back --pool pool"))


def test_what_is_refused_is_an_outcome_and_no_error(story: Session) -> None:
    says = str(run(story, "fork small --num-blocks 9"))
    assert "6 commands: 5 done, 1 refused, 0 skipped" in says
    assert "refused: step 6, admit r3: r3 needs 2 blocks, 0 free: release or preempt one of r2" in says


def test_a_loaded_fork_says_again_where_it_comes_from(story: Session) -> None:
    run(story, "fork small --num-blocks 9", "save small.jsonl")
    says = str(run(story, "load small.jsonl --name again"))
    assert "forked from pool at step 6, with --num-blocks 9; 6 commands: 5 done, 1 refused, 0 skipped" in says
    assert "holds" in str(run(story, "verify small.jsonl")) or "verifies" in str(run(story, "verify small.jsonl"))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("fork", "fork needs NAME"),
        ("fork f --at 9", "no step 9: there are steps 0 to 7"),
        ("fork f --at -1", "no step -1"),
        ("fork f --pool nix", "no pool nix"),
        ("fork f --num-blocks 0", "the number of blocks is 0"),
        ("fork f --num-blocks 12", "step 7 is `evict 5`"),
        ("fork f --num-blocks 12 --keep-evictions --skip-evictions", "exclude each other"),
        ("fork f --prefix-caching --no-prefix-caching", "exclude each other"),
        ("fork f --full-hit --no-full-hit", "exclude each other"),
        ("fork f --log .", "cannot write ."),
        ("fork f --free-to middle", "--free-to cannot be 'middle'"),
        ("diff pool 3", "pool and 3: give two steps of one pool, or the names of two pools"),
        ("diff 3 pool", "3 and pool: give two steps of one pool, or the names of two pools"),
        ("diff pool nix", "no pool nix"),
        ("diff pool pool --pool pool", "leave --pool out"),
        ("diff -1 2", "no step -1"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_leaves_no_pool(story: Session, line: str, says: str) -> None:
    run(story, "evict 5")
    before = snapshot(story.lab())
    assert says in refusal(story, line)
    assert (list(story.labs), story.current, snapshot(story.lab())) == (["pool"], "pool", before)


@pytest.mark.parametrize("moment", range(12))
@pytest.mark.parametrize("name", ["pool", "other"])
def test_an_interrupted_fork_leaves_every_pool_and_log_as_it_was(story: Session, name: str, moment: int) -> None:
    run(story, "fork other --log other.jsonl", "use pool")
    labs, before = dict(story.labs), {name: snapshot(lab) for name, lab in story.labs.items()}
    log = Path("other.jsonl").read_bytes()
    # Six commands are carried out by the fork, and six again by the engine of the new pool.
    with pytest.raises(KeyboardInterrupt), interrupted(Execution.carry_out.__code__, moment):
        run(story, f"fork {name} --free-to back --log {name}.jsonl")
    assert (story.labs, story.current) == (labs, "pool")
    assert {name: snapshot(lab) for name, lab in labs.items()} == before
    assert Path("other.jsonl").read_bytes() == log
    run(story, f"fork {name} --free-to back --log {name}.jsonl")
    assert_sound(story.lab())


class Terminal(StringIO):
    """What somebody sees who watches."""

    def isatty(self) -> bool:
        return True


def test_a_long_fork_is_counted_where_somebody_watches(story: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    needs("tqdm")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    monkeypatch.setattr(views_progress, "DELAY", 0.0)
    run(story, "fork older --free-to back")
    assert "fork" in terminal.getvalue()
    assert "/6 [" in terminal.getvalue()


# --- two pools ---------------------------------------------------------------------------------------------------


def test_diff_of_two_names_puts_two_pools_side_by_side(story: Session) -> None:
    run(story, "fork small --num-blocks 9 --free-to back")
    shown = run(story, "diff pool small")
    says = str(shown).splitlines()
    assert says[0] == "pool and small: small hits and evicts as much as pool, and did 1 command fewer"
    assert says[8].split() == ["evicted", "1", "block", "1", "block"]
    assert says[9].endswith("29 tokens, block table [1 2 3 6 4 7 8 9]  29 tokens, block table [1 2 3 7 8 4 6 5]")
    assert says[-2:] == ["    pool:  step 6, admit r3: block 5", "    small: step 5, admit r2: block 5"]
    assert {fact.what: fact[1:] for fact in shown.value}["tokens from cache"] == ("20 of 66", "20 of 58")


def test_diff_of_two_numbers_stays_one_of_steps(story: Session) -> None:
    assert str(run(story, "diff 5 6")).startswith("step 5 -> step 6: ")
    assert "usage 0.60 -> 0.40" in str(run(story, "diff 2 3 --pool pool"))


def test_names_of_pools_are_offered(story: Session) -> None:
    run(story, "fork small --num-blocks 9")
    for line in ("diff ", "fork --pool ", "fork "):
        assert [candidate.text for candidate in complete(story, line)[1]] == ["pool", "small"]
    assert [candidate.text for candidate in complete(story, "fork f --free-to ")[1]] == ["front-back", "back"]


def test_a_fork_opens_in_a_dashboard_that_is_looked_at_and_not_driven(story: Session) -> None:
    pytest.importorskip("anywidget")
    lab = run(story, "fork 'a\x1b[31m' --at 3", "fork older --free-to back").value
    panel = DashboardPanel(story, lab.journal, lab)
    try:
        assert panel.dashboard.held == r"forked from a\x1b[31m at step 3, not driven yet"
    finally:
        panel.close()

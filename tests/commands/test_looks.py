from __future__ import annotations

from collections.abc import Iterable

import pandas as pd
import pytest
from command_lines import refusal, run
from helpers import SEED_PROMPTS, needs

from kvnb.errors import UnknownName
from kvnb.session import Session


@pytest.fixture
def seed(session: Session) -> Session:
    """The seed's pool before r2 arrives: r0 and r1 came and went."""
    run(session, "new 11", f"admit r0 {SEED_PROMPTS['r0']}", f"admit r1 {SEED_PROMPTS['r1']}", "release r0", "release r1")
    return session


def says(session: Session, line: str) -> list[str]:
    return str(run(session, line)).splitlines()


def test_a_line_without_a_verb_shows_the_pool(seed: Session) -> None:
    assert says(seed, "") == says(seed, "show") == says(seed, "show state")
    assert says(seed, "") == [
        "pool: 11 blocks of 4 tokens, step 4",
        "  usage 0.00 = 1 - 10/10 free; cached 4 blocks, 4 of them free; free and empty 6",
        "  no request",
        "  free queue (front first, * = cached): 6 4 7 8 9 10 3* 5* 2* 1*",
    ]


def test_the_parts_of_a_pool_can_be_looked_at_one_by_one(seed: Session) -> None:
    run(seed, f"admit r2 {SEED_PROMPTS['r2']}")
    assert says(seed, "show queue") == ["free queue (front first, * = cached): 10 5*"]
    assert says(seed, "show tables") == ["r2: 29 tokens, 12 from cache, running, block table [1 2 3 6 4 7 8 9]"]
    assert says(seed, "show blocks")[-1] == "  11 blocks: 8 used by one, 0 shared, 1 free and cached, 1 free and empty"
    assert says(seed, "show diagram")[1] == "  1. touch() 1-3: cache hit, ref_cnt + 1; plucked from the free queue: 1-3"
    assert says(seed, "show block 0") == ["block 0: the null block, a placeholder that is never handed out"]
    assert says(seed, "show block 9")[0] == "block 9: ref_cnt 1, no hash, in the table of r2"
    assert says(seed, "show block 10")[0] == "block 10: ref_cnt 0, no hash, place 1 of 2 in the free queue"
    assert says(seed, "show map")[0] == "8 hashes, carried by 8 blocks"
    request = says(seed, "show request r2")
    assert request[0] == "r2: 29 tokens, running, 12 from cache"
    assert request[-1] == "  tokens 28-28: block 9, no hash"


def test_a_look_gives_the_object_behind_it(seed: Session) -> None:
    run(seed, f"admit r2 {SEED_PROMPTS['r2']}")
    lab = seed.lab()
    assert run(seed, "show queue").value == lab.free_queue == (10, 5)
    assert run(seed, "show tables").value == {"r2": lab.block_table("r2")}
    assert run(seed, "show block 5").value is lab.pool.blocks[5]
    assert run(seed, "usage").value == lab.usage == pytest.approx(0.8)
    assert all(equation.holds for equation in run(seed, "check").value)
    assert run(seed, "new 3 --name b").value is seed.lab("b")


def test_looking_changes_nothing(seed: Session) -> None:
    digest = seed.lab().digest
    for line in ["show", "show map", "usage", "check", "metrics", "log", "log events", "at 1", "replay", "verify", "list"]:
        run(seed, line)
    assert seed.lab().digest == digest


def test_usage_tells_free_blocks_that_are_cached_from_free_blocks_that_are_empty(seed: Session) -> None:
    run(seed, f"admit r2 {SEED_PROMPTS['r2']}")
    assert says(seed, "usage") == ["usage 0.80 = 1 - 2/10 free; cached 8 blocks, 1 of them free; free and empty 1"]


def test_the_past_can_be_looked_at_step_by_step(seed: Session) -> None:
    assert says(seed, "at 0")[-1] == "  free queue (front first, * = cached): 1 2 3 4 5 6 7 8 9 10"
    assert says(seed, "at 3")[0] == "pool: 11 blocks of 4 tokens, step 3"
    assert says(seed, "at 3")[-1] == "  free queue (front first, * = cached): 4 7 8 9 10 3*"
    assert says(seed, "at 4") == says(seed, "show")


def test_the_log_is_a_table_with_a_row_a_step(seed: Session) -> None:
    frame = run(seed, "log")
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.index) == [1, 2, 3, 4]
    assert list(frame["verb"]) == ["admit", "admit", "release", "release"]
    assert list(frame["request"]) == ["r0", "r1", "r0", "r1"]
    assert list(frame["hit"]) == [0, 2, 0, 0]
    assert list(frame["new"]) == [4, 2, 0, 0]
    assert list(frame["free"]) == [6, 4, 6, 10]
    assert list(frame["digest"])[-1] == seed.lab().digest[:12]
    assert run(seed, "log steps").equals(frame)


def test_the_log_of_events_has_a_row_an_event(seed: Session) -> None:
    frame = run(seed, "log events")
    assert len(frame) == sum(len(step.events) for step in seed.lab().journal.steps)
    assert set(frame["event"]) >= {"took", "hit", "hashed", "dropped", "front", "back", "ended"}
    assert list(frame[(frame["step"] == 3) & (frame["event"] == "front")]["ids"]) == [(4,)]


def samples(text: str) -> dict[str, float]:
    """What Prometheus reads in ``text``: name (and source) to value, each family complete with help and type."""
    parse = needs("prometheus_client.parser").text_string_to_metric_families
    families: Iterable = parse(text + "\n")
    found = {}
    for family in families:
        assert family.documentation
        assert family.type in ("gauge", "counter")
        found |= {" ".join([one.name, *filter(None, [one.labels.get("source")])]): one.value for one in family.samples}
    return found


def test_metrics_are_prometheus_text_under_vllms_names(seed: Session) -> None:
    run(seed, f"admit r2 {SEED_PROMPTS['r2']}", "preempt r2", "admit r3 zzzz")
    assert samples(str(run(seed, "metrics"))) == {
        "vllm:num_requests_running": 1,
        "vllm:num_requests_waiting": 1,
        "vllm:kv_cache_usage_perc": pytest.approx(0.1),
        "vllm:prefix_cache_queries_total": 15 + 14 + 29 + 4,
        "vllm:prefix_cache_hits_total": 8 + 12,
        "vllm:num_preemptions_total": 1,
        "vllm:prompt_tokens_total": 15 + 14 + 29 + 4,
        "vllm:prompt_tokens_by_source_total local_compute": 15 + 6 + 17 + 4,
        "vllm:prompt_tokens_by_source_total local_cache_hit": 8 + 12,
        "vllm:prompt_tokens_by_source_total external_kv_transfer": 0,
        "vllm:prompt_tokens_cached_total": 8 + 12,
        "vllm:cache_config_info": 1,
    }


def test_metrics_name_pool_and_settings_in_labels_whatever_the_name_holds(session: Session) -> None:
    name = 'a "b" \\ {c}\u00e9'
    run(session, "new 11 --name $name", name=name)
    parse = needs("prometheus_client.parser").text_string_to_metric_families
    families = {family.name: family for family in parse(str(run(session, "metrics")) + "\n")}
    labels = families["vllm:cache_config_info"].samples[0].labels
    assert labels["pool"] == name
    assert (labels["block_size"], labels["num_gpu_blocks"], labels["enable_prefix_caching"]) == ("4", "11", "True")


def test_two_steps_can_be_compared_in_either_direction(seed: Session) -> None:
    assert says(seed, "diff 1 2")[0] == "step 1 -> step 2: usage 0.40 -> 0.60, 4 -> 6 of 10 in use, 3 -> 4 cached"
    assert "usage 0.60 -> 0.40" in says(seed, "diff 2 1")[0]
    assert refusal(seed, "diff 0 99").startswith("no step 99: there are steps 0 to")


def test_the_history_can_be_drawn(seed: Session) -> None:
    assert says(seed, "timeline")[:2] == [
        "free queue (front first, * = cached), steps 0-4",
        "  0  new 11      1 2 3 4 5 6 7 8 9 10",
    ]
    assert says(seed, "timeline blocks")[0] == "the life of each block, steps 0-4"
    assert run(seed, "timeline usage").value.to_dict() == seed.lab().figure("usage").to_dict()
    assert says(seed, "timeline prefill")[0] == "8 of 29 prefill tokens saved, 21 computed, steps 0-4"
    assert refusal(seed, "timeline usage --by age") == "--by colours the queue's heat map: leave it out for timeline usage"
    with pytest.raises(UnknownName, match="no timeline 'quue': did you mean queue"):
        seed.lab().figure("quue")


def test_every_part_of_the_past_can_be_looked_at(seed: Session) -> None:
    run(seed, f"admit r2 {SEED_PROMPTS['r2']}")
    assert says(seed, "show queue --at 2") == ["free queue (front first, * = cached): 7 8 9 10"]
    assert says(seed, "show tables --at 0") == ["no request"]
    assert says(seed, "show diagram --at 2")[1] == "  1. touch() 1 2: cache hit, ref_cnt + 1"
    assert says(seed, "show block 4 --at 1")[1].startswith("  slot 0: live, token 77 'M', place 12 of r0, step 1")
    assert says(seed, "show request r0 --at 1")[0] == "r0: 15 tokens, running, 0 from cache"
    assert says(seed, "timeline --until 2")[0] == "free queue (front first, * = cached), steps 0-2 of 5"
    for line in ("show queue --at 99", "timeline --until 99"):
        assert refusal(seed, line) == "no step 99: there are steps 0 to 5"

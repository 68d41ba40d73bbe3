"""A state as Prometheus text, under the names that a vLLM server exports, so that dashboards can be tried on it.

Must not know: vLLM's own registry; the names are facts of vLLM 0.32 (``v1/metrics/loggers.py``).
"""

from __future__ import annotations

from kvnb.journal import State
from kvnb.journal.prefills import Prefills
from kvnb.manager import Behaviour


def metrics_text(name: str, behaviour: Behaviour, state: State, prefills: Prefills) -> str:
    """Exposition format, version 0.0.4; the label ``pool`` stands where vLLM has its model name."""
    label = f'pool="{_escaped(name)}"'
    running = sum(request.state == "running" for request in state.requests.values())
    counters = state.counters
    rows = [
        ("num_requests_running", "gauge", "Requests that hold blocks.", running),
        ("num_requests_waiting", "gauge", "Preempted requests, which wait to be resumed.", len(state.requests) - running),
        ("kv_cache_usage_perc", "gauge", "1 - free / (N - 1); 1 means 100 percent.", state.usage),
        ("prefix_cache_queries", "counter", "Tokens looked up at admission.", counters.queries),
        ("prefix_cache_hits", "counter", "Tokens found in the cache.", counters.hits),
        ("num_preemptions", "counter", "Preemptions so far.", counters.preemptions),
    ]
    lines = [line for row in rows for line in _family(label, *row)]
    lines += _prompts(label, prefills)
    config = (
        f'block_size="{behaviour.block_size}",enable_prefix_caching="{behaviour.prefix_caching}",'
        f'num_gpu_blocks="{behaviour.num_blocks}",prefix_caching_hash_algo="{behaviour.hash}"'
    )
    lines += _family(f"{label},{config}", "cache_config_info", "gauge", "Settings of the pool.", 1)
    return "\n".join(lines)


def _prompts(label: str, prefills: Prefills) -> list[str]:
    """A prompt is counted once, when all of it is there, with the hits of its first admission."""
    every, cached = prefills.prompt_tokens, prefills.prompt_tokens_cached
    sources = {"local_compute": every - cached, "local_cache_hit": cached, "external_kv_transfer": 0}
    return [
        *_family(label, "prompt_tokens", "counter", "Tokens of prompts that are prefilled.", every),
        *_family(label, "prompt_tokens_by_source", "counter", "These, by where their K and V came from.", sources),
        *_family(label, "prompt_tokens_cached", "counter", "Those of them that came from the cache.", cached),
    ]


def _family(labels: str, name: str, kind: str, says: str, value: float | dict[str, int]) -> list[str]:
    """A family with one sample, or with one a source."""
    sample = f"vllm:{name}_total" if kind == "counter" else f"vllm:{name}"
    values = value if isinstance(value, dict) else {"": value}
    samples = [f"{sample}{{{labels}{_source(source)}}} {number}" for source, number in values.items()]
    return [f"# HELP {sample} {says}", f"# TYPE {sample} {kind}", *samples]


def _source(source: str) -> str:
    return f',source="{source}"' if source else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

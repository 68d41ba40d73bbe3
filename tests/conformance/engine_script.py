"""Runs a real vLLM engine on the CPU and writes down what its scheduler and its BlockPool hold, twice a step.

For the interpreter of an environment with vLLM, not for pytest's: ``python -I engine_script.py SCENARIO TRACE``, two
JSON files. The model has random weights: which tokens it samples does not matter, only that both sides get the same.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32, "vocab_size": 256,
    "max_position_embeddings": 512, "bos_token_id": 1, "eos_token_id": 2, "torch_dtype": "float32",
}  # fmt: skip
ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # the engine core in this process, so that its pool can be looked at
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "ERROR",
}
MOST_STEPS = 2000


def start(settings: dict[str, Any]) -> Any:
    """A real ``LLM`` of the tiny model."""
    os.environ.update(ENVIRONMENT)
    from vllm import LLM

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "config.json").write_text(json.dumps(CONFIG))
        return LLM(
            model=folder, load_format="dummy", skip_tokenizer_init=True, dtype="float32", enforce_eager=True,
            enable_prefix_caching=True, **settings,
        )  # fmt: skip


class Witness:
    """Stands between the engine core and its scheduler; it looks and changes nothing."""

    def __init__(self, scheduler: Any) -> None:
        self.scheduler = scheduler
        self.schedule, self.update = scheduler.schedule, scheduler.update_from_output
        scheduler.schedule, scheduler.update_from_output = self._schedule, self._update
        self.step: dict[str, Any] = {}

    def _schedule(self, *args: Any, **options: Any) -> Any:
        output = self.schedule(*args, **options)
        cached = output.scheduled_cached_reqs
        computed = dict(zip(cached.req_ids, cached.num_computed_tokens, strict=True))
        computed.update((new.req_id, new.num_computed_tokens) for new in output.scheduled_new_reqs)
        self.step["scheduled"] = [(name(i), n, computed[i]) for i, n in output.num_scheduled_tokens.items()]
        self.step["preempted"] = sorted(name(i) for i in output.preempted_req_ids or ())
        self.step["after_schedule"] = self.state()
        return output

    def _update(self, *args: Any, **options: Any) -> Any:
        outputs = self.update(*args, **options)
        done = [one for group in outputs.values() for one in group.outputs]
        self.step["sampled"] = {name(one.request_id): list(one.new_token_ids) for one in done}
        counted = [(name(one.request_id), one.prefill_stats) for one in done if one.prefill_stats is not None]
        self.step["prompts"] = {of: [stats.num_prompt_tokens, stats.num_cached_tokens] for of, stats in counted}
        self.step["finished"] = [name(one.request_id) for one in done if one.finish_reason is not None]
        return outputs

    def take(self) -> dict[str, Any]:
        """What one step did, and the state that it left."""
        nothing = {"scheduled": [], "preempted": [], "after_schedule": self.state(), "sampled": {}, "prompts": {}, "finished": []}
        step, self.step = {**nothing, **self.step, "after_step": self.state()}, {}
        return step

    def state(self) -> dict[str, Any]:
        """Everything of the pool that can be seen from outside, and the tables of the running requests."""
        from vllm.v1.core.kv_cache_utils import get_block_hash

        manager = self.scheduler.kv_cache_manager
        pool = manager.block_pool
        hashes = [None if block.block_hash is None else get_block_hash(block.block_hash) for block in pool.blocks]
        return {
            "queue": [block.block_id for block in pool.free_block_queue.get_all_free_blocks()],
            "ref_cnt": [block.ref_cnt for block in pool.blocks[1:]],
            "hashes": [None if key is None else key.hex() for key in hashes],
            "found": {key.hex(): pool.get_cached_block(key, [0])[0].block_id for key in hashes if key is not None},
            "tables": {name(r.request_id): list(manager.get_block_ids(r.request_id)[0]) for r in self.scheduler.running},
            "usage": pool.get_usage(),
        }


def name(request_id: str) -> str:
    """The engine puts a random tail behind the name that a request came with."""
    return request_id.rpartition("-")[0]


def play(engine: Any, arrivals: dict[str, list[dict[str, Any]]], witness: Witness) -> list[dict[str, Any]]:
    """Step the engine until all that arrives is finished."""
    from vllm import SamplingParams

    steps: list[dict[str, Any]] = []
    last = max(map(int, arrivals))
    while len(steps) < last or engine.has_unfinished_requests():
        for request in arrivals.get(str(len(steps) + 1), ()):
            params = SamplingParams(temperature=0, max_tokens=request["max_tokens"], ignore_eos=True, detokenize=False)
            engine.add_request(request["name"], {"prompt_token_ids": request["prompt"]}, params)
        engine.step()
        steps.append(witness.take())
        assert len(steps) < MOST_STEPS, "the engine does not come to an end"
    return steps


def main(scenario_file: str, trace_file: str) -> None:
    scenario = json.loads(Path(scenario_file).read_text())
    begin = time.perf_counter()
    llm = start(scenario["settings"])
    started = time.perf_counter()
    witness = Witness(llm.llm_engine.engine_core.engine_core.scheduler)
    initial = witness.state()
    steps = play(llm.llm_engine, scenario["arrivals"], witness)
    seconds = {"start": started - begin, "steps": time.perf_counter() - started}
    done = llm.reset_prefix_cache()
    trace = {"initial": initial, "steps": steps, "reset": done, "after_reset": witness.state(), "seconds": seconds}
    Path(trace_file).write_text(json.dumps(trace))


if __name__ == "__main__":
    main(*sys.argv[1:])

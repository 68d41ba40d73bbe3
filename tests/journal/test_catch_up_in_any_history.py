"""Whatever happened to a pool: its memory computed again in few long passes is that of the short ones."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Any

from helpers import needs
from hypothesis import given
from hypothesis import strategies as st

from kvnb import Lab
from kvnb.errors import KvnbError
from kvnb.journal.catch_up import CatchUp
from kvnb.journal.execution import Execution
from kvnb.manager.worker import Worker as WorkerProtocol
from kvnb.tensors.worker import Worker

torch = needs("torch")
PROMPTS = ("ABCDEFGHIJ", "ABCDEFGHxxx", "ABCD", "zz", "ABCDEFGHIJKLMNOP")


def some_command(lab: Lab, random: Random) -> None:
    """One command; one that is refused changes nothing."""
    name, some, defer = random.choice("abcd"), random.randrange(1, 4), random.random() < 0.4
    block_id = random.randrange(1, lab.behaviour.num_blocks)
    commands: list[Any] = [
        lambda: lab.admit(name, random.choice(PROMPTS), chunk=random.choice([None, None, 1, 3]), defer=defer),
        lambda: lab.admit(name, random.choice(PROMPTS)),
        lambda: lab.admit(name, defer=defer),
        lambda: lab.append(name, random.choice("xyz"), draft=random.choice([None, None, "q", "qr"]), defer=defer),
        lambda: lab.accept(name, random.randrange(3)),
        lambda: lab.prefill(name, random.choice([None, 1, 2])),
        lambda: lab.step(fail=not defer),
        lambda: lab.append(name, "f", fail=True),
        lambda: lab.generate(name, some),
        lambda: lab.decode(some),
        lambda: lab.corrupt(name, random.choice(lab.block_table(name) or (1,)), block_id),
        lambda: lab.preempt(name),
        lambda: lab.release(name),
        lambda: lab.evict(block_id),
        lambda: lab.reweight(some),
        lambda: lab.undo(some),
    ]
    with suppress(KvnbError):
        random.choice(commands)()


def computed(lab: Lab, worker: Worker, through: WorkerProtocol) -> tuple[Any, dict[str, Any]]:
    """What is in the memory after the history of ``lab`` was computed ``through`` the worker, and the logits that it keeps."""
    worker.clear()
    execution = Execution(lab.behaviour, through)
    for number in lab.journal.lineage():
        execution.run(lab.journal.steps[number - 1].command)
    if isinstance(through, CatchUp):
        through.finish()
    return worker.store.kv.clone(), dict(worker._kept)


@given(st.integers(0, 10**6), st.sampled_from([3, 2048]))
def test_long_passes_leave_what_short_ones_leave(seed: int, most: int) -> None:
    random = Random(seed)
    lab = Lab(random.choice([8, 12, 20]), block_size=random.choice([1, 2, 4]), device="cpu")
    for _ in range(25):
        some_command(lab, random)
    worker = Worker(lab.behaviour.num_blocks, lab.behaviour.block_size, device="cpu")
    short, kept = computed(lab, worker, worker)
    long, kept_late = computed(lab, worker, CatchUp(worker, most))
    assert torch.allclose(short, long, atol=1e-4, equal_nan=True)
    assert {name: logits.first for name, logits in kept.items()} == {name: logits.first for name, logits in kept_late.items()}
    assert all(torch.allclose(kept[name].rows, kept_late[name].rows, atol=1e-4, equal_nan=True) for name in kept)


def test_a_corrupt_table_reads_a_block_before_another_takes_it() -> None:
    lab = Lab(5, block_size=4, device="cpu")
    lab.admit("a", "ABCDEF")
    lab.admit("gone", "xyzwv")
    lab.release("gone")
    stale = lab.free_queue[-1]
    lab.corrupt("a", lab.block_table("a")[0], stale)
    lab.append("a", "!")
    lab.admit("b", "other w")
    assert stale in lab.block_table("b")
    assert lab.worker is not None
    before = lab.worker.store.kv.clone()
    lab.append("b", "?")
    lab.worker.model.prefers_long_passes = True
    lab.undo()
    assert torch.allclose(lab.worker.store.kv, before, atol=1e-5, equal_nan=True)

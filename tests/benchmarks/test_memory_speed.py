"""How fast the paged memory is beside a plain copy on the same device: ``pytest -m benchmark``. Nothing asserts a time.

Blocks of llama-3.1-8b's shape in 16 bits and in float32, enough of them to leave the caches of a CPU, in a random order;
medians, beside a copy of as many elements, converted alike, into memory that is there already, right before and after;
on a CPU all with one thread, as the worker runs. Then the time to the first token of 512 shared and 16 new tokens, with
and without a hit, and passes of the tiny model.
"""

from __future__ import annotations

import importlib
import random
import statistics
import time
from collections.abc import Callable

import pytest

from kvnb.core.events import Took
from kvnb.manager.events import Ended, Extended
from kvnb.manager.worker import Scheduled
from kvnb.tensors.shapes import SHAPES, human_bytes

torch = pytest.importorskip("torch")
KVStore = importlib.import_module("kvnb.tensors.store").KVStore
Worker = importlib.import_module("kvnb.tensors.worker").Worker
devices = importlib.import_module("kvnb.tensors.devices")

pytestmark = pytest.mark.benchmark
BLOCK, ROUNDS, LLAMA = 16, 15, SHAPES["llama-3.1-8b"].shape
DEVICE = devices.pick_device("auto")


def seconds(run: Callable[[], object], rounds: int = ROUNDS) -> float:
    """The median of some runs after one that warms up."""
    times = []
    for _ in range(rounds + 1):
        _wait()
        start = time.perf_counter()
        run()
        _wait()
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def _wait() -> None:
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()
    elif DEVICE.type == "mps":
        torch.mps.synchronize()


def sized_to_fit(dtype: str) -> KVStore:
    """A store of 2 GiB, or of a third of what is free."""
    each = KVStore(2, BLOCK, LLAMA, DEVICE, dtype).block_bytes_each
    return KVStore(min(2**31, devices.free_bytes(DEVICE) // 3) // each, BLOCK, LLAMA, DEVICE, dtype)


@pytest.fixture(autouse=True)
def _as_the_worker_runs():
    with devices.one_thread(DEVICE):
        yield


def copies(elements: int, dtype: torch.dtype) -> tuple[float, float]:
    """Seconds that a plain copy of so many float32 takes into ``dtype``, and back."""
    floats, kept = torch.zeros(elements, device=DEVICE), torch.zeros(elements, device=DEVICE, dtype=dtype)
    return seconds(lambda: kept.copy_(floats)), seconds(lambda: floats.copy_(kept))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_writing_and_gathering_whole_blocks_beside_a_plain_copy(dtype, capsys):
    if not devices.works(dtype, DEVICE.type):
        pytest.skip(f"{DEVICE.type} has no {dtype}")
    store = sized_to_fit(dtype)
    ids = list(range(1, store.num_blocks))
    random.Random(1).shuffle(ids)
    table = torch.tensor(ids[: max(len(ids) // 2, 1)], device=DEVICE)
    slots = (table[:, None] * BLOCK + torch.arange(BLOCK, device=DEVICE)).flatten()
    key, value = torch.randn(2, len(slots), LLAMA.kv_heads, LLAMA.head_size, device=DEVICE)
    layers = range(0, LLAMA.layers, 8)
    elements = key.numel() + value.numel()
    before = copies(elements, store.dtype)
    write = seconds(lambda: [store.write(layer, slots, key, value) for layer in layers]) / len(layers)
    gather = seconds(lambda: [store.gather(layer, table, reuse=True) for layer in layers]) / len(layers)
    into, back = (statistics.mean(pair) for pair in zip(before, copies(elements, store.dtype), strict=True))
    with capsys.disabled():
        print(f"\n{DEVICE.type}, {dtype}, {len(table)} blocks of a layer, {human_bytes(4 * elements)} in float32:", end=" ")
        print(f"write {into / write:.0%} of a copy ({into * 1e3:.2f} ms), gather {back / gather:.0%} ({back * 1e3:.2f} ms)")


def serve(worker: Worker, name: str, blocks: range, first: int, tokens: tuple[int, ...]) -> None:
    """One request from the first token on that is not in the cache, to its first token."""
    worker.follow([Took(tuple(blocks)[first // BLOCK :]), Extended(name, tuple(blocks))])
    worker.forward([Scheduled(name, first, tokens[first:])])
    worker.next_token(name, len(tokens))
    worker.follow([Ended(name)])


@pytest.mark.parametrize("model", ["tiny", "llama-3.2-1b"])
def test_the_time_to_the_first_token_with_and_without_a_hit(model, capsys):
    worker = Worker(40, BLOCK, *([SHAPES[model].shape] if model in SHAPES else []))
    tokens = tuple(random.Random(1).randrange(256) for _ in range(512 + BLOCK))
    blocks = range(1, 34)
    without = seconds(lambda: serve(worker, "r0", blocks, 0, tokens))
    hit = seconds(lambda: serve(worker, "r1", blocks, 512, tokens))
    with capsys.disabled():
        print(f"\n{worker.describe()}: first token of 512 + 16 after {without * 1e3:.1f} ms, with a hit {hit * 1e3:.1f} ms")


def test_passes_of_the_tiny_model(capsys):
    worker = Worker(40, 4)
    worker.follow([Took((1, 2, 3, 4, 5)), Extended("r0", (1, 2, 3, 4, 5))])
    prefill = seconds(lambda: worker.forward([Scheduled("r0", 0, tuple(range(16)))]), 100)
    decode = seconds(lambda: worker.forward([Scheduled("r0", 16, (7,))]), 100)
    with capsys.disabled():
        print(f"\n{worker.device.type}: 16 tokens in {prefill * 1e3:.2f} ms, then one in {decode * 1e3:.2f} ms")

"""What must hold between the manager's tables and the worker's memory, as equations with numbers.

Must not know: which request is next, how blocks are chosen. It only reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from kvnb.core.invariants import Equation
from kvnb.tensors.worker import Worker


def check(worker: Worker, tables: Mapping[str, Sequence[int]], computed: Mapping[str, int]) -> list[Equation]:
    """The equations of a pool's memory.

    tables
        The manager's block table of each running request; 0 for what left its window.
    computed
        How many of its tokens forward passes have computed.
    """
    return [_same_tables(worker, tables), _all_written(worker, tables, computed), _null_block_empty(worker)]


def _same_tables(worker: Worker, tables: Mapping[str, Sequence[int]]) -> Equation:
    # The worker's rows are appended to only: what left the window still stands there, and is never read.
    wrong = sum(_differs(worker, name, table) for name, table in tables.items())
    more = len(worker.block_table) - sum(name in worker.block_table for name in tables)
    return Equation("the worker's block tables = the manager's", f"{len(tables)} tables, {wrong + more} differ", not wrong + more)


def _differs(worker: Worker, name: str, table: Sequence[int]) -> bool:
    row = worker.block_table.row(name).tolist() if name in worker.block_table else []
    return len(row) != len(table) or any(theirs not in (0, mine) for mine, theirs in zip(row, table, strict=True))


def _all_written(worker: Worker, tables: Mapping[str, Sequence[int]], computed: Mapping[str, int]) -> Equation:
    size, missing, total = worker.store.block_size, 0, 0
    for name, table in tables.items():
        there = [place for place in range(computed[name]) if table[place // size]]
        total += len(there)
        missing += _unwritten(worker, table, there)
    return Equation("every computed token has its K and V", f"{total} tokens, {missing} without", not missing)


def _unwritten(worker: Worker, table: Sequence[int], places: Sequence[int]) -> int:
    size, kv = worker.store.block_size, worker.store.kv
    blocks = torch.tensor([table[place // size] for place in places], dtype=torch.int64, device=kv.device)
    offsets = torch.tensor([place % size for place in places], dtype=torch.int64, device=kv.device)
    return int(kv[blocks, :, :, offsets].float().isnan().flatten(1).any(dim=1).sum()) if len(places) else 0


def _null_block_empty(worker: Worker) -> Equation:
    written = int((~worker.store.kv[0].float().isnan()).sum())
    return Equation("block 0 is never written", f"{written} numbers in it", not written)

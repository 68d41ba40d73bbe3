"""The worker's block tables: one tensor, a row for each running request, only ever appended to.

Must not know: how blocks are chosen, which of them are shared, what lies in them.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from kvnb.errors import UnknownName, named, nearest


class BlockTable:
    """Block ids by request (vLLM: ``BlockTable`` in ``v1/worker/block_table.py``).

    table
        int32, (requests, blocks); grown by doubling. What stands beyond a row's length is left over and never read.
    num_written
        How many entries were ever written: no entry is written twice while its request runs.
    """

    def __init__(self, block_size: int, device: torch.device, max_requests: int = 4, max_blocks: int = 16) -> None:
        self.block_size = block_size
        self.table = torch.zeros(max_requests, max_blocks, dtype=torch.int32, device=device)
        self.num_written = 0
        self._row_of: dict[str, int] = {}
        self._length_of: dict[str, int] = {}

    def append(self, name: str, ids: Sequence[int]) -> None:
        """Write ``ids`` behind what the row of ``name`` holds; a name without a row gets one."""
        row, length = self._row(name), self._length_of[name]
        after = length + len(ids)
        self._grow(len(self._row_of), after)
        self.table[row, length:after] = torch.tensor(ids, dtype=torch.int32, device=self.table.device)
        self._length_of[name] = after
        self.num_written += len(ids)

    def corrupt(self, name: str, entry: int, other: int) -> None:
        """Put ``other`` at place ``entry`` of the row of ``name``: the fault that must never happen.

        A place, and no id: what stands there may be wrong already, and what left a window may have come back as a later entry.
        Raises UnknownName, or IndexError when the row is shorter.
        """
        self.row(name)[entry] = other

    def remove(self, name: str) -> None:
        """Let the row of ``name`` go, if it has one; the next new name may get it."""
        self._row_of.pop(name, None)
        self._length_of.pop(name, None)

    def row(self, name: str) -> torch.Tensor:
        """The block ids of ``name``, int32. Raises UnknownName, with the nearest names."""
        if name not in self._row_of:
            raise UnknownName(f"no block table for {named(name)}: {nearest(name, self._row_of)}")
        return self.table[self._row_of[name], : self._length_of[name]]

    def slot_mapping(self, name: str, first: int, n: int) -> torch.Tensor:
        """The slots of ``n`` tokens of ``name`` from place ``first`` on, int64, computed from the tensor.

        Raises UnknownName, or IndexError when the row is too short (vLLM: ``compute_slot_mapping``).
        """
        row = self.row(name)
        if first + n > len(row) * self.block_size:
            raise IndexError(f"{named(name)} has {len(row)} blocks: too few for {first + n} tokens")
        places = torch.arange(first, first + n, device=self.table.device)
        return row[places // self.block_size].long() * self.block_size + places % self.block_size

    def __contains__(self, name: str) -> bool:
        return name in self._row_of

    def __len__(self) -> int:
        return len(self._row_of)

    def _row(self, name: str) -> int:
        if name not in self._row_of:
            taken = sorted(self._row_of.values())
            free = next((row for row, other in enumerate(taken) if row != other), len(taken))
            self._length_of[name] = 0
            self._row_of[name] = free
        return self._row_of[name]

    def _grow(self, requests: int, blocks: int) -> None:
        rows, columns = self.table.shape
        while rows < requests:
            rows *= 2
        while columns < blocks:
            columns *= 2
        if (rows, columns) != tuple(self.table.shape):
            grown = self.table.new_zeros(rows, columns)
            grown[: self.table.shape[0], : self.table.shape[1]] = self.table
            self.table = grown

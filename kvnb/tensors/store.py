"""The memory of all blocks: one tensor, written by slot and read by block.

Must not know: requests and their tables, who owns a block, models.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import torch

from kvnb.errors import OutOfMemory
from kvnb.tensors.devices import free_bytes, torch_dtype
from kvnb.tensors.shapes import KVShape, bytes_per_block, check_shape, costs, human_bytes

Ids = Sequence[int] | torch.Tensor

# Elements are filled as plain integers of their size: every device can do that, whatever the precision.
_WORDS = {1: torch.int8, 2: torch.int16, 4: torch.int32}
_FILL = -1
"""All bits set: a NaN in each of the five precisions."""


class KVStore:
    """K and V of ``num_blocks`` blocks, all NaN at first.

    kv
        Of shape (num_blocks, layers, 2, block_size, kv_heads, head_size), K before V: ``kv[5]`` is block 5, in one piece
        (the block-first layout of vLLM's ``get_kv_cache_shape``, all layers in one tensor).
    dtype
        A name of ``DTYPES``; what is written is rounded to it, what is gathered is float32 again.

    A slot is ``block_id * block_size + offset`` (vLLM: ``slot_mapping``). Block 0 is never written.
    Raises SettingError for what the device cannot keep, OutOfMemory, before it takes any, when there is too little.
    """

    def __init__(self, num_blocks: int, block_size: int, shape: KVShape, device: torch.device, dtype: str = "float32") -> None:
        check_shape(shape)
        self.num_blocks, self.block_size, self.shape, self.device, self.dtype_name = num_blocks, block_size, shape, device, dtype
        self.dtype = torch_dtype(dtype, device)
        self.block_bytes_each = bytes_per_block(shape, block_size, dtype)
        self._scratch: dict[torch.dtype, torch.Tensor] = {}
        self._lay_out(self._allocate())
        self._wide = _widest(self._rows, device)

    # --- memory --------------------------------------------------------------------------------------------

    @property
    def num_bytes(self) -> int:
        """Bytes of all blocks together."""
        return self.num_blocks * self.block_bytes_each

    def _allocate(self) -> torch.Tensor:
        # Asked before: Linux hands out memory it does not have, and kills the process that then uses it.
        free = free_bytes(self.device)
        if self.num_blocks * costs(self.block_bytes_each, self.device.type) > free:
            raise OutOfMemory(self._too_little(free))
        layers, kv_heads, head_size = self.shape
        size = (self.num_blocks, layers, 2, self.block_size, kv_heads, head_size)
        try:
            return torch.full(size, _FILL, dtype=_WORDS[self.dtype.itemsize], device=self.device)
        except (torch.OutOfMemoryError, RuntimeError, MemoryError):
            raise OutOfMemory(self._too_little(free_bytes(self.device))) from None

    def _lay_out(self, words: torch.Tensor) -> None:
        self._words, self.kv = words, words.view(self.dtype)
        # A plane is K or V of one block in one layer, a row of one token.
        self._planes = words.view(self.num_blocks * self.shape.layers * 2, -1)
        self._rows = words.view(len(self._planes) * self.block_size, -1)

    def _too_little(self, free: int) -> str:
        each = human_bytes(self.block_bytes_each)
        fit = free // costs(self.block_bytes_each, self.device.type)
        return (
            f"{self.num_blocks:,} blocks of {each} need {human_bytes(self.num_bytes)}, {human_bytes(free)} of memory are free "
            f"on {self.device.type}: {fit:,} blocks would fit (or --device none for block ids only)"
        )

    def clear(self) -> None:
        """Fill every block: as new. Memory that was let go is taken again; raises OutOfMemory when it is not there."""
        if len(self._words):
            self._words.fill_(_FILL)
        else:
            self._lay_out(self._allocate())

    def close(self) -> None:
        """Let the memory go; nothing can be read or written until ``clear``."""
        empty = self._words.new_empty(0)
        self._words = self._planes = self._rows = empty
        self._scratch.clear()
        self.kv = empty.view(self.dtype)
        if self.device.type == "cuda":
            # Else torch keeps it for its own next tensors, and other processes do not get it back.
            torch.cuda.empty_cache()

    # --- writing -------------------------------------------------------------------------------------------

    def fill(self, block_ids: Ids) -> None:
        """Make these blocks NaN, as they were at first: what is read before it is written shows."""
        ids = self._ids(block_ids)
        if len(ids):
            self._words.index_fill_(0, ids, _FILL)

    def fill_slots(self, slots: Ids) -> None:
        """Make the K and V of these slots NaN, in every layer."""
        places = self._ids(slots)
        for layer in range(self.shape.layers):
            first = self._rows_of(layer, places)
            self._rows.index_fill_(0, torch.cat((first, first + self.block_size)), _FILL)

    def write(self, layer: int, slots: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> None:
        """Put the K and V of T tokens, each (T, kv_heads, head_size) in float32, into the T ``slots`` of one layer.

        Raises IndexError, before anything is written, for a slot in block 0 or beyond the last block.
        """
        self._check_slots(slots)
        first = self._rows_of(layer, slots)
        rows = self._rows.view(self._wide)
        rows.index_copy_(0, first, self._as_rows(key))
        rows.index_copy_(0, first + self.block_size, self._as_rows(value))

    def copy_block(self, source: int, target: int) -> None:
        """Make block ``target`` equal to block ``source``, byte for byte. Raises IndexError for block 0 or an unknown one."""
        if not (0 <= source < self.num_blocks and 0 < target < self.num_blocks):
            raise IndexError(f"cannot copy block {source} to block {target}: there are 1 to {self.num_blocks - 1}")
        self._words[target].copy_(self._words[source])

    def _check_slots(self, slots: torch.Tensor) -> None:
        if len(slots):
            least, most = slots.aminmax()
            if int(least) < self.block_size or int(most) >= self.num_blocks * self.block_size:
                raise IndexError(f"slots {int(least)} to {int(most)} are not all in blocks 1 to {self.num_blocks - 1}")

    def _rows_of(self, layer: int, slots: torch.Tensor) -> torch.Tensor:
        """Rows of K in ``self._rows``; those of V lie ``block_size`` further."""
        block, offset = slots // self.block_size, slots % self.block_size
        return (block * self.shape.layers + layer) * (2 * self.block_size) + offset

    def _as_rows(self, values: torch.Tensor) -> torch.Tensor:
        rows = rounded(values, self.dtype).reshape(len(values), -1)
        if rows.storage_offset() * rows.itemsize % self._wide.itemsize:
            rows = rows.clone()
        return rows.view(self._wide)

    # --- reading -------------------------------------------------------------------------------------------

    def gather(self, layer: int, block_ids: Ids, reuse: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
        """K and V of whole blocks in the order of ``block_ids``: each (len * block_size, kv_heads, head_size), float32.

        reuse
            True: the result may lie where that of the last such call lay, and holds until the next one. Fresh memory
            costs several times the copy itself.
        """
        key = (self._ids(block_ids) * self.shape.layers + layer) * 2
        planes = torch.cat((key, key + 1))
        moved = self._room(self.dtype, len(planes), reuse)
        torch.index_select(self._planes.view(self._wide), 0, planes, out=moved.view(self._wide))
        found = moved if self.dtype == torch.float32 else self._room(torch.float32, len(planes), reuse).copy_(moved)
        k, v = found.view(2, -1, self.shape.kv_heads, self.shape.head_size)
        return k, v

    def k_norms(self, block_id: int) -> list[list[float]]:
        """L2 norm of K over layers and head_size, by token (block_size) and head (kv_heads); NaN where nothing is written."""
        norms: list[list[float]] = torch.linalg.vector_norm(self.kv[block_id, :, 0].float(), dim=(0, 3)).tolist()
        return norms

    def block_bytes(self, block_id: int) -> bytes:
        """The bytes of one block as they lie in memory."""
        return self._words[block_id].cpu().numpy().tobytes()

    def block_hash(self, block_id: int) -> str:
        """SHA-256 of these bytes, in hex."""
        return hashlib.sha256(self.block_bytes(block_id)).hexdigest()

    def _room(self, dtype: torch.dtype, planes: int, reuse: bool) -> torch.Tensor:
        """Memory for so many planes, the same again with ``reuse``."""
        room = self._scratch.get(dtype) if reuse else None
        if room is None or len(room) < planes:
            room = torch.empty(planes, self._planes.shape[1], dtype=dtype, device=self.device)
        if reuse:
            self._scratch[dtype] = room
        return room[:planes]

    def _ids(self, ids: Ids) -> torch.Tensor:
        return torch.as_tensor(ids, dtype=torch.int64, device=self.device)


def _widest(rows: torch.Tensor, device: torch.device) -> torch.dtype:
    """What rows are moved as: the fewer elements, the faster, since ``index_copy_`` takes them one by one."""
    if device.type == "mps" or rows.shape[1] * rows.itemsize % 16:
        return rows.dtype
    return torch.complex128


def rounded(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """``values`` in ``dtype``; an fp8 takes its largest number where a value is larger, and NaN stays NaN."""
    if dtype.itemsize == 1:
        most = torch.finfo(dtype).max
        values = values.clamp(-most, most)
    return values.to(dtype)

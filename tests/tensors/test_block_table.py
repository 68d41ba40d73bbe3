"""The worker's block tables: appended to, never rewritten."""

from __future__ import annotations

import pytest
import torch

from kvnb.errors import UnknownName
from kvnb.tensors.block_table import BlockTable
from kvnb.tensors.devices import pick_device


def make(device="cpu", **size) -> BlockTable:
    return BlockTable(4, pick_device(device), **size)


def test_ids_are_appended_behind_those_that_are_there(device):
    table = make(device)
    table.append("r0", (5, 2))
    table.append("r1", (9,))
    table.append("r0", (7,))
    assert table.row("r0").tolist() == [5, 2, 7]
    assert table.row("r1").tolist() == [9]


def test_each_entry_is_written_once_however_the_tensor_grows(device):
    table = make(device, max_requests=1, max_blocks=1)
    for place in range(20):
        for name in ("r0", "r1", "r2"):
            table.append(name, (place,))
    assert table.num_written == 60
    assert all(table.row(name).tolist() == list(range(20)) for name in ("r0", "r1", "r2"))


def test_the_tensor_doubles_when_a_row_or_a_column_is_missing():
    table = make(max_requests=1, max_blocks=2)
    table.append("r0", (1, 2, 3))
    assert tuple(table.table.shape) == (1, 4)
    table.append("r1", (4, 5, 6, 7, 8))
    assert tuple(table.table.shape) == (2, 8)
    assert table.table.dtype == torch.int32


def test_a_removed_row_goes_to_the_next_new_name_and_starts_empty():
    table = make()
    table.append("r0", (1, 2, 3))
    table.append("r1", (4,))
    table.remove("r0")
    table.append("r2", (8,))
    assert table.row("r2").tolist() == [8]
    assert table.row("r2").data_ptr() == table.table.data_ptr()
    assert len(table) == 2


def test_a_resumed_request_starts_with_an_empty_row():
    table = make()
    table.append("r0", (1, 2))
    table.remove("r0")
    assert "r0" not in table
    table.append("r0", (6,))
    assert table.row("r0").tolist() == [6]


def test_removing_a_name_without_a_row_changes_nothing():
    table = make()
    table.append("r0", (1,))
    table.remove("r9")
    assert table.row("r0").tolist() == [1]


def test_an_unknown_name_is_an_error_that_names_the_others():
    table = make()
    table.append("r0", (1,))
    with pytest.raises(UnknownName, match="no block table for r9"):
        table.row("r9")


def test_slots_are_block_times_size_plus_offset(device):
    table = make(device)
    table.append("r0", (5, 2, 7))
    slots = table.slot_mapping("r0", 2, 7)
    assert slots.tolist() == [22, 23, 8, 9, 10, 11, 28]
    assert slots.dtype == torch.int64


def test_there_are_no_slots_beyond_the_last_block():
    table = make()
    table.append("r0", (5,))
    assert table.slot_mapping("r0", 3, 1).tolist() == [23]
    with pytest.raises(IndexError, match="r0 has 1 blocks: too few for 5 tokens"):
        table.slot_mapping("r0", 3, 2)

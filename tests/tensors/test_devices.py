"""Devices and precisions that a machine has, and errors for those it lacks."""

from __future__ import annotations

import pytest
import torch

from kvnb.errors import SettingError
from kvnb.tensors import devices
from kvnb.tensors.devices import free_bytes, one_thread, pick_device, torch_dtype
from kvnb.tensors.shapes import DTYPES


def only(monkeypatch, *names: str) -> None:
    monkeypatch.setattr(devices, "_has", lambda name: name in names)


def test_auto_prefers_cuda_then_mps_then_the_cpu(monkeypatch):
    for there in (("cuda", "mps", "cpu"), ("mps", "cpu"), ("cpu",)):
        only(monkeypatch, *there)
        assert pick_device("auto").type == there[0]


def test_a_machine_without_cuda_says_what_to_use(monkeypatch):
    only(monkeypatch, "cpu")
    with pytest.raises(SettingError, match=r"this machine has no CUDA device: use --device cpu \(or auto\)"):
        pick_device("cuda")
    with pytest.raises(SettingError, match="this machine has no Apple GPU"):
        pick_device("mps")


def test_an_unknown_device_is_an_error_that_names_the_nearest():
    with pytest.raises(SettingError, match="unknown device 'cudo': did you mean cuda"):
        pick_device("cudo")


def test_device_none_has_no_memory_to_pick():
    with pytest.raises(SettingError, match="block ids only"):
        pick_device("none")


def test_every_device_here_has_memory_free(device):
    assert free_bytes(pick_device(device)) > 0


@pytest.mark.parametrize("name", DTYPES)
def test_the_cpu_keeps_every_precision(name):
    assert torch_dtype(name, torch.device("cpu")).itemsize == DTYPES[name]


def test_a_precision_that_the_device_lacks_is_refused_and_the_others_are_named(monkeypatch):
    monkeypatch.setattr(devices, "works", lambda name, device: not name.startswith("fp8"))
    with pytest.raises(SettingError, match="cpu cannot keep fp8_e4m3: use --dtype float32 or float16 or bfloat16"):
        torch_dtype("fp8_e4m3", torch.device("cpu"))


def test_a_pass_on_the_cpu_takes_one_thread_and_gives_the_others_back(monkeypatch):
    counts = [3]
    monkeypatch.setattr(torch, "get_num_threads", lambda: counts[-1])
    monkeypatch.setattr(torch, "set_num_threads", counts.append)
    with pytest.raises(KeyboardInterrupt), one_thread(torch.device("cpu")):
        raise KeyboardInterrupt
    with one_thread(torch.device("cuda")):
        assert counts == [3, 1, 3]


def test_what_a_device_lacks_is_found_by_trying():
    assert not devices.works("float32", "no such device")

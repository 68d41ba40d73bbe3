"""Loads the real modules of vLLM's scheduler core, with stand-ins for all that they import but never run.

The modules get an ``__import__`` of their own: what they ask for is looked up here, so that stand-ins for torch and
the like exist for them alone and the test process keeps its own.
"""

from __future__ import annotations

import builtins
import dataclasses
import sys
import types
from pathlib import Path
from typing import Any

REAL = {
    "vllm.config.kv_events", "vllm.distributed.kv_events", "vllm.utils.hashing", "vllm.utils.math_utils",
    "vllm.utils.mem_constants", "vllm.v1.core.block_pool", "vllm.v1.core.kv_cache_coordinator",
    "vllm.v1.core.kv_cache_manager", "vllm.v1.core.kv_cache_metrics", "vllm.v1.core.kv_cache_utils",
    "vllm.v1.core.single_type_kv_cache_manager", "vllm.v1.kv_cache_interface", "vllm.v1.kv_cache_layout",
    "vllm.v1.kv_cache_spec_registry", "vllm.v1.metrics.cache_hit_source",
    "vllm.v1.metrics.stats", "vllm.v1.request",
}  # fmt: skip
STAND_INS = {"torch", "transformers", "pydantic", "psutil", "regex", "numpy", "openai", "prometheus_client"}


class _AnyClass(type):
    """A class that has every attribute, allows every annotation, and does nothing."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(cls, name, stand_in(name))
        return getattr(cls, name)

    def __or__(cls, other: object) -> Any:
        return cls

    def __ror__(cls, other: object) -> Any:
        return cls


def stand_in(name: str) -> Any:
    """A new class of that name whose instances take any arguments and have no attributes."""
    body = {"__init__": lambda self, *a, **k: None, "__class_getitem__": classmethod(lambda cls, item: cls)}
    return _AnyClass(name, (), body)


class _StandInModule(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(self, name, stand_in(name))
        return getattr(self, name)


class _Silent:
    """A logger that says nothing."""

    def __getattr__(self, name: str) -> Any:
        return lambda *a, **k: None


class _Environment:
    """vLLM's ``envs``: everything unset but the documented default of the integer hashes on the wire."""

    VLLM_KV_EVENTS_USE_INT_BLOCK_HASHES = True

    def __getattr__(self, name: str) -> Any:
        return None


class ConstantList:
    """A view of a list that can be read only: what a request hands out its tokens in."""

    def __init__(self, values: list[Any]) -> None:
        self._values = values

    def __getitem__(self, place: Any) -> Any:
        return self._values[place]

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Any:
        return iter(self._values)


class SamplingParams:
    """The two attributes of sampling parameters that a request reads, and None for the others."""

    max_tokens = 1
    skip_reading_prefix_cache = False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return None


@dataclasses.dataclass
class LoRARequest:
    """What the hashes read of an adapter."""

    lora_name: str
    lora_int_id: int
    lora_path: str = ""

    @property
    def adapter_id(self) -> int:
        return self.lora_int_id

    @property
    def name(self) -> str:
        return self.lora_name


def _config(cls: Any = None, **options: Any) -> Any:
    return dataclasses.dataclass(cls) if cls else dataclasses.dataclass


class VllmCore:
    """``core["vllm.v1.core.block_pool"]`` is that real module of the sources in ``folder``.

    ``given`` adds stand-ins, by module and name, to those that are here.
    """

    def __init__(self, folder: Path, given: dict[tuple[str, str], Any] | None = None) -> None:
        self.folder = folder
        self.modules: dict[str, types.ModuleType] = {}
        self._given = {
            ("vllm.logger", "init_logger"): lambda name: _Silent(),
            ("vllm.config.utils", "config"): _config,
            ("vllm", "envs"): _Environment(),
            ("vllm.v1.utils", "ConstantList"): ConstantList,
            ("vllm.utils", "length_from_prompt_token_ids_or_embeds"): lambda tokens, embeds: len(tokens),
            ("vllm.utils.torch_utils", "get_dtype_size"): lambda dtype: 4,
            ("vllm.sampling_params", "SamplingParams"): SamplingParams,
            ("vllm.lora.request", "LoRARequest"): LoRARequest,
            **(given or {}),
        }

    def __getitem__(self, name: str) -> types.ModuleType:
        if name not in self.modules:
            path = self.folder.joinpath(*name.split(".")).with_suffix(".py")
            self.modules[name] = self._execute(name, path) if name in REAL else self._stand_in(name)
        return self.modules[name]

    def _stand_in(self, name: str) -> types.ModuleType:
        module = _StandInModule(name)
        for (owner, attribute), value in self._given.items():
            if owner == name:
                setattr(module, attribute, value)
        return module

    def _execute(self, name: str, path: Path) -> types.ModuleType:
        module = types.ModuleType(name)
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": self._import}
        # dataclasses and msgspec resolve annotations through sys.modules.
        sys.modules[name] = self.modules[name] = module
        exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
        return module

    def _import(self, name: str, names: Any = None, local: Any = None, wanted: Any = (), level: int = 0) -> Any:
        top = name.partition(".")[0]
        if top != "vllm" and top not in STAND_INS:
            return builtins.__import__(name, names, local, wanted, level)
        if not wanted:
            return self[top]
        module = self[name]
        for attribute in wanted:
            if f"{name}.{attribute}" in REAL:
                setattr(module, attribute, self[f"{name}.{attribute}"])
        return module

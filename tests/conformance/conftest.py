"""The judge for all tests here."""

from vllm_fixture import vllm

__all__ = ["vllm"]

"""Requests: their tokens, their append-only block tables, and the commands that change them, planned first.

Must not know: tensors, files, the journal, notebooks.
"""

from kvnb.manager.behaviour import Behaviour
from kvnb.manager.kv_cache_manager import KVCacheManager
from kvnb.manager.request import Request
from kvnb.manager.scheduler import Scheduler

__all__ = ["Behaviour", "KVCacheManager", "Request", "Scheduler"]

"""One request: its tokens and the hash chain over them. Its block table is kept by the KVCacheManager.

Must not know: the pool.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kvnb.core.hashing import extend_block_hashes
from kvnb.manager.behaviour import Behaviour
from kvnb.manager.events import State

Lora = tuple[str, str]
"""Name and path of an adapter."""

BlockHasher = Callable[[list[bytes], Sequence[int], str | None, Lora | None], None]
"""Appends to a list of hashes what is missing for the full blocks of the tokens, under a salt and an adapter."""


def get_request_block_hasher(behaviour: Behaviour) -> BlockHasher:
    """The hasher all requests of one pool share (vLLM: the function of the same name); idle when caching is off."""
    if not behaviour.prefix_caching:
        return lambda hashes, tokens, salt, lora: None
    function, root, block_size = behaviour.hash_function, bytes.fromhex(behaviour.none_hash), behaviour.block_size
    return lambda hashes, tokens, salt, lora: extend_block_hashes(hashes, tokens, block_size, function, root, salt, lora)


class Request:
    """A prompt and what was generated after it (vLLM: ``Request`` in ``v1/request.py``).

    name
        vLLM's ``request_id``.
    token_ids
        Prompt and output, in order; only ever appended to.
    num_prompt_tokens
        How many of them came with ``admit``.
    num_computed_tokens
        How many of them have slots: all, unless the prompt is prefilled in chunks.
    drafts
        Tokens that a draft model proposed; they have slots, and are dropped unless accepted.
    salt, lora
        Keep its blocks apart from equal tokens under another salt or adapter.
    block_hashes
        One hash a full block, drafts excluded.
    status
        ``running`` or ``preempted``.
    num_preemptions
        How often it lost its blocks.
    """

    def __init__(
        self,
        name: str,
        token_ids: Sequence[int],
        hasher: BlockHasher,
        salt: str | None = None,
        lora: Lora | None = None,
    ) -> None:
        self.name = name
        self.salt = salt
        self.lora = lora
        self.num_computed_tokens = 0
        self.drafts: tuple[int, ...] = ()
        self.token_ids: list[int] = []
        self.block_hashes: list[bytes] = []
        self.num_prompt_tokens = len(token_ids)
        self.status: State = "running"
        self.num_preemptions = 0
        self._hasher = hasher
        self.append(token_ids)

    @property
    def num_tokens(self) -> int:
        """Tokens so far, prompt and output."""
        return len(self.token_ids)

    def append(self, token_ids: Sequence[int]) -> None:
        """Add tokens at the end and hash the blocks that became full."""
        self.token_ids.extend(token_ids)
        self._hasher(self.block_hashes, self.token_ids, self.salt, self.lora)

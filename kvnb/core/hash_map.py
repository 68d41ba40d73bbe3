"""The prefix cache: from a block hash to the block, or the several blocks, that hold those tokens.

Must not know: the free queue, reference counts, how a hash is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvnb.core.block import KVCacheBlock


class BlockHashToBlockMap:
    """Block hash to one or several blocks (vLLM: the class of the same name in ``v1/core/block_pool.py``).

    Two requests that compute the same tokens at the same moment each keep their own block: tables are
    append-only, so copies are not merged. A lookup gives the copy that was entered first and is still there.
    One block is stored bare and several in a dict by id, since copies are rare and dicts are not free.
    """

    def __init__(self) -> None:
        self._blocks: dict[bytes, KVCacheBlock | dict[int, KVCacheBlock]] = {}

    def get_one_block(self, block_hash: bytes) -> KVCacheBlock | None:
        """The first copy entered that is still there, or None."""
        found = self._blocks.get(block_hash)
        if isinstance(found, dict):
            return next(iter(found.values()))
        return found

    def get_blocks(self, block_hash: bytes) -> tuple[KVCacheBlock, ...]:
        """Every copy, in the order of entry; empty when the hash is not cached."""
        found = self._blocks.get(block_hash)
        if found is None:
            return ()
        return tuple(found.values()) if isinstance(found, dict) else (found,)

    def get_longest_prefix(self, block_hashes: Sequence[bytes]) -> list[KVCacheBlock]:
        """The blocks of ``block_hashes``, from the first up to the first that is not cached."""
        prefix: list[KVCacheBlock] = []
        lookup = self._blocks.get
        for block_hash in block_hashes:
            found = lookup(block_hash)
            if found is None:
                break
            prefix.append(next(iter(found.values())) if isinstance(found, dict) else found)
        return prefix

    def insert(self, block_hash: bytes, block: KVCacheBlock) -> None:
        """Enter ``block`` behind the copies that are already there."""
        found = self._blocks.get(block_hash)
        if found is None:
            self._blocks[block_hash] = block
        elif isinstance(found, dict):
            found[block.block_id] = block
        else:
            self._blocks[block_hash] = {found.block_id: found, block.block_id: block}

    def insert_n(self, block_hashes: Sequence[bytes], blocks: Sequence[KVCacheBlock]) -> None:
        """``insert`` for each pair."""
        known = self._blocks
        for block_hash, block in zip(block_hashes, blocks, strict=True):
            if known.setdefault(block_hash, block) is not block:
                self.insert(block_hash, block)

    def pop(self, block_hash: bytes, block_id: int) -> KVCacheBlock | None:
        """Take out the copy with that id and return it; None, and no change, when it is not there."""
        found = self._blocks.pop(block_hash, None)
        if found is None:
            return None
        if not isinstance(found, dict):
            if found.block_id == block_id:
                return found
            self._blocks[block_hash] = found
            return None
        block = found.pop(block_id, None)
        if found:
            self._blocks[block_hash] = found
        return block

    def __len__(self) -> int:
        """How many different hashes are cached (copies of one count once)."""
        return len(self._blocks)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._blocks)

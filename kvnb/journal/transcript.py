"""What each request says: its tokens and drafts, its salt and adapter, followed from command to command.

Must not know: blocks. Events tell of blocks and numbers of tokens, commands tell of the tokens themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kvnb.journal.journal import Journal
from kvnb.manager.behaviour import Behaviour
from kvnb.manager.command import Command
from kvnb.manager.engine import COMPUTE, computes
from kvnb.manager.request import Request, get_request_block_hasher
from kvnb.manager.tokenizers import TOKENIZERS


class Transcript:
    """Name to ``Request`` (tokens, drafts, salt, adapter, block hashes) for all that have not ended.

    hashes
        False: nobody will ask for block hashes, and none is computed.
    """

    def __init__(self, behaviour: Behaviour, hashes: bool = True) -> None:
        self.requests: dict[str, Request] = {}
        self._tokenizer = behaviour.tokenizer
        self._deferred: list[str] = []
        self._hasher = get_request_block_hasher(behaviour if hashes else replace(behaviour, prefix_caching=False))

    @classmethod
    def of(cls, journal: Journal, k: int | None = None, hashes: bool = True) -> Transcript:
        """The transcript after step ``k`` of a journal, by default its last."""
        transcript = cls(journal.behaviour, hashes)
        for number in journal.lineage(k):
            transcript.apply(journal.steps[number - 1].command)
        return transcript

    def apply(self, command: Command) -> None:
        """Follow one command that was carried out. Undo is the journal's business: see ``of``."""
        self._follow(command)
        if command.verb in COMPUTE:
            self._settle(command)

    def _settle(self, command: Command) -> None:
        """A pass that failed preempts its requests, and with them their drafts go."""
        self._deferred += [command.args["name"]] if "name" in command.args else []
        if computes(command):
            for name in self._deferred if command.args.get("fail") else ():
                self.requests[name].drafts = ()
            self._deferred.clear()

    def _follow(self, command: Command) -> None:
        args = command.args
        if command.verb == "admit" and args["name"] not in self.requests:
            lora = (args["lora"][0], args["lora"][1]) if "lora" in args else None
            self.requests[args["name"]] = Request(args["name"], self._tokens(args), self._hasher, args.get("salt"), lora)
        elif command.verb == "append":
            request = self.requests[args["name"]]
            request.append(self._tokens(args))
            request.drafts = tuple(self._tokens(args.get("draft", {})))
        elif command.verb == "accept":
            request = self.requests[args["name"]]
            request.append(request.drafts[: args["k"]])
            request.drafts = ()
        elif command.verb == "preempt":
            self.requests[args["name"]].drafts = ()
        elif command.verb == "release":
            for name in args["names"]:
                del self.requests[name]

    def _tokens(self, prompt: Mapping[str, Any]) -> list[int]:
        if "tokens" in prompt:
            return list(prompt["tokens"])
        return TOKENIZERS[self._tokenizer](prompt["text"]) if "text" in prompt else []

"""A real kernel, spoken to directly: cells, completion, inspection, and the records that cells leave."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from front_ends import RECORD, environment
from helpers import needs


class CellRun(NamedTuple):
    """What the kernel sent while it ran a cell."""

    execution_count: int
    outputs: list[dict[str, Any]]

    @property
    def texts(self) -> list[str]:
        """What was displayed, as plain text."""
        return [data["text/plain"] for data in self._displayed if "text/plain" in data]

    @property
    def saved(self) -> list[dict[str, Any]]:
        """What a front end has in the end, and writes into the file: the data of each output that was displayed."""
        kept: list[dict[str, Any]] = []
        places: dict[str, int] = {}
        for output in self.outputs:
            name = output.get("transient", {}).get("display_id")
            if output["msg_type"] == "update_display_data":
                kept[places[name]] = output["data"]
            elif "data" in output:
                places[name] = len(kept)
                kept.append(output["data"])
        return kept

    @property
    def records(self) -> list[dict[str, Any]]:
        """The records that the cell left."""
        return [data[RECORD] for data in self._displayed if RECORD in data]

    @property
    def _displayed(self) -> list[dict[str, Any]]:
        return [output["data"] for output in self.outputs if output["msg_type"] == "display_data"]

    @property
    def error(self) -> list[str] | None:
        """The traceback of the error that ended the cell."""
        found = [output["traceback"] for output in self.outputs if output["msg_type"] == "error"]
        return found[0] if found else None


class Kernel:
    """A kernel process and a client of it."""

    def __init__(self, folder: Path) -> None:
        start = needs("jupyter_client.manager").start_new_kernel
        needs("ipykernel")
        self.manager, self.client = start(env=environment(folder), cwd=str(folder))

    def run(
        self, *cells: str, cell_id: str | None = None, seen: Callable[[dict[str, Any]], None] | None = None, **options: Any
    ) -> CellRun:
        """Run cells, and give what came of the last; ``seen`` is told of every output at once."""
        ran = CellRun(0, [])
        for cell in cells:
            outputs: list[dict[str, Any]] = []

            def keep(message: dict[str, Any], kept: list[dict[str, Any]] = outputs) -> None:
                if message["msg_type"] in ("display_data", "update_display_data", "execute_result", "stream", "error"):
                    kept.append({"msg_type": message["msg_type"], **message["content"]})
                    if seen:
                        seen(kept[-1])

            metadata = {"cellId": cell_id} if cell_id else {}
            reply = self._execute(cell, keep, metadata, options)
            ran = CellRun(reply["content"]["execution_count"], outputs)
        return ran

    def _execute(self, cell: str, keep: Any, metadata: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
        message = self.client.session.msg(
            "execute_request",
            {
                "code": cell,
                "silent": False,
                "store_history": True,
                "user_expressions": {},
                "allow_stdin": False,
                "stop_on_error": False,
                **options,
            },
            metadata=metadata,
        )
        self.client.shell_channel.send(message)
        msg_id = message["header"]["msg_id"]
        while True:
            sent = self.client.get_iopub_msg(timeout=60)
            if sent["parent_header"].get("msg_id") == msg_id:
                keep(sent)
                if sent["msg_type"] == "status" and sent["content"]["execution_state"] == "idle":
                    break
        while True:
            reply: dict[str, Any] = self.client.get_shell_msg(timeout=60)
            if reply["parent_header"].get("msg_id") == msg_id:
                return reply

    def complete(self, code: str, cursor: int | None = None) -> dict[str, Any]:
        """The content of a complete_reply."""
        return dict(self.client.complete(code, cursor, reply=True, timeout=60)["content"])

    def inspect(self, code: str) -> dict[str, Any]:
        """The content of an inspect_reply."""
        return dict(self.client.inspect(code, len(code), reply=True, timeout=60)["content"])

    def close(self) -> None:
        """End the kernel process."""
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


def unpacked(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The steps of a record, packed or not."""
    if "steps" in record:
        return list(record["steps"])
    return list(json.loads(zlib.decompress(base64.b64decode(record["packed"]))))


def source_hash(cell: str) -> str:
    """How a record names the source of its cell."""
    return sha256(cell.encode()).hexdigest()[:16]

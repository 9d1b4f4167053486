"""Upload of a staged file of 1 GiB to nginx on loopback by WebDAV PUT, beside `curl -T`.

Ferry's is a task by REST with `Prefer: wait`, timed from its POST to the answer that shows it
completed; the file was staged before. Each contestant uploads once before the rounds, so that both
files are read from the page cache. What has arrived is compared by SHA-256 after every turn and
removed, outside of what is measured.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from ..bench import GIBIBYTE, Bench, settle
from ..gateway import Gateway, check_completed, create, start_gateway
from ..http import Connection
from ..processes import Failed, run_tool
from ..receiver import Receiver
from ..results import Comparison


def measure(bench: Bench) -> list[Comparison]:
    with (
        Receiver(bench, "upload-receiver") as receiver,
        start_gateway(bench.ferry, bench.work, "upload") as gateway,
        gateway.connection() as connection,
    ):
        session = gateway.session(connection)
        task = {
            "type": "upload",
            "resume": True,
            "request": {"url": receiver.url("ferry"), "method": "PUT"},
            "body": {"file": _staged(gateway, receiver.source)},
        }
        contestants = {
            "ferry": lambda: _by_ferry(connection, session, task, receiver),
            "curl": receiver.rate_of_curl,
        }
        for warm in contestants.values():
            warm()
        samples = bench.take_turns(contestants)
    rates = ("upload", "rate", "MiB/s", samples["ferry"])
    return [Comparison(*rates, "curl -T", samples["curl"], "≥", 0.9)]


def _staged(gateway: Gateway, source: Path) -> str:
    """The id of a staged file with the bytes of this one."""
    command = ["curl", "--silent", "--fail-with-body", "--request", "POST"]
    command += ["--header", gateway.authorization, "--header", "Upload-Complete: ?1"]
    file = json.loads(run_tool([*command, "--upload-file", str(source), gateway.url("/v1/files")]))
    if file["length"] != GIBIBYTE or not file["complete"]:
        raise Failed(f"the staged file is {file}")
    settle()
    return file["id"]


def _by_ferry(
    connection: Connection, session: str, task: dict[str, object], receiver: Receiver
) -> float:
    began = time.monotonic()
    done = create(connection, session, task, wait=60)
    taken = time.monotonic() - began
    check_completed(done)
    if done["countOfBytesSent"] != GIBIBYTE:
        raise Failed(f"the task has sent {done['countOfBytesSent']} bytes")
    receiver.take("ferry")
    return GIBIBYTE / (1 << 20) / taken

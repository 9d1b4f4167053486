"""1 GiB streamed up through the gateway to nginx on loopback, beside `curl -T` straight to nginx.

Ferry's turn is timed from the POST of the task, through the wait until it asks for its body, to
the answer that shows it completed; `curl -T` pipes the file to `PUT T/body` meanwhile. What has
arrived is compared by SHA-256 after every turn and removed, outside of what is measured.

The second figure is how much memory the gateway takes for it: the kernel's own peak of what was
resident during the upload, above idle. Idle is measured after one upload of 64 KiB, so that code
and tables touched first do not count. The gateway starts anew every turn, so that no turn finds
memory that another has left.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from ..bench import GIBIBYTE, Bench
from ..gateway import Gateway, completed, create, expect, start_gateway
from ..http import Connection
from ..processes import Failed, run_measured, wait_until
from ..receiver import Receiver
from ..results import Comparison

_SMALL = 1 << 16


@dataclass(frozen=True)
class _Piped:
    """One upload through a gateway: MiB a second, MiB above idle."""

    rate: float
    memory: float


def measure(bench: Bench) -> list[Comparison]:
    names = (f"stream-up-{number}" for number in count())
    small = bench.work / "stream-up-small"
    small.write_bytes(bytes(_SMALL))
    with Receiver(bench, "stream-up-receiver") as receiver:
        receiver.rate_of_curl()
        samples = bench.take_turns(
            {
                "ferry": lambda: _by_ferry(bench, next(names), receiver, small),
                "curl": receiver.rate_of_curl,
            }
        )
    rates = [one.rate for one in samples["ferry"]]
    memory = [one.memory for one in samples["ferry"]]
    return [
        Comparison("stream-up", "rate", "MiB/s", rates, "curl -T", samples["curl"], "≥", 0.6),
        Comparison("stream-up", "memory above idle", "MiB", memory, None, [], "≤", 8),
    ]


def _by_ferry(bench: Bench, name: str, receiver: Receiver, small: Path) -> _Piped:
    with start_gateway(bench.ferry, bench.work, name) as gateway:
        with gateway.connection() as connection:
            session = gateway.session(connection, handles=("bodyStream",))
            _pipe(gateway, connection, session, small, receiver.url("small"))
            time.sleep(1)
            idle = gateway.server.resident_bytes()
            gateway.server.forget_peak()
            began = time.monotonic()
            _pipe(gateway, connection, session, receiver.source, receiver.url("ferry"))
            taken = time.monotonic() - began
            above = gateway.server.peak_resident_bytes() - idle
    receiver.take("ferry")
    return _Piped(GIBIBYTE / (1 << 20) / taken, above / (1 << 20))


def _pipe(gateway: Gateway, connection: Connection, session: str, file: Path, url: str) -> None:
    """Uploads a file as the stream body of a task, from its POST to its end."""
    length = file.stat().st_size
    specification: dict[str, object] = {
        "type": "upload",
        "resume": True,
        "request": {"url": url, "method": "PUT"},
        "body": {"stream": {"contentLength": length}},
    }
    task = create(connection, session, specification)
    path = f"/v1/tasks/{task['id']}"

    def asks() -> dict | None:
        found = expect(connection.request("GET", path), 200)
        if found["state"] == "completed":
            raise Failed(f"the task did not ask for its body: {found['error']}")
        return found if found["waitingFor"] == "bodyStream" else None

    if task["waitingFor"] != "bodyStream":
        task = wait_until("the task to ask for its body", asks, seconds=30, pause=0.001)
    body = gateway.url(f"{path}/body?generation={task['bodyGeneration']}")
    command = ["curl", "--silent", "--show-error", "--fail"]
    command += ["--header", gateway.authorization, "--upload-file", str(file)]
    run_measured([*command, body])
    task = completed(connection, task)
    if task["countOfBytesSent"] != length:
        raise Failed(f"the task has sent {task['countOfBytesSent']} of {length} bytes")

"""Memory five minutes after a peak, beside that of the same gateway before it.

The peak: 30,000 downloads of 1 KiB in an ephemeral session, all of it in memory until the session
ends, and 100,000 in a durable one.
"""

from __future__ import annotations

import time

from ..bench import Bench
from ..gateway import Gateway, create_all, download, expect, start_gateway
from ..http import Connection
from ..nginx import start_nginx
from ..processes import wait_until
from ..results import Comparison

_PEAKS = {"ephemeral": 30_000, "default": 100_000}


def measure(bench: Bench) -> list[Comparison]:
    kibibyte = f"location = /small {{ return 200 '{'k' * 1024}'; }}"
    share = 10 if bench.is_quick else 1
    with (
        start_nginx(bench.work, "peak-origin", locations=kibibyte) as origin,
        start_gateway(bench.ferry, bench.work, "peak") as gateway,
        gateway.connection() as connection,
    ):
        before = _mebibytes(gateway)
        for kind, count in _PEAKS.items():
            _rise(gateway, connection, kind, origin.url("/small"), count // share)
        bench.say(f"  at the peak: {_mebibytes(gateway):.0f} MiB")
        time.sleep(bench.seconds(usual=300, quick=150))
        after = _mebibytes(gateway)
    return [Comparison("peak", "memory", "MiB", [after], "before it", [before], "≤", 1.5)]


def _mebibytes(gateway: Gateway) -> float:
    return gateway.server.resident_bytes() / (1 << 20)


def _rise(gateway: Gateway, connection: Connection, kind: str, url: str, count: int) -> None:
    configuration = {"httpMaximumConnectionsPerHost": 64, "urlCache": None}
    value = {"type": kind, "configuration": configuration}
    session = expect(connection.request("POST", "/v1/sessions", value), 201)["id"]
    create_all(connection, session, [download(url)] * count)
    path = f"/v1/sessions/{session}"
    wait_until(
        "the downloads",
        lambda: not expect(connection.request("GET", f"{path}/tasks?limit=1"), 200)["tasks"],
        seconds=300,
        pause=0.1,
    )
    connection.request("POST", f"{path}/invalidate", {"mode": "finishTasks"})

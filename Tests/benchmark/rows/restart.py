"""From the start of the process to `/readyz`, with 100,000 tasks in the store (R-4)."""

from __future__ import annotations

import time

from ..bench import Bench
from ..gateway import (
    Gateway, create_all, download, expect, home_in, is_ready, serve_command, start_gateway,
)  # fmt: skip
from ..processes import Failed, Server, free_port
from ..results import Comparison

_COUNT = 100_000


def measure(bench: Bench) -> list[Comparison]:
    with start_gateway(bench.ferry, bench.work, "restart") as gateway:
        session = _fill(gateway)
    samples = bench.take_turns({"ferry": lambda: _restart(bench, gateway.token, session)})
    return [Comparison("restart", "to ready", "s", samples["ferry"], None, [], "≤", 2)]


def _fill(gateway: Gateway) -> str:
    with gateway.connection() as connection:
        session = gateway.session(connection)
        task = download("http://127.0.0.1:9/never-fetched", resume=False)
        create_all(connection, session, [task] * _COUNT)
    return session


def _restart(bench: Bench, token: str, session: str) -> float:
    port = free_port()
    command = serve_command(bench.ferry, bench.work / "restart", port)
    began = time.monotonic()
    with Server(command, bench.work / "restart.log", environment=home_in(bench.work)) as server:
        while not is_ready(port):
            server.check()
            if time.monotonic() - began > 120:
                raise Failed("the gateway was not ready within 120 s")
            time.sleep(0.001)
        taken = time.monotonic() - began
        with Gateway(server, port, token).connection() as connection:
            found = expect(connection.request("GET", f"/v1/sessions/{session}"), 200)
        if found["taskCounts"]["suspended"] != _COUNT:
            raise Failed(f"after the restart the session has {found['taskCounts']}")
    return taken

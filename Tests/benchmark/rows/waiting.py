"""A restart with 100,000 tasks that wait for a slot: to `/readyz`, and the memory then.

All are for one host that answers nobody, so that six are on their way and the rest waits. The
gateway is killed, not stopped.
"""

from __future__ import annotations

import time

from ..bench import Bench
from ..gateway import create_all, download, is_ready, start_gateway
from ..processes import Failed, Server
from ..results import Comparison

_COUNT = 100_000


def measure(bench: Bench) -> list[Comparison]:
    log = bench.work / "waiting-origin.log"
    with Server([str(bench.tools / "slow_origin")], log) as origin:
        port = int(origin.wait_for("its port", log.read_text))
        names = (f"waiting-{number}" for number in range(bench.rounds))
        samples = bench.take_turns({"ferry": lambda: _turn(bench, next(names), port)})["ferry"]
    ready, before, after = (list(figures) for figures in zip(*samples))
    return [
        Comparison("waiting", "to ready", "s", ready, None, [], "≤", 2),
        Comparison("waiting", "memory after it", "MiB", after, None, [], "≤", 500),
        Comparison("waiting", "memory", "MiB", after, "before it", before, "≤", 1.1),
    ]


def _turn(bench: Bench, name: str, port: int) -> tuple[float, float, float]:
    with start_gateway(bench.ferry, bench.work, name) as gateway:
        with gateway.connection() as connection:
            session = gateway.session(connection)
            tasks = [download(f"http://127.0.0.1:{port}/slow/{n:06}") for n in range(_COUNT)]
            create_all(connection, session, tasks)
        before = _settled(bench, gateway.server)
        gateway.server.kill()
    began = time.monotonic()
    with start_gateway(bench.ferry, bench.work, name) as gateway:
        ready = time.monotonic() - began
        if not is_ready(gateway.port):
            raise Failed("the gateway is not ready")
        return ready, before, _settled(bench, gateway.server)


def _settled(bench: Bench, server: Server) -> float:
    time.sleep(bench.seconds(usual=10, quick=3))
    return server.resident_bytes() / (1 << 20)

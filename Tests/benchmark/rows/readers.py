"""5,000 readers of one session's events, 100 events a second: processor time, and `/healthz` meanwhile."""

from __future__ import annotations

import time

from ..aria2 import encoded
from ..bench import Bench, in_parallel
from ..gateway import download, start_gateway
from ..processes import Failed
from ..results import Comparison
from ..tools import EventReaders, Pace, paced_get

_READERS = 5_000
_RATE = 100
_SUSPENDED = download("http://127.0.0.1:9/never-fetched", resume=False)


def measure(bench: Bench) -> list[Comparison]:
    samples = bench.take_turns({"ferry": lambda: _turn(bench)})["ferry"]
    cpu, p99 = (list(figures) for figures in zip(*samples))
    return [
        Comparison("readers", "processor", "%", cpu, None, [], "≤", 25),
        Comparison("readers", "healthz p99", "ms", p99, None, [], "≤", 50),
    ]


def _turn(bench: Bench) -> tuple[float, float]:
    seconds = bench.seconds(usual=10, quick=4)
    name = f"readers-{time.monotonic_ns()}"
    with (
        start_gateway(bench.ferry, bench.work, name, bench.cores.server) as gateway,
        gateway.connection() as connection,
    ):
        session = gateway.session(connection)
        count = int(seconds * _RATE)
        readers = EventReaders(
            bench.tools, bench.work, gateway.port, f"/v1/sessions/{session}/events",
            gateway.authorization, _READERS, count, timeout=60, cores=bench.cores.load,
        )  # fmt: skip
        with readers:
            before = gateway.server.cpu_seconds()
            latencies: dict[str, int] = {}

            def look() -> None:
                latencies.update(
                    paced_get(bench.tools, gateway.port, "/healthz", gateway.authorization, Pace(1, 200, seconds))
                )

            def publish() -> None:
                began = time.monotonic()
                request = connection.encode(
                    "POST", f"/v1/sessions/{session}/tasks", encoded([_SUSPENDED])
                )
                for turn in range(count):
                    time.sleep(max(0, began + turn / _RATE - time.monotonic()))
                    connection.send(request)
                    answer = connection.read()
                    if answer.status >= 300:
                        raise Failed(f"refused: {answer.status} {answer.body[:300]!r}")

            in_parallel([look, publish])
            spent = gateway.server.cpu_seconds() - before
            found = readers.result()
    if not (found.least == found.most == count and found.ordered and found.identical):
        raise Failed(f"not every reader had {count} events once and in order: {found}")
    return spent / seconds * 100, latencies["p99"] / 1000

"""5,000 readers of one session's events, 100 events a second: processor time, and `/healthz` meanwhile."""

from __future__ import annotations

import time
from dataclasses import dataclass

from ..aria2 import encoded
from ..bench import Bench, in_parallel
from ..gateway import download, start_gateway
from ..processes import Failed
from ..results import Comparison
from ..tools import EventReaders, Pace, paced_get

READERS = 5_000
_RATE = 100
_SUSPENDED = download("http://127.0.0.1:9/never-fetched", resume=False)


def measure(bench: Bench) -> list[Comparison]:
    turns = bench.take_turns({"ferry": lambda: turn(bench)})["ferry"]
    cpu, p99 = [one.cpu for one in turns], [one.p99 for one in turns]
    return [
        Comparison("readers", "processor", "%", cpu, None, [], "≤", 25),
        Comparison("readers", "healthz p99", "ms", p99, None, [], "≤", 50),
    ]


@dataclass(frozen=True)
class Turn:
    """What one turn took."""

    cpu: float
    """Percent of a core."""
    p99: float
    """Of `/healthz`, in milliseconds."""
    memory: float
    """KiB that the gateway has grown by with each reader."""


def turn(bench: Bench, streams: int = 0) -> Turn:
    """Readers of connections of their own, or with so many streams of HTTP/2 on each."""
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
            gateway.authorization, READERS, count, timeout=60, cores=bench.cores.load,
            streams=streams,
        )  # fmt: skip
        alone = gateway.server.resident_bytes()
        with readers:
            memory = (gateway.server.resident_bytes() - alone) / 1024 / READERS
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
    return Turn(spent / seconds * 100, latencies["p99"] / 1000, memory)

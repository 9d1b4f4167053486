"""Processor time of a gateway that has nothing to do: alone, and with 5,000 readers of a stream
that is silent.

What is left then are timers, and a comment line to each reader from time to time: the time is long
enough for several of them.
"""

from __future__ import annotations

import time
from itertools import count

from ..bench import Bench
from ..gateway import Gateway, start_gateway
from ..results import Comparison
from ..tools import EventReaders

_READERS = 5_000


def measure(bench: Bench) -> list[Comparison]:
    names = (f"idle-{number}" for number in count())
    samples = bench.take_turns(
        {
            "alone": lambda: _alone(bench, next(names)),
            "with readers": lambda: _with_readers(bench, next(names)),
        }
    )
    return [
        Comparison("idle", "processor", "%", samples["alone"], None, [], "≤", 0.2),
        Comparison("idle", "5,000 readers", "%", samples["with readers"], None, [], "≤", 1),
    ]


def _alone(bench: Bench, name: str) -> float:
    with start_gateway(bench.ferry, bench.work, name, bench.cores.server) as gateway:
        return _spent(bench, gateway)


def _with_readers(bench: Bench, name: str) -> float:
    with (
        start_gateway(bench.ferry, bench.work, name, bench.cores.server) as gateway,
        gateway.connection() as connection,
    ):
        session = gateway.session(connection)
        readers = EventReaders(
            bench.tools, bench.work, gateway.port, f"/v1/sessions/{session}/events",
            gateway.authorization, _READERS, expected=1, timeout=600, cores=bench.cores.load,
        )  # fmt: skip
        with readers:
            return _spent(bench, gateway)


def _spent(bench: Bench, gateway: Gateway) -> float:
    """Of one core, in percent, once what a start or many new readers leave to do is done."""
    time.sleep(bench.seconds(usual=10, quick=3))
    before, began = gateway.server.cpu_seconds(), time.monotonic()
    time.sleep(bench.seconds(usual=60, quick=20))
    return (gateway.server.cpu_seconds() - before) / (time.monotonic() - began) * 100

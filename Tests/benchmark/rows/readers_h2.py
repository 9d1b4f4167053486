"""5,000 readers of one session's events on 50 connections of HTTP/2, 100 events a second, beside as
many with a connection of HTTP/1.1 each: processor time, and what a reader costs in memory.
"""

from __future__ import annotations

from ..bench import Bench
from ..results import Comparison
from .readers import READERS, turn

_CONNECTIONS = 50


def measure(bench: Bench) -> list[Comparison]:
    samples = bench.take_turns(
        {
            "HTTP/2": lambda: turn(bench, streams=READERS // _CONNECTIONS),
            "HTTP/1.1": lambda: turn(bench),
        }
    )
    two, one = samples["HTTP/2"], samples["HTTP/1.1"]
    return [
        Comparison(
            "readers-h2", "processor", "%", [turn.cpu for turn in two],
            "HTTP/1.1", [turn.cpu for turn in one], "≤", 1,
        ),
        Comparison("readers-h2", "memory", "KiB/reader", [turn.memory for turn in two], None, [], "≤", 6),
        Comparison("readers-h2", "healthz p99", "ms", [turn.p99 for turn in two], None, [], "≤", 50),
    ]  # fmt: skip

"""The rows of the benchmark, one module each, by the names that `--rows` takes."""

from __future__ import annotations

from collections.abc import Callable

from ..bench import Bench
from ..results import Comparison
from . import create, download, events, get, latency, memory, restart, small

ROWS: dict[str, tuple[str, Callable[[Bench], list[Comparison]]]] = {
    "download": ("one download of 1 GiB", download.measure),
    "small": ("10,000 downloads of 1 KiB", small.measure),
    "get": ("GET /v1/tasks/{id}, 64 connections", get.measure),
    "create": ("POST of one suspended task, 64 connections", create.measure),
    "memory": ("memory of 2,000 slow downloads at once", memory.measure),
    "events": ("500 event readers of one session, 1,000 events a second", events.measure),
    "latency": ("GET /v1/tasks/{id} while 4 downloads saturate the disk", latency.measure),
    "restart": ("restart with 100,000 tasks in the store", restart.measure),
}

"""One download of 1 GiB from nginx on loopback, beside curl and aria2c.

Ferry's is a task by REST with `Prefer: wait`, synced to disk before it is completed; curl and
aria2c do not sync. Files are removed between turns, outside of what is measured.
"""

from __future__ import annotations

import time
from pathlib import Path

from ..bench import GIBIBYTE, Bench, settle
from ..gateway import Gateway, completed_task, delete, start_gateway
from ..http import Connection
from ..nginx import start_nginx
from ..processes import Failed, Spent, run_measured
from ..results import Comparison


def measure(bench: Bench) -> list[Comparison]:
    file = bench.work / "gibibyte.got"
    with (
        start_nginx(bench.work, "origin-server", root=bench.origin_folder()) as origin,
        start_gateway(bench.ferry, bench.work, "download") as gateway,
        gateway.connection() as connection,
    ):
        url = origin.url("/gibibyte")
        curl = ["curl", "--silent", "--fail", "--output", str(file), url]
        aria2 = ["aria2c", "--no-conf", "--quiet", "--file-allocation=none"]
        aria2 += [f"--dir={file.parent}", f"--out={file.name}", url]
        session = gateway.session(connection)
        samples = bench.take_turns(
            {
                "ferry": lambda: _by_ferry(gateway, connection, session, url),
                "curl": lambda: _by_command(curl, file),
                "aria2c": lambda: _by_command(aria2, file),
            }
        )

    def rates(name: str) -> list[float]:
        return [GIBIBYTE / (1 << 20) / spent.wall for spent in samples[name]]

    def costs(name: str) -> list[float]:
        return [spent.cpu for spent in samples[name]]

    return [
        Comparison("download", "rate", "MiB/s", rates("ferry"), "curl -o", rates("curl"), "≥", 1),
        Comparison("download", "rate", "MiB/s", rates("ferry"), "aria2c", rates("aria2c"), "≥", 1),
        Comparison("download", "CPU", "s", costs("ferry"), "curl -o", costs("curl"), "≤", 1.2),
    ]


def _by_ferry(gateway: Gateway, connection: Connection, session: str, url: str) -> Spent:
    cpu, began = gateway.server.cpu_seconds(), time.monotonic()
    task = completed_task(connection, session, url)
    spent = Spent(time.monotonic() - began, gateway.server.cpu_seconds() - cpu)
    if task["content"]["length"] != GIBIBYTE:
        raise Failed(f"the task's content is {task['content']}")
    delete(connection, task)
    settle()
    return spent


def _by_command(command: list[str], file: Path) -> Spent:
    spent = run_measured(command)
    if file.stat().st_size != GIBIBYTE:
        raise Failed(f"{command[0]} fetched {file.stat().st_size} bytes")
    file.unlink()
    settle()
    return spent

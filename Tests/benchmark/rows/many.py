"""300 downloads of 8 MiB at once from nginx on loopback, each as fast as it can be, beside curl.

All of them are ready all the time, so what a program spends on those that are not served at the
moment is what it loses. Ferry's are synced to disk before they are completed; curl's are not.
"""

from __future__ import annotations

import shutil
import time
from itertools import count
from pathlib import Path

from ..bench import Bench, settle
from ..gateway import Gateway, check_all_completed, create_all, download, expect, start_gateway
from ..nginx import start_nginx
from ..processes import Failed, Spent, run_measured
from ..results import Comparison

_COUNT = 300
_SIZE = 8 << 20


def measure(bench: Bench) -> list[Comparison]:
    root = bench.work / "many-root"
    root.mkdir()
    with (bench.origin_folder() / "gibibyte").open("rb") as source:
        (root / "file").write_bytes(source.read(_SIZE))
    folders = (bench.work / f"many-{number}" for number in count())
    with (
        start_nginx(bench.work, "many-origin", root=root) as origin,
        start_gateway(bench.ferry, bench.work, "many") as gateway,
    ):
        url = origin.url("/file")
        samples = bench.take_turns(
            {
                "ferry": lambda: _by_ferry(gateway, url),
                "curl": lambda: _by_curl(url, next(folders)),
            }
        )

    def rates(name: str) -> list[float]:
        return [_COUNT * _SIZE / (1 << 20) / spent.wall for spent in samples[name]]

    return [
        Comparison(
            "many", "rate, 300 at once", "MiB/s", rates("ferry"), "curl", rates("curl"), "≥", 0.7
        )
    ]


def _by_ferry(gateway: Gateway, url: str) -> Spent:
    with gateway.connection() as connection:
        session = gateway.session(connection, httpMaximumConnectionsPerHost=_COUNT)
        path = f"/v1/sessions/{session}"
        cpu, began = gateway.server.cpu_seconds(), time.monotonic()
        create_all(connection, session, [download(url) for _ in range(_COUNT)])
        while expect(connection.request("GET", f"{path}/tasks?limit=1"), 200)["tasks"]:
            time.sleep(0.02)
        spent = Spent(time.monotonic() - began, gateway.server.cpu_seconds() - cpu)
        check_all_completed(connection, session, _COUNT)
        tasks = expect(connection.request("GET", f"{path}/tasks?state=all&limit=500"), 200)
        names = [task["id"] for task in tasks["tasks"]]
        connection.request("POST", "/v1/tasks/actions", {"action": "delete", "tasks": names})
    settle()
    return spent


def _by_curl(url: str, folder: Path) -> Spent:
    folder.mkdir()
    command = ["curl", "--silent", "--fail", "--parallel", "--parallel-max", str(_COUNT)]
    for number in range(_COUNT):
        command += ["--output", str(folder / str(number)), url]
    spent = run_measured(command)
    if sum(file.stat().st_size for file in folder.iterdir()) != _COUNT * _SIZE:
        raise Failed("curl did not fetch all of them")
    shutil.rmtree(folder)
    settle()
    return spent

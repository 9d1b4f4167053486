"""10,000 downloads of 1 KiB, 64 at once, beside aria2 by JSON-RPC and curl.

Ferry and aria2 are posted arrays of 100 on four connections, and answer with the ids. Ferry's are
durable and all events of the session are read by one reader, whose 10,000th `task.didComplete` ends the measurement; aria2 is
asked every 10 ms how many have ended. aria2 syncs each file and curl none, so the first two depend
on the disk, which nothing else should use meanwhile. Each turn writes into a folder of its own,
removed at the end of the run: removing thousands of files costs whoever writes next.
"""

from __future__ import annotations

import time
from itertools import count

from ..aria2 import Aria2, call, encoded, start_aria2
from ..bench import Bench, settle
from ..gateway import Gateway, check_all_completed, download, start_gateway
from ..http import post_all
from ..nginx import Nginx, start_nginx
from ..processes import Failed, Work, run_measured, wait_until
from ..results import Comparison, compare_work
from ..tools import EventReaders

_COUNT = 10_000
_ARRAY = 100
_POSTERS = 4
_AT_ONCE = 64


def measure(bench: Bench) -> list[Comparison]:
    kibibyte = f"location /small/ {{ return 200 '{'k' * 1024}'; }}"
    folders = (bench.work / f"small-{number}" for number in count())
    with (
        start_nginx(bench.work, "small-origin", locations=kibibyte) as origin,
        start_gateway(bench.ferry, bench.work, "small") as gateway,
        start_aria2(bench.work, at_once=_AT_ONCE) as aria2,
    ):
        samples = bench.take_turns(
            {
                "ferry": lambda: _by_ferry(bench, gateway, origin),
                "aria2": lambda: _by_aria2(aria2, origin, str(next(folders))),
                "curl": lambda: _by_curl(origin, next(folders)),
            }
        )
    row = ("small", "download", samples["ferry"])
    return [
        *compare_work(*row, "aria2 by JSON-RPC", samples["aria2"], 3, 0.42),
        *compare_work(*row, "curl --parallel-max 64", samples["curl"], 0.6, 1.75),
    ]


def _by_ferry(bench: Bench, gateway: Gateway, origin: Nginx) -> Work:
    with gateway.connection() as connection:
        session = gateway.session(connection, httpMaximumConnectionsPerHost=_AT_ONCE)
        path = f"/v1/sessions/{session}/tasks?fields=id"
        bodies = [
            encoded([download(url) for url in _urls(origin)[start : start + _ARRAY]])
            for start in range(0, _COUNT, _ARRAY)
        ]
        readers = EventReaders(
            bench.tools, bench.work, gateway.port, f"/v1/sessions/{session}/events",
            gateway.authorization, readers=1, expected=_COUNT, prefix="event: task.didComplete",
        )  # fmt: skip
        with readers:
            before = gateway.server.cpu_seconds()
            began = post_all([gateway.connection() for _ in range(_POSTERS)], path, bodies)
            found = readers.result()
            cpu = gateway.server.cpu_seconds() - before
        if found.delivered != _COUNT:
            raise Failed(f"{found.delivered} tasks completed within the time")
        check_all_completed(connection, session, _COUNT)
    settle()
    return Work(_COUNT, found.last_at - began, cpu)


def _by_aria2(aria2: Aria2, origin: Nginx, folder: str) -> Work:
    bodies = [
        encoded([
            call("addUri", [url], {"dir": folder, "out": url.rpartition("/")[2]})
            for url in _urls(origin)[start : start + _ARRAY]
        ])
        for start in range(0, _COUNT, _ARRAY)
    ]  # fmt: skip
    before, cpu = _stopped_total(aria2), aria2.server.cpu_seconds()
    began = post_all([aria2.connection() for _ in range(_POSTERS)], "/jsonrpc", bodies)
    wait_until(
        "aria2's downloads",
        lambda: _stopped_total(aria2) - before == _COUNT,
        seconds=300,
        pause=0.01,
    )
    taken, cpu = time.monotonic() - began, aria2.server.cpu_seconds() - cpu
    with aria2.connection() as connection:
        stopped = aria2.ask(connection, "tellStopped", 0, _COUNT, ["status"])
        completed = sum(one["status"] == "complete" for one in stopped)
        if completed != _COUNT:
            raise Failed(f"aria2 completed {completed} of {_COUNT} downloads")
        aria2.ask(connection, "purgeDownloadResult")
    settle()
    return Work(_COUNT, taken, cpu)


def _stopped_total(aria2: Aria2) -> int:
    """Asked on a new connection: aria2 closes one that waited while a sync held it up."""
    with aria2.connection() as connection:
        return aria2.stopped_total(connection)


def _by_curl(origin: Nginx, folder) -> Work:
    folder.mkdir()
    configuration = folder.with_suffix(".curl")
    lines = (
        f'url = "{url}"\noutput = "{folder}/{url.rpartition("/")[2]}"\n' for url in _urls(origin)
    )
    configuration.write_text("".join(lines))
    command = ["curl", "--silent", "--fail", "--parallel", "--parallel-max", str(_AT_ONCE)]
    spent = run_measured([*command, "--config", str(configuration)])
    files = sum(1 for _ in folder.iterdir())
    if files != _COUNT:
        raise Failed(f"curl wrote {files} files")
    settle()
    return Work(_COUNT, spent.wall, spent.cpu)


def _urls(origin: Nginx) -> list[str]:
    return [origin.url(f"/small/{number:05}") for number in range(_COUNT)]

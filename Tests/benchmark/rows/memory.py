"""Resident memory of 2,000 slow downloads at once, above idle, beside aria2.

The origin gives each 100 bytes a second. Idle is measured after one download of each server, so
that code and tables touched first do not count; the load ten seconds after the last has connected.
Both servers start anew every turn.
"""

from __future__ import annotations

import time

from ..aria2 import Aria2, call, encoded, start_aria2
from ..bench import Bench
from ..gateway import completed_task, create_all, download, start_gateway
from ..http import Connection
from ..nginx import Nginx, start_nginx
from ..processes import Failed, Server, wait_until
from ..results import Comparison

_COUNT = 2_000


def measure(bench: Bench) -> list[Comparison]:
    log = bench.work / "slow_origin.log"
    with (
        start_nginx(bench.work, "memory-origin", locations="location = /one { return 200 'k'; }")
        as quick_origin,
        Server([str(bench.tools / "slow_origin")], log) as slow_origin,
    ):  # fmt: skip
        port = int(slow_origin.wait_for("its port", log.read_text))
        names = (f"memory-{number}" for number in range(bench.rounds))
        samples = bench.take_turns(
            {
                "ferry": lambda: _by_ferry(bench, next(names), quick_origin, port),
                "aria2": lambda: _by_aria2(bench, quick_origin, port),
            }
        )
    memory = ("memory", "above idle", "MiB", samples["ferry"])
    return [Comparison(*memory, "aria2", samples["aria2"], "≤", 1)]


def _by_ferry(bench: Bench, name: str, quick_origin: Nginx, port: int) -> float:
    with start_gateway(bench.ferry, bench.work, name) as gateway:
        with gateway.connection() as connection:
            session = gateway.session(connection, httpMaximumConnectionsPerHost=_COUNT)
            completed_task(connection, session, quick_origin.url("/one"))
            idle = _settled(gateway.server)
            tasks = [download(url) for url in _urls(port)]
            create_all(connection, session, tasks)
        above = _above(bench, gateway.server, idle, port)
    _wait_for(port, 0)
    return above


def _by_aria2(bench: Bench, quick_origin: Nginx, port: int) -> float:
    folder = f"memory-aria2-{time.monotonic_ns()}"
    with start_aria2(bench.work, at_once=_COUNT, downloads=folder) as aria2:
        with aria2.connection() as connection:
            aria2.ask(connection, "addUri", [quick_origin.url("/one")])
            wait_until("aria2's download", lambda: aria2.stopped_total(connection) == 1, 30)
            idle = _settled(aria2.server)
            _add_all(aria2, connection, _urls(port))
        above = _above(bench, aria2.server, idle, port)
    _wait_for(port, 0)
    return above


def _add_all(aria2: Aria2, connection: Connection, urls: list[str]) -> None:
    for start in range(0, len(urls), 500):
        calls = [
            call("addUri", [url], {"out": url.rpartition("/")[2]})
            for url in urls[start : start + 500]
        ]
        connection.send(connection.encode("POST", "/jsonrpc", encoded(calls)))
        answer = connection.read()
        if answer.status != 200:
            raise Failed(f"aria2 refused a batch: {answer.status}")


def _above(bench: Bench, server: Server, idle: int, port: int) -> float:
    _wait_for(port, _COUNT)
    time.sleep(bench.seconds(usual=10, quick=3))
    _wait_for(port, _COUNT)
    return (server.resident_bytes() - idle) / (1 << 20)


def _settled(server: Server) -> int:
    time.sleep(1)
    return server.resident_bytes()


def _wait_for(port: int, active: int) -> None:
    def is_reached() -> bool:
        with Connection(port) as connection:
            return int(connection.request("GET", "/active").body) == active

    wait_until(f"{active} downloads at the slow origin", is_reached, seconds=60, pause=0.1)


def _urls(port: int) -> list[str]:
    return [f"http://127.0.0.1:{port}/slow/{number:05}" for number in range(_COUNT)]

"""What 100,000 waiting tasks of one tenant cost another: its first task, and its GETs.

The crowd is for one host that answers nobody, so that six are on their way and the rest waits. The
other tenant creates a session and a download of 1 KiB, timed from the creation of the task to its
end; its GETs are due at a fixed pace and timed from when they were due. Both are measured at rest
first, and then beside the crowd.
"""

from __future__ import annotations

import time

from ..bench import Bench
from ..gateway import Gateway, completed_task, create_all, download, expect, start_gateway
from ..http import Connection
from ..nginx import start_nginx
from ..processes import Server
from ..results import Comparison
from ..tools import Pace, paced_get

_COUNT = 100_000
_CONNECTIONS = 8
_RATE = 500
_FIRST_TASKS = 20


def measure(bench: Bench) -> list[Comparison]:
    seconds = bench.seconds(usual=4, quick=2)
    log = bench.work / "crowd-origin.log"
    locations = f"location = /one {{ return 200 '{'k' * 1024}'; }}"
    with (
        Server([str(bench.tools / "slow_origin")], log) as slow,
        start_nginx(bench.work, "crowd-origin", locations) as origin,
        start_gateway(bench.ferry, bench.work, "crowd") as gateway,
        gateway.connection() as connection,
    ):
        port = int(slow.wait_for("its port", log.read_text))
        other = _other_tenant(gateway, connection)
        url = origin.url("/one")

        def turns() -> tuple[list[float], list[float]]:
            samples = bench.take_turns({"get": lambda: _p99(bench, other, url, seconds)})
            return _first_tasks(other, url), samples["get"]

        _, rest = turns()
        session = gateway.session(connection)
        tasks = [download(f"http://127.0.0.1:{port}/slow/{n:06}") for n in range(_COUNT)]
        create_all(connection, session, tasks)
        first, crowded = turns()
    return [
        Comparison("crowd", "first task", "ms", first, None, [], "≤", 100),
        Comparison("crowd", "p99", "µs", crowded, "without the crowd", rest, "≤", 2),
    ]


def _other_tenant(gateway: Gateway, connection: Connection) -> Gateway:
    """The gateway as a second tenant sees it."""
    expect(connection.request("POST", "/v1/tenants", {"name": "other"}), 201)
    token = {"tenant": "other", "scopes": ["sessions", "tasks"]}
    made = expect(connection.request("POST", "/v1/tokens", token), 201)
    return Gateway(gateway.server, gateway.port, made["token"])


def _first_tasks(gateway: Gateway, url: str) -> list[float]:
    """Milliseconds that the first task of each of some new sessions takes."""
    times = []
    with gateway.connection() as connection:
        for _ in range(_FIRST_TASKS):
            session = gateway.session(connection)
            began = time.monotonic()
            completed_task(connection, session, url)
            times.append((time.monotonic() - began) * 1000)
    return times


def _p99(bench: Bench, gateway: Gateway, url: str, seconds: int) -> float:
    with gateway.connection() as connection:
        task = completed_task(connection, gateway.session(connection), url)
    found = paced_get(
        bench.tools, gateway.port, f"/v1/tasks/{task['id']}", gateway.authorization,
        Pace(_CONNECTIONS, _RATE, seconds),
    )  # fmt: skip
    return float(found["p99"])

"""`/healthz` while 100,000 tasks, 4,000 files and 40,000 sessions are forgotten at once.

They are made older in the database of the stopped gateway, so that the first housekeeping after a
start finds all of them due.
"""

from __future__ import annotations

import sqlite3

from ..bench import Bench
from ..gateway import Gateway, create_all, download, expect, start_gateway
from ..http import Connection
from ..nginx import start_nginx
from ..processes import wait_until
from ..results import Comparison
from ..tools import Pace, paced_get

_TASKS = 100_000
_FILES = 4_000
_SESSIONS = 40_000
_DAYS = 8 * 86_400_000
_LENGTH = 40_000  # too large for the database


def measure(bench: Bench) -> list[Comparison]:
    share = 10 if bench.is_quick else 1
    folder = bench.work / "forgetting-files"
    folder.mkdir()
    (folder / "file").write_bytes(bytes(_LENGTH))
    with start_nginx(bench.work, "forgetting-origin", root=folder) as origin:
        with (
            start_gateway(bench.ferry, bench.work, "forgetting") as gateway,
            gateway.connection() as connection,
        ):
            _fill(gateway, connection, origin.url("/file"), share)
    _age(bench)
    seconds = bench.seconds(usual=60, quick=15)
    with start_gateway(bench.ferry, bench.work, "forgetting") as gateway:
        found = paced_get(
            bench.tools, gateway.port, "/healthz", gateway.authorization,
            Pace(connections=1, rate=200, seconds=seconds),
        )
        with gateway.connection() as connection:
            wait_until("all to be forgotten", lambda: _is_empty(connection), seconds=300, pause=1)
    return [Comparison("forgetting", "healthz max", "ms", [found["max"] / 1000], None, [], "≤", 50)]


def _fill(gateway: Gateway, connection: Connection, url: str, share: int) -> None:
    session = gateway.session(connection, httpMaximumConnectionsPerHost=64, urlCache=None)
    suspended = download("http://127.0.0.1:9/never-fetched", resume=False)
    create_all(connection, session, [suspended] * (_TASKS // share))
    _invalidate(connection, session)
    files = gateway.session(connection, httpMaximumConnectionsPerHost=64, urlCache=None)
    create_all(connection, files, [download(url)] * (_FILES // share))
    _invalidate(connection, files, "finishTasks")
    for _ in range(_SESSIONS // share):
        _invalidate(connection, gateway.session(connection))
    wait_until(
        "the end of all sessions",
        lambda: not expect(connection.request("GET", "/v1/tasks"), 200)["tasks"],
        seconds=300,
        pause=1,
    )


def _invalidate(connection: Connection, session: str, mode: str = "cancelTasks") -> None:
    path = f"/v1/sessions/{session}/invalidate"
    connection.request("POST", path, {"mode": mode})


def _age(bench: Bench) -> None:
    database = sqlite3.connect(bench.work / "forgetting" / "ferry.sqlite")
    with database:
        for table, column in [
            ("task_status", "keptSince"), ("session", "invalidatedAt"), ("event_pack", "newestAt"),
        ]:  # fmt: skip
            database.execute(f"UPDATE {table} SET {column} = {column} - {_DAYS}")
    database.close()


def _is_empty(connection: Connection) -> bool:
    sessions = expect(connection.request("GET", "/v1/sessions?limit=2"), 200)["sessions"]
    return all(session["type"] == "shared" for session in sessions)

"""1,000 background downloads of 1 MiB, while the gateway is killed (-9) twenty times.

It is killed when it has run for 3 s, and started again at once. The origin (load/paced_origin.c)
has lines of 1 MiB/s, of which 16 are used at a time, so that there is work for all of that time.
Every download has to complete without an error, and each content is compared by SHA-256 with what
the origin serves under its URL. What counts is how much the origin has sent for it. With `--quick`
it is killed five times, over 250 downloads.
"""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

from ..bench import Bench, settle
from ..gateway import (
    Gateway, check_all_completed, create_all, download, expect, start_gateway,
)  # fmt: skip
from ..http import Connection
from ..processes import Failed, Server, wait_until
from ..results import Comparison

_LENGTH = 1 << 20
_RATE = 1 << 20
_LINES = 16
_LIFE = 3.0


def measure(bench: Bench) -> list[Comparison]:
    count, kills = (250, 5) if bench.is_quick else (1_000, 20)
    file = bench.origin_folder() / "gibibyte"
    samples = bench.take_turns(
        {"ferry": lambda: _turn(bench, file, count, kills)}, rounds=bench.long_rounds
    )["ferry"]
    return [
        Comparison(
            "background", "sent by the origin", "MiB", samples,
            "the contents", [count * _LENGTH / (1 << 20)] * len(samples), "≤", 1.3,
        )
    ]  # fmt: skip


def _turn(bench: Bench, file: Path, count: int, kills: int) -> float:
    """MiB that the origin has sent."""
    name = f"background-{time.monotonic_ns()}"
    log = bench.work / f"{name}-origin.log"
    command = [str(bench.tools / "paced_origin"), str(file), str(_LENGTH), str(_RATE), "0"]
    with Server(command, log) as origin:
        port = int(origin.wait_for("its port", log.read_text))
        session, tasks = _begin(bench, name, port, count)
        for kill in range(1, kills):
            with start_gateway(bench.ferry, bench.work, name) as gateway:
                time.sleep(_LIFE)
                if _completed(gateway, session) == count:
                    raise Failed(f"all was done before kill {kill + 1}")
                gateway.server.kill()
        with start_gateway(bench.ferry, bench.work, name) as gateway:
            wait_until(
                f"{count} downloads", lambda: _completed(gateway, session) == count, 600, pause=0.5
            )
            with Connection(port) as connection:
                sent = int(connection.request("GET", "/sent").body)
            with gateway.connection() as connection:
                check_all_completed(connection, session, count)
                _check_contents(connection, tasks, file)
    settle()
    return sent / (1 << 20)


def _begin(bench: Bench, name: str, port: int, count: int) -> tuple[str, list[str]]:
    """Creates the session and its tasks, up to the first kill."""
    with start_gateway(bench.ferry, bench.work, name) as gateway:
        with gateway.connection() as connection:
            made = connection.request(
                "POST",
                "/v1/sessions",
                {
                    "type": "background",
                    "identifier": name,
                    "delegate": {},
                    "configuration": {"httpMaximumConnectionsPerHost": _LINES},
                },
            )
            session = expect(made, 201)["id"]
            urls = (f"http://127.0.0.1:{port}/body/{number}" for number in range(count))
            tasks = create_all(connection, session, [download(url) for url in urls])
        time.sleep(_LIFE)
        gateway.server.kill()
    return session, tasks


def _completed(gateway: Gateway, session: str) -> int:
    with gateway.connection() as connection:
        found = expect(connection.request("GET", f"/v1/sessions/{session}"), 200)
    return found["taskCounts"]["completed"]


def _check_contents(connection: Connection, tasks: list[str], file: Path) -> None:
    with file.open("rb") as served:
        for task in tasks:
            answer = connection.request("GET", f"/v1/tasks/{task}/content")
            expected = served.read(_LENGTH)
            if answer.status != 200 or len(answer.body) != _LENGTH:
                raise Failed(f"{task}: {answer.status} with {len(answer.body)} bytes of content")
            found = hashlib.sha256(answer.body).hexdigest()
            if found != hashlib.sha256(expected).hexdigest():
                raise Failed(f"the content of {task} has the SHA-256 {found}, which is another")

"""Lists over a long history: a filter that matches nothing of 1,000,000 tasks, 500 of 20,000 sessions."""

from __future__ import annotations

import time
from functools import partial

from ..bench import Bench
from ..gateway import create_all, download, expect, start_gateway
from ..http import Connection
from ..results import Comparison

_TASKS = 1_000_000
_SESSIONS = 20_000
_LOOKS = 50


def measure(bench: Bench) -> list[Comparison]:
    share = 10 if bench.is_quick else 1
    with (
        start_gateway(bench.ferry, bench.work, "lists") as gateway,
        gateway.connection() as connection,
    ):
        session = gateway.session(connection)
        task = download("http://127.0.0.1:9/never-fetched", resume=False)
        create_all(connection, session, [task] * (_TASKS // share))
        for _ in range(_SESSIONS // share):
            gateway.session(connection)
        looks = {
            "a filter that matches nothing": ("/v1/tasks?state=all&type=upload", 2),
            "the same in one session": (f"/v1/sessions/{session}/tasks?state=all&type=upload", 2),
            "500 sessions": ("/v1/sessions?limit=500", 5),
        }
        samples = bench.take_turns(
            {name: partial(_median, connection, path) for name, (path, _) in looks.items()}
        )
    return [
        Comparison("lists", name, "ms", samples[name], None, [], "≤", bound)
        for name, (_, bound) in looks.items()
    ]


def _median(connection: Connection, path: str) -> float:
    """Milliseconds that the answer takes, the median of some."""
    taken = []
    for _ in range(_LOOKS):
        began = time.monotonic()
        answer = connection.request("GET", path)
        taken.append((time.monotonic() - began) * 1000)
        expect(answer, 200)
    return sorted(taken)[_LOOKS // 2]

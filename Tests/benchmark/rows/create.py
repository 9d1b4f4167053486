"""`POST` of one suspended task, durable before it is answered, by wrk with 64 connections.

Beside it: aria2.addUri with `pause`, which keeps it in memory only. Both start anew every turn.
"""

from __future__ import annotations

from ..aria2 import call, encoded, start_aria2
from ..bench import Bench, settle
from ..gateway import download, start_gateway
from ..processes import Failed, Work
from ..results import Comparison, compare_work
from ..tools import wrk

_URL = "http://127.0.0.1:9/never-fetched"


def measure(bench: Bench) -> list[Comparison]:
    seconds = bench.seconds(usual=3, quick=1)
    names = (f"create-{number}" for number in range(bench.rounds))
    samples = bench.take_turns(
        {
            "ferry": lambda: _by_ferry(bench, next(names), seconds),
            "aria2": lambda: _by_aria2(bench, seconds),
        }
    )
    return compare_work(
        "create", "request", samples["ferry"], "aria2.addUri paused", samples["aria2"], 1.5, 1
    )


def _by_ferry(bench: Bench, name: str, seconds: float) -> Work:
    body = encoded(download(_URL, resume=False))
    with start_gateway(bench.ferry, bench.work, name) as gateway:
        with gateway.connection() as connection:
            session = gateway.session(connection)
        path = f"/v1/sessions/{session}/tasks"
        work = wrk(gateway.server, gateway.port, path, seconds, gateway.headers, body)
    settle()
    return work


def _by_aria2(bench: Bench, seconds: float) -> Work:
    body = encoded(call("addUri", [_URL], {"pause": "true"}))
    with start_aria2(bench.work, at_once=1) as aria2:
        work = wrk(aria2.server, aria2.port, "/jsonrpc", seconds, body=body)
        with aria2.connection() as connection:
            if aria2.ask(connection, "getGlobalStat")["numWaiting"] == "0":
                raise Failed("aria2 added nothing")
    return work

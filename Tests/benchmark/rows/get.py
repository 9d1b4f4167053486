"""`GET /v1/tasks/{id}` of a completed task, token checked, by wrk with 64 connections.

Beside it: aria2.tellStatus of a completed download with its secret checked, and nginx (one worker)
that returns a constant body of the same size. Servers keep to one core, wrk to another.
"""

from __future__ import annotations

from ..aria2 import Aria2, call, encoded, start_aria2
from ..bench import Bench
from ..gateway import completed_task, expect, start_gateway
from ..nginx import answer_of_size, start_nginx
from ..processes import wait_until
from ..results import Comparison, compare_work
from ..tools import wrk


def measure(bench: Bench) -> list[Comparison]:
    seconds = bench.seconds(usual=3, quick=1)
    server, load = bench.cores.server, bench.cores.load
    with (
        start_nginx(bench.work, "get-origin", locations="location = /one { return 200 'k'; }")
        as origin,
        start_gateway(bench.ferry, bench.work, "get", server) as gateway,
        gateway.connection() as connection,
        start_aria2(bench.work, at_once=1, cores=server) as aria2,
    ):  # fmt: skip
        task = completed_task(connection, gateway.session(connection), origin.url("/one"))
        path = f"/v1/tasks/{task['id']}"
        answer = connection.request("GET", path)
        expect(answer, 200)
        locations = f"location = /task {{ {answer_of_size(len(answer.body))} }}"
        status = encoded(call("tellStatus", _completed(aria2, origin.url("/one"))))
        with start_nginx(bench.work, "get-peer", locations=locations, cores=server) as peer:
            samples = bench.take_turns(
                {
                    "ferry": lambda: wrk(
                        gateway.server, gateway.port, path, seconds, gateway.headers, cores=load
                    ),
                    "aria2": lambda: wrk(
                        aria2.server, aria2.port, "/jsonrpc", seconds, body=status, cores=load
                    ),
                    "nginx": lambda: wrk(peer.server, peer.port, "/task", seconds, cores=load),
                }
            )
    row = ("get", "request", samples["ferry"])
    return [
        *compare_work(*row, "aria2.tellStatus", samples["aria2"], 3.3, 0.35),
        *compare_work(*row, "nginx return 200", samples["nginx"], 0.9, 1.15),
    ]


def _completed(aria2: Aria2, url: str) -> str:
    with aria2.connection() as connection:
        identifier = aria2.ask(connection, "addUri", [url], {"out": "one"})
        wait_until(
            "aria2's download",
            lambda: aria2.ask(connection, "tellStatus", identifier)["status"] == "complete",
            seconds=30,
        )
    return identifier

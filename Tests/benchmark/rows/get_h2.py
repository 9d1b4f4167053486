"""`GET /v1/tasks/{id}` of a completed task over HTTP/2 in clear, by h2load: 8 connections with 32
streams each. Beside it nginx (one worker) that returns a constant body of the same size.
"""

from __future__ import annotations

from ..bench import Bench
from ..gateway import completed_task, expect, start_gateway
from ..nginx import answer_of_size, start_nginx
from ..results import Comparison, compare_work
from ..tools import h2load


def measure(bench: Bench) -> list[Comparison]:
    seconds = bench.seconds(usual=3, quick=1)
    server, load = bench.cores.server, bench.cores.load
    with (
        start_nginx(bench.work, "get-h2-origin", locations="location = /one { return 200 'k'; }")
        as origin,
        start_gateway(bench.ferry, bench.work, "get-h2", server) as gateway,
        gateway.connection() as connection,
    ):  # fmt: skip
        task = completed_task(connection, gateway.session(connection), origin.url("/one"))
        path = f"/v1/tasks/{task['id']}"
        answer = connection.request("GET", path)
        expect(answer, 200)
        locations = f"location = /task {{ {answer_of_size(len(answer.body))} }}"
        with start_nginx(
            bench.work, "get-h2-peer", locations=locations, cores=server, protocol="http2"
        ) as peer:
            samples = bench.take_turns(
                {
                    "ferry": lambda: h2load(
                        gateway.server, gateway.port, path, seconds, gateway.headers, cores=load
                    ),
                    "nginx": lambda: h2load(peer.server, peer.port, "/task", seconds, cores=load),
                }
            )
    return compare_work(
        "get-h2", "request", samples["ferry"], "nginx's HTTP/2", samples["nginx"], 0.8, 1.3
    )

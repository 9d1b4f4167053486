"""`GET /v1/tasks/{id}` over TLS 1.3: by wrk with 64 kept connections, and `/healthz` with a handshake
for each. Beside it nginx (one worker) with the same certificate, of ECDSA P-256, and answers of the
same size.
"""

from __future__ import annotations

from ..bench import Bench
from ..certificates import make_certificate
from ..gateway import completed_task, expect, start_gateway
from ..nginx import answer_of_size, start_nginx
from ..results import Comparison, compare_work
from ..tools import handshakes, wrk


def measure(bench: Bench) -> list[Comparison]:
    seconds = bench.seconds(usual=3, quick=1)
    server, load = bench.cores.server, bench.cores.load
    certificate = make_certificate(bench.ferry, bench.work / "get-tls-pair")
    with (
        start_nginx(bench.work, "get-tls-origin", locations="location = /one { return 200 'k'; }")
        as origin,
        start_gateway(bench.ferry, bench.work, "get-tls", server, certificate=certificate)
        as gateway,
        gateway.connection() as connection,
    ):  # fmt: skip
        task = completed_task(connection, gateway.session(connection), origin.url("/one"))
        path = f"/v1/tasks/{task['id']}"
        answer = connection.request("GET", path)
        expect(answer, 200)
        probe = connection.request("GET", "/healthz")
        locations = (
            f"{certificate.directives} location = /task {{ {answer_of_size(len(answer.body))} }}"
            f" location = /healthz {{ {answer_of_size(len(probe.body))} }}"
        )
        with start_nginx(
            bench.work, "get-tls-peer", locations=locations, cores=server, protocol="ssl"
        ) as peer:
            kept = bench.take_turns(
                {
                    "ferry": lambda: wrk(
                        gateway.server, gateway.port, path, seconds, gateway.headers,
                        cores=load, scheme="https",
                    ),
                    "nginx": lambda: wrk(
                        peer.server, peer.port, "/task", seconds, cores=load, scheme="https"
                    ),
                }
            )  # fmt: skip
            new = bench.take_turns(
                {
                    "ferry": lambda: handshakes(
                        gateway.server, gateway.port, "/healthz", int(seconds), load
                    ),
                    "nginx": lambda: handshakes(
                        peer.server, peer.port, "/healthz", int(seconds), load
                    ),
                }
            )
    return [
        *compare_work("get-tls", "request", kept["ferry"], "nginx", kept["nginx"], 0.85, 1.25),
        *compare_work("get-tls", "handshake", new["ferry"], "nginx", new["nginx"], 0.8, 1.25),
    ]

"""From the kill of a node to the first answer for its tenant by another one.

The node is killed (-9), which the database tells the others by a closed connection: they have to see
no sign of life for 6 s. Each turn has nodes of its own, 1,000 waiting tasks among what is taken over.
"""

from __future__ import annotations

import time
from dataclasses import replace

from ..bench import Bench
from ..gateway import Gateway, create_all, download, expect
from ..nodes import Nodes, tenant_at
from ..processes import Failed, wait_until
from ..results import Comparison

_COUNT = 1_000


def measure(bench: Bench) -> list[Comparison]:
    with Nodes(bench, "takeover") as nodes:
        stays = nodes.start()
        turns = iter(range(1_000))
        samples = bench.take_turns({"ferry": lambda: _turn(nodes, stays, f"team-{next(turns)}")})
    return [Comparison("takeover", "to its first answer", "s", samples["ferry"], None, [], "≤", 45)]


def _turn(nodes: Nodes, stays: Gateway, name: str) -> float:
    killed = nodes.start()
    tenant = tenant_at(killed, name, made_at=stays)
    with tenant.connection() as connection:
        session = tenant.session(connection)
        task = download("http://127.0.0.1:9/never-fetched", resume=False)
        create_all(connection, session, [task] * _COUNT)
    path = f"/v1/sessions/{session}"
    began = time.monotonic()
    killed.server.kill()
    own = replace(stays, token=tenant.token)
    wait_until("the other node", lambda: _answers(own, path), 60, pause=0.01)
    taken = time.monotonic() - began
    with own.connection() as connection:
        found = expect(connection.request("GET", path), 200)
    if found["taskCounts"]["suspended"] != _COUNT:
        raise Failed(f"after the take-over the session has {found['taskCounts']}")
    return taken


def _answers(gateway: Gateway, path: str) -> bool:
    try:
        with gateway.connection() as connection:
            return connection.request("GET", path).status == 200
    except (OSError, Failed):
        return False

"""`GET /v1/tasks/{id}` from 64 connections to the node that has the tenant, and to another one.

The other one passes each request on. The processor time of that is what both nodes spend.
"""

from __future__ import annotations

from ..bench import Bench
from ..gateway import Gateway, completed_task
from ..nginx import start_nginx
from ..nodes import Nodes, tenant_at
from ..processes import Work
from ..results import Comparison, compare_work
from ..tools import wrk


def measure(bench: Bench) -> list[Comparison]:
    seconds = bench.seconds(usual=3, quick=1)
    with (
        start_nginx(bench.work, "nodes-get-origin", locations="location = /one { return 200 'k'; }")
        as origin,
        Nodes(bench, "nodes-get") as nodes,
    ):  # fmt: skip
        has, passes_on = nodes.start(), nodes.start()
        tenant = tenant_at(has, "team")
        with tenant.connection() as connection:
            task = completed_task(connection, tenant.session(connection), origin.url("/one"))
        path = f"/v1/tasks/{task['id']}"

        def ask(node: Gateway, other: Gateway) -> Work:
            before = other.server.cpu_seconds()
            work = wrk(node.server, node.port, path, seconds, tenant.headers)
            spent = other.server.cpu_seconds() - before
            return Work(work.count, work.seconds, work.cpu_seconds + spent)

        samples = bench.take_turns(
            {
                "passed on": lambda: ask(passes_on, has),
                "the right node": lambda: ask(has, passes_on),
            }
        )
    row = ("nodes-get", "request", samples["passed on"])
    return compare_work(*row, "the right node", samples["the right node"], 0.33, 4)

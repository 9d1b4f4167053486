"""`GET /v1/tasks/{id}` at the node that has the tenant, and at another one, which passes it on.

Its time is that of requests at a fixed pace which neither node is busy with; its rate that of 64
connections, for which the load tool and the two nodes share the machine. The processor time is what
both nodes spend.
"""

from __future__ import annotations

from ..bench import Bench
from ..gateway import Gateway, completed_task
from ..nginx import start_nginx
from ..nodes import Nodes, tenant_at
from ..processes import Work
from ..results import Comparison, compare_work
from ..tools import Pace, paced_get, wrk

_CONNECTIONS = 8
_RATE = 500


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

        def pace(node: Gateway) -> float:
            times = paced_get(
                bench.tools, node.port, path, tenant.authorization,
                Pace(_CONNECTIONS, _RATE, seconds),
            )  # fmt: skip
            return times["p50"]

        times = bench.take_turns(
            {"p50, passed on": lambda: pace(passes_on), "p50, the right node": lambda: pace(has)}
        )
        work = bench.take_turns(
            {
                "passed on": lambda: ask(passes_on, has),
                "the right node": lambda: ask(has, passes_on),
            }
        )
    right = "the right node"
    time = Comparison(
        "nodes-get", "time (p50)", "µs", times["p50, passed on"],
        right, times["p50, the right node"], "≤", 3,
    )  # fmt: skip
    row = ("nodes-get", "request", work["passed on"])
    return [time, *compare_work(*row, right, work[right], 0.33, 4)]

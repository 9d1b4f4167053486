"""What two nodes at rest ask their database, with 10,000 sessions of two tenants.

The database notes each statement in its log, beginnings and ends of transactions among them: all are counted.
"""

from __future__ import annotations

import re
import time

from ..bench import Bench, in_parallel
from ..gateway import Gateway
from ..nodes import Nodes, tenant_at
from ..results import Comparison

_EACH = 5_000
_CREATORS = 4
_STATEMENT = re.compile(rb"LOG:  (?:statement|execute [^:]*): ")


def measure(bench: Bench) -> list[Comparison]:
    with Nodes(bench, "nodes-idle", notes_statements=True) as nodes:
        first, second = nodes.start(), nodes.start()
        tenants = [tenant_at(first, "alpha"), tenant_at(second, "beta", made_at=first)]
        for tenant in tenants:
            in_parallel([lambda tenant=tenant: _create(tenant) for _ in range(_CREATORS)])
        samples = bench.take_turns({"nodes": lambda: _asked(bench, nodes) / len(tenants)})
    return [Comparison("nodes-idle", "statements of a node", "/s", samples["nodes"], None, [], "≤", 1)]


def _create(tenant: Gateway) -> None:
    with tenant.connection() as connection:
        for _ in range(_EACH // _CREATORS):
            tenant.session(connection)


def _asked(bench: Bench, nodes: Nodes) -> float:
    """How many statements come in a second, once what the sessions' creation left to do is done."""
    time.sleep(bench.seconds(usual=10, quick=5))
    before, began = nodes.database_log.stat().st_size, time.monotonic()
    time.sleep(bench.seconds(usual=30, quick=10))
    lasted = time.monotonic() - began
    with nodes.database_log.open("rb") as log:
        log.seek(before)
        return len(_STATEMENT.findall(log.read())) / lasted

"""10,000 downloads of 1 KiB by two nodes on PostgreSQL, beside one gateway on SQLite.

There are two tenants, each with a session of 5,000 downloads, which are posted in arrays of 100 and
read by one reader of its events; the nodes have one tenant each. All processes share the cores, the
database's too: on two of them this tells what being several costs, and not what more machines give.
"""

from __future__ import annotations

import time

from ..aria2 import encoded
from ..bench import Bench, in_parallel, settle
from ..gateway import Gateway, check_all_completed, download, start_gateway
from ..http import post_all
from ..nginx import Nginx, start_nginx
from ..nodes import Nodes, tenant_at
from ..processes import Failed, Work
from ..results import Comparison, compare_work
from ..tools import EventReaders

_EACH = 5_000
_ARRAY = 100
_POSTERS = 2
_AT_ONCE = 32


def measure(bench: Bench) -> list[Comparison]:
    kibibyte = f"location /small/ {{ return 200 '{'k' * 1024}'; }}"
    with (
        start_nginx(bench.work, "nodes-small-origin", locations=kibibyte) as origin,
        start_gateway(bench.ferry, bench.work, "nodes-small-one") as one,
        Nodes(bench, "nodes-small") as nodes,
    ):
        first, second = nodes.start(), nodes.start()
        alone = [tenant_at(one, "alpha"), tenant_at(one, "beta")]
        shared = [tenant_at(first, "alpha"), tenant_at(second, "beta", made_at=first)]
        samples = bench.take_turns(
            {
                "two nodes": lambda: _turn(bench, shared, origin),
                "one gateway": lambda: _turn(bench, alone, origin),
            }
        )
    row = ("nodes-small", "download", samples["two nodes"])
    return compare_work(*row, "one gateway on SQLite", samples["one gateway"], 0.8, 2)


def _turn(bench: Bench, tenants: list[Gateway], origin: Nginx) -> Work:
    servers = {id(tenant.server): tenant.server for tenant in tenants}.values()
    ends: list[float] = []
    before, began = sum(each.cpu_seconds() for each in servers), time.monotonic()
    in_parallel(
        [
            lambda tenant=tenant, number=number: ends.append(_fetch(bench, tenant, number, origin))
            for number, tenant in enumerate(tenants)
        ]
    )
    cpu = sum(each.cpu_seconds() for each in servers) - before
    settle()
    return Work(_EACH * len(tenants), max(ends) - began, cpu)


def _fetch(bench: Bench, tenant: Gateway, number: int, origin: Nginx) -> float:
    """Has one tenant's downloads made; when the last one was told to be complete."""
    work = bench.work / f"nodes-small-readers-{number}"
    work.mkdir(exist_ok=True)
    with tenant.connection() as connection:
        session = tenant.session(connection, httpMaximumConnectionsPerHost=_AT_ONCE)
        urls = [origin.url(f"/small/{number}-{each}") for each in range(_EACH)]
        bodies = [
            encoded([download(url) for url in urls[start : start + _ARRAY]])
            for start in range(0, _EACH, _ARRAY)
        ]
        readers = EventReaders(
            bench.tools, work, tenant.port, f"/v1/sessions/{session}/events", tenant.authorization,
            readers=1, expected=_EACH, prefix="event: task.didComplete",
        )  # fmt: skip
        with readers:
            connections = [tenant.connection() for _ in range(_POSTERS)]
            post_all(connections, f"/v1/sessions/{session}/tasks?fields=id", bodies)
            found = readers.result()
        if found.delivered != _EACH:
            raise Failed(f"{found.delivered} tasks completed within the time")
        check_all_completed(connection, session, _EACH)
    return found.last_at

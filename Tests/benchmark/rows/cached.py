"""10,000 answers of 1 KiB from a warm cache beside the same fetched from nginx, both through Ferry.

Same gateway, same session, same URLs, same client: what differs is `cachePolicy` alone, which is
`useProtocolCachePolicy` for the cached ones and `reloadIgnoringLocalCacheData` for the others, and
nginx is asked for each of those. The session is a default one, so everything that a task is, events
included, is durable either way; its memory tier is large enough for all of them.

"answers" are the bodies as answers (`?answer=content`), by wrk with 64 connections; one request
does all of it: creates the task, waits, brings the body. "tasks" are arrays of 500 on four
connections, answered with the ids, ended by the 10,000th `task.didComplete` that a reader of the session's events is
given: what tasks cost beside the transfer is most of it there. Each turn has a gateway of its own,
whose cache is filled before the clock starts; the fetched are stored anew, as at a first visit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count

from ..aria2 import encoded
from ..bench import Bench, settle
from ..gateway import Gateway, check_all_completed, create_all, expect, start_gateway
from ..http import Connection, post_all
from ..nginx import Nginx, start_nginx
from ..processes import Failed, Work
from ..results import Comparison, compare_work
from ..tools import EventReaders, wrk_in_turn

_COUNT = 10_000
_ARRAY = 500
_POSTERS = 4
_CACHE = {"memoryCapacity": 64 << 20, "diskCapacity": 256 << 20}
_POLICIES = {"cached": "useProtocolCachePolicy", "fetched": "reloadIgnoringLocalCacheData"}

_Form = Callable[[Bench, Gateway, Connection, str, Nginx, str], Work]


def measure(bench: Bench) -> list[Comparison]:
    answer = f"add_header Cache-Control max-age=86400; return 200 '{'k' * 1024}';"
    locations = f"location /small/ {{ {answer} }} location = /status {{ stub_status; }}"
    names = (f"cached-{number}" for number in count())
    forms: dict[str, _Form] = {"answers": _answers, "tasks": _tasks}
    with start_nginx(bench.work, "cached-origin", locations=locations) as origin:
        samples = bench.take_turns(
            {
                f"{form}, {kind}": partial(_turn, bench, origin, names, kind, run)
                for form, run in forms.items()
                for kind in _POLICIES
            }
        )
    return [
        comparison
        for form in forms
        for comparison in compare_work(
            f"cached, {form}", form.removesuffix("s"), samples[f"{form}, cached"],
            "fetched from nginx", samples[f"{form}, fetched"], 3, 0.4,
        )
    ]  # fmt: skip


def _turn(bench: Bench, origin: Nginx, names: Iterator[str], kind: str, run: _Form) -> Work:
    with (
        start_gateway(bench.ferry, bench.work, next(names)) as gateway,
        gateway.connection() as connection,
    ):
        session = gateway.session(connection, httpMaximumConnectionsPerHost=64, urlCache=_CACHE)
        _fill(connection, session, origin)
        before = _requests(origin)
        work = run(bench, gateway, connection, session, origin, kind)
        asked = _requests(origin) - before - 1
        if asked and kind == "cached" or asked < work.count and kind == "fetched":
            raise Failed(f"nginx was asked {asked} times instead of {work.count}")
    settle()
    return work


def _requests(origin: Nginx) -> int:
    """How many requests nginx has had, this one too."""
    with Connection(origin.port) as connection:
        lines = connection.request("GET", "/status").body.decode().splitlines()
    return int(lines[2].split()[2])


def _fill(connection: Connection, session: str, origin: Nginx) -> None:
    tasks = _specs(origin, "fetched")
    create_all(connection, session, tasks)
    path = f"/v1/sessions/{session}"
    while expect(connection.request("GET", f"{path}/tasks?limit=1"), 200)["tasks"]:
        pass
    stored = expect(connection.request("GET", f"{path}/cache"), 200)["entryCount"]
    if stored != _COUNT:
        raise Failed(f"the cache has {stored} entries")


def _answers(
    bench: Bench, gateway: Gateway, connection: Connection, session: str, origin: Nginx, kind: str
) -> Work:
    path = f"/v1/sessions/{session}/tasks?answer=content"
    seconds = bench.seconds(usual=3, quick=1)
    specs = _specs(origin, kind)
    return wrk_in_turn(gateway.server, gateway.port, path, seconds, gateway.headers, specs)


def _tasks(
    bench: Bench, gateway: Gateway, connection: Connection, session: str, origin: Nginx, kind: str
) -> Work:
    tasks = _specs(origin, kind)
    bodies = [encoded(tasks[start : start + _ARRAY]) for start in range(0, _COUNT, _ARRAY)]
    path = f"/v1/sessions/{session}"
    readers = EventReaders(
        bench.tools, bench.work, gateway.port, f"{path}/events", gateway.authorization,
        readers=1, expected=_COUNT, prefix="event: task.didComplete",
    )  # fmt: skip
    with readers:
        connections = [gateway.connection() for _ in range(_POSTERS)]
        before = gateway.server.cpu_seconds()
        began = post_all(connections, f"{path}/tasks?fields=id", bodies)
        found = readers.result()
        cpu = gateway.server.cpu_seconds() - before
    if found.delivered != _COUNT:
        raise Failed(f"{found.delivered} tasks completed within the time")
    check_all_completed(connection, session, 2 * _COUNT)
    return Work(_COUNT, found.last_at - began, cpu)


def _specs(origin: Nginx, kind: str) -> list[dict[str, object]]:
    return [
        {
            "type": "data",
            "resume": True,
            "request": {
                "url": origin.url(f"/small/{number:05}"),
                "cachePolicy": _POLICIES[kind],
            },
        }
        for number in range(_COUNT)
    ]

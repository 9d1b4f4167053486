"""p99 of `GET /v1/tasks/{id}` while four downloads saturate the disk, beside the same at rest.

The GETs are due at a fixed pace and timed from when they were due, by a client that need not wait
for a core: users have one of their own, while here nginx and the gateway keep both of two cores
busy. Four downloads of 1 GiB run all the while: one that ends is followed by another.
"""

from __future__ import annotations

import threading

from ..bench import Bench, settle
from ..gateway import Gateway, completed_task, start_gateway
from ..nginx import start_nginx
from ..processes import Failed
from ..results import Comparison
from ..tools import Pace, paced_get

_DOWNLOADS = 4
_CONNECTIONS = 8
_RATE = 1_000


def measure(bench: Bench) -> list[Comparison]:
    seconds = bench.seconds(usual=4, quick=2)
    locations = "location = /one { return 200 'k'; }"
    with (
        start_nginx(bench.work, "latency-origin", locations, root=bench.origin_folder()) as origin,
        start_gateway(bench.ferry, bench.work, "latency") as gateway,
        gateway.connection() as connection,
    ):
        session = gateway.session(connection)
        task = completed_task(connection, session, origin.url("/one"))

        def gets() -> dict[str, int]:
            return paced_get(
                bench.tools, gateway.port, f"/v1/tasks/{task['id']}", gateway.authorization,
                Pace(_CONNECTIONS, _RATE, seconds), has_priority=True,
            )  # fmt: skip

        def under_load() -> dict[str, int]:
            with _Downloads(gateway, session, origin.url("/gibibyte")):
                return gets()

        samples = bench.take_turns({"under load": under_load, "at rest": gets})
    loaded = [float(found["p99"]) for found in samples["under load"]]
    rest = [float(found["p99"]) for found in samples["at rest"]]
    return [Comparison("latency", "p99", "µs", loaded, "Ferry at rest", rest, "≤", 4)]


class _Downloads:
    """Keeps four downloads going, and deletes what has arrived, until it is left."""

    def __init__(self, gateway: Gateway, session: str, url: str):
        self._gateway, self._session, self._url = gateway, session, url
        self._is_over = threading.Event()
        self._failures: list[BaseException] = []
        self._threads = [threading.Thread(target=self._download) for _ in range(_DOWNLOADS)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()
        settle()
        if self._failures:
            raise Failed(f"a download failed: {self._failures[0]}")

    def _download(self) -> None:
        try:
            with self._gateway.connection() as connection:
                while not self._is_over.is_set():
                    task = completed_task(connection, self._session, self._url)
                    connection.request("DELETE", f"/v1/tasks/{task['id']}")
        except (OSError, Failed) as failure:
            self._failures.append(failure)

"""p99 of `POST` of a task while each write to a content takes 20 ms longer.

64 downloads of 1 MiB are under way all the while, so that more writes wait than there are threads
for files. The POSTs are due at a fixed pace and timed from when they were due.
"""

from __future__ import annotations

import threading

from ..bench import Bench, in_parallel
from ..gateway import Gateway, create, delete, completed, download, start_gateway
from ..nginx import start_nginx
from ..results import Comparison
from ..tools import Pace, paced_post

_DOWNLOADS = 64
_LENGTH = 1 << 20
_PACE = (8, 100)


def measure(bench: Bench) -> list[Comparison]:
    seconds = bench.seconds(usual=10, quick=3)
    folder = bench.work / "slow-disk-files"
    folder.mkdir()
    (folder / "file").write_bytes(bytes(_LENGTH))
    (folder / "small").write_bytes(bytes(1024))
    library = {"LD_PRELOAD": str(bench.tools / "slow_writes.so")}
    with (
        start_nginx(bench.work, "slow-disk-origin", root=folder) as origin,
        start_gateway(bench.ferry, bench.work, "slow-disk", environment=library) as gateway,
        gateway.connection() as connection,
    ):
        busy = gateway.session(connection, httpMaximumConnectionsPerHost=64, urlCache=None)
        session = gateway.session(connection)
        path = f"/v1/sessions/{session}/tasks"
        task = download(origin.url("/small"))

        def posts() -> dict[str, int]:
            is_over = threading.Event()
            found = {}

            def post() -> None:
                try:
                    found.update(
                        paced_post(
                            bench.tools, gateway.port, path, gateway.authorization, task,
                            Pace(*_PACE, seconds),
                        )
                    )  # fmt: skip
                finally:
                    is_over.set()

            def fetch() -> None:
                _fetch_until(is_over, gateway, busy, origin.url("/file"))

            in_parallel([post, *[fetch] * _DOWNLOADS])
            return found

        samples = bench.take_turns({"ferry": posts})["ferry"]
    slowest = [found["p99"] / 1000 for found in samples]
    return [Comparison("slow-disk", "p99 of POST", "ms", slowest, None, [], "≤", 100)]


def _fetch_until(is_over: threading.Event, gateway: Gateway, session: str, url: str) -> None:
    with gateway.connection() as connection:
        while not is_over.is_set():
            task = create(connection, session, download(url), wait=60)
            delete(connection, completed(connection, task))

"""One download of 1 GiB over 8 connections, where each has 1 MiB/s and is 50 ms away.

The origin is load/paced_origin.c. Ferry's is a download task with `connections: 8`, synced before
it is completed; the peer is aria2c with 8 connections at its best, that is with
`--min-split-size=1M` and `--file-allocation=none`, and does not sync. Neither may be sent more than
8 bodies at once. Eight such lines carry 8 MiB/s and no more, so a turn takes 128 s and one pair is
measured unless `--rounds` asks for more. What has arrived is compared by SHA-256 after every turn.
With `--quick` it is 64 MiB.
"""

from __future__ import annotations

import time
from pathlib import Path

from ..bench import GIBIBYTE, Bench, settle
from ..digests import sha256_of_file, sha256_of_output
from ..gateway import Gateway, completed, create, delete, download, start_gateway
from ..http import Connection
from ..processes import Failed, Server, run_measured
from ..results import Comparison

_CONNECTIONS = 8
_RATE = 1 << 20
_DELAY = 0.05


def measure(bench: Bench) -> list[Comparison]:
    with (
        _Origin(bench, 1 << 26 if bench.is_quick else GIBIBYTE) as origin,
        start_gateway(bench.ferry, bench.work, "segments") as gateway,
    ):
        with gateway.connection() as connection:
            session = gateway.session(connection, httpMaximumConnectionsPerHost=_CONNECTIONS)
        samples = bench.take_turns(
            {
                "ferry": lambda: _by_ferry(gateway, session, origin),
                "aria2c": lambda: _by_aria2c(origin, bench.work / "segments.got"),
            },
            rounds=bench.long_rounds,
        )
    rates = ("segments", "rate", "MiB/s", samples["ferry"])
    return [Comparison(*rates, "aria2c -x8 -s8", samples["aria2c"], "≥", 1)]


class _Origin:
    """A running paced_origin, and what is known of the body it serves."""

    def __init__(self, bench: Bench, length: int):
        file, log = bench.origin_folder() / "gibibyte", bench.work / "paced_origin.log"
        self.length = length
        self._expected = sha256_of_file(file, length)
        command = [str(bench.tools / "paced_origin"), str(file), str(length), str(_RATE)]
        self._server = Server([*command, str(_DELAY)], log)
        try:
            self._port = int(self._server.wait_for("its port", log.read_text))
        except BaseException:
            self._server.stop()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/body"

    def rate(self, taken: float) -> float:
        """MiB a second."""
        return self.length / (1 << 20) / taken

    def check(self, digest: str) -> None:
        """Raises unless the body has arrived whole, by no more connections than were allowed."""
        if digest != self._expected:
            raise Failed(f"what has arrived has the SHA-256 {digest}, the body {self._expected}")
        with Connection(self._port) as connection:
            most = int(connection.request("GET", "/most").body)
        if most > _CONNECTIONS:
            raise Failed(f"{most} bodies were sent at once")


def _by_ferry(gateway: Gateway, session: str, origin: _Origin) -> float:
    specification = {**download(origin.url), "connections": _CONNECTIONS}
    # One for each turn: while aria2c has its own, the gateway closes what rests.
    with gateway.connection() as connection:
        began = time.monotonic()
        task = create(connection, session, specification, wait=60)
        task = completed(connection, task, seconds=600)
        taken = time.monotonic() - began
        url = gateway.url(f"/v1/tasks/{task['id']}/content")
        command = ["curl", "--silent", "--show-error", "--fail", "--header", gateway.authorization]
        origin.check(sha256_of_output([*command, url]))
        delete(connection, task)
    settle()
    return origin.rate(taken)


def _by_aria2c(origin: _Origin, file: Path) -> float:
    command = ["aria2c", "--no-conf", "--quiet", "--file-allocation=none", "--min-split-size=1M"]
    command += [f"--split={_CONNECTIONS}", f"--max-connection-per-server={_CONNECTIONS}"]
    spent = run_measured([*command, f"--dir={file.parent}", f"--out={file.name}", origin.url])
    if file.stat().st_size != origin.length:
        raise Failed(f"aria2c fetched {file.stat().st_size} bytes")
    origin.check(sha256_of_file(file, origin.length))
    file.unlink()
    settle()
    return origin.rate(spent.wall)

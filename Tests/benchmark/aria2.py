"""aria2 as a contestant: a daemon of this run, driven by JSON-RPC as its clients drive it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from .http import Connection
from .processes import Failed, Server, accepts, free_port

SECRET = "benchmark"


def call(method: str, *parameters: object) -> dict[str, object]:
    """One JSON-RPC call with the secret, as aria2 checks it."""
    return {
        "jsonrpc": "2.0",
        "id": "1",
        "method": f"aria2.{method}",
        "params": [f"token:{SECRET}", *parameters],
    }


def encoded(value: object) -> bytes:
    return json.dumps(value).encode()


@dataclass
class Aria2:
    """A running aria2 daemon."""

    server: Server
    port: int

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self.server.stop()

    def connection(self) -> Connection:
        return Connection(self.port)

    def ask(self, connection: Connection, method: str, *parameters: object):
        """The result of one call."""
        answer = connection.request("POST", "/jsonrpc", call(method, *parameters))
        if answer.status != 200:
            raise Failed(f"aria2.{method}: {answer.status} {answer.body[:300]!r}")
        return answer.json()["result"]

    def stopped_total(self, connection: Connection) -> int:
        """How many downloads have ended since the daemon started or was purged."""
        return int(self.ask(connection, "getGlobalStat")["numStoppedTotal"])


def start_aria2(
    work: Path, at_once: int, cores: frozenset[int] | None = None, downloads: str = "aria2"
) -> Aria2:
    """A daemon that runs so many downloads at once, one connection each.

    It keeps no control file beside each file, which made it twice as fast with small files.
    """
    folder = work / downloads
    folder.mkdir(exist_ok=True)
    port = free_port()
    command = [
        "aria2c", "--no-conf", "--quiet", "--enable-rpc", f"--rpc-listen-port={port}",
        f"--rpc-secret={SECRET}", f"--dir={folder}", f"--max-concurrent-downloads={at_once}",
        "--split=1", "--max-connection-per-server=1", "--file-allocation=none",
        "--max-download-result=100000", "--disable-ipv6", "--auto-save-interval=0",
    ]  # fmt: skip
    server = Server(command, work / "aria2.log", cores)
    try:
        server.wait_for("to listen", lambda: accepts(port))
        return Aria2(server, port)
    except BaseException:
        server.stop()
        raise

"""A keep-alive HTTP connection, enough for driving servers whose answers have a length."""

from __future__ import annotations

import json
import socket
import ssl
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from .bench import in_parallel
from .processes import Failed


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes

    def json(self):
        return json.loads(self.body)


class Connection:
    """One connection to a port on loopback."""

    def __init__(
        self,
        port: int,
        headers: dict[str, str] | None = None,
        timeout: float = 90,
        tls: ssl.SSLContext | None = None,
    ):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            self._socket = tls.wrap_socket(self._socket, server_hostname="127.0.0.1")
        self._reader = self._socket.makefile("rb", 1 << 16)
        self._fixed = {"Host": f"127.0.0.1:{port}", **(headers or {})}

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.close()
        self._socket.close()

    def encode(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> bytes:
        """The bytes of a request, to be made before a measurement and sent during it."""
        fields = {**self._fixed, **(headers or {})}
        if body:
            fields.setdefault("Content-Type", "application/json")
        if body or method in ("POST", "PUT", "PATCH"):
            fields["Content-Length"] = str(len(body))
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {text}" for name, text in fields.items())]
        return "\r\n".join([*lines, "", ""]).encode() + body

    def send(self, request: bytes) -> None:
        self._socket.sendall(request)

    def read(self) -> Answer:
        """The next answer. Without a length it must be 204 or chunked."""
        line = self._reader.readline()
        if not line:
            raise Failed("the server closed the connection before it answered")
        status = int(line.split()[1])
        length, chunked = 0, False
        while (line := self._reader.readline()) not in (b"\r\n", b""):
            name, _, text = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(text)
            elif name.lower() == b"transfer-encoding":
                chunked = True
        return Answer(status, self._read_chunks() if chunked else self._reader.read(length))

    def lines(self) -> Iterator[bytes]:
        """What comes next, line by line, framing included."""
        return iter(self._reader.readline, b"")

    def request(
        self, method: str, path: str, value: object = None, headers: dict[str, str] | None = None
    ) -> Answer:
        body = b"" if value is None else json.dumps(value).encode()
        self.send(self.encode(method, path, body, headers))
        return self.read()

    def _read_chunks(self) -> bytes:
        parts = []
        while size := int(self._reader.readline().split(b";")[0], 16):
            parts.append(self._reader.read(size))
            self._reader.readline()
        while self._reader.readline() not in (b"\r\n", b""):
            pass
        return b"".join(parts)


def post_all(connections: list[Connection], path: str, bodies: list[bytes]) -> float:
    """Posts the bodies, shared out among the connections; returns when the first was sent."""

    def post(connection: Connection, requests: list[bytes]) -> None:
        with connection:
            for request in requests:
                connection.send(request)
                answer = connection.read()
                if answer.status != 200:
                    raise Failed(f"a batch was refused: {answer.status} {answer.body[:300]!r}")

    shares = [
        [connection.encode("POST", path, body) for body in bodies[index :: len(connections)]]
        for index, connection in enumerate(connections)
    ]
    began = time.monotonic()
    in_parallel([partial(post, *pair) for pair in zip(connections, shares)])
    return began

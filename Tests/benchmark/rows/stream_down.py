"""1 GiB streamed down through the gateway (`delivery: stream`), beside nginx as a reverse proxy.

Both stand in front of the same nginx and are read by curl, which throws away what it gets. Ferry's
turn begins with the POST of the task. The peer is `proxy_pass` with `proxy_buffering off`: as
nginx comes, and with buffers of 256 KiB, which made it three times as fast; Ferry has to reach its
share of both. Each contestant is read once before the rounds, compared by SHA-256; in the rounds
the length is checked.
"""

from __future__ import annotations

import time

from ..bench import GIBIBYTE, Bench
from ..digests import sha256_of_file, sha256_of_output
from ..gateway import Gateway, completed, create, start_gateway
from ..http import Connection
from ..nginx import start_nginx
from ..processes import Failed, run_tool
from ..results import Comparison

_PROXY = """
location = /gibibyte {{
    proxy_pass {origin};
    proxy_buffering off;
    {buffers}
}}
"""
_CURL = ["curl", "--silent", "--show-error", "--fail"]
_LARGE = "proxy_buffer_size 256k; proxy_buffers 4 256k; proxy_busy_buffers_size 256k;"


def measure(bench: Bench) -> list[Comparison]:
    folder = bench.origin_folder()
    with start_nginx(bench.work, "stream-down-origin", root=folder) as origin:
        url = origin.url("/gibibyte")
        plain = _PROXY.format(origin=url, buffers="")
        large = _PROXY.format(origin=url, buffers=_LARGE)
        with (
            start_nginx(bench.work, "stream-down-plain", locations=plain) as plain_proxy,
            start_nginx(bench.work, "stream-down-large", locations=large) as large_proxy,
            start_gateway(bench.ferry, bench.work, "stream-down") as gateway,
            gateway.connection() as connection,
        ):
            reader = _Reader(gateway, connection, url)
            proxies = (plain_proxy.url("/gibibyte"), large_proxy.url("/gibibyte"))
            _check(reader, proxies, sha256_of_file(folder / "gibibyte", GIBIBYTE))
            samples = bench.take_turns(
                {
                    "ferry": reader.rate,
                    "nginx": lambda: _rate_of_proxy(proxies[0]),
                    "nginx, 256 KiB": lambda: _rate_of_proxy(proxies[1]),
                }
            )
    rate = ("stream-down", "rate", "MiB/s", samples["ferry"])
    return [
        Comparison(*rate, "nginx, unbuffered", samples["nginx"], "≥", 0.7),
        Comparison(*rate, "the same by 256 KiB", samples["nginx, 256 KiB"], "≥", 0.7),
    ]


class _Reader:
    """Reads the origin's file through tasks of one session."""

    def __init__(self, gateway: Gateway, connection: Connection, url: str):
        self._connection = connection
        self._gateway = gateway
        self._session = gateway.session(connection)
        self._task: dict[str, object] = {
            "type": "data", "resume": True, "delivery": "stream", "request": {"url": url}
        }  # fmt: skip

    def rate(self) -> float:
        began = time.monotonic()
        task = create(self._connection, self._session, self._task)
        _discard(self._command(task))
        taken = time.monotonic() - began
        completed(self._connection, task)
        return GIBIBYTE / (1 << 20) / taken

    def digest(self) -> str:
        task = create(self._connection, self._session, self._task)
        return sha256_of_output(self._command(task))

    def _command(self, task: dict) -> list[str]:
        url = self._gateway.url(f"/v1/tasks/{task['id']}/content")
        return [*_CURL, "--header", self._gateway.authorization, url]


def _rate_of_proxy(url: str) -> float:
    began = time.monotonic()
    _discard([*_CURL, url])
    return GIBIBYTE / (1 << 20) / (time.monotonic() - began)


def _discard(command: list[str]) -> None:
    """Reads a body of 1 GiB and throws it away; raises when it has another length."""
    read = run_tool([*command, "--output", "/dev/null", "--write-out", "%{size_download}"])
    if read != str(GIBIBYTE):
        raise Failed(f"{command[-1]}: {read} bytes")


def _check(reader: _Reader, proxies: tuple[str, ...], expected: str) -> None:
    """Reads through every contestant once; raises unless all give the file, byte for byte."""
    digests = [reader.digest(), *(sha256_of_output([*_CURL, url]) for url in proxies)]
    if any(digest != expected for digest in digests):
        raise Failed(f"the file's SHA-256 is {expected}, and what was read: {digests}")

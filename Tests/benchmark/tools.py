"""The load tools: wrk, and the small C programs beside this file, built on first use."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .processes import Failed, Server, Work, run_tool, wait_until

_SOURCES = Path(__file__).parent / "load"
_PRELOADED = Path(__file__).parent / "preload"
# What the programs need beside the C library.
_LIBRARIES = {"read_events": ["-lnghttp2"]}


def build_tools(folder: Path) -> None:
    """Compiles the C programs and libraries into a folder, those that are older than their source."""
    _build(_SOURCES, folder, "", [])
    _build(_PRELOADED, folder, ".so", ["-shared", "-fPIC"])


def _build(sources: Path, folder: Path, ending: str, options: list[str]) -> None:
    newest = max(source.stat().st_mtime for source in sources.iterdir())
    for source in sources.glob("*.c"):
        target = folder / (source.stem + ending)
        if target.exists() and target.stat().st_mtime > newest:
            continue
        command = ["cc", "-O2", "-Wall", "-Wextra", *options, "-o", str(target), str(source)]
        command += _LIBRARIES.get(source.stem, [])
        subprocess.run(command, check=True)


def wrk(
    server: Server,
    port: int,
    path: str,
    seconds: float,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    cores: frozenset[int] | None = None,
    scheme: str = "http",
) -> Work:
    """What a server answers to 64 connections; raises when one of its answers is an error."""
    return _wrk("report.lua", server, port, path, seconds, headers, body or b"", cores, scheme)


def wrk_in_turn(
    server: Server,
    port: int,
    path: str,
    seconds: float,
    headers: Mapping[str, str],
    values: list[object],
) -> Work:
    """As `wrk`, but posts these values one after another, as JSON, and again from the first."""
    lines = "".join(json.dumps(value) + "\n" for value in values)
    return _wrk("answers.lua", server, port, path, seconds, headers, lines.encode())


def _wrk(
    script: str,
    server: Server,
    port: int,
    path: str,
    seconds: float,
    headers: Mapping[str, str] | None,
    input: bytes,
    cores: frozenset[int] | None = None,
    scheme: str = "http",
) -> Work:
    command = ["wrk", "-t1", "-c64", f"-d{seconds:g}s", "-s", str(_SOURCES / script)]
    for name, text in (headers or {}).items():
        command += ["-H", f"{name}: {text}"]
    command.append(f"{scheme}://127.0.0.1:{port}{path}")
    with tempfile.NamedTemporaryFile() as file:
        file.write(input)
        file.flush()
        before = server.cpu_seconds()
        printed = run_tool([*command, "--", file.name], cores, seconds + 60)
        cpu = server.cpu_seconds() - before
    result = json.loads(printed.rpartition("RESULT ")[2])
    if result["errors"] or not result["requests"]:
        raise Failed(f"wrk on port {port}{path}: {result}")
    return Work(result["requests"], result["seconds"], cpu)


def h2load(
    server: Server,
    port: int,
    path: str,
    seconds: float,
    headers: Mapping[str, str] | None = None,
    cores: frozenset[int] | None = None,
) -> Work:
    """What a server answers to 8 connections of HTTP/2 in clear with 32 streams each; raises when
    one of its answers is an error."""
    command = ["h2load", "--threads=1", "--clients=8", "--max-concurrent-streams=32"]
    command += [f"--duration={seconds:g}", "--warm-up-time=0"]
    for name, text in (headers or {}).items():
        command += ["-H", f"{name}: {text}"]
    before = server.cpu_seconds()
    printed = run_tool([*command, f"http://127.0.0.1:{port}{path}"], cores, seconds + 60)
    cpu = server.cpu_seconds() - before
    done = re.search(r"requests: \d+ total, \d+ started, (\d+) done, \d+ succeeded, (\d+) failed", printed)
    good = re.search(r"status codes: (\d+) 2xx", printed)
    # What is under way when the time is up is counted as neither.
    if not done or not good or int(done[2]) or int(good[1]) < int(done[1]):
        raise Failed(f"h2load on port {port}{path}: {printed}")
    return Work(int(done[1]), seconds, cpu)


def handshakes(
    server: Server, port: int, path: str, seconds: int, cores: frozenset[int] | None = None
) -> Work:
    """How many connections of TLS 1.3 a server takes one after the other, each with a handshake of
    its own and one GET."""
    command = ["openssl", "s_time", "-connect", f"127.0.0.1:{port}", "-www", path, "-new"]
    before = server.cpu_seconds()
    printed = run_tool([*command, "-time", str(seconds), "-tls1_3"], cores, seconds + 60)
    cpu = server.cpu_seconds() - before
    found = re.search(r"(\d+) connections in (\d+) real seconds", printed)
    if not found or not int(found[1]):
        raise Failed(f"openssl s_time on port {port}: {printed}")
    return Work(int(found[1]), int(found[2]), cpu)


@dataclass(frozen=True)
class Pace:
    """Requests that are due at a fixed rate, however long the answers take."""

    connections: int
    rate: int
    seconds: float


def paced_get(
    tools: Path, port: int, path: str, header: str, pace: Pace, has_priority: bool = False
) -> dict[str, int]:
    """Latencies in microseconds, each from when its GET was due.

    With priority (only root can give it) the client never waits for a core: where the cores are
    busy, the time is the server's alone.
    """
    first = ["chrt", "--fifo", "1"] if has_priority else []
    return _paced(tools, port, "GET", path, header, "", pace, first)


def paced_post(
    tools: Path, port: int, path: str, header: str, value: object, pace: Pace
) -> dict[str, int]:
    """As `paced_get`, but posts the value as JSON."""
    return _paced(tools, port, "POST", path, header, json.dumps(value), pace)


def _paced(
    tools: Path,
    port: int,
    method: str,
    path: str,
    header: str,
    body: str,
    pace: Pace,
    first: Sequence[str] = (),
) -> dict[str, int]:
    command = [*first, str(tools / "paced"), str(port), method, path, header, body]
    numbers = [str(pace.connections), str(pace.rate), f"{pace.seconds:g}"]
    result = json.loads(run_tool([*command, *numbers]))
    if result["refused"]:
        raise Failed(f"{result['refused']} answers of {method} {path} were no success")
    return result


@dataclass(frozen=True)
class Delivery:
    """What the readers of an event stream were given."""

    delivered: int
    delivered_in_window: int
    least: int
    most: int
    ordered: bool
    identical: bool
    first_at: float
    last_at: float


class EventReaders:
    """Many readers of one stream, in a process of their own."""

    def __init__(
        self,
        tools: Path,
        work: Path,
        port: int,
        path: str,
        header: str,
        readers: int,
        expected: int,
        prefix: str = "id:",
        window: float = 3600,
        timeout: float = 60,
        cores: frozenset[int] | None = None,
        streams: int = 0,
    ):
        """With `streams` so many readers share a connection of HTTP/2."""
        log = work / "readers.log"
        log.unlink(missing_ok=True)
        command = [str(tools / "read_events"), str(port), path, header, str(readers), prefix]
        command += [str(expected), f"{window:g}", f"{timeout:g}", str(streams)]
        self._timeout = timeout
        self._server = Server(command, log, cores)

    def __enter__(self):
        try:
            self._server.wait_for("to be connected", lambda: self._lines()[:1] == ["ready"])
        except BaseException:
            self._server.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    def result(self) -> Delivery:
        """Waits until every reader has all events, or the time is up."""
        wait_until("the readers", lambda: len(self._lines()) > 1, self._timeout + 10, 0.005)
        found = json.loads(self._lines()[1])
        return Delivery(
            delivered=found["delivered"],
            delivered_in_window=found["deliveredInWindow"],
            least=found["least"],
            most=found["most"],
            ordered=found["ordered"],
            identical=found["identical"],
            first_at=found["firstAt"],
            last_at=found["lastAt"],
        )

    def _lines(self) -> list[str]:
        text = self._server.log.read_text()
        return text[: text.rfind("\n") + 1].splitlines()


def require_commands(*names: str) -> None:
    missing = [name for name in names if not shutil.which(name)]
    if missing:
        raise Failed(f"not installed: {', '.join(missing)}; .ci/setup bench installs it")

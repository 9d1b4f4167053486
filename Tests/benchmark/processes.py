"""Servers and commands of a run: started with limits, pinned, measured, ended by their id."""

from __future__ import annotations

import ctypes
import os
import re
import resource
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class Failed(Exception):
    """A row cannot be measured; the message says why."""


@dataclass(frozen=True)
class Cores:
    """Which cores servers and load tools keep to in rows that pin them."""

    server: frozenset[int] | None
    load: frozenset[int] | None

    @staticmethod
    def of_this_machine() -> Cores:
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) < 2:
            return Cores(None, None)
        return Cores(frozenset(cores[:1]), frozenset(cores[1:2]))


def raise_descriptor_limit() -> None:
    """Lets this process and what it starts open as many files as the machine allows."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(what: str, condition: Callable[[], object], seconds: float, pause: float = 0.02):
    """Polls until the condition holds, and returns what it gave."""
    deadline = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise Failed(f"waited {seconds:g} s for {what}")
        time.sleep(pause)


def accepts(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _prepare_child(cores: frozenset[int] | None) -> Callable[[], None]:
    def prepare() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if cores:
            os.sched_setaffinity(0, cores)

    return prepare


class Server:
    """A process that runs until `stop`. Its output goes to a log in the work folder."""

    def __init__(
        self,
        command: list[str],
        log: Path,
        cores: frozenset[int] | None = None,
        environment: dict[str, str] | None = None,
    ):
        self.name = Path(command[0]).name
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                preexec_fn=_prepare_child(cores),
            )
        self.pid = self._process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def check(self) -> None:
        """Raises when the process has ended by itself, with the end of its log."""
        if self._process.poll() is not None:
            tail = self.log.read_text(errors="replace")[-2000:]
            raise Failed(f"{self.name} ended with {self._process.returncode}:\n{tail}")

    def wait_for(self, what: str, condition: Callable[[], object], seconds: float = 30):
        def checked() -> object:
            self.check()
            return condition()

        return wait_until(f"{self.name}: {what}", checked, seconds)

    def stop(self) -> None:
        if self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(35)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def cpu_seconds(self) -> float:
        """Processor time so far, user and system: of all threads, ended ones included, and of its
        processes that run."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        # The kernel's clock of a process: see clock_getcpuclockid(3).
        return sum(time.clock_gettime((~pid << 3) | 2) for pid in [self.pid, *map(int, children)])

    def resident_bytes(self) -> int:
        return self._memory("VmRSS")

    def peak_resident_bytes(self) -> int:
        """The most that was resident at any moment since `forget_peak`, as the kernel saw it."""
        return self._memory("VmHWM")

    def forget_peak(self) -> None:
        """Sets the peak to what is resident now: see clear_refs in proc(5)."""
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def _memory(self, name: str) -> int:
        status = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(rf"^{name}:\s+(\d+) kB", status, re.MULTILINE)
        if not found:
            raise Failed(f"{self.name} has no resident memory: it has ended")
        return int(found[1]) * 1024


@dataclass(frozen=True)
class Work:
    """How many of something a server did, and what that took."""

    count: int
    seconds: float
    cpu_seconds: float

    @property
    def rate(self) -> float:
        return self.count / self.seconds

    @property
    def cpu(self) -> float:
        """Microseconds of processor time each."""
        return self.cpu_seconds / self.count * 1e6

    def __str__(self) -> str:
        return f"{self.rate:.0f}/s, {self.cpu:.1f} µs of CPU each"


@dataclass(frozen=True)
class Spent:
    """What one command took: seconds on the clock and on the processor."""

    wall: float
    cpu: float


def run_measured(command: list[str]) -> Spent:
    """Runs a command to its end and measures it; raises when it fails."""
    began = time.monotonic()
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=_prepare_child(None),
    )
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        process.kill()
        process.wait()
        raise
    wall = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    errors = process.stderr.read().decode(errors="replace") if process.stderr else ""
    if process.returncode != 0:
        raise Failed(f"{command[0]} ended with {process.returncode}: {errors.strip()[-500:]}")
    return Spent(wall, usage.ru_utime + usage.ru_stime)


def run_tool(command: list[str], cores: frozenset[int] | None = None, seconds: float = 120) -> str:
    """Runs a load tool and returns what it printed."""
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        preexec_fn=_prepare_child(cores),
        check=False,
    )
    if done.returncode != 0:
        raise Failed(f"{Path(command[0]).name}: {(done.stderr or done.stdout).strip()[-800:]}")
    return done.stdout

"""Servers of the machine, each with a folder of its own, on ports that were free."""

import contextlib
import json
import os
import pathlib
import pwd
import random
import socket
import subprocess
import tempfile
import time

PROGRAMS = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def eventually(look, what, within=60.0):
    """What `look` gives as soon as that is something; looks every few milliseconds."""
    deadline = time.monotonic() + within
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"after {within} s still waiting for {what}")
        time.sleep(0.005)


def undisturbed(run):
    """Runs something until one run has kept all its bounds, five times at most: what else the machine does
    disturbs some runs, and what is wrong all of them. A run gives pairs of what it measured and the bound
    of that."""
    runs = []
    while len(runs) < 5:
        runs.append(run())
        if all(measured < bound for measured, bound in runs[-1]):
            return
    raise AssertionError(f"no run has kept its bounds (measured, bound): {runs}")


def free_ports(count):
    """Ports of 127.0.0.1 that nobody listens on, below those that the system hands out itself."""
    ports = []
    for port in random.sample(range(15_000, 32_000), 1000):
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            ports.append(port)
        if len(ports) == count:
            return ports
    raise AssertionError(f"no {count} free ports")


def run(*command, input=None, **environment):
    """Runs a program to its end and gives what it wrote."""
    result = subprocess.run(
        command,
        input=input,
        env=dict(os.environ, PATH=PROGRAMS, **environment),
        text=True,
        capture_output=True,
        timeout=120,
    )
    assert result.returncode == 0, f"{command}: {result.stdout}{result.stderr}"
    return result.stdout


class Daemon:
    """A server that ends with the tests, also when these are killed."""

    def __init__(self, name):
        self.name = name
        self._temporary = tempfile.TemporaryDirectory(prefix=f"ferry-{name}-")
        self.folder = pathlib.Path(self._temporary.name)
        self.folder.chmod(0o755)
        self._process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        self._temporary.cleanup()

    def write(self, name, text):
        """A file in the server's folder; its path."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def start(self, *command, ports, **environment):
        """Runs the server, and comes back when it takes connections on all `ports`."""
        words = ["setpriv", "--pdeathsig", "TERM"]
        if os.geteuid() == 0:  # servers give up root's rights themselves, or refuse to run
            nobody = pwd.getpwnam("nobody")
            words += ["--reuid", str(nobody.pw_uid), "--regid", str(nobody.pw_gid)]
            words += ["--clear-groups"]
            for path in [self.folder, *self.folder.rglob("*")]:
                os.chown(path, nobody.pw_uid, nobody.pw_gid)
        with open(self.folder / "output", "wb") as output:
            self._process = subprocess.Popen(
                words + [str(word) for word in command],
                cwd=self.folder,
                env={"PATH": PROGRAMS, "HOME": str(self.folder), **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        for port in ports:
            eventually(lambda: self._takes_connections(port), f"{self.name} on port {port}", 20)

    def _takes_connections(self, port):
        assert self._process.poll() is None, f"{self.name} ended: {self.last_words()}"
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return True

    def last_words(self):
        """The ends of all that the server wrote into files by the names of logs."""
        logs = [self.folder / "output", *self.folder.glob("*.log")]
        return "".join(log.read_text(errors="replace")[-2000:] for log in logs if log.exists())

    def stop(self):
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(5)
        self._process = None


class AccessLog:
    """The requests that a server has answered, from a log with one JSON object a line."""

    def __init__(self, path):
        self.path = path

    def requests(self, marker):
        """Those whose target holds `marker`, oldest first."""
        if not self.path.exists():
            return []
        lines = self.path.read_text(errors="replace").split("\n")[:-1]
        entries = [json.loads(line) for line in lines]
        return [entry for entry in entries if marker in entry["target"]]

    def wait(self, marker, count):
        """The requests, once there are so many: servers write after they have answered."""
        eventually(lambda: len(self.requests(marker)) >= count, f"{count} requests for {marker}")
        return self.requests(marker)


class SilentServer:
    """Takes what comes to a port of 127.0.0.1, by UDP and TCP, and never answers."""

    def __enter__(self):
        self._stack = contextlib.ExitStack()
        while True:
            self._datagrams = self._stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))
            self._datagrams.bind(("127.0.0.1", 0))
            self.port = self._datagrams.getsockname()[1]
            listener = self._stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):  # the port may be another's by TCP
                listener.bind(("127.0.0.1", self.port))
                listener.listen(16)
                self._datagrams.setblocking(False)
                return self

    def __exit__(self, *_):
        self._stack.close()

    def was_asked(self):
        """Whether something has come by UDP since the last look."""
        with contextlib.suppress(BlockingIOError):
            return bool(self._datagrams.recv(65536))

"""A built `ferry serve` in a process of its own, and what its operator may look at."""

import json
import os
import pathlib
import re
import signal
import ssl
import subprocess
import tempfile

import httpx
import httpx_sse

import canaries
from daemon import eventually, run

MARKER = "Ferry listens on "


class Gateway:
    """May fetch from what is `allowed`. Can be killed, and started on its data again.

    With `mebibytes` its data lie on a disk of that size, which only root may give it, or on a given
    `disk`. Behind an `entrance` it runs where that leads to, and is spoken to by a socket in its
    folder. With the path of an `authority` it is spoken to by https, and trusted by that.
    """

    def __init__(
        self, *arguments, allowed="127.0.0.0/8", mebibytes=None, entrance=(), disk=None,
        authority=None, program=None, **environment,
    ):
        # Which program it is from its next start on.
        self.program = program or os.environ["FERRY"]
        self._temporary = tempfile.TemporaryDirectory(prefix="ferry-gateway-")
        self.folder = pathlib.Path(self._temporary.name)
        # The data directory as the gateway names it, and where the tests find it.
        self._data_path = (disk.path if disk else self.folder) / "data"
        self.data = (disk.view if disk else self.folder) / "data"
        self._has_disk = mebibytes is not None
        if self._has_disk:
            (self.folder / "data").mkdir(mode=0o700)
            size = f"size={mebibytes}m"
            run("mount", "-t", "tmpfs", "-o", size, "none", str(self.folder / "data"))
        self._arguments = ["--allow-destination", allowed, *arguments]
        self._environment = environment
        self._entrance = disk.entrance if disk else list(entrance)
        self._socket = self.folder / "socket" if entrance else None
        if self._socket:
            self._arguments += ["--unix-socket", str(self._socket)]
        self._verify = ssl.create_default_context(cafile=authority) if authority else True
        self._process = None
        self.client = None
        self._start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        if self._has_disk:
            run("umount", str(self.folder / "data"))
        self._temporary.cleanup()

    @property
    def identifier(self):
        """The process id."""
        return self._process.pid

    def _start(self, probe="/readyz"):
        self.launch()
        url = eventually(self._url, "the gateway to listen", 30)
        token = (self.data / "token").read_text().strip()
        self._access = {"base_url": url, "headers": {"Authorization": f"Bearer {token}"}}
        self.client = self.connect(event_hooks={"response": [_look]})
        eventually(lambda: self.client.get(probe).status_code == 200, probe, 30)

    def launch(self):
        """Starts the process, and waits for nothing; it must have ended before."""
        # Nothing of the machine's environment that is meant for another gateway.
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("FERRY", "KRB5", "XDG_"))
        }
        environment |= {"HOME": str(self.folder), "XDG_RUNTIME_DIR": str(self.folder)}
        command = [*self._entrance, "setpriv", "--pdeathsig", "TERM", self.program, "serve"]
        command += ["--host", "127.0.0.1", "--port", "0", "--data-directory", self._data_path]
        command += self._arguments
        with open(self.folder / "output", "w") as output, open(self.folder / "log", "a") as log:
            self._process = subprocess.Popen(
                command, env=environment | self._environment, stdout=output, stderr=log
            )

    def connect(self, **options):
        """A client beside the one that there is."""
        transport = httpx.HTTPTransport(uds=str(self._socket)) if self._socket else None
        return httpx.Client(
            timeout=30, transport=transport, trust_env=False, verify=self._verify,
            **self._access, **options
        )

    def _url(self):
        assert self._process.poll() is None, f"the gateway ended: {self.last_words()}"
        for line in (self.folder / "output").read_text().splitlines():
            if line.startswith(MARKER) and (self.data / "token").exists():
                return line.removeprefix(MARKER).split()[0]

    def last_words(self):
        return (self.folder / "log").read_text()[-4000:]

    def stop(self, number=signal.SIGTERM):
        """Ends it; by SIGTERM it has to end with 0."""
        if self._process is None:
            return
        process, self._process = self._process, None
        if self.client:
            self.client.close()
        process.send_signal(number)
        try:
            status = process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)
            raise
        if number == signal.SIGTERM:
            assert status == 0, f"the gateway ended with {status}: {self.last_words()}"

    def ended(self, within):
        """The status with which it ends by itself, in so many seconds."""
        process, self._process = self._process, None
        self.client.close()
        return process.wait(within)

    def kill9(self):
        self.stop(signal.SIGKILL)

    def damage(self):
        """What `ferry check` finds in the data directory of a gateway that has ended, by lines."""
        command = [*self._entrance, self.program, "check", str(self._data_path)]
        check = subprocess.run(command, capture_output=True, text=True, timeout=60)
        *lines, verdict = check.stdout.splitlines() or [""]
        assert check.returncode == (1 if lines else 0), f"{check.stdout}{check.stderr}"
        assert lines or verdict.endswith("is whole."), verdict
        return lines

    def restart(self, probe="/readyz", arguments=()):
        """Starts it again on its data, with further arguments from now on, until it answers the probe;
        it must have ended."""
        self._arguments += arguments
        self._start(probe)

    def post(self, path, status=None, /, **members):
        """Sends JSON; gives the answer, which has this status if one is named."""
        answer = self.client.post(path, json=members)
        assert status in (None, answer.status_code), f"{answer.status_code} {answer.text}"
        return answer

    def get(self, path):
        answer = self.client.get(path)
        assert answer.status_code == 200, f"{path}: {answer.status_code} {answer.text}"
        return answer.json()

    def story(self, path, last):
        """The kept events of a stream, as pairs of name and data, until one of the name `last`."""
        events, name = [], None
        with self.connect() as own, own.stream("GET", f"{path}/events?replay=all") as stream:
            for line in stream.iter_lines():
                kind, _, value = line.partition(": ")
                if kind == "event":
                    name = value
                elif kind == "data":
                    events.append((name, json.loads(value)))
                    if name == last:
                        return events
        raise AssertionError(f"no {last} in {events}")

    def replayed(self, path):
        """The numbered events of a stream that there are now."""
        events = []
        # A client that does not read an answer to its end before it shows it.
        with self.connect() as own:
            with httpx_sse.connect_sse(own, "GET", f"{path}/events?replay=all") as source:
                newest = number_of(source.response.headers.get("Ferry-Last-Event-ID"))
                for event in source.iter_sse() if newest else ():
                    if event.id:
                        events.append(event)
                    if number_of(event.id) >= newest:
                        break
        return events

    def content(self, task):
        """The body of a task."""
        answer = self.client.get(f"/v1/tasks/{task}/content")
        assert answer.status_code == 200, answer.text
        return answer.text

    def resident(self):
        """Bytes of memory that the process has for itself."""
        status = pathlib.Path(f"/proc/{self.identifier}/status").read_text()
        (line,) = [line for line in status.splitlines() if line.startswith("RssAnon:")]
        return int(line.split()[1]) * 1024

    def traces(self):
        """Secrets that stand in the gateway's output or on its disk, and where."""
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        return [
            (path.name, found) for path in files if (found := canaries.seen_in(path.read_bytes()))
        ]


def number_of(id):
    """An event's place in its stream; 0 for none."""
    return int(re.search(r"(\d+)$", id)[1]) if id else 0


def _look(response):
    """No answer may hold a secret."""
    assert canaries.seen_in(response.read()) == [], f"{response.url}"

"""Several gateways on one database and one folder of contents, and who calls them."""

import contextlib
import itertools
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import threading
import time

import httpx
import pytest

from daemon import eventually, free_ports, run
from gateway import Gateway, _look, number_of

KEY = "5a" * 32
SCOPES = ["sessions", "tasks", "events", "decisions", "webhooks"]
# A node that was killed is lost after 6 s, one that hangs after 15 s; the machine may be busy.
LOST = 45
LATER_TABLES = """
DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() LOOP
        EXECUTE format('ALTER TABLE %I ADD COLUMN of_later bigint NOT NULL DEFAULT 7', name);
    END LOOP;
    CREATE TABLE later (id bigint PRIMARY KEY);
    INSERT INTO schema_migration (number) SELECT max(number) + 1 FROM schema_migration;
END $$
"""
# A reader that sees nothing for so long comes again.
QUIET = 5


def varints(packed):
    """Numbers of seven bits a byte, the lowest first."""
    number = shift = 0
    for byte in packed:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield number
            number = shift = 0


def fields(record):
    """What a record of the tables tells, by the numbers of its fields: the wire format of Protocol
    Buffers (`RecordWriter`)."""
    rest, found = iter(record), {}
    while tag := next(varints(rest), None):
        number, kind = divmod(tag, 8)
        size = 8 if kind == 1 else next(varints(rest))
        found[number] = bytes(itertools.islice(rest, size)) if kind else size
    return found


class Cluster:
    """Nodes of one database; what they share is made anew for each test."""

    def __init__(self, postgres):
        self._temporary = tempfile.TemporaryDirectory(prefix="ferry-nodes-")
        self.folder = pathlib.Path(self._temporary.name)
        (self.folder / "contents").mkdir()
        self.token = run(os.environ["FERRY"], "tokens", "generate").strip()
        self.environment = {"FERRY_STORE": postgres.schema(), "FERRY_KEY": KEY}
        self.contents = str(self.folder / "contents")
        self._nodes = contextlib.ExitStack()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._nodes.close()
        self._temporary.cleanup()

    def node(self, certificates=None, program=None, **environment):
        """One more, perhaps with something else in its environment than the others, or another program;
        with certificates it is asked by https."""
        return self._nodes.enter_context(Node(self, certificates, program, environment))

    def ahead(self):
        """The names of what is in the folder of downloads that are under way."""
        return {path.name for path in (self.folder / "contents").rglob("*.ahead")}

    def relay(self):
        """A way to the database that a test can cut, and the address by which a node takes it."""
        address = self.environment["FERRY_STORE"]
        port = int(address.split("@127.0.0.1:")[1].split("/")[0])
        relay = self._nodes.enter_context(Relay(port))
        return relay, address.replace(f":{port}/", f":{relay.port}/")

    def upgrade_tables(self):
        """Does to the tables what the next version may do while nodes of this one serve: each gets one
        column more, and there is another one."""
        run("psql", "--no-psqlrc", "--quiet", "--command", LATER_TABLES, self.environment["FERRY_STORE"])

    def column(self, query):
        """What a query of one column finds in the tables, as text."""
        options = ["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]
        return run("psql", *options, "--command", query, self.environment["FERRY_STORE"]).splitlines()

    def checkpoint(self, task):
        """How many bytes of a download its row tells of; 0 where it tells of no stretches."""
        number = int(task.removeprefix("tsk_"), 32)
        (status,) = self.column(f"SELECT encode(status, 'hex') FROM task WHERE id = {number}")
        # As `TaskStatus` and `DownloadCheckpoint` number their fields.
        point = fields(fields(bytes.fromhex(status)).get(15, b""))
        # Each range is told by its distance from the one before it, and its length.
        return sum(varints(point[5])) if 7 in point else 0

    def refusal(self, *arguments):
        """The status and the words of a gateway on the same database that does not start."""
        with tempfile.TemporaryDirectory(prefix="ferry-refused-") as folder:
            own = {name: value for name, value in os.environ.items() if not name.startswith("FERRY")}
            own |= {"HOME": folder, "XDG_RUNTIME_DIR": folder, "FERRY_TOKEN": self.token}
            command = [os.environ["FERRY"], "serve", "--port", "0", "--data-directory", f"{folder}/data"]
            ended = subprocess.run(
                [*command, "--contents", self.contents, *arguments], env=own | self.environment,
                capture_output=True, text=True, timeout=60,
            )
        return ended.returncode, ended.stderr


class Node(Gateway):
    """A node that a test may kill, stop for a while, and start again at its address."""

    def __init__(self, cluster, certificates, program, environment):
        self.cluster = cluster
        (self.port,) = free_ports(1)
        self.address = f"http://127.0.0.1:{self.port}"
        arguments, authority = [], None
        if certificates:
            self.address = f"https://localhost:{self.port}"
            authority = certificates["authority.pem"]
            arguments = [*certificates.arguments, "--trusted-certificates", authority]
        # Of two ports the last one counts.
        super().__init__(
            "--port", str(self.port), "--contents", cluster.contents, *arguments,
            "--node-address", self.address, authority=authority, program=program,
            **cluster.environment | environment,
        )

    def _start(self, probe="/readyz"):
        # All nodes have the same token, in a file of each one's own.
        self.data.mkdir(mode=0o700, exist_ok=True)
        path = self.data / "token"
        if not path.exists():
            path.touch(mode=0o600)
            path.write_text(self.cluster.token + "\n")
        super()._start(probe)

    def send(self, number):
        """A signal that it does not end by; returns once the node stands still by SIGSTOP: on a busy machine
        the thread that is to take it waits for a core, and the others go on meanwhile."""
        self._process.send_signal(number)
        if number == signal.SIGSTOP:
            eventually(lambda: set(self._thread_states()) == {"T"}, "the node to stand still", 10)

    def _thread_states(self):
        for status in pathlib.Path(f"/proc/{self._process.pid}/task").glob("*/stat"):
            with contextlib.suppress(OSError):
                yield status.read_text().rpartition(")")[2].split()[0]

    @property
    def record(self):
        """What it tells of itself, once it has looked who is there."""
        return eventually(
            lambda: next((one for one in self.get("/v1/nodes")["nodes"] if one["isThis"]), None),
            "the node to be among the nodes",
        )

    @property
    def number(self):
        return self.record["node"]

    def metric(self, name):
        """What its metrics tell; None where they do not."""
        lines = self.client.get("/metrics").text.splitlines()
        values = [line.split()[1] for line in lines if line.startswith(f"{name} ")]
        return float(values[0]) if values else None

    def ferry(self, *words):
        """A command with it as its gateway."""
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder)}
        environment |= {"FERRY_GATEWAY": self.address, "FERRY_TOKEN": self.cluster.token}
        command = [self.program, *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)

    def caller(self, token=None):
        """Somebody who asks it, with the operator's token or another one."""
        return Caller(self.address, token or self.cluster.token, self._verify)


def with_clock(seconds, folder):
    """What puts a node's wall clock wrong by so many seconds; compiled into a folder."""
    library = folder / "wrong_clock.so"
    source = pathlib.Path(__file__).parent / "wrong_clock.c"
    run("cc", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", library, source)
    return {"LD_PRELOAD": str(library), "WRONG_CLOCK": str(seconds)}


class Relay:
    """Passes connections on to a port of this machine. While it is cut nothing comes through, and no
    end of a connection either: as where a cable is pulled."""

    def __init__(self, port):
        self._target = port
        self._is_open = threading.Event()
        self._is_open.set()
        self._is_over = False
        self._sockets = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._is_over = True
        self.heal()
        for each in [self._listener, *self._sockets]:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def cut(self):
        self._is_open.clear()

    def heal(self):
        self._is_open.set()

    def _accept(self):
        with contextlib.suppress(OSError):
            while not self._is_over:
                client, _ = self._listener.accept()
                self._is_open.wait()
                server = socket.create_connection(("127.0.0.1", self._target))
                self._sockets += [client, server]
                for ends in (client, server), (server, client):
                    threading.Thread(target=self._pump, args=ends, daemon=True).start()

    def _pump(self, source, sink):
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 16):
                self._is_open.wait()
                sink.sendall(piece)
        self._is_open.wait()
        for each in source, sink:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


class Caller:
    """A client with one token at one node, with the words of `Gateway`."""

    def __init__(self, url, token, verify):
        access = {"Authorization": f"Bearer {token}"}
        self._access = {"base_url": url, "headers": access, "verify": verify}
        self.token = token
        self.client = self.connect(event_hooks={"response": [_look]})

    def connect(self, timeout=30, **options):
        return httpx.Client(timeout=timeout, trust_env=False, **self._access, **options)

    post = Gateway.post
    get = Gateway.get
    story = Gateway.story
    replayed = Gateway.replayed
    content = Gateway.content

    def has(self, path):
        """Whether it answers with 200; what it cannot say at the moment counts as no."""
        try:
            return self.client.get(path).status_code == 200
        except httpx.TransportError:
            return False


def tenant(node, name):
    """A new tenant; its token. The node has not asked for anything of it yet."""
    node.post("/v1/tenants", 201, name=name)
    return node.post("/v1/tokens", 201, tenant=name, scopes=SCOPES).json()["token"]


class Reader:
    """Reads a stream from its first event, over whatever happens to the nodes, until it is left."""

    def __init__(self, caller, path):
        self._caller, self._path = caller, path
        self.ids, self.names, self.problems = [], [], []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join(4 * QUIET)

    def has_all_of(self, caller):
        """Whether it has read what another one is shown at once, which are the same events."""
        assert not self.problems, self.problems
        wanted = [event.id for event in caller.replayed(self._path)]
        if len(self.ids) < len(wanted):
            return False
        assert self.ids[: len(wanted)] == wanted
        assert len(set(self.ids)) == len(self.ids)
        numbers = [number_of(id) for id in self.ids]
        assert numbers == sorted(numbers)
        return True

    def _run(self):
        while not self._is_over.is_set() and not self.problems:
            try:
                self._read()
            except httpx.TransportError:
                pass  # a node has ended, or does not answer
            except Exception as error:
                self.problems.append(error)
            time.sleep(0.1)

    def _read(self):
        headers = {"Last-Event-ID": self.ids[-1]} if self.ids else {}
        query = "" if self.ids else "?replay=all"
        with self._caller.connect(timeout=QUIET) as own:
            with own.stream("GET", f"{self._path}/events{query}", headers=headers) as stream:
                if stream.status_code in (502, 503, 504):
                    return
                assert stream.status_code == 200, stream.read()
                event = {}
                for line in stream.iter_lines():
                    if self._is_over.is_set():
                        return
                    name, _, value = line.partition(": ")
                    if line:
                        event[name] = value
                        continue
                    assert event.get("event") != "reset", "events are missing"
                    # Progress has no id.
                    if id := event.get("id"):
                        self.ids.append(id)
                        self.names.append(event["event"])
                    event = {}


def placed(node, count):
    """Waits until a node has so many tenants."""
    eventually(lambda: node.record["tenants"] == count, f"{count} tenants at {node.address}", LOST)

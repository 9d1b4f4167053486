"""Several gateways on one PostgreSQL database and one folder of contents, each with a tenant."""

from __future__ import annotations

import os
import pwd
import secrets
import subprocess
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from .bench import Bench
from .gateway import Gateway, expect, home_in, is_ready, serve_command
from .processes import Failed, Server, free_port, wait_until

_SCOPES = ["sessions", "tasks", "events"]


class Nodes:
    """A database server of this run with its usual settings, and nodes on it. They end together."""

    def __init__(self, bench: Bench, name: str, notes_statements: bool = False):
        """With `notes_statements` the database's log has each statement."""
        self._bench = bench
        self._notes_statements = notes_statements
        self._work = bench.work / name
        self._work.mkdir()
        (self._work / "contents").mkdir()
        self.database_log = self._work / "postgres.log"
        self._stack = ExitStack()
        self._count = 0
        self._environment = home_in(self._work) | {
            "FERRY_KEY": secrets.token_hex(32),
            "FERRY_TOKEN": _output([str(bench.ferry), "tokens", "generate"]),
        }

    def __enter__(self):
        try:
            self._start_database()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def start(self) -> Gateway:
        """One more node, when it is ready."""
        self._count += 1
        data = self._work / f"data-{self._count}"
        data.mkdir()
        port = free_port()
        command = serve_command(self._bench.ferry, data, port)
        command += ["--contents", str(self._work / "contents")]
        command += ["--node-address", f"http://127.0.0.1:{port}"]
        log = self._work / f"node-{self._count}.log"
        server = self._stack.enter_context(Server(command, log, environment=self._environment))
        server.wait_for("to be ready", lambda: is_ready(port))
        return Gateway(server, port, self._environment["FERRY_TOKEN"])

    def _start_database(self) -> None:
        programs = max(
            Path("/usr/lib/postgresql").glob("*/bin/postgres"),
            key=lambda path: int(path.parents[1].name), default=None,
        )  # fmt: skip
        if programs is None:
            raise Failed("PostgreSQL is not installed")
        port, folder = free_port(), self._work / "postgres"
        folder.mkdir()
        # It does not run as root, and whoever else it is has to get at its folder.
        words: list[str] = []
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
            words = ["setpriv", "--reuid", str(nobody.pw_uid), "--regid", str(nobody.pw_gid)]
            words += ["--clear-groups"]
            for above in [self._work, self._bench.work]:
                above.chmod(above.stat().st_mode | 0o011)
        made = [*words, str(programs.parent / "initdb"), "--pgdata", str(folder / "data")]
        made += ["--username", "ferry", "--auth", "trust", "--encoding", "UTF8", "--locale", "C"]
        _output(made)
        command = [*words, str(programs), "-D", str(folder / "data"), "-p", str(port)]
        command += ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]
        if self._notes_statements:
            command += ["-c", "log_statement=all"]
        server = self._stack.enter_context(Server(command, self.database_log))
        asked = [str(programs.parent / "pg_isready"), "--host", "127.0.0.1", "--port", str(port)]
        server.wait_for("to answer", lambda: subprocess.run(asked, capture_output=True).returncode == 0)
        self._environment["FERRY_STORE"] = f"postgres://ferry@127.0.0.1:{port}/postgres"


def tenant_at(gateway: Gateway, name: str, made_at: Gateway | None = None) -> Gateway:
    """The gateway as a new tenant sees it, which it is the first to be asked for."""
    with (made_at or gateway).connection() as connection:
        quotas = {"requestsPerSecond": None, "sessions": None}
        expect(connection.request("POST", "/v1/tenants", {"name": name, "quotas": quotas}), 201)
        token = {"tenant": name, "scopes": _SCOPES}
        text = expect(connection.request("POST", "/v1/tokens", token), 201)["token"]
    own = replace(gateway, token=text)
    wait_until("the token", lambda: _answers(own, "/v1/sessions"), 5)
    return own


def _answers(gateway: Gateway, path: str) -> bool:
    with gateway.connection() as connection:
        return connection.request("GET", path).status == 200


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"{Path(command[0]).name}: {(done.stderr or done.stdout).strip()[-500:]}")
    return done.stdout.strip()

"""A PostgreSQL server with data of its own, as Debian's postgresql-15 has it."""

import itertools
import os
import pathlib
import pwd
import signal
import subprocess

import pytest

from daemon import PROGRAMS, Daemon, eventually, free_ports, run

SETTINGS = {
    "unix_socket_directories": "", "max_connections": "200", "shared_buffers": "64MB",
    "fsync": "off", "full_page_writes": "off", "autovacuum": "off",
}


def programs():
    """The folder of the newest server's programs; None where there is none."""
    found = [path.parent for path in pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    return max(found, key=lambda path: int(path.parent.name), default=None)


class Postgres(Daemon):
    """Can be stopped, and started again with its data."""

    def __init__(self):
        self._programs = programs()
        if self._programs is None:
            pytest.skip("PostgreSQL is not installed: nothing is tested on it")
        super().__init__("postgres")
        (self.port,) = free_ports(1)
        self._schemas = itertools.count(1)

    def __enter__(self):
        command = [self._programs / "initdb", "--pgdata", self.folder / "data", "--username", "ferry"]
        command += ["--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync"]
        if os.geteuid() == 0:  # it does not run as root
            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            who = ["--reuid", str(nobody.pw_uid), "--regid", str(nobody.pw_gid), "--clear-groups"]
            command = ["setpriv", *who, *command]
        made = subprocess.run(
            [str(word) for word in command], cwd=self.folder, capture_output=True, text=True,
            env={"PATH": PROGRAMS, "HOME": str(self.folder)}, timeout=60,
        )
        assert made.returncode == 0, made.stderr
        self.restart()
        return self

    def restart(self):
        """Starts it, on the data that there are, and comes back when it answers."""
        words = ["-D", self.folder / "data", "-p", self.port, "-c", "listen_addresses=127.0.0.1"]
        for name, value in SETTINGS.items():
            words += ["-c", f"{name}={value}"]
        self.start(self._programs / "postgres", *words, ports=[self.port])
        eventually(self._answers, "PostgreSQL to answer", 20)

    def _answers(self):
        command = [self._programs / "pg_isready", "--host", "127.0.0.1", "--port", str(self.port)]
        return subprocess.run(command, capture_output=True, timeout=10).returncode == 0

    def stop(self):
        """Ends it as a crash does, without a word to its clients."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(20)
            self._process = None

    def schema(self):
        """The address of tables that nobody has made yet."""
        name = f"test_{next(self._schemas)}"
        place = f"postgres://ferry@127.0.0.1:{self.port}/postgres"
        run("psql", "--no-psqlrc", "--quiet", "--command", f"CREATE SCHEMA {name}", place)
        return f"{place}?options=-csearch_path%3D{name}"

"""Ferry as a contestant: a gateway of this run, and what the rows ask of it by REST."""

from __future__ import annotations

import math
import re
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .certificates import Certificate
from .http import Answer, Connection
from .processes import Failed, Server


@dataclass
class Gateway:
    """A running `ferry serve` with a data directory of its own."""

    server: Server
    port: int
    token: str
    certificate: Certificate | None = None

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self.server.stop()

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    @property
    def authorization(self) -> str:
        """The header line that load tools send."""
        return f"Authorization: Bearer {self.token}"

    def connection(self) -> Connection:
        return Connection(self.port, self.headers, tls=_context(self.certificate))

    def session(
        self, connection: Connection, handles: tuple[str, ...] = (), **configuration: object
    ) -> str:
        """The id of a new default session, whose delegate handles what is named, if anything."""
        value: dict[str, object] = {"type": "default", "configuration": configuration}
        if handles:
            value["delegate"] = {"handles": handles}
        return expect(connection.request("POST", "/v1/sessions", value), 201)["id"]

    def url(self, path: str) -> str:
        scheme = "https" if self.certificate else "http"
        return f"{scheme}://127.0.0.1:{self.port}{path}"


def start_gateway(
    executable: Path,
    work: Path,
    name: str,
    cores: frozenset[int] | None = None,
    port: int = 0,
    environment: Mapping[str, str] | None = None,
    certificate: Certificate | None = None,
) -> Gateway:
    """Starts a gateway, with a certificate one that speaks TLS, and returns when it is ready. A name
    used before finds its data again."""
    data = work / name
    data.mkdir(exist_ok=True)
    log = work / f"{name}.log"
    seen = log.stat().st_size if log.exists() else 0
    command = serve_command(executable, data, port) + (certificate.options if certificate else [])
    server = Server(command, log, cores, {**home_in(work), **(environment or {})})
    try:

        def address() -> re.Match[bytes] | None:
            text = log.read_bytes()[seen:] if log.exists() else b""
            return re.search(rb"Ferry listens on https?://[^\s:]+:(\d+)", text)

        chosen = int(server.wait_for("its address", address)[1])
        server.wait_for("to be ready", lambda: is_ready(chosen, certificate))
        return Gateway(server, chosen, (data / "token").read_text().strip(), certificate)
    except BaseException:
        server.stop()
        raise


def serve_command(executable: Path, data: Path, port: int) -> list[str]:
    return [
        str(executable), "serve", "--host", "127.0.0.1", "--port", str(port),
        "--data-directory", str(data), "--allow-destination", "127.0.0.0/8",
    ]  # fmt: skip


def home_in(work: Path) -> dict[str, str]:
    """Keeps the gateway's file for clients away from the user's own."""
    return {"HOME": str(work), "XDG_RUNTIME_DIR": str(work)}


def _context(certificate: Certificate | None) -> ssl.SSLContext | None:
    return certificate.context() if certificate else None


def is_ready(port: int, certificate: Certificate | None = None) -> bool:
    try:
        with Connection(port, timeout=5, tls=_context(certificate)) as connection:
            return connection.request("GET", "/readyz").status == 200
    except (OSError, Failed):
        return False


def expect(answer: Answer, status: int):
    """The JSON of an answer that must have this status."""
    if answer.status != status:
        raise Failed(f"{answer.status} instead of {status}: {answer.body[:500]!r}")
    return answer.json()


def download(url: str, resume: bool = True) -> dict[str, object]:
    """The specification of a download task."""
    return {"type": "download", "resume": resume, "request": {"url": url}}


def create_all(connection: Connection, session: str, tasks: list[dict[str, object]]) -> list[str]:
    """Creates tasks in arrays of 500 and returns their ids; raises when one is refused."""
    ids = []
    for start in range(0, len(tasks), 500):
        answer = connection.request(
            "POST", f"/v1/sessions/{session}/tasks", tasks[start : start + 500]
        )
        for result in expect(answer, 200)["results"]:
            if result["status"] != 201:
                raise Failed(f"a task was refused: {result}")
            ids.append(result["task"]["id"])
    return ids


def create(connection: Connection, session: str, task: dict[str, object], wait: int = 0) -> dict:
    """A new task as it is after so many seconds, or when it has ended before."""
    headers = {"Prefer": f"wait={wait}"} if wait else None
    return expect(connection.request("POST", f"/v1/sessions/{session}/tasks", task, headers), 201)


def completed(connection: Connection, task: dict, seconds: float = 60) -> dict:
    """The task once it has completed; raises when that takes longer, or on an error."""
    deadline = time.monotonic() + seconds
    while task["state"] != "completed" and (left := deadline - time.monotonic()) > 0:
        headers = {"Prefer": f"wait={min(math.ceil(left), 60)}"}
        answer = connection.request("GET", f"/v1/tasks/{task['id']}", headers=headers)
        task = expect(answer, 200)
    check_completed(task)
    return task


def completed_task(connection: Connection, session: str, url: str) -> dict:
    """A download that has just ended, as `GET` shows it."""
    task = create(connection, session, download(url), wait=60)
    check_completed(task)
    return task


def check_completed(task: dict) -> None:
    """Raises unless the task has completed without an error and its origin took the request."""
    if task["state"] != "completed" or task["error"] is not None:
        raise Failed(f"task {task['id']} is {task['state']}, error {task['error']}")
    if task["response"]["status"] not in (200, 201, 204, 206):
        raise Failed(f"the origin answered task {task['id']} with {task['response']}")


def delete(connection: Connection, task: dict) -> None:
    """Forgets a completed task and its file."""
    if connection.request("DELETE", f"/v1/tasks/{task['id']}").status != 204:
        raise Failed(f"the completed task {task['id']} could not be deleted")


def check_all_completed(connection: Connection, session: str, count: int) -> None:
    """Raises unless the session has exactly this many completed tasks, none with an error."""
    found, cursor = 0, ""
    while True:
        path = f"/v1/sessions/{session}/tasks?state=all&limit=500{cursor}"
        page = expect(connection.request("GET", path), 200)
        for task in page["tasks"]:
            if task["state"] != "completed" or task["error"] is not None:
                raise Failed(f"task {task['id']} is {task['state']}, error {task['error']}")
        found += len(page["tasks"])
        if page["nextCursor"] is None:
            break
        cursor = f"&cursor={page['nextCursor']}"
    if found != count:
        raise Failed(f"the session has {found} tasks instead of {count}")

"""The receiver of webhooks (load/webhook_receiver.c), and what rows ask of a gateway's webhooks."""

from __future__ import annotations

from dataclasses import dataclass

from .bench import Bench
from .gateway import expect
from .http import Connection
from .processes import Failed, Server, wait_until


@dataclass(frozen=True)
class Message:
    """What the receiver was told, and when by `time.monotonic()`."""

    at: float
    position: int
    task: str


class WebhookReceiver:
    """A running receiver, which answers at once, except to what is posted below `/silent`."""

    def __init__(self, bench: Bench, name: str):
        log = bench.work / f"{name}.log"
        log.unlink(missing_ok=True)
        self._server = Server([str(bench.tools / "webhook_receiver")], log)
        try:
            self._port = int(self._server.wait_for("its port", log.read_text))
            self._connection = Connection(self._port)
        except BaseException:
            self._server.stop()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.__exit__()
        self._server.stop()

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self._port}{path}"

    @property
    def silent_count(self) -> int:
        """How many messages it has left unanswered so far."""
        return self._counts()[1]

    def wait_for(self, count: int, seconds: float = 120) -> None:
        """Waits until it has so many messages that were not fetched yet."""
        wait_until(
            f"{count} messages at the receiver", lambda: self._counts()[0] >= count, seconds, 0.01
        )

    def messages(self) -> list[Message]:
        """What has come since the last call, in that order."""
        text = _text(self._connection, "/messages")
        lines = (line.split() for line in text.splitlines())
        return [Message(float(at), int(position), task) for at, position, task in lines]

    def _counts(self) -> tuple[int, int]:
        answered, silent = _text(self._connection, "/counts").split()
        return int(answered), int(silent)


def _text(connection: Connection, path: str) -> str:
    answer = connection.request("GET", path)
    if answer.status != 200:
        raise Failed(f"the receiver of webhooks answered {answer.status} to {path}")
    return answer.body.decode()


def create_webhook(connection: Connection, url: str, events: list[str]) -> str:
    """The path of a new webhook, which is told of these events from now on."""
    made = connection.request("POST", "/v1/webhooks", {"url": url, "events": events})
    return f"/v1/webhooks/{expect(made, 201)['id']}"


def replay_all(connection: Connection, webhook: str) -> None:
    """Every event that is kept is sent, also those that were delivered."""
    expect(connection.request("POST", f"{webhook}/replay", {"after": "t.0"}), 202)


def check_messages(messages: list[Message], tasks: list[str], each: int) -> None:
    """Raises unless each task has told so many events, all of them once and in their order."""
    positions: dict[str, list[int]] = {task: [] for task in tasks}
    for message in messages:
        if message.task not in positions:
            raise Failed(f"the receiver was told of {message.task}, which is none of the tasks")
        told = positions[message.task]
        if told and message.position <= told[-1]:
            raise Failed(f"{message.task}: event {message.position} came behind {told[-1]}")
        told.append(message.position)
    for task, told in positions.items():
        if len(told) != each:
            raise Failed(f"the receiver was told {len(told)} events of {task} instead of {each}")

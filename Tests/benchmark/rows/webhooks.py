"""10,000 events of 1,000 tasks, posted to a receiver that answers at once; and GETs meanwhile.

Each task was refused six times and has ten events: didCreate, willRetry for each refusal, the
response, the metrics, the end. A turn has all of them delivered once more (replay) and takes the
time from that call to the last message. The receiver (load/webhook_receiver.c) keeps what comes:
each event of each task has to be there, once, and behind the one before it.

The GETs are those of the row `latency`, with the events replayed again and again as long as they
take, beside the same at rest. Gateway and receiver leave no core of two at rest, so the client that
asks has priority over them where this is run by root: as if it were on a machine of its own.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from ..bench import Bench
from ..gateway import Gateway, check_all_completed, create_all, expect, start_gateway
from ..http import Connection
from ..nginx import start_nginx
from ..processes import Failed, Work, wait_until
from ..results import Comparison
from ..tools import Pace, paced_get
from ..webhooks import WebhookReceiver, check_messages, create_webhook, replay_all

_TASKS = 1_000
_REFUSALS = 6
_EVENTS = [
    "task.didCreate",
    "task.willRetry",
    "task.didReceiveResponse",
    "task.didFinishCollectingMetrics",
    "task.didComplete",
]
_EVENTS_EACH = 4 + _REFUSALS
_CONNECTIONS = 8
_RATE = 1_000


def measure(bench: Bench) -> list[Comparison]:
    refused = "location = /refused { return 503; }"
    seconds = bench.seconds(usual=4, quick=2)
    has_priority = os.geteuid() == 0
    with (
        start_nginx(bench.work, "webhooks-origin", locations=refused) as origin,
        WebhookReceiver(bench, "webhooks-receiver") as receiver,
        start_gateway(bench.ferry, bench.work, "webhooks") as gateway,
        gateway.connection() as connection,
    ):
        tasks = _fill(gateway, connection, origin.url("/refused"))
        webhook = create_webhook(connection, receiver.url(), _EVENTS)

        def deliver() -> Work:
            return _deliver(gateway, connection, webhook, receiver, tasks)

        def gets() -> dict[str, int]:
            return paced_get(
                bench.tools, gateway.port, f"/v1/tasks/{tasks[0]}", gateway.authorization,
                Pace(_CONNECTIONS, _RATE, seconds), has_priority,
            )  # fmt: skip

        def gets_meanwhile() -> dict[str, int]:
            with _Deliveries(deliver):
                return gets()

        samples = bench.take_turns(
            {"deliveries": deliver, "under load": gets_meanwhile, "at rest": gets}
        )
    rates = [work.rate for work in samples["deliveries"]]
    loaded = [float(found["p99"]) for found in samples["under load"]]
    rest = [float(found["p99"]) for found in samples["at rest"]]
    note = "" if has_priority else "the client that asks has waited for a core like everybody"
    return [
        Comparison("webhooks", "rate", "deliveries/s", rates, None, [], "≥", 2_000),
        Comparison("webhooks", "p99 of GET", "µs", loaded, "Ferry at rest", rest, "≤", 2, note),
    ]


def _fill(gateway: Gateway, connection: Connection, url: str) -> list[str]:
    """Runs the tasks to their ends and returns their ids."""
    session = gateway.session(connection, httpMaximumConnectionsPerHost=64, urlCache=None)
    retry = {"attempts": _REFUSALS, "backoff": {"initial": 0, "maximum": 0}}
    task = {"type": "data", "resume": True, "request": {"url": url}, "retry": retry}
    tasks = create_all(connection, session, [task] * _TASKS)

    def all_have_ended() -> bool:
        found = expect(connection.request("GET", f"/v1/sessions/{session}"), 200)
        return found["taskCounts"]["completed"] == _TASKS

    wait_until("the ends of the tasks", all_have_ended, seconds=120, pause=0.1)
    check_all_completed(connection, session, _TASKS)
    return tasks


def _deliver(
    gateway: Gateway,
    connection: Connection,
    webhook: str,
    receiver: WebhookReceiver,
    tasks: list[str],
) -> Work:
    count = _TASKS * _EVENTS_EACH
    before = gateway.server.cpu_seconds()
    began = time.monotonic()
    replay_all(connection, webhook)
    receiver.wait_for(count)
    cpu = gateway.server.cpu_seconds() - before
    wait_until(
        "the last answer",
        lambda: expect(connection.request("GET", webhook), 200)["waitingCount"] == 0,
        seconds=30,
    )
    messages = receiver.messages()
    check_messages(messages, tasks, _EVENTS_EACH)
    return Work(count, messages[-1].at - began, cpu)


class _Deliveries:
    """Has the events delivered again and again until it is left."""

    def __init__(self, deliver: Callable[[], object]):
        self._deliver = deliver
        self._is_over = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        if self._failure:
            raise Failed(f"events were not delivered: {self._failure}")

    def _run(self) -> None:
        try:
            while not self._is_over.is_set():
                self._deliver()
        except (OSError, Failed) as failure:
            self._failure = failure

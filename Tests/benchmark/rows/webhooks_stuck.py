"""A receiver that never answers, with 100,000 events behind it: memory, and another webhook's pace.

The events are those of tasks that were canceled, made once and told to a receiver that counts them.
In a turn the gateway starts anew and is measured with and without a webhook that has to tell all of
them to the silent receiver (load/webhook_receiver.c). Its memory is the most that was resident
while the first requests run out of time (15 s) and are tried again. Meanwhile tasks are created at
a fixed pace, and another webhook, whose receiver answers at once, is told of each: its latency is
from the request that creates a task to the message.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from statistics import median

from ..bench import Bench
from ..gateway import Gateway, create, create_all, download, expect, start_gateway
from ..http import Connection
from ..processes import Failed
from ..results import Comparison
from ..webhooks import WebhookReceiver, check_messages, create_webhook, replay_all

_EVENTS = 100_000
_TASKS = 34_000  # of three events each: didCreate, the metrics, the end
_SESSIONS = 4
_RATE = 50
_SUSPENDED = download("http://127.0.0.1:9/never-fetched", resume=False)


@dataclass(frozen=True)
class _Sample:
    """MiB that were resident at most, and milliseconds from a task's creation to its message."""

    memory: float
    latency: float

    def __str__(self) -> str:
        return f"{self.memory:.1f} MiB, {self.latency:.2f} ms"


def measure(bench: Bench) -> list[Comparison]:
    share = 10 if bench.is_quick else 1
    with WebhookReceiver(bench, "webhooks-stuck-receiver") as receiver:
        _fill(bench, receiver, share)
        samples = bench.take_turns(
            {
                "stuck": lambda: _turn(bench, receiver, is_stuck=True),
                "without": lambda: _turn(bench, receiver, is_stuck=False),
            }
        )
    stuck, without = samples["stuck"], samples["without"]
    above = [one.memory - other.memory for one, other in zip(stuck, without)]
    latencies = [[one.latency for one in each] for each in (stuck, without)]
    return [
        Comparison("webhooks-stuck", "memory above that without", "MiB", above, None, [], "≤", 16),
        Comparison(
            "webhooks-stuck", "latency of another", "ms", latencies[0],
            "Ferry without", latencies[1], "≤", 1.5,
        ),
    ]  # fmt: skip


def _fill(bench: Bench, receiver: WebhookReceiver, share: int) -> None:
    """Makes the events, and sees that there are as many."""
    with (
        start_gateway(bench.ferry, bench.work, "webhooks-stuck") as gateway,
        gateway.connection() as connection,
        _webhook(connection, receiver.url(), ["*"]),
    ):
        for _ in range(_SESSIONS):
            session = gateway.session(connection)
            create_all(connection, session, [_SUSPENDED] * (_TASKS // _SESSIONS // share))
            path = f"/v1/sessions/{session}/invalidate"
            connection.request("POST", path, {"mode": "cancelTasks"})
        receiver.wait_for(_EVENTS // share)
    receiver.messages()


@contextmanager
def _webhook(connection: Connection, url: str, events: list[str]) -> Iterator[str]:
    """A webhook that is gone afterwards."""
    path = create_webhook(connection, url, events)
    try:
        yield path
    finally:
        connection.request("DELETE", path)


def _silent(connection: Connection, receiver: WebhookReceiver) -> AbstractContextManager[str]:
    return _webhook(connection, receiver.url("/silent"), ["*"])


def _turn(bench: Bench, receiver: WebhookReceiver, is_stuck: bool) -> _Sample:
    silent = receiver.silent_count
    with (
        start_gateway(bench.ferry, bench.work, "webhooks-stuck") as gateway,
        gateway.connection() as connection,
        _silent(connection, receiver) if is_stuck else nullcontext() as webhook,
    ):
        gateway.server.forget_peak()
        if webhook:
            replay_all(connection, webhook)
        latency = _latency(bench, gateway, connection, receiver)
        memory = gateway.server.peak_resident_bytes() / (1 << 20)
        if webhook:
            state = expect(connection.request("GET", webhook), 200)
            if state["lastEvent"] != "t.0" or not receiver.silent_count > silent:
                raise Failed(f"the receiver was to be stuck, but the webhook is {state}")
    return _Sample(memory, latency)


def _latency(
    bench: Bench, gateway: Gateway, connection: Connection, receiver: WebhookReceiver
) -> float:
    """The median, in milliseconds."""
    count = int(bench.seconds(usual=30, quick=10) * _RATE)
    session = gateway.session(connection)
    sent: dict[str, float] = {}
    with _webhook(connection, receiver.url(), ["task.didCreate"]):
        began = time.monotonic()
        for turn in range(count):
            time.sleep(max(0, began + turn / _RATE - time.monotonic()))
            at = time.monotonic()
            sent[create(connection, session, _SUSPENDED)["id"]] = at
        receiver.wait_for(count)
    messages = receiver.messages()
    check_messages(messages, list(sent), 1)
    return median(message.at - sent[message.task] for message in messages) * 1000

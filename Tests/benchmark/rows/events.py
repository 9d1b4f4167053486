"""500 readers of one session's events, 1,000 events a second, beside nchan.

An event is the `task.didCreate` of a suspended task; arrays of such tasks are posted a hundred
times a second. nchan is sent messages of the same size at the same pace. What counts is how many
events reach readers within the time that the pace takes. Ferry's must reach every reader, once and
in order; the row fails otherwise. Servers keep to one core, readers and publishers to another.

A machine on which nchan delivers more than half of what is offered leaves no room for twice as
much, so both are also offered four times the events.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from functools import partial
from statistics import median

from ..aria2 import encoded
from ..bench import Bench, in_parallel, settle
from ..gateway import Gateway, create_all, download, start_gateway
from ..http import Connection
from ..nginx import start_nginx
from ..processes import Failed
from ..results import Comparison
from ..tools import EventReaders

_READERS = 500
_RATES = (1_000, 4_000)
_ARRAYS_PER_SECOND = 100
_PUBLISHERS = 4

_SUSPENDED = download("http://127.0.0.1:9/never-fetched", resume=False)

_NCHAN_SETTINGS = "nchan_shared_memory_size 1024M;"
_NCHAN = """
location = /publish {
    nchan_publisher;
    nchan_channel_id session;
    nchan_message_buffer_length 100000;
    nchan_message_timeout 1h;
}
location = /events {
    nchan_subscriber eventsource;
    nchan_channel_id session;
    nchan_subscriber_first_message newest;
}
"""


@dataclass(frozen=True)
class _Pace:
    """How many events a turn publishes a second, and for how long."""

    rate: int
    seconds: float

    @property
    def array(self) -> int:
        return self.rate // _ARRAYS_PER_SECOND

    @property
    def arrays(self) -> int:
        return int(self.seconds * _ARRAYS_PER_SECOND)

    @property
    def events(self) -> int:
        return self.array * self.arrays

    @property
    def offered(self) -> int:
        """Deliveries a second if every reader is given every event at once."""
        return self.rate * _READERS


def measure(bench: Bench) -> list[Comparison]:
    comparisons = []
    with start_gateway(bench.ferry, bench.work, "events") as gateway:
        message = _data_of_an_event(gateway)
    for rate in _RATES:
        pace = _Pace(rate, bench.seconds(usual=8, quick=3))
        samples = bench.take_turns(
            {
                "ferry": lambda pace=pace: _by_ferry(bench, pace),
                "nchan": lambda pace=pace: _by_nchan(bench, pace, message),
            }
        )
        comparisons.append(_compare(pace, samples))
    return comparisons


def _compare(pace: _Pace, samples: dict[str, list[float]]) -> Comparison:
    most = pace.offered / median(samples["nchan"])
    note = ""
    if most < 2:
        note = f"{pace.offered:,} deliveries a second are offered, at most {most:.2f} × nchan's"
    measured = ("events", f"delivered at {pace.rate:,} events/s", "deliveries/s")
    return Comparison(*measured, samples["ferry"], "nchan", samples["nchan"], "≥", 2, note)


def _by_ferry(bench: Bench, pace: _Pace) -> float:
    name = f"events-{time.monotonic_ns()}"
    with start_gateway(bench.ferry, bench.work, name, bench.cores.server) as gateway:
        with gateway.connection() as connection:
            session = gateway.session(connection)
        body = encoded([_SUSPENDED] * pace.array)
        readers = _readers(
            bench, pace, gateway.port, f"/v1/sessions/{session}/events", gateway.authorization, 30
        )
        with readers:
            connections = [gateway.connection() for _ in range(_PUBLISHERS)]
            request = connections[0].encode("POST", f"/v1/sessions/{session}/tasks", body)
            _publish(bench, connections, [request] * pace.arrays, pace, patience=60)
            found = readers.result()
    settle()
    if not (found.least == found.most == pace.events and found.ordered and found.identical):
        raise Failed(f"not every reader had {pace.events} events once and in order: {found}")
    return found.delivered_in_window / pace.seconds


def _by_nchan(bench: Bench, pace: _Pace, message: bytes) -> float:
    with start_nginx(
        bench.work, "nchan", _NCHAN, _NCHAN_SETTINGS, with_nchan=True, cores=bench.cores.server
    ) as nchan:
        with _readers(bench, pace, nchan.port, "/events", "-", pace.seconds + 2) as readers:
            connections = [Connection(nchan.port) for _ in range(_PUBLISHERS)]
            event = {"X-EventSource-Event": "task.didCreate", "Content-Type": "application/json"}
            request = connections[0].encode("POST", "/publish", message, event)
            batches = [request * pace.array] * pace.arrays
            _publish(bench, connections, batches, pace, patience=1, answers=pace.array)
            found = readers.result()
    return found.delivered_in_window / pace.seconds


def _readers(
    bench: Bench, pace: _Pace, port: int, path: str, header: str, timeout: float
) -> EventReaders:
    return EventReaders(
        bench.tools, bench.work, port, path, header, _READERS, pace.events,
        window=pace.seconds, timeout=timeout, cores=bench.cores.load,
    )  # fmt: skip


def _publish(
    bench: Bench,
    connections: list[Connection],
    requests: list[bytes],
    pace: _Pace,
    patience: float,
    answers: int = 1,
) -> None:
    """Sends the requests evenly over the pace's time, each connection its share of them.

    A server that cannot keep up is given no more once the time and the patience are over.
    """
    began = time.monotonic()
    interval = pace.seconds / len(requests)

    def send(index: int, connection: Connection) -> None:
        if bench.cores.load:
            os.sched_setaffinity(0, bench.cores.load)
        with connection:
            for turn in range(index, len(requests), len(connections)):
                due = began + turn * interval
                time.sleep(max(0, due - time.monotonic()))
                if time.monotonic() > began + pace.seconds + patience:
                    return
                connection.send(requests[turn])
                for _ in range(answers):
                    answer = connection.read()
                    if answer.status >= 300:
                        raise Failed(f"refused: {answer.status} {answer.body[:300]!r}")

    in_parallel([partial(send, *pair) for pair in enumerate(connections)])


def _data_of_an_event(gateway: Gateway) -> bytes:
    """The data that Ferry sends with such an event, for nchan to send the same."""
    with gateway.connection() as connection, gateway.connection() as reader:
        session = gateway.session(connection)
        create_all(connection, session, [_SUSPENDED])
        path = f"/v1/sessions/{session}/events?replay=all"
        reader.send(reader.encode("GET", path, headers={"Accept": "text/event-stream"}))
        for line in reader.lines():
            if line.startswith(b"data:"):
                return line.removeprefix(b"data:").strip()
    raise Failed("the stream of a session with one task has no event")

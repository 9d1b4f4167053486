"""What a background session has to move goes on whatever the network does (S-26, S-52, S-54)."""

import base64
import hashlib
import random
import time

import pytest

from daemon import eventually
from gateway import Gateway
from network import NAME, NameServer, Network
from origin import Answer, Origin

LENGTH = 12_000_001
CONTENT = random.Random(14).randbytes(LENGTH)
DIGEST = "sha-256=:" + base64.b64encode(hashlib.sha256(CONTENT).digest()).decode() + ":"
PIECE = 64 << 10
SECOND = PIECE * 33  # what the origin sends in one


def file(request):
    """An answer of about six seconds, or of what is left of it by range."""
    start, headers = 0, {"ETag": '"one"', "Accept-Ranges": "bytes"}
    if request["Range"] and request["If-Range"] == '"one"':
        start = int(request["Range"].removeprefix("bytes=").rstrip("-"))
        headers["Content-Range"] = f"bytes {start}-{LENGTH - 1}/{LENGTH}"

    def pieces():
        for offset in range(start, LENGTH, PIECE):
            yield CONTENT[offset : offset + PIECE]
            time.sleep(0.03)

    status = 206 if start else 200
    return Answer(status=status, headers=headers, pieces=pieces(), length=LENGTH - start)


class Story:
    """A download of a background session, and what was told of it."""

    def __init__(self, gateway, url, **configuration):
        self._gateway = gateway
        members = dict(type="background", identifier=f"session {random.random()}", delegate={})
        answer = gateway.post("/v1/sessions", 201, **members, configuration=configuration)
        self._session = answer.headers["Location"]
        spec = dict(type="download", resume=True, computeDigest=True, request={"url": url})
        self.id = gateway.post(f"{self._session}/tasks", 201, **spec).json()["id"]

    @property
    def task(self):
        return self._gateway.get(f"/v1/tasks/{self.id}")

    def waits_for(self, reason):
        eventually(lambda: self.task["waitingFor"] == reason, f"the task to wait for {reason}")

    def has_received(self, count):
        look = lambda: self.task["countOfBytesReceived"] >= count
        eventually(look, f"{count} bytes")

    def finish(self):
        """The events, once the session has run dry; all is there, and hardly anything twice."""
        eventually(lambda: self.task["state"] == "completed", "the end")
        task = self.task
        assert task["error"] is None, task["error"]
        assert task["content"]["digest"] == DIGEST
        parts = [
            each["countOfResponseBodyBytesReceived"] for each in task["metrics"]["transactions"]
        ]
        assert sum(parts) <= LENGTH + SECOND, parts
        events = self._gateway.story(self._session, "session.didFinishEvents")
        ends = [data for name, data in events if name == "task.didComplete"]
        assert len(ends) == 1 and ends[0]["error"] is None
        return events


@pytest.fixture
def network():
    with Network() as network:
        yield network


@pytest.fixture
def far(network):
    """An origin at the other end of the cable."""
    with Origin(network.host) as origin:
        origin.on("/file", file)
        yield origin


@pytest.fixture
def inside(network):
    """A gateway that has nothing but the cable."""
    with Gateway(allowed="10.0.0.0/8", entrance=network.entrance) as gateway:
        yield gateway


def names(events):
    return [name for name, _ in events]


def starts(origin):
    """The bytes that each request has asked for first."""
    return [int((each["Range"] or "bytes=0-")[6:-1]) for each in origin.seen("/file")]


def test_a_network_that_is_not_there_yet_is_waited_for(network, far, inside):
    """S-26: it is told once, and the task goes on as soon as there is a way."""
    network.pull()
    story = Story(inside, far.url("/file"))
    story.waits_for("connectivity")
    network.plug()
    events = story.finish()
    assert names(events).count("task.isWaitingForConnectivity") == 1
    (change,) = [data["changes"] for name, data in events if name == "task.didChange"]
    assert change == {"waitingFor": None}
    assert far.count("/file") == 1


def test_a_network_goes_in_the_middle_and_comes_again(network, far, inside):
    """Twice; what has come each time is not fetched again."""
    story = Story(inside, far.url("/file"), timeoutIntervalForRequest=2)
    for received in [1_000_000, 5_000_000]:
        story.has_received(received)
        network.pull()
        eventually(lambda: story.task["waitingFor"] in ("retry", "connectivity"), "a wait")
        network.plug()
    events = story.finish()
    assert names(events).count("task.willRetry") >= 1
    places = starts(far)
    assert places == sorted(places) and places[1] >= 1_000_000 and places[-1] >= 5_000_000


def test_a_stop_of_the_gateway_while_there_is_no_network(network, far, inside):
    """S-52, S-53: neither the network nor the gateway is there for a while."""
    story = Story(inside, far.url("/file"), timeoutIntervalForRequest=2)
    story.has_received(6_000_000)  # the last second of it may be lost
    network.pull()
    inside.kill9()
    inside.restart()
    story.waits_for("connectivity")
    inside.kill9()
    network.plug()
    inside.restart()
    events = story.finish()
    reasons = [data["reason"] for name, data in events if name == "task.willRetry"]
    assert "gatewayRestarted" in reasons
    assert starts(far)[-1] >= 1_000_000


@pytest.mark.parametrize(
    "mood", [NameServer.SERVER_FAILURE, NameServer.UNKNOWN, NameServer.REFUSED, "silent"]
)
def test_names_that_are_not_known_for_a_while(network, far, inside, mood):
    network.names.mood = mood
    story = Story(inside, far.url("/file", NAME))
    story.waits_for("retry")
    assert story.task["nextAttemptAt"]
    network.names.mood = None
    events = story.finish()
    reasons = {data["reason"] for name, data in events if name == "task.willRetry"}
    assert reasons <= {"cannotFindHost", "dnsLookupFailed", "timedOut"}
    assert far.count("/file") == 1

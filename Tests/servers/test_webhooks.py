"""Webhooks (R-11): signed as receivers verify it, at least once, in order, over kill -9."""

import os
import pathlib
import random
import subprocess
import sys
import time

import pytest

from daemon import eventually, free_ports
from origin import Answer
from receiver import Receiver

EXAMPLE = pathlib.Path(__file__).parents[2] / "Examples" / "called_back.py"
ROUNDS = int(os.environ.get("FERRY_CRASH_ROUNDS", "2"))


@pytest.fixture
def receiver():
    with Receiver() as receiver:
        yield receiver
        assert [each for each in receiver.messages if each[0] == "wrong"] == []


def webhook(gateway, receiver, *events, path="/", **members):
    """Makes one; its description."""
    made = gateway.post(
        "/v1/webhooks", 201, url=receiver.url(path), events=list(events) or ["*"], **members
    ).json()
    receiver.secrets[path] = made["secret"]
    return made


def background(gateway, identifier, **members):
    """Joins a background session; its path."""
    answer = gateway.post(
        "/v1/sessions", None, type="background", identifier=identifier, delegate={}, **members
    )
    assert answer.status_code in (200, 201), answer.text
    return answer.headers["Location"]


def download(gateway, session, url):
    members = dict(type="download", resume=True, request={"url": url})
    return gateway.post(f"{session}/tasks", 201, **members).json()["id"]


def told_by_stream(gateway, session):
    """The names of a session's events."""
    return [each.event for each in gateway.replayed(session)]


def test_a_library_of_the_standard_verifies_every_message(own, origin, receiver):
    """Also while a secret is replaced: both sign."""
    origin.on("/a", Answer(b"a" * 1000))
    made = webhook(own, receiver)
    session = background(own, "verified")
    download(own, session, origin.url("/a"))
    eventually(
        lambda: any(kind == "session.didFinishEvents" for kind, _ in receiver.taken()), "the end"
    )
    told = [kind for kind, _ in receiver.taken()]
    assert told == told_by_stream(own, session)
    rotated = own.post(f"/v1/webhooks/{made['id']}/rotate-secret", 200).json()["secret"]
    assert rotated != made["secret"]
    for secret in made["secret"], rotated:
        receiver.secrets["/"] = secret
        count = len(receiver.messages)
        answer = own.post(f"/v1/webhooks/{made['id']}/test", 200).json()
        assert answer["status"] == 204 and answer["error"] is None
        assert receiver.messages[count][2] == "webhook.test"


def test_nothing_listens_then_somebody_does(own, origin, receiver):
    """What a receiver that was away has missed comes when it is back, without its asking."""
    origin.on("/a", Answer(b"a"))
    made = webhook(own, receiver, "task.didComplete")
    receiver.stop()
    session = background(own, "away")
    tasks = [download(own, session, origin.url("/a")) for _ in range(30)]
    path = f"/v1/webhooks/{made['id']}"
    eventually(
        lambda: own.get(f"{path}/deliveries?state=pending")["deliveries"], "a try in vain"
    )
    receiver.start()
    told = {data["task"] for _, data in receiver.wait(30)}
    assert told == set(tasks)
    eventually(lambda: own.get(path)["waitingCount"] == 0, "nothing to wait")
    states = {each["state"] for each in own.get(f"{path}/deliveries")["deliveries"]}
    assert states == {"delivered"}


def test_a_destination_that_is_not_allowed_is_not_called(gateway):
    """X-1: the policy looks at the address, of a webhook as of a task."""
    made = gateway.post("/v1/webhooks", 201, url="http://10.1.2.3/", events=["*"]).json()
    path = f"/v1/webhooks/{made['id']}"
    result = gateway.post(f"{path}/test", 200).json()
    assert result["status"] is None and "estination" in result["error"]
    assert gateway.client.delete(path).status_code == 204


def test_kill_9_loses_nothing_that_a_receiver_was_to_be_told(own, origin, receiver):
    """At least once, and in order for each task, whatever dies at whatever moment."""
    chance = random.Random()
    origin.on("/a", Answer(b"a" * 20_000))
    # One answer in five is a failure, and the receiver waits for the next try.
    receiver.answer = lambda message, count: chance.choice([204, 204, 204, 204, 500])
    webhook(own, receiver)
    bound = {"url": receiver.url("/bound"), "events": ["*"]}
    answer = own.post(
        "/v1/sessions", 201, type="background", identifier="killed", delegate={}, webhooks=[bound]
    )
    session = answer.headers["Location"]
    receiver.secrets["/bound"] = answer.json()["webhooks"][0]["secret"]
    made, tasks = own.get("/v1/webhooks")["webhooks"], []
    for _ in range(ROUNDS):
        for _ in range(10):
            tasks.append(download(own, session, origin.url("/a")))
        time.sleep(chance.uniform(0, 0.2))
        own.kill9()
        own.restart()
    eventually(
        lambda: own.client.get(session).json()["taskCounts"]["completed"] == len(tasks), "the tasks"
    )
    receiver.answer = lambda message, count: 204
    for each in made:
        own.client.patch(f"/v1/webhooks/{each['id']}", json={"state": "paused"})
        own.client.patch(f"/v1/webhooks/{each['id']}", json={"state": "active"})
    for path in "/", "/bound":

        def is_told():
            told = [kind for kind, _ in receiver.taken(path)]
            story = told_by_stream(own, session)
            return story[-1] == "session.didFinishEvents" and sorted(told) == sorted(story)

        eventually(is_told, f"all to be told at {path}", 60)
        told = receiver.taken(path)
        for task in tasks:
            own_events = [kind for kind, data in told if data.get("task") == task]
            assert own_events[0] == "task.didCreate" and own_events[-1] == "task.didComplete"
            assert own_events.count("task.didComplete") == 1
        # The end of the session comes behind what it is the end of.
        assert told[-1][0] == "session.didFinishEvents"


def test_the_example_is_called_back(own, origin, tmp_path):
    """Posted, left alone over a kill -9, and called back with what has come."""
    origin.on("/a.bin", Answer(os.urandom(100_000)))
    (port,) = free_ports(1)
    environment = dict(
        os.environ,
        FERRY_URL=str(own.client.base_url).rstrip("/"),
        FERRY_TOKEN=own.client.headers["Authorization"].removeprefix("Bearer "),
    )

    def command(name, *arguments):
        return [sys.executable, str(EXAMPLE), name, "--port", str(port), *arguments]

    queued = subprocess.run(
        command("queue", origin.url("/a.bin"), origin.url("/none")),
        env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=30, check=True,
    )
    assert len(queued.stdout.splitlines()) == 2
    own.kill9()
    own.restart()
    environment["FERRY_URL"] = str(own.client.base_url).rstrip("/")
    listener = subprocess.Popen(
        command("listen"), env=environment, cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    try:
        lines = []
        while "all done" not in lines:
            lines.append(listener.stdout.readline().strip())
            assert lines[-1], lines
    finally:
        listener.terminate()
        listener.wait(10)
    saved = sorted((tmp_path / "done").iterdir())
    assert any(path.name.endswith("-a.bin") for path in saved)
    assert any(path.stat().st_size == 100_000 for path in saved)

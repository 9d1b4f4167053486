"""Receivers that misbehave: what they do harms neither the gateway nor other receivers (R-11)."""

import socket
import threading

import pytest

from daemon import eventually
from origin import Answer
from receiver import Receiver
from session import Session

MEBIBYTE = 1 << 20


def webhook(gateway, url, **members):
    """A webhook that is told of the ends of tasks; its path."""
    answer = gateway.post("/v1/webhooks", 201, url=url, events=["task.didComplete"], **members)
    return answer.headers["Location"]


def deliveries(gateway, path, count=1):
    """What has become of so many events, once they were tried."""
    found = lambda: gateway.get(f"{path}/deliveries")["deliveries"]
    eventually(lambda: len(found()) >= count, f"{count} deliveries")
    return found()


@pytest.fixture
def happening(gateway, origin):
    """Makes something happen that webhooks are told of."""
    origin.on("/a", Answer(b"a"))
    session = Session(gateway)
    yield lambda: session.fetch(origin.url("/a"))
    session.invalidate()


def test_a_redirect_is_not_followed(gateway, origin, happening):
    """X-1: nor does it lead to where the gateway may not connect to."""
    for status, target in [(301, origin.url("/elsewhere")), (307, "http://10.1.2.3/")]:
        origin.on("/moved", Answer(status=status, headers={"Location": target}))
        path = webhook(gateway, origin.url("/moved"))
        happening()
        (delivery,) = deliveries(gateway, path)
        assert [each["status"] for each in delivery["attempts"]] == [status]
        assert delivery["state"] == "pending" and delivery["nextAttemptAt"]
        assert gateway.client.delete(path).status_code == 204
    assert origin.count("/elsewhere") == 0


@pytest.mark.parametrize("server", ["expired", "unknown-authority", "wrong-host", "self-signed"])
def test_a_certificate_has_to_verify(gateway, nginx, happening, server):
    path = webhook(gateway, nginx.url(server))
    happening()
    (delivery,) = deliveries(gateway, path)
    (attempt,) = delivery["attempts"]
    assert attempt["status"] is None and "ertificate" in attempt["error"]
    assert gateway.client.delete(path).status_code == 204


def test_no_more_of_an_answer_is_read_than_is_looked_at(gateway, origin, happening):
    sent = []

    def pieces():
        for _ in range(160):
            sent.append(64 * 1024)
            yield b"x" * (64 * 1024)

    origin.on("/long", lambda _: Answer(pieces=pieces(), length=10 * MEBIBYTE))
    path = webhook(gateway, origin.url("/long"))
    before = gateway.resident()
    happening()
    (delivery,) = deliveries(gateway, path)
    assert delivery["state"] == "delivered"
    result = gateway.post(f"{path}/test", 200).json()
    assert result["status"] == 200 and result["body"] == "x" * 1024
    # What the kernel has room for on both sides is sent all the same.
    assert sum(sent) < 2 * 10 * MEBIBYTE
    assert gateway.resident() - before < 4 * MEBIBYTE
    assert gateway.client.delete(path).status_code == 204


def test_who_answers_503_is_left_alone_for_as_long_as_it_asks(gateway, origin, happening):
    origin.on("/busy", Answer(status=503, headers={"Retry-After": "3600"}))
    path = webhook(gateway, origin.url("/busy"))
    happening()
    (delivery,) = deliveries(gateway, path)
    assert delivery["nextAttemptAt"] > delivery["attempts"][0]["at"][:11]
    assert origin.count("/busy") == 1
    origin.on("/busy", Answer(status=204))
    retried = f"{path}/deliveries/{delivery['event']}/retry"
    assert gateway.client.post(retried).status_code == 202
    eventually(lambda: deliveries(gateway, path)[0]["state"] == "delivered", "the retry")
    first, second = origin.seen("/busy")
    assert first["webhook-id"] == second["webhook-id"] and first.body == second.body
    assert gateway.client.delete(path).status_code == 204


def test_who_takes_a_message_and_dies_is_sent_it_again(gateway, happening):
    """It may have been taken, or not: at least once."""
    with Receiver() as receiver, socket.create_server(("127.0.0.1", 0)) as listener:
        answer = gateway.post(
            "/v1/webhooks", 201, url=f"http://127.0.0.1:{listener.getsockname()[1]}/",
            events=["task.didComplete"],
        )
        path, receiver.secrets["/"] = answer.headers["Location"], answer.json()["secret"]
        happening()
        connection, _ = listener.accept()
        with connection:
            received = b""
            while b'"task.didComplete"' not in received:
                received += connection.recv(65536)
        (delivery,) = deliveries(gateway, path)
        assert delivery["attempts"][0]["status"] is None
        # Mended at another address: what waits is sent there, under the same id.
        answer = gateway.client.patch(path, json={"url": receiver.url()})
        assert answer.status_code == 200, answer.text
        receiver.wait(1)
        assert receiver.messages[0][0].encode() in received
    assert gateway.client.delete(path).status_code == 204


def test_who_never_answers_keeps_nobody_else_waiting(gateway, happening):
    """It has 15 seconds, which nobody else waits for."""
    with Receiver() as receiver, socket.create_server(("127.0.0.1", 0)) as silent:
        held = []

        def accept():
            while True:
                try:
                    held.append(silent.accept())
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        stuck = webhook(gateway, f"http://127.0.0.1:{silent.getsockname()[1]}/")
        answer = gateway.post(
            "/v1/webhooks", 201, url=receiver.url(), events=["task.didComplete"]
        )
        path, receiver.secrets["/"] = answer.headers["Location"], answer.json()["secret"]
        for _ in range(20):
            happening()
        taken = receiver.wait(20)
        assert len(taken) == 20
        assert gateway.get(f"{stuck}/deliveries")["deliveries"] == []
        (attempt, *_) = deliveries(gateway, stuck)[0]["attempts"]
        assert attempt["status"] is None and 14 < attempt["duration"] < 25
        for each in stuck, path:
            assert gateway.client.delete(each).status_code == 204
        silent.shutdown(socket.SHUT_RDWR)
        for connection, _ in held:
            connection.close()

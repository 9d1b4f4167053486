"""What a client of HTTP/2 does out of malice costs it its connection, and others nothing (X-11).

The floods have names of their own in CVE-2019-9511 to 9518, CVE-2023-44487 and CVE-2024-27316.
"""

import multiprocessing
import time
import types

import pytest

import frames
from daemon import undisturbed
from frames import (
    CONTINUATION, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, HEADERS, LARGEST_WINDOW, PADDED,
    PREFACE, PROTOCOL_ERROR, Client, frame, ping, priority, reset, settings, window_update,
)

UPLOAD = ("POST", "/v1/files")


@pytest.fixture
def client(gateway):
    with Client(gateway) as client:
        client.wait(lambda: client.settings is not None, "the server's SETTINGS")
        yield client


# Frames that move nothing: 1,000 of them in ten seconds are borne, some more are not.


def empty(client, flags=0, payload=b""):
    if client.opened is None:
        client.opened = client.open(*UPLOAD, ends=False)
    return frame(DATA, flags, client.opened, payload)


IDLE = {
    "PING": lambda client: ping(),
    "answers to no PING": lambda client: ping(flags=frames.ACK),
    "SETTINGS": lambda client: settings(),
    "SETTINGS that change something": lambda client: settings((5, 20_000), (4, 70_000)),
    "PRIORITY": lambda client: priority(client.next_id()),
    "PRIORITY of one stream": lambda client: priority(99),
    "DATA without a byte": empty,
    "DATA with padding only": lambda client: empty(client, PADDED, bytes([9]) + bytes(9)),
    "WINDOW_UPDATE": lambda client: window_update(0, 1),
}


@pytest.mark.parametrize("what", IDLE)
def test_http2_ends_a_connection_for_a_flood_of(client, what):
    client.opened = None
    few = b"".join(IDLE[what](client) for _ in range(900))
    client.send(few)
    assert client.lives()
    client.send(few)
    assert client.ending() == ENHANCE_YOUR_CALM


def test_http2_bears_a_window_update_for_every_answer(client):
    """Some clients open a stream's window by another frame as soon as they have asked."""
    for _ in range(1500):
        stream = client.next_id()
        header = client.headers(stream, client.fields("HEAD"))
        client.send(header, window_update(stream, 1 << 24))
        client.answer(stream)
    assert client.lives()


# Requests that come to nothing: 200 more than were answered are borne.


def open_and_reset(client):
    stream = client.next_id()
    return client.headers(stream, client.fields("GET", "/v1/events")) + reset(stream)


def malformed(client):
    return client.headers(client.next_id(), client.fields("GET", "/healthz", ("X-Upper", "1")))


def overflowing(client):
    stream = client.next_id()
    header = client.headers(stream, client.fields("GET", "/v1/events"))
    return header + window_update(stream, LARGEST_WINDOW)


VAIN = {
    "are taken back (rapid reset)": open_and_reset, "are malformed": malformed,
    "overflow their windows": overflowing,
}


@pytest.mark.parametrize("what", VAIN)
def test_http2_ends_a_connection_for_requests_that(client, what):
    for _ in range(18):
        client.send(b"".join(VAIN[what](client) for _ in range(10)))
        assert client.lives()
    client.send(*[VAIN[what](client) for _ in range(40)])
    assert client.ending() == ENHANCE_YOUR_CALM


def test_http2_lets_a_client_take_back_as_many_requests_as_it_was_answered(client):
    for _ in range(300):
        client.send(open_and_reset(client))
        assert client.get().status == 200
    assert client.lives()


def test_http2_bears_no_streams_above_the_limit_of_settings_that_nobody_acknowledges(gateway):
    """They are refused one by one, but not for ever, and nothing of them is kept."""
    with Client(gateway) as client:
        client.send = lambda *_: None  # not even an acknowledgement
        client.wait(lambda: client.settings is not None, "the server's SETTINGS")
        del client.send
        before = gateway.resident()
        block = b"\x83\x86\x04\x09/v1/files\x01\x09127.0.0.1"
        requests = [
            frame(HEADERS, END_HEADERS, client.next_id(), block) for _ in range(200_000)
        ]
        client.send(*requests)
        assert client.ending() == ENHANCE_YOUR_CALM
        assert gateway.resident() - before < 24 << 20


# Headers


@pytest.mark.parametrize("piece", [b"", b"\x0f", b"\x00\x01x\x01y" * 100])
def test_http2_ends_a_connection_for_a_header_without_an_end(client, piece):
    """A CONTINUATION flood."""
    client.send(frame(HEADERS, END_STREAM, client.next_id(), client.encode(client.fields())))
    client.send(*[frame(CONTINUATION, 0, 1, piece)] * 2000)
    assert client.ending() in (ENHANCE_YOUR_CALM, frames.COMPRESSION_ERROR)


def test_http2_unpacks_no_bomb(gateway, client):
    """Each byte of the header stands for 4,000 of its table; what is above the limit is gone."""
    before = gateway.resident()
    stream = client.next_id()
    block = client.encode(client.fields("GET", "/healthz", ("x-bomb", "b" * 3900)))
    index = bytes([0x80 | 62])
    size = 15_000 - len(block)
    client.send(frame(HEADERS, END_STREAM, stream, block + index * size))
    client.send(frame(CONTINUATION, END_HEADERS, stream, index * 16_000))
    assert client.answer(stream).status == 431
    assert gateway.resident() - before < 8 << 20
    assert client.get().status == 200


def test_http2_waits_10_seconds_for_a_preface_and_a_header(gateway):
    """A deadline of its own for each, which nothing of another stream or another byte moves."""
    opening = PREFACE[:10]
    with Client(gateway, opening=opening) as half, Client(gateway, grants=False) as client:
        start = time.monotonic()
        client.wait(lambda: client.settings is not None, "the server's SETTINGS")
        other = client.open()
        stream = client.next_id()
        block = client.encode(client.fields())
        client.send(frame(HEADERS, END_STREAM, stream, block[:9]))
        assert client.answer(other).status == 200
        assert client.ending(30) == PROTOCOL_ERROR
        assert 9 < time.monotonic() - start < 30
        half._socket.settimeout(3)
        # What has not said which version it speaks is answered by what HTTP/1 has for it.
        assert half._socket.recv(65_536).startswith(b"HTTP/1.1 408 ")


# Others


def _ask(client):
    """What an honest client sends who is in a hurry."""
    streams = [client.open() for _ in range(100)]
    for stream in streams:
        client.answer(stream)


def _flood(client):
    """What one sends who is thrown out for it, and never reads."""
    client.opened = None
    for make in [*IDLE.values(), *VAIN.values()]:
        with Client(client.gateway) as another:
            another.opened = None
            another.send(*[make(another) for _ in range(1500)])


def _go_on(work, address, seconds):
    """Does the work of another client again and again, in a process of its own."""
    end = time.monotonic() + seconds
    with Client(address) as client:
        client.gateway = address
        while time.monotonic() < end:
            work(client)


def _latency(gateway, work):
    """The 99th percentile of small requests on a connection of their own beside that work."""
    client = types.SimpleNamespace(
        base_url=gateway.client.base_url, headers=dict(gateway.client.headers)
    )
    client.headers["Authorization"] = gateway.client.headers["Authorization"]
    address = types.SimpleNamespace(client=client)
    process = multiprocessing.get_context("fork").Process(
        target=_go_on, args=(work, address, 4), daemon=True
    )
    process.start()
    times = []
    with gateway.connect(http1=False, http2=True) as client:
        while process.is_alive():
            start = time.monotonic()
            assert client.get("/healthz").status_code == 200
            times.append(time.monotonic() - start)
    process.join()
    assert process.exitcode == 0
    return sorted(times)[int(len(times) * 0.99)]


def test_http2_floods_hold_up_nobody_more_than_honest_requests_do(gateway):
    """Others wait at most twice as long beside them, and no memory is lost to them."""

    def once():
        honest, memory = _latency(gateway, _ask), gateway.resident()
        floods = _latency(gateway, _flood)
        assert gateway.resident() - memory < 32 << 20
        return [(floods, max(2 * honest, 0.1))]

    undisturbed(once)

"""The front door by HTTP/2 in clear: every kind of operation, back-pressure, a server's end.

What RFC 9113 allows and forbids is in test_http2_rfc.py, what clients do out of malice in
test_http2_abuse.py.
"""

import base64
import concurrent.futures
import hashlib
import json
import os
import re
import socket
import threading

import httpx_sse
import pytest

import frames
from daemon import eventually, run
from frames import INITIAL_WINDOW_SIZE, LARGEST_WINDOW, NO_ERROR, Client
from gateway import Gateway
from origin import Answer
from session import Session

JSON = ("content-type", "application/json")
BODY = b'{"type": "ephemeral"}'
LARGE = os.urandom(1 << 20) * 10


@pytest.fixture
def http2(gateway):
    """An ordinary client that speaks nothing but HTTP/2."""
    with gateway.connect(http1=False, http2=True) as client:
        yield client
        assert client.get("/healthz").http_version == "HTTP/2"


@pytest.fixture
def client(gateway):
    with Client(gateway) as client:
        client.wait(lambda: client.settings is not None, "the server's SETTINGS")
        yield client


@pytest.fixture
def large(session, origin):
    """The path of a task's content of 10 MiB."""
    origin.on("/large", Answer(LARGE))
    task = session.fetch(origin.url("/large"), type="download", computeDigest=True)
    path = f"/v1/tasks/{task.id}"
    yield path
    assert session.gateway.client.delete(path).status_code == 204


# Operations


def test_http2_has_the_same_answers_as_http1(gateway, http2):
    """Status, fields and body of every kind of answer, the date and the request's name left out."""
    requests = [
        ("GET", "/healthz"), ("HEAD", "/healthz"), ("GET", "/"), ("GET", "/openapi.json"),
        ("HEAD", "/openapi.json"), ("GET", "/v1/sessions/ses_none"), ("GET", "/nowhere"),
        ("PUT", "/healthz"), ("BREW", "/healthz"), ("OPTIONS", "/v1/sessions"),
        ("POST", "/v1/sessions"), ("DELETE", "/v1/browser-session"), ("GET", "/v1/tasks?wrong=1"),
        ("GET", "/v1/tasks/%zz"), ("GET", "/problems/not-found"),
    ]

    def answer(client, method, path):
        answer = client.request(method, path)
        own = {"date", "ferry-request-id", "connection", "content-encoding"}
        fields = {k: v for k, v in answer.headers.items() if k not in own}
        return answer.status_code, fields, answer.content

    with gateway.connect() as http1:
        for each in requests:
            assert answer(http2, *each) == answer(http1, *each), each


def test_http2_takes_and_gives_json(http2):
    created = http2.post("/v1/sessions", json={"type": "ephemeral", "description": "naïve"})
    assert created.status_code == 201
    path = created.headers["location"]
    assert http2.get(path).json() == created.json()
    assert http2.patch(path, json={"description": "new"}).json()["description"] == "new"
    wrong = http2.post("/v1/sessions", json={"type": "none"})
    assert (wrong.status_code, wrong.json()["pointer"]) == (422, "/type")
    assert wrong.headers["content-type"].startswith("application/problem+json")
    assert http2.post(f"{path}/flush").status_code == 204
    assert http2.post(f"{path}/invalidate", json={"mode": "cancelTasks"}).status_code == 202


@pytest.mark.parametrize("has_length", [True, False], ids=["a length", "no length"])
def test_http2_takes_uploads_with(http2, has_length):
    pieces = (LARGE[at : at + 100_000] for at in range(0, len(LARGE), 100_000))
    made = http2.post("/v1/files", content=LARGE if has_length else pieces)
    assert made.status_code == 201 and made.json()["complete"]
    path = made.headers["location"]
    assert http2.get(path).content == LARGE
    assert http2.delete(path).status_code == 204


def test_http2_goes_on_with_an_upload(client, http2):
    made = http2.post("/v1/files", headers={"Upload-Complete": "?0"}, content=b"one ")
    path = made.headers["location"]
    fields = [("upload-offset", "4"), ("upload-complete", "?0")]
    stream = client.open("PATCH", path, *fields, ends=False)
    client.write(stream, b"two ", ends=False)
    client.send(frames.reset(stream))
    # It may have brought something, or have come to nothing.
    kept = int(http2.head(path).headers["upload-offset"])
    assert kept in (4, 8)
    wrong = http2.patch(path, headers={"Upload-Offset": "3"}, content=b"x")
    assert wrong.status_code == 409 and int(wrong.headers["upload-offset"]) == kept
    headers = {"Upload-Offset": str(kept), "Upload-Complete": "?1"}
    rest = b"two three"[kept - 4 :]
    assert http2.patch(path, headers=headers, content=rest).status_code in (200, 204)
    assert http2.get(path).content == b"one two three"


def test_http2_sends_a_streamed_body_on(gateway, client, origin):
    """S-39: the origin gets what comes in pieces, before its end is known."""
    got = []

    def take(request):
        got.append(request.body)
        return Answer(b"thanks")

    origin.on("/take", take)
    session = Session(gateway, delegate={"handles": ["bodyStream"]})
    body = {"stream": {"contentLength": 300_000}}
    task = session.start(origin.url("/take"), type="upload", method="PUT", body=body)
    eventually(lambda: gateway.get(f"/v1/tasks/{task}")["bodyGeneration"], "the body's request")
    stream = client.open("PUT", f"/v1/tasks/{task}/body?generation=1", ends=False)
    client.write(stream, LARGE[:100_000], ends=False)
    assert client.lives() and not client.stream(stream).is_over
    client.write(stream, LARGE[100_000:300_000])
    assert client.answer(stream).status == 204
    assert session.finish(task).body == b"thanks" and got == [LARGE[:300_000]]
    session.invalidate()


def test_http2_gives_a_large_content_whole_and_in_ranges(gateway, http2, large):
    whole = http2.get(f"{large}/content")
    digest = base64.b64encode(hashlib.sha256(whole.content).digest()).decode()
    assert gateway.get(large)["content"]["digest"] == f"sha-256=:{digest}:"
    assert whole.content == LARGE and int(whole.headers["content-length"]) == len(LARGE)
    for first, last in [(0, 0), (5, 70_000), (len(LARGE) - 7, len(LARGE) - 1)]:
        part = http2.get(f"{large}/content", headers={"Range": f"bytes={first}-{last}"})
        assert part.status_code == 206 and part.content == LARGE[first : last + 1]
    behind = http2.get(f"{large}/content", headers={"Range": f"bytes={len(LARGE)}-"})
    assert behind.status_code == 416
    head = http2.head(f"{large}/content")
    assert int(head.headers["content-length"]) == len(LARGE)
    assert head.headers["etag"] == whole.headers["etag"]


@pytest.mark.parametrize("of", ["session", "tenant", "task"])
def test_http2_replays_events_from_an_id(gateway, http2, session, origin, of):
    """S-8, R-8: what comes after the id is what HTTP/1.1 shows after it."""
    origin.on("/a", Answer(b"a"))
    tasks = [session.fetch(origin.url("/a")).id for _ in range(3)]
    path = {"session": session.path, "tenant": "/v1", "task": f"/v1/tasks/{tasks[0]}"}[of]
    known = gateway.replayed(path)[-8:] if of == "tenant" else gateway.replayed(path)
    assert len(known) > 3
    wanted = known[len(known) // 2 :]
    after = {"Last-Event-ID": known[len(known) // 2 - 1].id}
    with httpx_sse.connect_sse(http2, "GET", f"{path}/events", headers=after) as source:
        events = source.iter_sse()
        got = [next(event for event in events if event.id) for _ in wanted]
    assert [(each.id, each.data) for each in got] == [(each.id, each.data) for each in wanted]


def test_http2_has_a_hundred_requests_under_way_on_one_connection(gateway, client, origin):
    """Those that wait hold up none that can be answered."""
    session = Session(gateway, httpMaximumConnectionsPerHost=4)
    path = f"{session.path}/events"
    waiting = [client.open("GET", path) for _ in range(100)]
    client.wait(lambda: all(client.stream(each).status == 200 for each in waiting), "headers")
    assert client.get().status == 200
    origin.on("/a", Answer(b"a"))
    session.fetch(origin.url("/a"))
    done = b"event: task.didComplete"
    client.wait(lambda: all(done in client.stream(each).body for each in waiting), "the event")
    bodies = {bytes(client.stream(each).body) for each in waiting}
    assert len({body[: body.index(done)] for body in bodies}) == 1
    session.invalidate()
    for each in waiting:
        assert client.answer(each).has_ended and client.stream(each).reset is None


def test_http2_asks_for_a_body_that_waits_to_be_asked_for(client):
    """RFC 9110 §10.1.1"""
    expects = ("expect", "100-continue")
    stream = client.open("POST", "/v1/sessions", JSON, expects, ends=False)
    client.wait(lambda: client.stream(stream).interim == [100], "100 Continue")
    client.write(stream, BODY)
    assert client.answer(stream).status == 201
    # Nobody is asked for what is refused, nor for what has come already.
    stream = client.open("POST", "/v1/nowhere", JSON, expects, ends=False)
    assert client.answer(stream).status == 404 and client.stream(stream).interim == []
    assert client.get("/healthz", ("expect", "more")).status == 417


def test_http2_takes_cookies_in_several_fields(gateway, client):
    """RFC 9113 §8.2.3"""
    answer = gateway.client.post("/v1/browser-session")
    name, value = re.match("([^=]+)=([^;]+)", answer.headers["set-cookie"]).groups()
    fields = [each for each in client.fields("GET", "/v1/gateway") if each[0] != "authorization"]
    fields += [("cookie", "a=b"), ("cookie", f"{name}={value}"), ("cookie", "c=d")]
    stream = client.next_id()
    client.send(client.headers(stream, fields))
    assert client.answer(stream).status == 200


def test_http2_has_one_authority(gateway, client):
    """RFC 9113 §8.3.1: `:authority` is what Host is, and they must not differ."""
    port = gateway.client.base_url.port
    for path in ["/", "/healthz"]:
        assert client.get(path, ("host", client.authority)).status == 200
        assert client.get(path, ("host", client.authority), authority=None).status == 200
        assert client.get(path, ("host", f"127.0.0.1:{port + 1}")).status == 400
        assert client.get(path, authority=None).reset == frames.PROTOCOL_ERROR
    assert client.get("/", authority="other.example").status == 421
    assert client.get("/", ("host", "other.example"), authority=None).status == 421


def test_http2_has_no_connect(client):
    stream = client.next_id()
    fields = client.fields("CONNECT", scheme=None, path=None)
    client.send(client.headers(stream, fields))
    assert client.answer(stream).status == 501


def test_http2_answers_options_of_the_server(client):
    answer = client.answer(client.open("OPTIONS", "*"))
    assert answer.status == 204 and answer.has_ended


# Limits


def test_http2_takes_a_path_of_8_KiB_and_no_longer(client):
    paths = ["/" + "a" * (length - 1) for length in (8192, 8193)]
    assert [client.get(path).status for path in paths] == [404, 414]


def test_http2_takes_100_fields_and_no_more(client):
    """Pseudo-header fields are none of them; `authorization` is the first."""
    fields = lambda count: [(f"x-{number}", "1") for number in range(count)]
    statuses = [client.get("/healthz", *fields(count)).status for count in (99, 100)]
    assert statuses == [200, 431]


def test_http2_takes_a_header_of_32_KiB_and_no_larger(client):
    """Each field counts 32 bytes more than its name and value (RFC 9113 §6.5.2)."""
    size = sum(len(name) + len(value) + 32 for name, value in client.fields())
    room = 32_768 - size - len("x-large") - 32
    statuses = [client.get("/healthz", ("x-large", "v" * n)).status for n in (room, room + 1)]
    assert statuses == [200, 431]
    # It is the answer that comes, however much larger the header is.
    assert client.get("/healthz", *[(f"x-{n}", "v" * 10_000) for n in range(8)]).status == 431
    assert client.get().status == 200


def test_http2_takes_json_of_1_MiB_and_no_larger(client):
    path, kind = "/v1/sessions", JSON
    padded = lambda size: BODY + b" " * (size - len(BODY))
    for size, status in [(1 << 20, 201), ((1 << 20) + 1, 413)]:
        for fields in [[kind], [kind, ("content-length", str(size))]]:
            stream = client.open("POST", path, *fields, ends=False)
            client.write(stream, padded(size))
            assert client.answer(stream).status == status


@pytest.mark.parametrize("has_length", [True, False], ids=["a length", "no length"])
def test_http2_refuses_an_upload_early_and_whole(client, has_length):
    """RFC 9113 §8.1: the answer is whole, what follows of the request is not wanted."""
    fields = client.fields("POST", "/v1/files")
    fields[-1] = ("authorization", "Bearer wrong")
    if has_length:
        fields.append(("content-length", str(len(LARGE))))
    stream = client.next_id()
    client.send(client.headers(stream, fields, frames.END_HEADERS))
    client.write(stream, LARGE)
    client.wait(lambda: client.stream(stream).reset is not None, "RST_STREAM")
    answer = client.stream(stream)
    assert answer.status == 401 and answer.has_ended and answer.reset == NO_ERROR
    assert json.loads(answer.body)["status"] == 401
    assert client.get().status == 200


def test_http2_gives_windows_back_that_refused_uploads_have_used(client):
    """A connection can have as many of them as it likes, padding and all."""
    padding = bytes([255]) + bytes(255)
    sent = 0
    while sent < 40 << 20:
        stream = client.open("POST", "/v1/nowhere", ends=False)
        client.wait(lambda: client.window >= 65_536, "the connection's window")
        for _ in range(4):
            client.send(frames.frame(frames.DATA, frames.PADDED, stream, padding + bytes(16_000)))
            client.window -= 16_256
            sent += 16_256
        assert client.answer(stream).status == 404
    assert client.lives()


# Back-pressure


def test_http2_holds_an_answer_that_has_no_window_and_no_other(gateway, large):
    """A hundred that nobody takes cost what is read ahead of them, and no other stream's time."""
    with Client(gateway, (INITIAL_WINDOW_SIZE, 0), grants=False) as client:
        before = gateway.resident()
        stuck = [client.open("GET", f"{large}/content") for _ in range(60)]
        stuck += [client.open("GET", "/v1/events") for _ in range(40)]
        client.wait(lambda: all(client.stream(each).status for each in stuck), "the headers")
        own = client.open("GET", f"{large}/content", ("range", "bytes=0-49999"))
        client.send(frames.window_update(own, 50_000))
        assert bytes(client.answer(own).body) == LARGE[:50_000]
        assert client.lives() and all(not client.stream(each).body for each in stuck)
        assert gateway.resident() - before < 40 << 20
        for each in stuck:
            client.send(frames.reset(each))
        assert client.lives()


def test_http2_keeps_one_copy_of_a_document_for_all_that_wait_for_it(gateway):
    """Also those without a token may have as many of these streams as there are."""
    before = gateway.resident()
    with Client(gateway, (INITIAL_WINDOW_SIZE, 0), grants=False) as client:
        client.wait(lambda: client.settings is not None, "the server's SETTINGS")
        stuck = [client.open("GET", "/openapi.yaml") for _ in range(128)]
        client.wait(lambda: all(client.stream(each).status for each in stuck), "the headers")
        size = int(client.stream(stuck[0])["content-length"])
        assert gateway.resident() - before < 128 * size / 4


def test_http2_gives_each_stream_its_share(gateway, large):
    """A large content on the way holds up no small answer behind it."""
    with Client(gateway, (INITIAL_WINDOW_SIZE, LARGEST_WINDOW), grants=False) as client:
        client.send(frames.window_update(0, LARGEST_WINDOW - 65_535))
        first = client.open("GET", f"{large}/content")
        client.wait(lambda: len(client.stream(first).body) > 1 << 20, "the first MiB")
        small = client.open("GET", "/v1/sessions/ses_none")
        assert client.answer(small).status == 404
        assert len(client.stream(first).body) < len(LARGE)
        assert bytes(client.answer(first).body) == LARGE


def test_http2_stops_uploads_that_nobody_takes_and_no_other(gateway, origin):
    """Each stops at its own window, also when there are more of them than would ever be taken."""
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    session = Session(
        gateway, delegate={"handles": ["bodyStream"]}, httpMaximumConnectionsPerHost=70
    )
    spec = session.spec(url, type="upload", method="PUT", body={"stream": {"contentLength": -1}})
    tasks = session.start_all([spec] * 70)
    listed = lambda: gateway.get(f"{session.path}/tasks?limit=500")["tasks"]
    with listener, Client(gateway) as client:
        are_asked_for = lambda: all(each["bodyGeneration"] == 1 for each in listed())
        eventually(are_asked_for, "all bodies to be asked for")
        client.wait(lambda: client.window > 1 << 20, "the connection's window")
        paths = [f"/v1/tasks/{task}/body?generation=1" for task in tasks]
        stuck = [client.open("PUT", path, ends=False) for path in paths]
        before = gateway.resident()
        room = dict.fromkeys(stuck, 0)
        progress = True
        while progress:
            progress = False
            for each in stuck:
                room[each] = 65_536 + client.windows.get(each, 0)
                while room[each] > 0 and client.window > 0:
                    count = min(16_384, room[each], client.window)
                    client.write(each, bytes(count), ends=False)
                    room[each] -= count
                    progress = True
            assert client.lives()
        assert client.window > 0 and not any(room.values())
        # Less than a MiB for each, with all that the way to the origin holds.
        assert gateway.resident() - before < 70 << 20
        stream = client.open("POST", "/v1/sessions", JSON, ends=False)
        client.write(stream, BODY)
        assert client.answer(stream).status == 201
        # Who sends on without a window is refused (RFC 9113 §6.9.1).
        client.send(frames.frame(frames.DATA, 0, stuck[0], bytes(frames.LARGEST_FRAME)))
        assert client.refusal(stuck[0])[1] == frames.FLOW_CONTROL_ERROR
    session.invalidate()


def test_http2_cuts_an_answer_whose_source_fails(gateway, session, origin, client):
    """What is not whole ends by RST_STREAM, and the connection lives."""
    goes_on = threading.Event()

    def pieces():
        yield LARGE[: 1 << 20]
        goes_on.wait(20)
        raise ConnectionResetError

    origin.on("/cut", Answer(pieces=pieces(), length=2 << 20))
    task = session.start(origin.url("/cut"), method="POST")
    origin.wait("/cut", 1)
    stream = client.open("GET", f"/v1/tasks/{task}/content")
    client.wait(lambda: len(client.stream(stream).body) > 1 << 19, "the content's first half")
    goes_on.set()
    answer = client.answer(stream)
    assert (answer.status, answer.reset, answer.has_ended) == (200, frames.INTERNAL_ERROR, False)
    assert client.get().status == 200


# The server's end


def test_http2_ends_what_runs_before_the_server_does(gateway_arguments, origin):
    """GOAWAY comes first, events end, and what was begun is answered."""
    with Gateway(*gateway_arguments) as own, Client(own) as client:
        origin.on("/a", Answer(b"a"))
        events = client.open("GET", "/v1/events")
        client.wait(lambda: client.stream(events).status, "the event stream's header")
        upload = client.open("POST", "/v1/sessions", JSON, ends=False)
        client.write(upload, BODY[:5], ends=False)
        assert client.lives()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            stopped = pool.submit(own.stop)
            client.wait(lambda: client.goaway is not None, "GOAWAY")
            assert (client.goaway, client.last_stream) == (NO_ERROR, upload)
            assert client.answer(events).has_ended and client.stream(events).reset is None
            # Nothing new begins, and nothing is said of it: its client may ask elsewhere.
            late = client.open()
            client.write(upload, BODY[5:])
            assert client.answer(upload).status == 201
            assert client.ending() == NO_ERROR
            client.close()
            assert not client.stream(late).is_over
            stopped.result(20)


# Other clients


def test_http2_is_spoken_by_curl(gateway, tmp_path):
    """Upload and download of 10 MiB."""
    token = gateway.client.headers["Authorization"]
    words = ["curl", "-sS", "--http2-prior-knowledge", "-H", f"Authorization: {token}"]
    (tmp_path / "large").write_bytes(LARGE)
    base = str(gateway.client.base_url)
    made = run(*words, "-f", "--data-binary", f"@{tmp_path}/large", f"{base}/v1/files")
    path = json.loads(made)["links"]["self"]
    version = run(*words, "-f", "-o", f"{tmp_path}/back", "-w", "%{http_version}", base + path)
    assert version == "2" and (tmp_path / "back").read_bytes() == LARGE
    assert gateway.client.delete(path).status_code == 204


def test_http2_is_spoken_by_nghttp(gateway, large):
    """With a window of its own, padding, and another table size."""
    words = ["nghttp", "-v", "-n", "--no-dep", "-w", "20", "-b", "100", "-c", "8192"]
    words += ["-H", f"authorization: {gateway.client.headers['Authorization']}"]
    url = f"{gateway.client.base_url}{large}/content"
    shown = run(*words, url)
    assert ":status: 200" in shown
    counts = [int(n) for n in re.findall(r"recv DATA frame <length=(\d+)", shown)]
    assert sum(counts) == len(LARGE)


def test_http2_is_driven_by_h2load(gateway):
    """20,000 requests on 8 connections of 100 streams each, and not one that fails."""
    words = ["h2load", "-n", "20000", "-c", "8", "-m", "100"]
    shown = run(*words, f"{gateway.client.base_url}/healthz")
    assert "20000 succeeded, 0 failed, 0 errored, 0 timeout" in shown
    assert "status codes: 20000 2xx" in shown

"""S-8, S-57: httpx-sse, a common client of event streams, reads a task's story from a live gateway."""

import contextlib
import http.server
import json
import os
import threading

import httpx
import httpx_sse
import pytest


class Origin(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "100000")
        self.end_headers()
        self.wfile.write(bytes(100000))

    def log_message(self, *_):
        pass


@pytest.fixture
def origin():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def client():
    headers = {"Authorization": "Bearer " + os.environ["FERRY_TOKEN"]}
    with httpx.Client(base_url=os.environ["FERRY_URL"], headers=headers, timeout=20) as client:
        yield client


@pytest.fixture
def session(client):
    answer = client.post("/v1/sessions", json={"type": "ephemeral"})
    assert answer.status_code == 201
    path = answer.headers["Location"]
    yield path
    client.post(f"{path}/invalidate", json={"mode": "cancelTasks"})


@contextlib.contextmanager
def events(client, path, **headers):
    with httpx_sse.connect_sse(client, "GET", path, headers=headers) as source:
        yield source.iter_sse()


def until(stream, name):
    story = []
    for event in stream:
        story.append(event)
        if event.event == name:
            return story
    raise AssertionError(f"the stream ended before {name}: {[event.event for event in story]}")


def download(client, session, origin):
    spec = {"type": "download", "resume": True, "request": {"url": origin}}
    answer = client.post(f"{session}/tasks", json=spec)
    assert answer.status_code == 201
    return answer.json()


def test_a_live_stream_tells_a_download_from_its_creation_to_its_end(client, session, origin):
    with events(client, f"{session}/events") as stream:
        task = download(client, session, origin)
        story = until(stream, "task.didComplete")
    numbered = [event.event for event in story if event.event != "download.didWriteData"]
    assert numbered == [
        "task.didCreate",
        "task.didReceiveResponse",
        "download.didFinishDownloading",
        "task.didFinishCollectingMetrics",
        "task.didComplete",
    ]
    progress = [json.loads(e.data) for e in story if e.event == "download.didWriteData"]
    assert progress[-1]["totalBytesWritten"] == 100000
    for event in story:
        data = json.loads(event.data)
        assert data["task"] == task["id"] and data["session"] == task["session"]
    assert json.loads(story[-1].data)["error"] is None


def test_a_replay_goes_on_behind_the_last_event_id(client, session, origin):
    task = download(client, session, origin)
    path = task["links"]["events"]
    with events(client, f"{path}?replay=all") as stream:
        story = [event for event in stream if event.event != "download.didWriteData"]
    assert story[-1].event == "task.didComplete"
    with events(client, path, **{"Last-Event-ID": story[1].id}) as stream:
        rest = list(stream)
    assert [event.id for event in rest] == [event.id for event in story[2:]]


def test_a_reader_of_a_finished_story_is_sent_away(client, session, origin):
    task = download(client, session, origin)
    path = task["links"]["events"]
    with events(client, f"{path}?replay=all") as stream:
        last = list(stream)[-1]
    answer = client.get(path, headers={"Last-Event-ID": last.id, "Accept": "text/event-stream"})
    assert answer.status_code == 204

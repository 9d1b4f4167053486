"""A page of another origin uses the gateway with a token, if the operator has named it (CORS)."""

import contextlib
import json
import os

import httpx
import pytest

PAGE = "https://app.example.com"
BEARER = {"Authorization": "Bearer " + os.environ["FERRY_TOKEN"]}


@pytest.fixture
def client():
    with httpx.Client(base_url=os.environ["FERRY_URL"], timeout=20) as client:
        yield client


def fields(answer):
    """The CORS fields of an answer."""
    prefix = "access-control-"
    return {name.removeprefix(prefix): value for name, value in answer.headers.items() if name.startswith(prefix)}


def words(text):
    return {word.strip().lower() for word in text.split(",")}


def preflight(client, path, method, origin=PAGE, asked="authorization", **headers):
    return client.options(
        path,
        headers={
            "Origin": origin, "Access-Control-Request-Method": method,
            "Access-Control-Request-Headers": asked, **headers,
        },
    )


@pytest.mark.parametrize(
    "path, method, asked",
    [
        ("/v1/sessions", "POST", "authorization,content-type,idempotency-key"),
        ("/v1/tasks/tsk_1", "PATCH", "authorization,content-type,prefer"),
        ("/v1/tasks/tsk_1", "DELETE", "authorization"),
        ("/v1/tasks/tsk_1/content", "GET", "authorization,range,if-range,if-match"),
        ("/v1/files/fil_1", "PATCH", "authorization,upload-offset,upload-complete,upload-length,repr-digest"),
        ("/v1/events", "GET", "authorization,last-event-id,cache-control"),
    ],
)
def test_a_preflight_is_answered_without_a_token(client, path, method, asked):
    answer = preflight(client, path, method, asked=asked)
    told = fields(answer)
    assert answer.status_code == 204
    assert told["allow-origin"] == PAGE
    assert method.lower() in words(told["allow-methods"])
    assert words(asked) <= words(told["allow-headers"])
    assert int(told["max-age"]) >= 600
    assert "allow-credentials" not in told
    assert "Origin" in answer.headers.get_list("Vary", True)


def test_a_public_page_may_ask_a_gateway_of_a_private_network(client):
    asked = {"Access-Control-Request-Private-Network": "true"}
    assert fields(preflight(client, "/v1/tasks", "GET", **asked))["allow-private-network"] == "true"
    assert "allow-private-network" not in fields(preflight(client, "/v1/tasks", "GET"))


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://app.example.com", f"{PAGE}:8443", f"{PAGE}.evil.example", "null", ""]
)
def test_a_page_that_was_not_named_learns_nothing(client, origin):
    assert fields(preflight(client, "/v1/tasks", "GET", origin=origin)) == {}
    answer = client.get("/v1/tasks", headers={**BEARER, "Origin": origin})
    assert answer.status_code == 200 and fields(answer) == {}
    # An answer for one origin is not to be given to another one by a cache.
    assert "Origin" in answer.headers.get_list("Vary", True)


def test_refusals_can_be_read_too(client):
    for path, status in (("/v1/tasks", 401), ("/nowhere", 404)):
        answer = client.get(path, headers={"Origin": PAGE})
        assert answer.status_code == status and fields(answer)["allow-origin"] == PAGE
        assert "www-authenticate" in words(fields(answer)["expose-headers"])


def test_a_page_runs_a_download_to_its_end(client, twelve_bytes):
    own = {**BEARER, "Origin": PAGE}
    created = client.post(
        "/v1/sessions/shared/tasks", headers=own,
        json={"type": "download", "resume": True, "request": {"url": twelve_bytes}},
    )
    assert created.status_code == 201 and fields(created)["allow-origin"] == PAGE
    exposed = words(fields(created)["expose-headers"])
    assert {"location", "etag", "content-range", "retry-after", "upload-offset", "ferry-task"} <= exposed
    task = created.headers["Location"]
    story = []
    with client.stream("GET", f"{task}/events?replay=all", headers=own) as stream:
        assert fields(stream)["allow-origin"] == PAGE
        assert "ferry-last-event-id" in words(fields(stream)["expose-headers"])
        for line in stream.iter_lines():
            if line.startswith("data: "):
                story.append(json.loads(line.removeprefix("data: "))["event"])
    assert story[-1] == "task.didComplete"
    content = client.get(f"{task}/content", headers={**own, "Range": "bytes=0-2"})
    assert content.content == b"twe" and fields(content)["allow-origin"] == PAGE
    with contextlib.closing(client.delete(task, headers=own)) as gone:
        assert gone.status_code == 204 and fields(gone)["allow-origin"] == PAGE


def test_the_cookie_of_a_browser_session_is_no_use_to_another_origin(client):
    """The gateway's own page signs in; a page that may use tokens changes nothing by its cookie."""
    own = os.environ["FERRY_URL"]
    signed = client.post("/v1/browser-session", headers={**BEARER, "Origin": own})
    cookie = {"Cookie": signed.headers["Set-Cookie"].split(";")[0]}
    body = {"type": "ephemeral"}
    refused = client.post("/v1/sessions", json=body, headers={**cookie, "Origin": PAGE})
    assert refused.status_code == 403 and refused.json()["code"] == "origin-mismatch"
    assert "allow-credentials" not in fields(refused)
    seen = client.get("/v1/sessions", headers={**cookie, "Origin": PAGE})
    assert "allow-credentials" not in fields(seen), "a browser would show the page the answer"
    client.delete("/v1/browser-session", headers={**cookie, "Origin": own})

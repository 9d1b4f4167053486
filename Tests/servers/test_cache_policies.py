"""What is asked of the cache and what of the origin: policies, ranges, stale answers (S-15)."""

import threading

import pytest

from origin import FRESH, Answer
from session import Session

STALE = {"Cache-Control": "max-age=0", "ETag": '"1"'}

# For each policy: what is asked when something is stored fresh, stale, or not at all

POLICIES = {
    "useProtocolCachePolicy": ("none", "condition", "plain"),
    "reloadIgnoringLocalCacheData": ("plain", "plain", "plain"),
    "reloadIgnoringLocalAndRemoteCacheData": ("past all", "past all", "past all"),
    "returnCacheDataElseLoad": ("none", "none", "plain"),
    "returnCacheDataDontLoad": ("none", "none", "error"),
    "reloadRevalidatingCacheData": ("condition", "condition", "plain"),
}


def asked(requests):
    """What a task has asked the origin."""
    if not requests:
        return "none"
    (request,) = requests
    if request["If-None-Match"]:
        return "condition"
    return "past all" if "no-cache" in (request["Cache-Control"] or "") else "plain"


@pytest.mark.parametrize("place", ["session", "request"])
@pytest.mark.parametrize("policy", POLICIES)
def test_each_policy_does_as_it_says(origin, gateway, policy, place):
    """S-15"""
    configuration = {"requestCachePolicy": policy} if place == "session" else {}
    session = Session(gateway, **configuration)
    own = None if place == "session" else policy
    stored = ["/fresh", "/stale"]
    for path, headers in zip(stored, [FRESH, STALE]):
        origin.on(path, Answer(path.encode(), headers=headers | {"ETag": '"1"'}))
        session.fetch(origin.url(path), policy="reloadIgnoringLocalCacheData")
    origin.on("/missing", Answer(b"/missing"))
    for path, expected in zip([*stored, "/missing"], POLICIES[policy]):
        before = origin.count(path)
        outcome = session.fetch(origin.url(path), policy=own)
        if expected == "error":
            assert (outcome.error, outcome.status) == (-1008, None)
            assert origin.count(path) == before
        else:
            assert (outcome.status, outcome.body) == (200, path.encode())
            assert asked(origin.seen(path)[before:]) == expected, path


@pytest.mark.parametrize(
    "field, requests",
    [
        ({"Cache-Control": "no-cache"}, 1),
        ({"Pragma": "no-cache"}, 1),
        ({"Cache-Control": "max-age=0"}, 1),
        ({"Cache-Control": "only-if-cached"}, 0),
        ({"Cache-Control": "max-stale"}, 0),
    ],
)
def test_the_requests_own_words_count(origin, session, field, requests):
    origin.on("/news", Answer(b"news", headers=FRESH))
    session.fetch(origin.url("/news"))
    assert session.fetch(origin.url("/news"), headers=field).body == b"news"
    assert origin.count("/news") == 1 + requests


# Ranges


@pytest.mark.parametrize(
    "range, expected",
    [
        ("bytes=3-5", (3, 6)),
        ("bytes=0-0", (0, 1)),
        ("bytes=-4", (16, 20)),
        ("bytes=18-99", (18, 20)),
    ],
)
@pytest.mark.parametrize("type", ["data", "download"])
def test_a_range_is_cut_out_of_what_is_whole(origin, session, type, range, expected):
    whole = b"0123456789abcdefghij"
    origin.on("/whole", Answer(whole, headers=FRESH | {"ETag": '"1"'}))
    session.fetch(origin.url("/whole"))
    part = session.fetch(origin.url("/whole"), type=type, headers={"Range": range})
    start, end = expected
    assert (part.status, part.body, part.is_hit) == (206, whole[start:end], True)
    assert part.header("Content-Range") == f"bytes {start}-{end - 1}/20"
    assert origin.count("/whole") == 1
    # The whole is not harmed by it.
    assert session.fetch(origin.url("/whole")).body == whole


# Stale answers (RFC 5861)


def stale(extension):
    return {"Cache-Control": f"max-age=0, {extension}", "ETag": '"1"'}


@pytest.mark.parametrize("failure", ["gone", "500", "503"])
def test_a_stale_answer_stands_in_for_an_error(origin, session, failure):
    origin.on("/frail", Answer(b"frail", headers=stale("stale-if-error=600")))
    session.fetch(origin.url("/frail"))
    if failure == "gone":
        origin.stop()
    else:
        origin.on("/frail", Answer(b"broken", int(failure)))
    outcome = session.fetch(origin.url("/frail"))
    assert (outcome.status, outcome.body, outcome.error) == (200, b"frail", None)
    assert outcome.is_hit


def test_without_that_leave_the_error_is_told(origin, session):
    origin.on("/frail", Answer(b"frail", headers=STALE))
    origin.on("/strict", Answer(b"strict", headers=stale("must-revalidate, stale-if-error=600")))
    paths = ["/frail", "/strict"]
    for path in paths:
        session.fetch(origin.url(path))
    origin.stop()
    assert [session.fetch(origin.url(path)).error for path in paths] == [-1004, -1004]


def test_a_stale_answer_is_renewed_behind_the_clients_back(origin, session):
    headers = stale("stale-while-revalidate=600")
    origin.on("/turning", lambda _: Answer(b"%d" % origin.count("/turning"), headers=headers))
    assert session.fetch(origin.url("/turning")).body == b"1"
    assert session.fetch(origin.url("/turning")).body == b"1"
    origin.wait("/turning", 2)
    assert session.fetch(origin.url("/turning")).body in [b"1", b"2"]


# What is not stored


@pytest.mark.parametrize("place", ["response", "request"])
def test_no_store_stores_nothing(origin, session, place):
    headers = {"Cache-Control": "no-store, max-age=600"}
    origin.on("/secret", Answer(b"secret", headers=headers if place == "response" else FRESH))
    own = {} if place == "response" else {"Cache-Control": "no-store"}
    for _ in range(2):
        assert session.fetch(origin.url("/secret"), headers=own).is_hit is False
    assert origin.count("/secret") == 2
    usage = session.cache(origin.url("/secret"))
    assert usage["entryCount"] == usage["memoryUsage"] == usage["diskUsage"] == 0
    assert usage["responses"] == []


def test_half_an_answer_is_not_stored(origin, session):
    """The origin goes away in the middle: -1005, and the next one asks again."""

    def half(_):
        yield b"half"
        origin.stop()

    origin.on("/whole", lambda request: Answer(pieces=half(request), length=8, headers=FRESH))
    assert session.fetch(origin.url("/whole")).error == -1005
    assert session.cache()["entryCount"] == 0
    origin.on("/whole", Answer(b"whole", headers=FRESH))
    origin.start()
    assert session.fetch(origin.url("/whole")).body == b"whole"


def test_a_cancelled_task_stores_nothing(origin, session):
    gate = threading.Event()

    def slow(_):
        yield b"half"
        gate.wait(20)
        yield b"half"

    origin.on("/slow", lambda request: Answer(pieces=slow(request), length=8, headers=FRESH))
    task = session.start(origin.url("/slow"))
    origin.wait("/slow", 1)
    session.gateway.post(f"/v1/tasks/{task}/cancel", 200)
    assert session.finish(task).error == -999
    gate.set()
    assert session.cache()["entryCount"] == 0
    assert session.fetch(origin.url("/slow")).body == b"halfhalf"


def test_a_session_without_a_cache_asks_each_time(origin, gateway):
    origin.on("/news", Answer(b"news", headers=FRESH))
    for configuration in [None, {"memoryCapacity": 0, "diskCapacity": 0}]:
        session = Session(gateway, urlCache=configuration)
        assert [session.fetch(origin.url("/news")).is_hit for _ in range(2)] == [False, False]
        assert session.cache()["entryCount"] == 0
    assert origin.count("/news") == 4

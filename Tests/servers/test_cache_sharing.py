"""Who shares a cache: the tasks of a session and nobody else, over restarts (S-1, S-2)."""

import re

import pytest

import nginx as nginx_module
from daemon import eventually
from delegate import Delegate
from origin import FRESH, Answer
from session import Session

LENGTH = 100_000


def test_sessions_never_share(origin, gateway):
    """S-1, S-4: not two of one type, not the shared one, not by the form of the answer."""
    origin.on("/news", Answer(b"news", headers=FRESH))
    shared = Session(gateway, path="/v1/sessions/shared")
    sessions = [shared, Session(gateway), Session(gateway)]
    sessions += [Session(gateway, "ephemeral") for _ in range(2)]
    for turn, hit in [(0, False), (1, True)]:
        for number, each in enumerate(sessions):
            outcome = each.fetch(origin.url("/news"))
            assert (outcome.body, outcome.is_hit) == (b"news", hit)
            assert each.answer(origin.url("/news")).content == b"news"
            assert origin.count("/news") == (len(sessions) if turn else number + 1)
    sessions[1].forget("cache")
    assert [each.fetch(origin.url("/news")).is_hit for each in sessions] == [
        True, False, True, True, True,
    ]  # fmt: skip
    shared.forget("cache")


def page(number):
    """A body that tells everywhere which one it is."""
    word = b"<%08d>" % number
    return word * (LENGTH // len(word))


def pieces(body):
    for start in range(0, len(body), 10_000):
        yield body[start : start + 10_000]


@pytest.mark.parametrize("headers", [FRESH, {"Cache-Control": "max-age=0", "ETag": '"1"'}])
@pytest.mark.parametrize("policy", [None, "reloadIgnoringLocalCacheData"])
def test_twenty_tasks_at_once_do_not_mix(origin, gateway, headers, policy):
    """Each gets one body whole, whichever; so does who comes later."""
    session = Session(gateway, httpMaximumConnectionsPerHost=20)

    def answer(_):
        body = page(origin.count("/page"))
        return Answer(pieces=pieces(body), length=len(body), headers=headers)

    origin.on("/page", answer)
    for _ in range(3):
        types = ["data", "download"] * 10
        specs = [session.spec(origin.url("/page"), type=type, policy=policy) for type in types]
        outcomes = [session.finish(task) for task in session.start_all(specs)]
        for outcome in outcomes:
            assert (outcome.status, outcome.error) == (200, None)
            (number,) = set(re.findall(rb"<(\d{8})>", outcome.body))
            assert outcome.body == page(int(number))
    before = origin.count("/page")
    assert before <= 60
    stored = session.fetch(origin.url("/page"), policy="returnCacheDataDontLoad")
    (number,) = set(re.findall(rb"<(\d{8})>", stored.body))
    assert stored.body == page(int(number)) and int(number) <= before
    assert origin.count("/page") == before
    # What was replaced while it was read goes with its last reader.
    eventually(lambda: session.cache()["entryCount"] == 1, "one response of the page")


# Over the end of the process


def fill(origin, session):
    """Small and large, in both tiers."""
    answer = lambda request: Answer(size(request.target), headers=FRESH | {"ETag": '"1"'})
    origin.on("/sized", answer)
    urls = [origin.url(f"/sized?{length}") for length in [10, 5000, 40_000, 1 << 20]]
    for url in urls:
        session.fetch(url)
    return urls


def size(target):
    length = int(target.partition("?")[2])
    return (target.encode() * (length // len(target) + 1))[:length]


@pytest.mark.parametrize("end", ["SIGTERM", "kill -9"])
def test_a_default_sessions_cache_outlives_the_process(origin, own, end):
    session = Session(own)
    urls = fill(origin, session)
    usage = session.cache()
    if end == "SIGTERM":
        own.stop()
    else:
        session.tell("flush")
        own.kill9()
    own.restart()
    after = session.cache()
    assert (after["entryCount"], after["diskUsage"]) == (len(urls), usage["diskUsage"])
    for url in urls:
        for type in ["data", "download"]:
            outcome = session.fetch(url, type=type, policy="returnCacheDataDontLoad")
            assert outcome.body == size(url.partition(str(origin.port))[2])
    assert origin.count("/sized") == len(urls)
    # It is the cache that it was: what is confirmed, replaced or removed is so.
    assert session.fetch(urls[0], policy="reloadRevalidatingCacheData").is_hit is False
    session.forget("cache")
    own.kill9()
    own.restart()
    assert session.cache()["entryCount"] == 0
    assert session.fetch(urls[0]).is_hit is False


def test_the_memory_alone_does_not_outlive_it(origin, own):
    """S-2, S-24"""
    session = Session(own, urlCache={"memoryCapacity": 4_194_304, "diskCapacity": 0})
    urls = fill(origin, session)
    ephemeral = Session(own, "ephemeral")
    fill(origin, ephemeral)
    assert ephemeral.cache()["entryCount"] == 3, "1 MiB is more than a twentieth of the memory"
    assert ephemeral.cache()["diskUsage"] == 0
    own.stop()
    own.restart()
    assert session.cache()["entryCount"] == 0
    assert session.fetch(urls[0]).is_hit is False
    assert own.client.get(ephemeral.path).status_code == 404


def test_the_contents_of_tasks_and_of_the_cache_are_each_their_own(origin, session):
    """S-60: deleting the task leaves the entry, and emptying the cache leaves the task."""
    (*_, large) = fill(origin, session)
    first = session.fetch(large, type="download")
    second = session.fetch(large, type="download")
    body = first.body
    for task in [first.id, second.id]:
        assert session.gateway.client.delete(f"/v1/tasks/{task}").status_code == 204
    third = session.fetch(large, type="download", policy="returnCacheDataDontLoad")
    assert third.body == body
    session.forget("cache")
    assert third.body == body


# Decisions


def test_the_delegate_decides_what_is_stored(origin, gateway):
    """S-71: refused, in memory only, as it is."""
    origin.on("/news", Answer(b"news", headers=FRESH))
    answers = {
        "/news?refused": {"disposition": "refuse"},
        "/news?memory": {"disposition": "store", "storagePolicy": "allowedInMemoryOnly"},
        "/news?noted": {"disposition": "store", "userInfo": {"by": "me"}},
    }
    decide = lambda event: answers[event.data["response"]["url"].partition(str(origin.port))[2]]
    with Delegate(gateway, decide, handles=["cache"]) as delegate:
        session = Session(gateway, path=delegate.path)
        for _ in range(2):
            for path in answers:
                assert delegate.fetch(origin.url(path)).body == "news"
        assert {each.name for each in delegate.questions()} == {"task.willCacheResponse"}
        targets = [each.target for each in origin.seen("/news")]
        assert sorted(targets) == ["/news?memory", "/news?noted"] + ["/news?refused"] * 2
        (memory,) = session.cache(origin.url("/news?memory"))["responses"]
        (noted,) = session.cache(origin.url("/news?noted"))["responses"]
        assert memory["tier"] == "memory" and noted["userInfo"] == {"by": "me"}
        assert session.cache(origin.url("/news?refused"))["responses"] == []


# Other origins


def test_nginx_confirms(nginx, session):
    url = nginx.url("open", "/cached-by-nginx")
    for hit in [False, True, True]:
        outcome = session.fetch(url, policy="reloadRevalidatingCacheData")
        assert (outcome.body, outcome.is_hit) == (nginx_module.BODY.encode(), hit)
    statuses = [each["status"] for each in nginx.log.wait("/cached-by-nginx", 3)]
    assert statuses == [200, 304, 304]


def test_httpbin_confirms_by_tag_and_by_date(httpbin, session):
    for path in ["/etag/one", "/cache"]:
        outcomes = [
            session.fetch(httpbin + path, policy="reloadRevalidatingCacheData") for _ in range(2)
        ]
        assert [each.is_hit for each in outcomes] == [False, True], path
        assert outcomes[0].body == outcomes[1].body


def test_httpbin_sets_an_age(httpbin, session):
    outcomes = [session.fetch(f"{httpbin}/cache/60") for _ in range(2)]
    assert [each.is_hit for each in outcomes] == [False, True]
    assert outcomes[0].body == outcomes[1].body

"""The cache of a session, seen from the origin: what reaches it, and what does not (S-15, S-24)."""

import gzip

import pytest

from origin import FRESH, Answer
from session import Session

STALE = {"Cache-Control": "max-age=0", "ETag": '"1"'}
DATE = "Mon, 01 Jan 2024 00:00:00 GMT"


@pytest.mark.parametrize("second", ["data", "download"])
def test_what_is_fresh_is_not_asked_for_again(origin, session, second):
    origin.on("/news", Answer(b"nothing new", headers=FRESH))
    one = session.fetch(origin.url("/news"))
    assert (one.status, one.body, one.is_hit) == (200, b"nothing new", False)
    assert one.header("Cache-Status") == "Ferry; fwd=uri-miss; fwd-status=200; stored"
    other = session.fetch(origin.url("/news"), type=second)
    assert (other.status, other.body, other.is_hit) == (200, b"nothing new", True)
    assert other.header("Cache-Status").startswith("Ferry; hit; ttl=")
    assert int(other.header("Age")) < 600
    assert other.task["countOfBytesReceived"] == len(b"nothing new")
    assert origin.count("/news") == 1


def test_a_download_is_answered_from_the_cache_but_does_not_fill_it(origin, session):
    """S-84"""
    origin.on("/news", Answer(b"nothing new", headers=FRESH))
    kinds = ["download", "download", "data", "download"]
    outcomes = [session.fetch(origin.url("/news"), type=type) for type in kinds]
    assert [each.is_hit for each in outcomes] == [False, False, False, True]
    assert outcomes[0].header("Cache-Status") == "Ferry; fwd=uri-miss; fwd-status=200"
    assert origin.count("/news") == 3


def test_the_answer_itself_can_come_from_the_cache(origin, session):
    """S-45"""
    origin.on("/news", Answer(b"nothing new", headers=FRESH | {"Content-Type": "text/plain"}))
    for _ in range(3):
        answer = session.answer(origin.url("/news"))
        assert (answer.status_code, answer.content) == (200, b"nothing new")
        assert answer.headers["Content-Type"] == "text/plain"
        assert answer.headers["Ferry-Task"].startswith("tsk_")
    assert origin.count("/news") == 1


@pytest.mark.parametrize("length", [0, 1, 32 * 1024, 32 * 1024 + 1, 1 << 20])
def test_bodies_of_any_size_come_back_whole(origin, session, length):
    body = bytes(index * 31 % 251 for index in range(length))
    origin.on("/sized", Answer(body, headers=FRESH))
    outcomes = [session.fetch(origin.url("/sized"), type=type) for type in ["data", "download"] * 2]
    assert [each.is_hit for each in outcomes] == [False, True, True, True]
    assert all(each.body == body for each in outcomes)
    assert origin.count("/sized") == 1


def test_what_is_larger_than_a_twentieth_of_the_tiers_is_not_kept(origin, gateway):
    """S-24"""
    small = Session(gateway, urlCache={"memoryCapacity": 100_000, "diskCapacity": 400_000})
    for path, size in [("/small", 4000), ("/middle", 18_000), ("/large", 25_000)]:
        origin.on(path, Answer(b"x" * size, headers=FRESH))
        for _ in range(2):
            assert small.fetch(origin.url(path)).body == b"x" * size
    assert [origin.count(path) for path in ["/small", "/middle", "/large"]] == [1, 1, 2]


def test_the_tiers_stay_within_their_capacity(origin, gateway):
    """S-24: those that were not used for the longest time go."""
    small = Session(gateway, urlCache={"memoryCapacity": 50_000, "diskCapacity": 50_000})
    origin.on("/item", lambda request: Answer(request.target.encode() * 100, headers=FRESH))
    urls = [origin.url(f"/item?number={number:03}") for number in range(100)]
    for url in urls:
        small.fetch(url)
        small.fetch(urls[0])
    usage = small.cache()
    assert 0 < usage["memoryUsage"] <= 50_000 and 0 < usage["diskUsage"] <= 50_000
    assert 0 < usage["entryCount"] < 100
    assert origin.count("/item") == 100, "the one that is used all the time was given up"
    assert small.fetch(urls[1]).is_hit is False and small.fetch(urls[-1]).is_hit is True


# Validation


def validated(etag='"1"', **changed):
    """Answers 304 to the validator; `changed` fields come with that."""

    def answer(request):
        if request["If-None-Match"] == etag:
            return Answer(status=304, headers={"ETag": etag, "X-Turn": "second"} | changed)
        headers = {"ETag": etag, "Last-Modified": DATE, "Cache-Control": "max-age=0"}
        return Answer(b"as it was", headers=headers | {"X-Turn": "first", "X-Stays": "yes"})

    return answer


@pytest.mark.parametrize("type", ["data", "download"])
def test_what_the_origin_confirms_is_a_200(origin, session, type):
    """RFC 9111 §4.3.4: the fields of the 304 take the place of those that were stored."""
    origin.on("/checked", validated())
    assert session.fetch(origin.url("/checked")).header("X-Turn") == "first"
    again = session.fetch(origin.url("/checked"), type=type)
    assert (again.status, again.body, again.is_hit) == (200, b"as it was", True)
    assert (again.header("X-Turn"), again.header("X-Stays")) == ("second", "yes")
    assert again.header("Cache-Status").startswith("Ferry; fwd=stale; fwd-status=304; stored")
    kinds = [
        (each["status"], each["resourceFetchType"])
        for each in again.task["metrics"]["transactions"]
    ]
    assert kinds == [(304, "networkLoad"), (200, "localCache")]
    first, second = origin.seen("/checked")
    assert (first["If-None-Match"], first["If-Modified-Since"]) == (None, None)
    assert (second["If-None-Match"], second["If-Modified-Since"]) == ('"1"', DATE)


def test_a_304_can_make_it_fresh(origin, session):
    origin.on("/checked", validated(**{"Cache-Control": "max-age=600"}))
    outcomes = [session.fetch(origin.url("/checked")) for _ in range(4)]
    assert [each.is_hit for each in outcomes] == [False, True, True, True]
    assert origin.count("/checked") == 2


def test_what_has_changed_takes_the_place_of_what_was(origin, session):
    origin.on("/turning", lambda _: Answer(b"%d" % origin.count("/turning"), headers=STALE))
    outcomes = [session.fetch(origin.url("/turning")) for _ in range(3)]
    assert [each.body for each in outcomes] == [b"1", b"2", b"3"]
    assert session.cache()["entryCount"] == 1


def test_the_clients_own_condition_is_answered_to_the_client(origin, session):
    """A 304 that it asked for is its result; nothing is made of it for others."""
    origin.on("/checked", validated())
    session.fetch(origin.url("/checked"))
    own = session.fetch(origin.url("/checked"), headers={"If-None-Match": '"1"'})
    assert (own.status, own.error) == (304, None)


def test_heuristic_freshness_is_a_tenth_of_the_age(origin, session):
    """RFC 9111 §4.2.2: last changed years ago, so fresh for months."""
    origin.on("/old", Answer(b"old", headers={"Last-Modified": DATE}))
    assert [session.fetch(origin.url("/old")).is_hit for _ in range(2)] == [False, True]
    assert origin.count("/old") == 1


# Keys


def test_variants_are_stored_side_by_side(origin, session):
    """RFC 9111 §4.1"""
    answer = lambda request: Answer(
        (request["X-Colour"] or "none").encode(), headers=FRESH | {"Vary": "X-Colour"}
    )
    origin.on("/painted", answer)
    for hit in [False, True]:
        for colour in ["blue", "red", None]:
            headers = {"X-Colour": colour} if colour else {}
            outcome = session.fetch(origin.url("/painted"), headers=headers)
            assert (outcome.body, outcome.is_hit) == ((colour or "none").encode(), hit)
    assert origin.count("/painted") == 3
    assert len(session.cache(origin.url("/painted"))["responses"]) == 3


def test_what_varies_by_anything_is_never_taken(origin, session):
    origin.on("/any", Answer(b"any", headers=FRESH | {"Vary": "*"}))
    assert [session.fetch(origin.url("/any")).is_hit for _ in range(2)] == [False, False]
    assert origin.count("/any") == 2


def test_coded_content_is_stored_as_it_came_and_decoded_each_time(origin, session):
    """S-76: a download asks for `identity`, and gets no coded bytes of a data task."""

    def answer(request):
        headers = FRESH | {"Vary": "Accept-Encoding"}
        if "gzip" not in (request["Accept-Encoding"] or ""):
            return Answer(b"plain " * 5000, headers=headers)
        packed = gzip.compress(b"coded " * 5000)
        return Answer(packed, headers=headers | {"Content-Encoding": "gzip"})

    origin.on("/coded", answer)
    for hit in [False, True, True]:
        data = session.fetch(origin.url("/coded"))
        assert (data.body, data.is_hit) == (b"coded " * 5000, hit)
        assert data.header("Content-Encoding") == "gzip"
        plain = session.fetch(origin.url("/coded"), headers={"Accept-Encoding": "identity"})
        assert (plain.body, plain.is_hit) == (b"plain " * 5000, hit)
        download = session.fetch(origin.url("/coded"), type="download")
        assert (download.body, download.is_hit) == (b"plain " * 5000, True)
        own = session.fetch(origin.url("/coded"), headers={"Accept-Encoding": "gzip, deflate, br"})
        assert gzip.decompress(own.body) == b"coded " * 5000
    assert origin.count("/coded") <= 3


# Unsafe methods


@pytest.mark.parametrize(
    "method, status, again",
    [("POST", 200, 2), ("PUT", 204, 2), ("DELETE", 200, 2), ("POST", 500, 1)],
)
def test_a_change_that_succeeds_invalidates(origin, session, method, status, again):
    """RFC 9111 §4.4"""

    def answer(request):
        safe = request.method == "GET"
        return Answer(b"thing", headers=FRESH) if safe else Answer(status=status)

    origin.on("/thing", answer)
    session.fetch(origin.url("/thing"))
    assert session.fetch(origin.url("/thing"), method=method).status == status
    session.fetch(origin.url("/thing"))
    assert len([each for each in origin.seen("/thing") if each.method == "GET"]) == again


def test_a_change_invalidates_where_its_location_points(origin, session):
    origin.on("/list", Answer(b"list", headers=FRESH))
    origin.on("/add", Answer(status=201, headers={"Location": "/list"}))
    session.fetch(origin.url("/list"))
    session.fetch(origin.url("/add"), type="upload", method="POST", body={"text": "new"})
    assert session.fetch(origin.url("/list")).is_hit is False


# Usage


def test_the_cache_tells_what_it_has_and_can_be_emptied(origin, session):
    origin.on("/one", Answer(b"x" * 1000, headers=FRESH))
    origin.on("/two", Answer(b"x" * 2000, headers=FRESH))
    assert session.cache()["entryCount"] == 0
    for path in ["/one", "/two"]:
        session.fetch(origin.url(path))
    usage = session.cache(origin.url("/two"))
    assert usage["entryCount"] == 2 and usage["memoryUsage"] + usage["diskUsage"] >= 3000
    (stored,) = usage["responses"]
    assert (stored["url"], stored["status"], stored["length"]) == (origin.url("/two"), 200, 2000)
    session.forget("cache")
    usage = session.cache()
    assert usage["entryCount"] == usage["memoryUsage"] == usage["diskUsage"] == 0
    assert session.fetch(origin.url("/one")).is_hit is False

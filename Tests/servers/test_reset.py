"""`reset` and `flush`, seen from the origin's sockets and on the disk (S-12, S-13)."""

import threading

import pytest

from daemon import eventually
from origin import FRESH, Answer
from session import Session

SPACE = {
    "host": "127.0.0.1",
    "protocol": "http",
    "realm": "cave",
    "authenticationMethod": "NSURLAuthenticationMethodHTTPBasic",
}
NEW = "reloadIgnoringLocalCacheData"


def filled(gateway, origin, type="default"):
    """A session that remembers one of each kind."""
    origin.on("/news", Answer(b"news", headers=FRESH | {"Set-Cookie": "id=1; Max-Age=600"}))
    session = Session(gateway, type)
    session.fetch(origin.url("/news"))
    persistence = "permanent" if type == "default" else "forSession"
    session.put(SPACE, user="u", password="p", persistence=persistence)
    assert counts(session) == [1, 1, 1]
    return session


def counts(session):
    """Cookies, credentials, responses."""
    return [len(session.cookies()), len(session.credentials()), session.cache()["entryCount"]]


@pytest.mark.parametrize("type", ["default", "ephemeral", "shared"])
def test_reset_forgets_all_and_takes_new_sockets(gateway, origin, type):
    if type == "shared":
        origin.on("/news", Answer(b"news", headers=FRESH | {"Set-Cookie": "id=1; Max-Age=600"}))
        session = Session(gateway, path="/v1/sessions/shared")
        session.fetch(origin.url("/news"))
    else:
        session = filled(gateway, origin, type)
    other = filled(gateway, origin)
    connections = origin.connections
    session.tell("reset")
    assert counts(session) == [0, 0, 0] and counts(other) == [1, 1, 1]
    assert session.fetch(origin.url("/news")).is_hit is False
    last = origin.seen("/news")[-1]
    assert last["Cookie"] is None and last.connection == connections + 1
    # The other session's socket is the one that it had.
    other.fetch(origin.url("/news"), policy=NEW)
    assert origin.connections == connections + 1


def test_flush_forgets_nothing_and_takes_new_sockets(gateway, origin):
    session = filled(gateway, origin)
    session.fetch(origin.url("/news"), policy=NEW)
    assert origin.connections == 1
    session.tell("flush")
    assert counts(session) == [1, 1, 1]
    session.fetch(origin.url("/news"), policy=NEW)
    assert [each.connection for each in origin.seen("/news")] == [1, 1, 2]
    assert origin.seen("/news")[-1]["Cookie"] == "id=1"


@pytest.mark.parametrize("verb", ["flush", "reset"])
def test_it_outlives_kill_9(own, origin, verb):
    session = filled(own, origin)
    session.tell(verb)
    own.kill9()
    own.restart()
    kept = verb == "flush"
    assert counts(session) == ([1, 1, 1] if kept else [0, 0, 0])
    assert session.fetch(origin.url("/news")).is_hit is kept


HEAD, TAIL = (bytes([letter]) * 300_000 for letter in b"ht")


def slow(origin):
    """Serves a download whose second half waits until `set` is called on what this gives."""
    gate = threading.Event()

    def pieces():
        yield HEAD
        gate.wait(20)
        yield TAIL

    def answer(request):
        headers = FRESH | {"ETag": '"1"', "Accept-Ranges": "bytes"}
        if request["Range"]:
            assert request["Range"].startswith("bytes=")
            start = int(request["Range"][6:].partition("-")[0])
            headers["Content-Range"] = f"bytes {start}-599999/600000"
            return Answer((HEAD + TAIL)[start:], 206, headers)
        return Answer(pieces=pieces(), length=600_000, headers=headers)

    origin.on("/slow", answer)
    return gate


def half_downloaded(gateway, session, origin):
    """A task that has received the first half."""
    task = session.start(origin.url("/slow"), type="download")
    count = lambda: gateway.get(f"/v1/tasks/{task}")["countOfBytesReceived"]
    eventually(lambda: count() == len(HEAD), "the first half")
    return task


@pytest.mark.parametrize("verb", ["flush", "reset"])
def test_a_running_download_goes_on_over_its_socket(gateway, origin, verb):
    gate = slow(origin)
    session = Session(gateway)
    task = half_downloaded(gateway, session, origin)
    session.tell(verb)
    gate.set()
    outcome = session.finish(task)
    assert (outcome.error, outcome.body) == (None, HEAD + TAIL)
    assert origin.count("/slow") == 1
    # A download does not fill the cache (S-84).
    assert session.cache()["entryCount"] == 0


@pytest.mark.parametrize("verb", ["flush", "reset"])
def test_the_part_of_a_running_download_is_on_disk(own, origin, verb):
    """A crash loses no byte of it: the next download goes on just there (S-35, S-56)."""
    gate = slow(origin)
    session = Session(own)
    task = half_downloaded(own, session, origin)
    session.tell(verb)
    own.kill9()
    gate.set()
    own.restart()
    error = session.finish(task).task["error"]
    assert error["code"] == -997
    blob = error["userInfo"]["NSURLSessionDownloadTaskResumeData"]
    path = f"{session.path}/tasks"
    again = own.post(path, 201, type="download", resume=True, resumeData=blob).json()
    outcome = session.finish(again["id"])
    assert (outcome.error, outcome.body) == (None, HEAD + TAIL)
    assert origin.seen("/slow")[-1]["Range"] == "bytes=300000-"


@pytest.mark.parametrize("verb", ["flush", "reset"])
def test_tasks_that_run_meanwhile_end_well(gateway, origin, verb):
    """Again and again, between and under forty tasks."""
    origin.on("/item", lambda request: Answer(request.target.encode() * 500, headers=FRESH))
    session = Session(gateway)
    urls = [origin.url(f"/item?{number % 10}") for number in range(40)]
    for _ in range(3):
        tasks = session.start_all([session.spec(url, type="download") for url in urls])
        session.tell(verb)
        for task, url in zip(tasks, urls):
            outcome = session.finish(task)
            assert outcome.error is None
            assert outcome.body == url.partition(str(origin.port))[2].encode() * 500
    session.tell("reset")
    assert counts(session) == [0, 0, 0]


def test_what_is_under_way_during_a_reset_is_not_stored(own, origin):
    """S-12: not then, not after kill -9; and the stores work on."""
    gate = threading.Event()

    def held(request):
        gate.wait(20)
        return Answer(request.target.encode() * 5000, headers=FRESH)

    origin.on("/held", held)
    session = filled(own, origin)
    urls = [origin.url(f"/held?{number}") for number in range(6)]
    specs = [session.spec(url, type=type) for url in urls for type in ["data", "download"]]
    tasks = session.start_all(specs)
    origin.wait("/held", 6)
    session.tell("reset")
    before = origin.count("/held")
    gate.set()
    outcomes = [session.finish(task) for task in tasks]
    assert all(outcome.error is None for outcome in outcomes)
    # Six were under way, the other six have had their slot after it.
    later = len(origin.seen("/held")[before:])
    assert session.cache()["entryCount"] <= later <= 6
    session.tell("reset")
    own.kill9()
    own.restart()
    assert counts(session) == [0, 0, 0]
    assert [session.fetch(urls[0]).is_hit for _ in range(2)] == [False, True]


@pytest.mark.parametrize("verb", ["flush", "reset"])
def test_an_invalidated_session_is_not_touched(gateway, origin, verb):
    """S-11"""
    session = filled(gateway, origin)
    session.invalidate()
    session.tell(verb, 410)

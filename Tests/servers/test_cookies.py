"""The jar of a session, as an origin and curl see it (S-21, S-25)."""

import datetime

import pytest

from daemon import run
from origin import Answer
from session import Session

SOON = (datetime.datetime.now() + datetime.timedelta(days=100)).strftime("%Y-%m-%dT00:00:00.000Z")


def setting(*cookies, location=None):
    """Sets cookies; sends on where a location is given."""
    headers = {"Set-Cookie": list(cookies)}
    if location:
        headers["Location"] = location
    return Answer(b"set", 302 if location else 200, headers)


def sent(origin, path="/echo"):
    """The `Cookie` field of the last request for a path."""
    return origin.seen(path)[-1]["Cookie"]


@pytest.fixture
def origin(origin):
    origin.on("/echo", Answer(b"echo"))
    return origin


@pytest.mark.parametrize("type", ["data", "download"])
def test_what_answers_set_is_sent_from_then_on(origin, session, type):
    origin.on("/login", setting("id=17", "theme=dark; Path=/echo", "gone=1; Max-Age=0"))
    session.fetch(origin.url("/echo"))
    assert sent(origin) is None
    session.fetch(origin.url("/login"), type=type)
    session.fetch(origin.url("/echo"), type=type)
    assert sent(origin) == "theme=dark; id=17"
    session.fetch(origin.url("/login"))
    assert sent(origin, "/login") == "id=17"


def test_every_hop_sets_and_sends(origin, session):
    """Computed anew for each request of the way (S-69)."""
    origin.on("/one", setting("one=1", location="/two"))
    origin.on("/two", setting("two=2", "one=; Max-Age=0", location="/three"))
    origin.on("/three", setting("three=3", location="/echo"))
    assert session.fetch(origin.url("/one")).body == b"echo"
    fields = [sent(origin, path) for path in ["/one", "/two", "/three", "/echo"]]
    assert fields == [None, "one=1", "two=2", "two=2; three=3"]


def test_an_answer_of_401_or_500_sets_too(origin, session):
    for status in [401, 404, 500]:
        origin.on(f"/{status}", Answer(status=status, headers={"Set-Cookie": f"c{status}=1"}))
        assert session.fetch(origin.url(f"/{status}")).status == status
    session.fetch(origin.url("/echo"))
    assert sent(origin) == "c401=1; c404=1; c500=1"


def test_the_requests_own_field_is_what_is_sent(origin, session):
    session.set_cookie("jar", "yes")
    session.fetch(origin.url("/echo"), headers={"Cookie": "own=yes"})
    assert sent(origin) == "own=yes"


@pytest.mark.parametrize(
    "configuration, first, third",
    [
        ({}, "first=1", None),
        ({"httpCookieAcceptPolicy": "always"}, "first=1", "third=1"),
        ({"httpCookieAcceptPolicy": "never"}, None, None),
        ({"httpShouldSetCookies": False}, None, None),
        ({"httpCookieStorage": None}, None, None),
    ],
)
def test_the_policy_says_whose_cookies_are_taken(origin, gateway, configuration, first, third):
    """S-21: 127.0.0.1 sends on to localhost, which is not the task's main document's."""
    session = Session(gateway, **configuration)
    target = origin.url("/third", host="localhost")
    origin.on("/first", setting("first=1", location=target))
    origin.on("/third", setting("third=1"))
    assert session.fetch(origin.url("/first")).body == b"set"
    session.fetch(origin.url("/echo"))
    assert sent(origin) == first
    session.fetch(origin.url("/echo", host="localhost"))
    assert sent(origin) == third
    kept = session.cookies()
    if configuration.get("httpShouldSetCookies") is False:
        assert [each["name"] for each in kept] == ["first"], "taken, though not sent"
    else:
        assert [each["name"] for each in kept] == [
            cookie.partition("=")[0] for cookie in [first, third] if cookie
        ]


def test_a_session_without_a_jar_takes_none_by_hand(gateway):
    """S-25"""
    session = Session(gateway, httpCookieStorage=None)
    refusal = session.set_cookie("a", status=409)
    assert refusal.json()["code"] == "no-storage"
    assert session.cookies() == []


def test_no_session_sees_anothers(origin, gateway):
    """S-1, S-2, S-4"""
    sessions = [Session(gateway), Session(gateway), Session(gateway, "ephemeral")]
    sessions += [Session(gateway, path="/v1/sessions/shared")]
    for number, session in enumerate(sessions):
        origin.on("/login", setting(f"whose={number}"))
        session.fetch(origin.url("/login"))
        session.set_cookie(f"by-hand-{number}")
    for number, session in enumerate(sessions):
        session.fetch(origin.url("/echo"))
        assert sent(origin) == f"whose={number}; by-hand-{number}=1"
    sessions[0].forget("cookies")
    counts = [len(session.cookies()) for session in sessions]
    assert counts == [0, 2, 2, 2]
    sessions[3].forget("cookies")


def test_a_cookie_for_a_domain_goes_to_it_and_not_to_its_parents(origin, session):
    """localhost is a public suffix of its own: only the host itself can be meant."""
    refusal = session.set_cookie("wide", domain="com", hostOnly=False, status=422)
    assert refusal.json()["code"] == "invalid-cookie"
    session.set_cookie("near", domain="localhost")
    session.set_cookie("secure", domain="127.0.0.1", secure=True)
    session.fetch(origin.url("/echo", host="localhost"))
    assert sent(origin) == "near=1"
    session.fetch(origin.url("/echo"))
    assert sent(origin) is None


def test_the_jar_is_listed_and_changed_by_hand(origin, session):
    session.set_cookie("b", "2", path="/echo")
    session.set_cookie("a", "1", expires="2099-01-01T00:00:00.000Z", httpOnly=True)
    session.set_cookie("c", "3", sameSite="strict")
    (b, a, c) = session.cookies()
    assert (b["name"], b["path"], b["expires"], b["hostOnly"]) == ("b", "/echo", None, True)
    # RFC 6265bis §5.5: 400 days at most.
    assert a["expires"] < "2099" and a["httpOnly"] and c["sameSite"] == "strict"
    session.fetch(origin.url("/echo"))
    assert sent(origin) == "b=2; a=1; c=3"
    assert [each["name"] for each in session.cookies("?path=/echo")] == ["b"]
    session.forget("cookies?name=a")
    session.set_cookie("c", "", expires="2001-01-01T00:00:00.000Z", status=204)
    assert [each["name"] for each in session.cookies()] == ["b"]
    session.forget("cookies")
    session.fetch(origin.url("/echo"))
    assert sent(origin) is None


# Netscape's file format

FIELDS = ["name", "value", "domain", "path", "expires", "secure", "httpOnly", "hostOnly"]


def test_a_file_makes_an_equal_jar(gateway, session):
    """But for `sameSite` and parts of a second, which it has no place for."""
    session.set_cookie("plain", "a b=c")
    session.set_cookie("dated", expires=SOON, httpOnly=True)
    session.set_cookie("wide", domain="example.org", hostOnly=False, secure=True, path="/deep")
    session.set_cookie("empty", "")
    other = Session(gateway)
    assert other.import_cookies(session.netscape()) == {"stored": 4, "faultCount": 0, "faults": []}
    listed = lambda jar: [[each[field] for field in FIELDS] for each in jar.cookies()]
    assert listed(other) == listed(session)
    assert other.netscape() == session.netscape()


def test_curl_sends_what_is_exported(origin, session, tmp_path):
    origin.on("/login", setting("id=17", "kept=yes; Max-Age=3600; HttpOnly", "deep=1; Path=/deep"))
    session.fetch(origin.url("/login"))
    session.fetch(origin.url("/echo"))
    file = tmp_path / "jar"
    file.write_text(session.netscape())
    run("curl", "-sS", "-b", str(file), origin.url("/echo"))
    by_curl, by_ferry = origin.seen("/echo")[::-1]
    assert set(by_curl["Cookie"].split("; ")) == set(by_ferry["Cookie"].split("; "))
    assert by_ferry["Cookie"] == "id=17; kept=yes"


def test_what_curl_has_kept_can_be_imported(origin, session, tmp_path):
    origin.on("/login", setting("id=17", "kept=yes; Max-Age=3600; HttpOnly", "deep=1; Path=/deep"))
    file = tmp_path / "jar"
    run("curl", "-sS", "-c", str(file), origin.url("/login"))
    assert session.import_cookies(file.read_text()) == {"stored": 3, "faultCount": 0, "faults": []}
    (kept,) = session.cookies("?name=kept")
    assert kept["httpOnly"] and kept["hostOnly"] and kept["expires"]
    session.fetch(origin.url("/echo"))
    assert set(sent(origin).split("; ")) == {"id=17", "kept=yes"}


def test_wrong_lines_are_told_and_others_taken(session):
    lines = ["# Netscape HTTP Cookie File", "", "only\ttwo", "com\tTRUE\t/\tFALSE\t0\ta\t1"]
    lines += ["127.0.0.1\tFALSE\t/\tFALSE\t0\tgood\t1"]
    result = session.import_cookies("\n".join(lines) + "\n")
    assert result["stored"] == 1 and [each["line"] for each in result["faults"]] == [3, 4]
    assert session.cookie_text() == "good=1"


# Over the end of the process


@pytest.mark.parametrize("end", ["SIGTERM", "kill -9"])
def test_a_default_sessions_jar_outlives_the_process(origin, own, end):
    """S-1, S-53: what was acknowledged is there, in its order; what was deleted is not."""
    session, ephemeral = Session(own), Session(own, "ephemeral")
    origin.on("/login", setting("set=1; Max-Age=3600", "gone=1; Max-Age=3600"))
    for turn in range(3):
        session.fetch(origin.url("/login"))
        session.set_cookie(f"by-hand-{turn}", expires=SOON)
        session.set_cookie("turning", str(turn), expires=SOON)
        session.forget("cookies?name=gone")
        before = session.cookies()
        own.stop() if end == "SIGTERM" else own.kill9()
        own.restart()
        assert session.cookies() == before
        session.fetch(origin.url("/echo"))
        assert sent(origin) == session.cookie_text()
        assert f"turning={turn}" in sent(origin) and "gone" not in sent(origin)
    assert own.client.get(ephemeral.path).status_code == 404

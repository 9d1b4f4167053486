"""Through a SOCKS proxy, whose word is recorded: what it was asked for, and what not (S-23)."""

import pytest

import nginx as nginx_module
from delegate import Delegate, trust
from gateway import Gateway
from origin import FRESH, Answer
from session import Session
from socks import Socks, Wish

VERSIONS = {"4": (4, "127.0.0.1"), "5": (5, "127.0.0.1"), "5h": (5, "localhost")}


@pytest.fixture
def socks():
    with Socks() as socks:
        yield socks


@pytest.fixture
def origin(origin):
    origin.on("/news", Answer(b"news"))
    return origin


@pytest.mark.parametrize("type", ["data", "download"])
@pytest.mark.parametrize("version", VERSIONS)
def test_who_looks_the_name_up(gateway, origin, socks, version, type):
    """By 4 and 5 the gateway does, by 5h the proxy."""
    session = Session(gateway, **socks.configuration(version))
    outcome = session.fetch(origin.url("/news", host="localhost"), type=type)
    assert (outcome.status, outcome.body) == (200, b"news")
    number, host = VERSIONS[version]
    assert socks.wishes == [Wish(number, host, origin.port)]
    assert outcome.task["metrics"]["transactions"][-1]["isProxyConnection"] is True


@pytest.mark.parametrize("version", VERSIONS)
def test_an_address_stays_one(gateway, origin, socks, version):
    session = Session(gateway, **socks.configuration(version))
    assert session.fetch(origin.url("/news")).body == b"news"
    assert socks.wishes == [Wish(VERSIONS[version][0], "127.0.0.1", origin.port)]


@pytest.mark.parametrize("version", VERSIONS)
def test_https_goes_through(gateway, nginx, socks, version):
    with Delegate(gateway, trust, **socks.configuration(version)) as delegate:
        assert delegate.fetch(nginx.url("good")).body == nginx_module.BODY
        assert delegate.fetch(nginx.url("self-signed")).body == nginx_module.BODY
    wishes = {(each.version, each.port) for each in socks.wishes}
    number = VERSIONS[version][0]
    assert wishes == {(number, nginx.ports["good"]), (number, nginx.ports["self-signed"])}


def test_an_upload_goes_through(gateway, origin, socks):
    origin.on("/take", lambda request: Answer(b"%d" % len(request.body)))
    session = Session(gateway, **socks.configuration("5h"))
    body = {"text": "the whole body " * 10_000}
    outcome = session.fetch(origin.url("/take"), type="upload", method="POST", body=body)
    assert outcome.body == b"150000" and len(socks.wishes) == 1


@pytest.mark.parametrize(
    "exception, host, is_direct",
    [
        ("localhost", "localhost", True),
        ("local*", "localhost", True),
        ("*.local", "localhost", False),
        ("127.0.0.0/8", "127.0.0.1", True),
        ("127.0.0.1", "127.0.0.1", True),
        ("10.0.0.0/8", "127.0.0.1", False),
        # A block is about URLs with an address, not about what a name turns out to be.
        ("127.0.0.0/8", "localhost", False),
    ],
)
@pytest.mark.parametrize("version", ["4", "5h"])
def test_exceptions_are_asked_directly(gateway, origin, socks, version, exception, host, is_direct):
    session = Session(gateway, **socks.configuration(version, exception))
    assert session.fetch(origin.url("/news", host=host)).body == b"news"
    assert len(socks.wishes) == (0 if is_direct else 1)


def test_every_hop_is_judged_anew(gateway, origin, socks):
    """A redirect leads out of the proxy, and back into it."""
    origin.on("/in", Answer(status=302, headers={"Location": origin.url("/out", "localhost")}))
    origin.on("/out", Answer(status=302, headers={"Location": origin.url("/news")}))
    session = Session(gateway, **socks.configuration("5h", "localhost"))
    assert session.fetch(origin.url("/in")).body == b"news"
    assert {each.host for each in socks.wishes} == {"127.0.0.1"}
    transactions = session.fetch(origin.url("/in")).task["metrics"]["transactions"]
    assert [each["isProxyConnection"] for each in transactions] == [True, False, True]


def test_sessions_with_and_without_a_proxy_do_not_meet(gateway, origin, socks):
    direct, through = Session(gateway), Session(gateway, **socks.configuration("5"))
    for _ in range(2):
        assert direct.fetch(origin.url("/news")).body == b"news"
        assert through.fetch(origin.url("/news")).body == b"news"
    assert len(socks.wishes) == 1
    assert len({each.connection for each in origin.seen("/news")}) == 2


def test_what_is_stored_needs_no_proxy(gateway, origin, socks):
    origin.on("/kept", Answer(b"kept", headers=FRESH))
    session = Session(gateway, **socks.configuration("5h"))
    assert [session.fetch(origin.url("/kept")).is_hit for _ in range(2)] == [False, True]
    assert len(socks.wishes) == 1


@pytest.mark.parametrize("version, code", [("4", 91), ("5", 2), ("5h", 5)])
def test_a_proxy_that_refuses_ends_the_task(gateway, origin, socks, version, code):
    socks.refusal = code
    session = Session(gateway, **socks.configuration(version))
    outcome = session.fetch(origin.url("/news"))
    assert outcome.task["error"]["domain"] == "NSURLErrorDomain" and outcome.status is None
    assert origin.count("/news") == 0 and len(socks.wishes) == 1


def denial(outcome):
    error = outcome.task["error"]
    return error["domain"], error["name"]


DENIED = ("FerryErrorDomain", "destinationDenied")


@pytest.mark.parametrize("version", VERSIONS)
def test_the_proxy_is_a_destination(origin, socks, version):
    """S-23, X-1: denied before a byte is sent, whatever lies behind it."""
    with Gateway(allowed=f"127.0.0.1/32:{origin.port}") as narrow:
        session = Session(narrow, **socks.configuration(version))
        outcome = session.fetch(origin.url("/news"))
        assert denial(outcome) == DENIED
        assert str(socks.port) not in str(outcome.task["error"])
    assert socks.connections == 0 and origin.count("/news") == 0


HOSTS = ["127.0.0.1", "localhost", "LOCALHOST.", "2130706433", "[::1]", "10.0.0.1"]


def test_behind_the_proxy_the_policy_holds(origin, socks):
    """S-23: the destination is judged by its name and, where it is looked up here, by address."""
    with Gateway(allowed=f"127.0.0.1/32:{socks.port}") as narrow:
        for version in VERSIONS:
            session = Session(narrow, **socks.configuration(version))
            for host in HOSTS:
                outcome = session.fetch(origin.url("/news", host=host))
                assert denial(outcome) == DENIED, f"{version} {host}"
    assert socks.wishes == [] and origin.count("/news") == 0


def test_redirects_behind_the_proxy_are_judged(origin, socks):
    """X-3"""
    origin.on("/leave", Answer(status=302, headers={"Location": "http://10.0.0.1/metadata"}))
    allowed = f"127.0.0.1/32:{socks.port}"
    with Gateway("--allow-destination", f"127.0.0.1/32:{origin.port}", allowed=allowed) as narrow:
        session = Session(narrow, **socks.configuration("5h"))
        assert denial(session.fetch(origin.url("/leave"))) == DENIED
    assert [each.port for each in socks.wishes] == [origin.port]

"""What a session remembers of credentials, at the servers that want them (S-25, S-67)."""

import pytest

import apache as apache_module
import nginx as nginx_module
import squid as squid_module
from delegate import Delegate, script, use
from session import Session

RIGHT = {"user": nginx_module.USER, "password": nginx_module.PASSWORD}
CHANGED = "session.didChangeCredentialStorage"


def basic(nginx, realm="Staff only"):
    """The protection space of nginx."""
    return {
        "host": "127.0.0.1",
        "port": nginx.ports["basic"],
        "protocol": "http",
        "realm": realm,
        "authenticationMethod": "NSURLAuthenticationMethodHTTPBasic",
    }


def users(log, marker, count):
    return [each["user"] for each in log.wait(marker, count)]


@pytest.mark.parametrize("type", ["data", "download", "upload"])
def test_what_was_put_in_answers_the_401(nginx, session, type):
    """S-66: default handling; nobody is asked."""
    session.put(basic(nginx), **RIGHT)
    path = f"/put-{type}"
    members = {"method": "POST", "body": {"text": "x"}} if type == "upload" else {}
    outcome = session.fetch(nginx.url("basic", path), type=type, **members)
    # nginx serves a file to no POST; the password has opened all the same.
    assert outcome.status == (405 if type == "upload" else 200)
    assert users(nginx.log, path, 2)[-1] == nginx_module.USER


def test_a_delegate_that_asks_is_proposed_it(gateway, nginx):
    """S-65: its name, without its secret; default handling takes it."""
    answer = script({"disposition": "performDefaultHandling"})
    with Delegate(gateway, answer) as delegate:
        Session(gateway, path=delegate.path).put(basic(nginx), **RIGHT, persistence="permanent")
        assert delegate.fetch(nginx.url("basic")).status == 200
        (question,) = delegate.questions()
        proposed = {"user": nginx_module.USER, "persistence": "permanent"}
        assert question.challenge["proposedCredential"] == proposed


def test_digest_is_answered_too(apache, gateway, session):
    space = {
        "host": "127.0.0.1",
        "port": int(apache.url("/").split(":")[2].strip("/")),
        "protocol": "http",
        "realm": "Vault",
        "authenticationMethod": "NSURLAuthenticationMethodHTTPDigest",
    }
    session.put(space, user=apache_module.USER, password=apache_module.PASSWORD)
    assert session.fetch(apache.url("/digest?stored")).status == 200
    accepted = apache.log.wait("/digest?stored", 2)[-1]
    assert accepted["authorization"].startswith("Digest ")


def test_a_proxy_is_answered_too(gateway, squid, nginx):
    port = squid.ports["basic"]
    proxy = {"HTTPEnable": True, "HTTPProxy": "127.0.0.1", "HTTPPort": port}
    session = Session(gateway, connectionProxyDictionary=proxy)
    space = {
        "host": "127.0.0.1",
        "port": port,
        "protocol": "http",
        "realm": squid_module.REALM,
        "authenticationMethod": "NSURLAuthenticationMethodHTTPBasic",
        "isProxy": True,
    }
    assert session.fetch(nginx.url("open", "/by-proxy")).status == 407
    session.put(space, user=squid_module.USER, password=squid_module.PASSWORD)
    assert session.fetch(nginx.url("open", "/by-proxy")).status == 200
    assert nginx.log.wait("/by-proxy", 1)[-1]["authorization"] == ""


def test_another_realm_or_session_gets_nothing(gateway, nginx, session):
    other = Session(gateway)
    session.put(basic(nginx, realm="Elsewhere"), **RIGHT)
    other.put(basic(nginx), **RIGHT)
    assert session.fetch(nginx.url("basic", "/nothing")).status == 401
    assert users(nginx.log, "/nothing", 1) == [""]
    assert [each["protectionSpace"]["realm"] for each in session.credentials()] == ["Elsewhere"]
    assert [each["protectionSpace"]["realm"] for each in other.credentials()] == ["Staff only"]


def test_it_is_listed_without_its_secret_and_forgotten_when_told(nginx, session):
    """The gateway's every answer is looked through for the password."""
    session.put(basic(nginx), **RIGHT, persistence="permanent")
    space = basic(nginx) | {"isProxy": False}
    assert session.credentials() == [
        {
            "protectionSpace": space,
            "user": nginx_module.USER,
            "persistence": "permanent",
            "isDefault": True,
        }
    ]
    session.forget(f"credentials?user={nginx_module.USER}")
    assert session.credentials() == []
    assert session.fetch(nginx.url("basic")).status == 401


def test_what_is_refused_is_dropped_and_told_once(gateway, nginx):
    """S-67: the event comes when something has really changed."""
    with Delegate(gateway, handles=None) as delegate:
        session = Session(gateway, path=delegate.path)
        changes = lambda: [each for each in delegate.events if each.name == CHANGED]
        session.put(basic(nginx), user=nginx_module.USER, password="wrong")
        delegate.wait(lambda: len(changes()) == 1, "the first change")
        assert delegate.fetch(nginx.url("basic", "/dropped")).status == 401
        assert session.credentials() == []
        delegate.wait(lambda: len(changes()) == 2, "the second change")
        session.forget("credentials")
        session.put(basic(nginx), **RIGHT)
        session.put(basic(nginx), **RIGHT)
        assert delegate.fetch(nginx.url("basic", "/dropped")).status == 200
        assert len(changes()) == 3
        assert {frozenset(each.data) for each in changes()} == {frozenset(["event", "session", "at"])}
        assert all(each.id for each in changes())


def test_permanent_is_over_kill_9_and_no_longer(own, nginx):
    """S-67, R-1: sealed on the disk; the others end with the process."""
    permanent, brief = Session(own), Session(own)
    permanent.put(basic(nginx), **RIGHT, persistence="permanent")
    brief.put(basic(nginx), **RIGHT, persistence="forSession")
    own.kill9()
    assert own.traces() == []
    own.restart()
    assert permanent.fetch(nginx.url("basic", "/permanent")).status == 200
    assert brief.credentials() == []
    assert brief.fetch(nginx.url("basic", "/permanent")).status == 401
    permanent.forget("credentials")
    own.kill9()
    own.restart()
    assert permanent.credentials() == []


def test_an_answer_to_a_question_can_be_remembered_for_good(own, nginx):
    answer = script(use(nginx_module.USER, nginx_module.PASSWORD, "permanent"))
    with Delegate(own, answer) as delegate:
        assert delegate.fetch(nginx.url("basic")).status == 200
        delegate.leave()
        own.kill9()
        own.restart()
        session = Session(own, path=delegate.path)
        (kept,) = session.credentials()
        assert (kept["user"], kept["persistence"]) == (nginx_module.USER, "permanent")
        delegate.follow()


@pytest.mark.parametrize(
    "type, configuration, persistence, status, code",
    [
        ("ephemeral", {}, "permanent", 422, "credential-not-usable"),
        ("default", {"urlCredentialStorage": None}, "forSession", 409, "no-storage"),
    ],
)
def test_what_cannot_be_remembered_is_refused(
    gateway, nginx, type, configuration, persistence, status, code
):
    session = Session(gateway, type, **configuration)
    refusal = session.put(basic(nginx), status, **RIGHT, persistence=persistence)
    assert refusal.json()["code"] == code
    assert session.credentials() == []

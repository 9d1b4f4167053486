"""squid asks: 407 on plain requests and on CONNECT (S-23, S-64)."""

import json

import pytest

import nginx as nginx_module
import squid as squid_module
from delegate import CANCEL, DEFAULT, REJECT, Delegate, script, trust, use
from gateway import Gateway
from session import Session

CAROL = use(squid_module.USER, squid_module.PASSWORD)
METHODS = {"basic": "HTTPBasic", "digest": "HTTPDigest", "ntlm": "NTLM"}


def through(squid, port):
    """The configuration of a session that goes through squid."""
    proxy = {}
    for prefix in ["HTTP", "HTTPS"]:
        proxy |= {f"{prefix}Enable": True, f"{prefix}Proxy": "127.0.0.1"}
        proxy[f"{prefix}Port"] = squid.ports[port]
    return {"connectionProxyDictionary": proxy}


def answering(*answers):
    """By a script, but for server trust, which is none of the proxy's business here."""
    decide = script(*answers)
    return lambda event: trust(event) if event.method == "ServerTrust" else decide(event)


def of_proxy(delegate):
    return [each for each in delegate.questions() if each.space["isProxy"]]


@pytest.mark.parametrize("server", ["open", "good"], ids=["plain", "connect"])
@pytest.mark.parametrize("scheme", METHODS)
def test_the_right_password_opens_the_proxy(gateway, squid, nginx, scheme, server):
    url = nginx.url(server, f"/by-{scheme}")
    with Delegate(gateway, answering(CAROL), **through(squid, scheme)) as delegate:
        result = delegate.fetch(url)
        assert (result.status, result.body) == (200, nginx_module.BODY)
        (question,) = of_proxy(delegate)
        assert question.name == "task.didReceiveChallenge"
        assert question.method == METHODS[scheme]
        assert question.challenge["failureResponse"]["status"] == 407
        space = question.space
        assert (space["host"], space["port"]) == ("127.0.0.1", squid.ports[scheme])
        assert space["protocol"] == "http"
        if scheme != "ntlm":
            assert space["realm"] == squid_module.REALM
    marker = url if server == "open" else f"localhost:{nginx.ports['good']}"
    accepted = [each for each in squid.log.wait(marker, 2) if each["status"] == 200]
    assert accepted and squid_module.USER in accepted[-1]["user"].lower()
    # What is the proxy's does not reach the server.
    entry = nginx.log.wait(f"/by-{scheme}", 1)[-1]
    assert entry["authorization"] == ""


@pytest.mark.parametrize("server", ["open", "good"], ids=["plain", "connect"])
@pytest.mark.parametrize("scheme", ["basic", "digest"])
def test_wrong_passwords_are_counted(gateway, squid, nginx, scheme, server):
    wrong = use(squid_module.USER, "over the wall")
    with Delegate(gateway, answering(wrong, wrong, CAROL), **through(squid, scheme)) as delegate:
        assert delegate.fetch(nginx.url(server)).status == 200
        counts = [each.challenge["previousFailureCount"] for each in of_proxy(delegate)]
        assert counts == [0, 1, 2]


@pytest.mark.parametrize("server", ["open", "good"], ids=["plain", "connect"])
def test_a_proxy_that_stays_shut(gateway, squid, nginx, server):
    """S-66: the 407 is the result, but for https, where it is no answer of the server's."""
    with Delegate(gateway, answering(DEFAULT), **through(squid, "basic")) as delegate:
        result = delegate.fetch(nginx.url(server, "/shut"))
        if server == "open":
            assert (result.status, result.error) == (407, None)
            assert "Cache Access Denied" in result.body
        else:
            assert result.status is None and result.error is not None
    assert nginx.log.requests("/shut") == []


def test_cancelling_at_the_proxy_ends_the_task(gateway, squid, nginx):
    with Delegate(gateway, answering(CANCEL), **through(squid, "basic")) as delegate:
        assert delegate.fetch(nginx.url("good")).error == -999


def test_the_proxy_offers_its_schemes_by_strength(gateway, squid, nginx):
    answers = answering(REJECT, REJECT, CAROL)
    with Delegate(gateway, answers, **through(squid, "all")) as delegate:
        assert delegate.fetch(nginx.url("open")).status == 200
        methods = [each.method for each in of_proxy(delegate)]
        assert methods == ["HTTPDigest", "NTLM", "HTTPBasic"]


def test_proxy_and_server_ask_one_after_the_other(gateway, squid, nginx):
    alice = use(nginx_module.USER, nginx_module.PASSWORD)
    with Delegate(gateway, answering(CAROL, alice), **through(squid, "digest")) as delegate:
        assert delegate.fetch(nginx.url("basic", "/both")).status == 200
        assert [each.space["isProxy"] for each in delegate.questions()] == [True, False]
    assert nginx.log.wait("/both", 2)[-1]["user"] == nginx_module.USER


def test_a_credential_for_the_session_opens_the_proxy_for_all(gateway, squid, nginx):
    kept = use(squid_module.USER, squid_module.PASSWORD, "forSession")
    decide = answering(kept)
    with Delegate(gateway, decide, **through(squid, "basic")) as delegate:
        for server in ["open", "good", "open"]:
            assert delegate.fetch(nginx.url(server)).status == 200


@pytest.mark.parametrize("server", ["open", "good"], ids=["plain", "connect"])
@pytest.mark.parametrize("scheme", ["basic", "digest"])
def test_a_proxy_that_has_accepted_is_told_at_once(gateway, squid, nginx, scheme, server):
    """S-83: on new connections too."""
    kept = use(squid_module.USER, squid_module.PASSWORD, "forSession")
    url = nginx.url(server, f"/at-once-{scheme}")
    marker = url if server == "open" else f"localhost:{nginx.ports['good']}"
    before = len(squid.log.requests(marker))
    members = through(squid, scheme) | {"urlCache": None}
    with Delegate(gateway, answering(kept), **members) as delegate:
        for _ in range(3):
            assert delegate.fetch(url).status == 200
            Session(gateway, path=delegate.path).tell("flush")
        assert len(of_proxy(delegate)) == 1
    statuses = [each["status"] for each in squid.log.wait(marker, before + 4)[before:]]
    # The first tunnel ends with the question whom to trust.
    assert statuses == [407] + [200] * (3 if server == "open" else 4)


@pytest.mark.parametrize("server", ["open", "good"], ids=["plain", "connect"])
@pytest.mark.parametrize("scheme", METHODS)
def test_many_tasks_go_through_the_proxy_at_once(gateway, squid, nginx, scheme, server):
    """Those of HTTP/2 meet on connections that others have made."""
    answer = lambda event: trust(event) if event.method == "ServerTrust" else CAROL
    with Delegate(gateway, answer, **through(squid, scheme)) as delegate:
        tasks = [delegate.start(nginx.url(server)) for _ in range(40)]
        results = [delegate.finish(task) for task in tasks]
        assert {(each.status, each.error) for each in results} == {(200, None)}


@pytest.mark.parametrize("server", ["open", "good"], ids=["plain", "connect"])
def test_a_proxy_is_a_destination_that_the_operator_may_deny(squid, nginx, server):
    """S-23, X-1: denied before a byte is sent, whatever lies behind it."""
    with Gateway(allowed=f"127.0.0.1/32:{nginx.ports[server]}") as narrow:
        with Delegate(narrow, handles=None, **through(squid, "basic")) as delegate:
            result = delegate.fetch(nginx.url(server, "/denied"))
            error = result.task["error"]
            assert (error["domain"], error["name"]) == ("FerryErrorDomain", "destinationDenied")
            assert str(squid.ports["basic"]) not in str(error)
    assert squid.log.requests("/denied") == []


@pytest.mark.parametrize("scheme", ["basic", "digest"])
def test_an_upload_through_the_proxy_is_sent_again_whole(gateway, squid, httpbin, scheme):
    text = "the whole body " * 10_000
    with Delegate(gateway, answering(CAROL), **through(squid, scheme)) as delegate:
        result = delegate.fetch(
            f"{httpbin}/post", type="upload", method="POST", body={"text": text}
        )
        assert result.status == 200 and json.loads(result.body)["data"] == text

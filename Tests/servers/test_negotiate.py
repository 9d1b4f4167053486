"""Negotiate by the operator's ticket cache (S-63), against Apache and a KDC."""

import pytest

import apache as apache_module
from daemon import SilentServer, eventually
from delegate import REJECT, Delegate, script, use
from gateway import Gateway
from kerberos import CLIENT, REALM


@pytest.fixture(scope="module")
def listed(kerberos, gateway_arguments):
    """A gateway whose operator has tickets, and lists the host `localhost`."""
    arguments = [*gateway_arguments, "--negotiate-host", "localhost"]
    with Gateway(*arguments, **kerberos.client_environment()) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def unlisted(kerberos):
    """A gateway whose operator has tickets, but lists no host."""
    with Gateway(**kerberos.client_environment()) as gateway:
        yield gateway


@pytest.mark.parametrize("handles", [None, ["challenge"]])
def test_a_listed_host_gets_a_ticket_without_a_question(listed, apache, handles):
    path = f"/kerberos?listed-{handles is None}"
    with Delegate(listed, script(), handles=handles) as delegate:
        result = delegate.fetch(apache.url(path, "localhost"))
        assert (result.status, result.body) == (200, apache_module.BODY)
        assert delegate.questions() == []
    entry = apache.log.wait(path, 1)[-1]
    assert (entry["status"], entry["user"]) == (200, "ferry@FERRY.TEST")


def test_another_name_of_the_host_is_not_listed(listed, apache):
    with Delegate(listed, script(REJECT)) as delegate:
        assert delegate.fetch(apache.url("/kerberos", "127.0.0.1")).status == 401
        assert [each.method for each in delegate.questions()] == ["Negotiate"]


def test_elsewhere_it_is_offered_and_takes_no_password(unlisted, apache):
    path = "/kerberos?unlisted"
    with Delegate(unlisted, lambda _: None) as delegate:
        task = delegate.start(apache.url(path, "localhost"))
        question = delegate.asked(task)
        assert question.name == "session.didReceiveChallenge"
        assert question.method == "Negotiate"
        refusal = delegate.reply(question, use("ferry", "a password"), 422)
        assert refusal.json()["code"] == "credential-not-usable"
        delegate.reply(question, REJECT)
        assert delegate.finish(task).status == 401
    # No ticket went out.
    assert {each["authorization"] for each in apache.log.wait(path, 1)} == {"-"}


def test_elsewhere_nobody_is_asked_who_does_not_want_to_be(unlisted, apache):
    with Delegate(unlisted, handles=None) as delegate:
        assert delegate.fetch(apache.url("/kerberos", "localhost")).status == 401


@pytest.mark.parametrize("server", ["open", "good"], ids=["plain", "connect"])
def test_a_listed_proxy_gets_a_ticket_without_a_question(listed, squid, nginx, server):
    proxy = {}
    for prefix in ["HTTP", "HTTPS"]:
        proxy |= {f"{prefix}Enable": True, f"{prefix}Proxy": "localhost"}
        proxy[f"{prefix}Port"] = squid.ports["negotiate"]
    with Delegate(listed, connectionProxyDictionary=proxy, handles=None) as delegate:
        assert delegate.fetch(nginx.url(server)).status == 200
    assert any(each["user"] == "ferry@FERRY.TEST" for each in squid.log.wait(":", 1))


def test_a_listed_host_that_there_is_no_ticket_for(kerberos, apache):
    """The tickets have gone: the 401 comes through, or is asked about."""
    environment = kerberos.client_environment() | {"KRB5CCNAME": f"FILE:{kerberos.folder}/none"}
    with Gateway("--negotiate-host", "localhost", **environment) as gateway:
        url = apache.url("/kerberos", "localhost")
        with Delegate(gateway, handles=None) as delegate:
            assert delegate.fetch(url).status == 401
        with Delegate(gateway, script(REJECT)) as delegate:
            assert delegate.fetch(url).status == 401
            assert [each.method for each in delegate.questions()] == ["Negotiate"]


def test_a_kdc_that_does_not_answer_holds_nobody_up(kerberos, apache, nginx):
    """While tickets are asked for everything goes on, and the task can be cancelled."""
    with SilentServer() as silent:
        realm = kerberos.write("silent.conf", CLIENT % dict(realm=REALM, port=silent.port))
        # Tickets for the realm, but none for the service.
        tickets = kerberos.tickets_of_user("silent")
        environment = {"KRB5_CONFIG": str(realm), "KRB5CCNAME": tickets}
        with Gateway("--negotiate-host", "localhost", **environment) as gateway:
            with Delegate(gateway, handles=None) as delegate:
                task = delegate.start(apache.url("/kerberos", "localhost"))
                eventually(silent.was_asked, "the KDC to be asked")
                gateway.client.timeout = 5
                assert delegate.fetch(nginx.url("open")).status == 200
                gateway.post(f"/v1/tasks/{task}/cancel", 200)
                assert delegate.finish(task).error == -999

"""nginx wants a certificate of the client (S-63), by TLS 1.2 and 1.3."""

import base64

import pytest

import nginx as nginx_module
from canaries import PASSPHRASE
from delegate import CANCEL, DEFAULT, REJECT, WITHOUT, Delegate, script, trust
from nginx import TLS12, TLS13

BOTH = pytest.mark.parametrize("protocol", [TLS12, TLS13])


def present(certificate, persistence="none"):
    credential = {"certificate": certificate, "persistence": persistence}
    return {"disposition": "useCredential", "credential": credential}


def pem(pair):
    return {"pem": pair.certificate, "key": pair.key}


def answering(*answers):
    """By a script, but for server trust, which is another test's business."""
    decide = script(*answers)
    return lambda event: trust(event) if event.method == "ServerTrust" else decide(event)


def wanted(delegate):
    return [each for each in delegate.questions() if each.method == "ClientCertificate"]


@BOTH
@pytest.mark.parametrize("form", ["pem", "pkcs12"])
def test_a_certificate_opens(gateway, nginx, authorities, protocol, form):
    pair = authorities.client("dora")
    certificate = pem(pair)
    if form == "pkcs12":
        data = base64.b64encode(pair.pkcs12(PASSPHRASE)).decode()
        certificate = {"pkcs12": data, "passphrase": PASSPHRASE}
    path = f"/{form}-{protocol}"
    with Delegate(gateway, lambda _: None) as delegate:
        task = delegate.start(nginx.url(f"client-on-{protocol}", path))
        delegate.reply(delegate.asked(task), trust(delegate.asked(task)))
        question = delegate.asked(task, 2)
        assert question.name == "session.didReceiveChallenge"
        assert question.method == "ClientCertificate"
        assert question.space["distinguishedNames"] == [authorities.subject]
        assert question.challenge["previousFailureCount"] == 0
        assert nginx.log.requests(path) == []
        delegate.reply(question, present(certificate))
        result = delegate.finish(task)
        assert (result.status, result.body) == (200, nginx_module.BODY)
    (entry,) = nginx.log.wait(path, 1)
    assert "CN=dora" in entry["subject"] and entry["tls"] == protocol


@BOTH
@pytest.mark.parametrize("answer", [WITHOUT, DEFAULT, REJECT])
def test_without_one_the_server_has_the_word(gateway, nginx, protocol, answer):
    with Delegate(gateway, answering(answer)) as delegate:
        result = delegate.fetch(nginx.url(f"client-on-{protocol}"))
        assert (result.status, result.error) == (400, None)
        assert "No required SSL certificate was sent" in result.body


@BOTH
def test_a_server_that_only_likes_to_have_one(gateway, nginx, authorities, protocol):
    url = nginx.url(f"client-optional-{protocol}")
    certificate = present(pem(authorities.client("dora")))
    with Delegate(gateway, answering(WITHOUT, certificate)) as delegate:
        verdicts = []
        for _ in range(2):
            result = delegate.fetch(url)
            assert result.status == 200
            verdicts += [
                value
                for name, value in result.task["response"]["headers"]
                if name.lower() == "x-verify"
            ]
        # The second task did not ride on a connection that was made without the certificate.
        assert verdicts == ["NONE", "SUCCESS"] and len(wanted(delegate)) == 2


@BOTH
def test_a_certificate_of_a_strange_authority_is_refused_by_the_server(
    gateway, nginx, authorities, protocol
):
    answer = present(pem(authorities.foreign_client()))
    with Delegate(gateway, answering(answer)) as delegate:
        result = delegate.fetch(nginx.url(f"client-on-{protocol}"))
        assert (result.status, result.error) == (400, None)
        assert "The SSL certificate error" in result.body


@BOTH
def test_cancelling_ends_the_task(gateway, nginx, protocol):
    with Delegate(gateway, answering(CANCEL)) as delegate:
        assert delegate.fetch(nginx.url(f"client-on-{protocol}")).error == -999


@BOTH
def test_a_certificate_for_the_session(gateway, nginx, authorities, protocol):
    kept = present(pem(authorities.client("dora")), "forSession")
    with Delegate(gateway, answering(kept, DEFAULT)) as delegate:
        for _ in range(2):
            assert delegate.fetch(nginx.url(f"client-on-{protocol}")).status == 200


def test_nobody_is_asked_where_it_is_not_declared(gateway, nginx):
    with Delegate(gateway, handles=None) as delegate:
        assert delegate.fetch(nginx.url(f"client-on-{TLS13}")).status == 400


def test_what_is_no_certificate_is_refused_and_the_question_stays(gateway, nginx, authorities):
    pair, other = authorities.client("dora"), authorities.client("emil")
    data = base64.b64encode(pair.pkcs12("right")).decode()
    useless = [
        {"pem": "no certificate", "key": pair.key},
        {"pem": pair.certificate, "key": other.key},
        {"pkcs12": data, "passphrase": "wrong"},
    ]
    answers = lambda event: trust(event) if event.method == "ServerTrust" else None
    with Delegate(gateway, answers) as delegate:
        task = delegate.start(nginx.url(f"client-on-{TLS13}"))
        question = delegate.asked(task, 2)
        for certificate in useless:
            refusal = delegate.reply(question, present(certificate), 422).json()
            assert refusal["code"] == "credential-not-usable"
            assert "wrong" not in refusal["detail"]
        delegate.reply(question, present(pem(pair)))
        assert delegate.finish(task).status == 200

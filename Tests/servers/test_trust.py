"""Server trust (S-75) against certificates that something is wrong with, and one that is good."""

import base64

import pytest

import nginx as nginx_module
from delegate import CANCEL, DEFAULT, REJECT, WITHOUT, Delegate, script, trust

# What is said of each, and the code of the task that does not accept it.
BAD = {
    "self-signed": ("self-signed certificate", -1203),
    "expired": ("certificate has expired", -1201),
    "wrong-host": ("hostname mismatch", -1202),
    "unknown-authority": ("unable to get local issuer certificate", -1203),
}


def fingerprint(pair):
    return f"sha-256=:{base64.b64encode(pair.fingerprint()).decode()}:"


@pytest.mark.parametrize("name", BAD)
def test_a_bad_certificate_is_shown_and_accepted_by_decision_only(gateway, nginx, name):
    path = f"/accepted-{name}"
    with Delegate(gateway, lambda _: None) as delegate:
        task = delegate.start(nginx.url(name, path))
        question = delegate.asked(task)
        assert question.name == "session.didReceiveChallenge"
        assert question.method == "ServerTrust"
        assert question.space["host"] == "localhost"
        assert question.space["port"] == nginx.ports[name]
        shown = question.space["serverTrust"]
        leaf = shown["certificates"][0]
        pair = nginx.certificates[name]
        assert leaf["fingerprint"] == fingerprint(pair)
        assert leaf["pem"].strip() in pair.certificate
        assert leaf["notAfter"].startswith(pair.leaf.not_valid_after_utc.strftime("%Y-%m-%dT%H:%M"))
        assert shown["evaluation"]["trusted"] is False
        words = [failure["message"] for failure in shown["evaluation"]["failures"]]
        assert any(BAD[name][0] in each for each in words), words
        if name in ["expired", "wrong-host"]:
            assert len(words) == 1, words
        # Nothing of a request has reached the server yet.
        assert nginx.log.requests(path) == []
        delegate.reply(question, trust(question))
        result = delegate.finish(task)
        assert (result.status, result.body) == (200, nginx_module.BODY)
        # Asked once, for this session.
        assert delegate.fetch(nginx.url(name, path)).status == 200
        assert len(delegate.questions()) == 1
    assert len(nginx.log.wait(path, 2)) == 2


@pytest.mark.parametrize("answer", [DEFAULT, WITHOUT, CANCEL, REJECT])
@pytest.mark.parametrize("name", BAD)
def test_a_bad_certificate_that_is_not_accepted_fails_the_task(gateway, nginx, name, answer):
    with Delegate(gateway, script(answer)) as delegate:
        result = delegate.fetch(nginx.url(name, "/refused"))
        assert (result.error, result.status) == (BAD[name][1], None)
        assert result.task["error"]["underlying"] is not None
    assert nginx.log.requests("/refused") == []


@pytest.mark.parametrize("handles", [None, ["redirect"]])
@pytest.mark.parametrize("name", BAD)
def test_nobody_is_asked_where_it_is_not_declared(gateway, nginx, name, handles):
    with Delegate(gateway, handles=handles) as delegate:
        assert delegate.fetch(nginx.url(name, "/undeclared")).error == BAD[name][1]
    assert nginx.log.requests("/undeclared") == []


def test_a_good_certificate_is_asked_about_once_and_default_handling_accepts_it(gateway, nginx):
    with Delegate(gateway, script(DEFAULT)) as delegate:
        for _ in range(2):
            assert delegate.fetch(nginx.url("good")).status == 200
        evaluation = delegate.questions()[0].space["serverTrust"]["evaluation"]
        assert evaluation == {"trusted": True, "failures": []}


def test_a_good_certificate_needs_nobody(gateway, nginx):
    with Delegate(gateway, handles=None) as delegate:
        result = delegate.fetch(nginx.url("good"))
        assert (result.status, result.task["response"]["httpVersion"]) == (200, "2")


def test_who_handles_task_challenges_only_gets_it_at_task_level(gateway, nginx):
    """S-63"""
    with Delegate(gateway, script(trust), handles=["taskChallenge"]) as delegate:
        assert delegate.fetch(nginx.url("self-signed")).status == 200
        assert delegate.questions()[0].name == "task.didReceiveChallenge"


def test_the_answer_holds_for_the_leaf_the_port_and_the_session(gateway, nginx):
    """Another session, and another leaf at another port of the host, are asked about."""
    with Delegate(gateway, script(trust, DEFAULT)) as delegate:
        assert delegate.fetch(nginx.url("self-signed")).status == 200
        assert delegate.fetch(nginx.url("unknown-authority")).error == -1203
    with Delegate(gateway, script(DEFAULT)) as other:
        assert other.fetch(nginx.url("self-signed")).error == -1203


def test_a_fingerprint_of_something_else_is_refused(gateway, nginx):
    with Delegate(gateway, lambda _: None) as delegate:
        task = delegate.start(nginx.url("self-signed"))
        question = delegate.asked(task)
        leaf = fingerprint(nginx.certificates["good"])
        wrong = {"disposition": "useCredential", "credential": {"serverTrust": leaf}}
        assert delegate.reply(question, wrong, 422).json()["code"] == "credential-not-usable"
        delegate.reply(question, CANCEL)
        assert delegate.finish(task).error == -1203


def test_tasks_that_meet_the_same_certificate_wait_for_one_answer(gateway, nginx):
    with Delegate(gateway, lambda _: None) as delegate:
        tasks = [delegate.start(nginx.url("self-signed", "/crowd")) for _ in range(5)]
        question = delegate.asked()
        delegate.reply(question, trust(question))
        assert [delegate.finish(task).status for task in tasks] == [200] * 5
        assert len(delegate.questions()) == 1

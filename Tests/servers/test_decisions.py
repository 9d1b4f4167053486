"""Redirects, responses, begin dates and streamed bodies (S-39, S-68…S-73)."""

import datetime
import time

import pytest

import apache as apache_module
import nginx as nginx_module
from daemon import eventually
from delegate import REJECT, Delegate, script, use

ALICE = use(nginx_module.USER, nginx_module.PASSWORD)
BOB = use(apache_module.USER, apache_module.PASSWORD)


def decide(disposition, **members):
    return {"disposition": disposition, **members}


# Redirects


def test_a_redirect_is_followed_as_proposed_or_elsewhere(gateway, httpbin):
    """S-68"""
    other = {"url": f"{httpbin}/anything/other", "method": "GET", "headers": {"X-Way": "mine"}}
    answers = script(decide("follow"), decide("follow", request=other))
    with Delegate(gateway, answers, handles=["redirect"]) as delegate:
        url = f"{httpbin}/redirect-to?url=/get"
        first = delegate.fetch(url)
        assert first.status == 200 and first.task["currentRequest"]["url"] == f"{httpbin}/get"
        question = delegate.questions()[0]
        assert question.name == "task.willPerformHTTPRedirection"
        assert question.data["response"]["status"] == 302
        assert question.data["request"]["url"] == f"{httpbin}/get"
        second = delegate.fetch(url)
        assert second.status == 200 and '"X-Way": "mine"' in second.body
        assert second.task["metrics"]["redirectCount"] == 1


def test_a_redirect_that_is_stopped_is_the_result(gateway, httpbin):
    with Delegate(gateway, script(decide("stop")), handles=["redirect"]) as delegate:
        result = delegate.fetch(f"{httpbin}/redirect-to?url=/get&status_code=307")
        assert (result.status, result.error, result.body) == (307, None, "")
        assert result.task["response"]["url"].endswith("status_code=307")


def test_every_hop_is_a_question_of_its_own(gateway, httpbin):
    answers = script(*[decide("follow")] * 3)
    with Delegate(gateway, answers, handles=["redirect"]) as delegate:
        assert delegate.fetch(f"{httpbin}/redirect/3").status == 200
        assert len(delegate.questions()) == 3


def test_a_password_and_then_a_redirect(gateway, nginx):
    answers = script(ALICE, decide("follow"))
    with Delegate(gateway, answers, handles=["challenge", "redirect"]) as delegate:
        result = delegate.fetch(nginx.url("basic", "/leave"))
        assert result.status == 200
        assert delegate.names(result.id)[1:3] == [
            "task.didReceiveChallenge",
            "task.willPerformHTTPRedirection",
        ]


# Responses


def test_a_response_can_be_allowed_cancelled_or_become_a_download(gateway, nginx):
    """S-70"""
    answers = [decide(each) for each in ["allow", "cancel", "becomeDownload"]]
    with Delegate(gateway, script(*answers), handles=["response"]) as delegate:
        allowed = delegate.fetch(nginx.url("open"))
        assert (allowed.status, allowed.body) == (200, nginx_module.BODY)
        assert delegate.fetch(nginx.url("open")).error == -999
        task = delegate.start(nginx.url("open"))
        became = lambda: [each for each in delegate.events if "BecomeDownload" in each.name]
        (change,) = delegate.wait(became, "the download")
        download = delegate.finish(change.data["downloadTask"])
        assert download.task["type"] == "download" and download.body == nginx_module.BODY
        state = gateway.get(f"/v1/tasks/{task}")
        assert (state["state"], state["error"]) == ("completed", None)
        assert state["becameTask"] == download.id
        assert delegate.names(task)[-1] == "task.didBecomeDownloadTask"


def test_nothing_of_the_body_is_delivered_before_the_decision(gateway, nginx):
    handles, seconds = ["response"], 3
    with Delegate(gateway, lambda _: None, handles, timeoutIntervalForRequest=seconds) as delegate:
        task = delegate.start(nginx.url("open"))
        question = delegate.asked(task)
        start = time.monotonic()
        eventually(lambda: time.monotonic() > start + 4, "more than the idle timer (S-18)")
        state = gateway.get(f"/v1/tasks/{task}")
        assert (state["waitingFor"], state["countOfBytesReceived"]) == ("decision", 0)
        delegate.reply(question, decide("allow"))
        assert delegate.finish(task).body == nginx_module.BODY


# Begin dates


@pytest.mark.parametrize("disposition", ["continue", "useNewRequest", "cancel"])
def test_the_client_has_a_last_word_when_the_begin_date_has_come(gateway, nginx, disposition):
    """S-72"""
    path = f"/begin-{disposition}"
    answer = decide(disposition)
    if disposition == "useNewRequest":
        answer["request"] = {"url": nginx.url("open", "/begin-other"), "method": "GET"}
    begin = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=0.3)
    with Delegate(gateway, script(answer), handles=["delayedRequest"]) as delegate:
        date = begin.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        result = delegate.fetch(nginx.url("open", path), earliestBeginDate=date)
        assert delegate.questions()[0].name == "task.willBeginDelayedRequest"
        assert delegate.questions()[0].data["at"] >= date
        assert result.error == (-999 if disposition == "cancel" else None)
    if disposition == "useNewRequest":
        assert len(nginx.log.wait("/begin-other", 1)) == 1
    if disposition == "continue":
        nginx.log.wait(path, 1)
    assert len(nginx.log.requests(path)) == (1 if disposition == "continue" else 0)


# Streamed bodies


def test_a_streamed_body_is_asked_for_again_after_the_challenge(gateway, apache):
    """S-39: by its generation."""
    text = b"piece by piece " * 5_000
    wrong = use(apache_module.USER, "wrong")
    passwords = script(wrong, BOB)

    def answer(event):
        if event.name == "task.needNewBodyStream":
            path = f"/v1/tasks/{event.task}/body?generation={event.data['generation']}"
            # The server may refuse before it has read the body: then the rest is not wanted.
            reply = gateway.client.put(path, content=text)
            assert reply.status_code in [204, 409], reply.text
            return None
        return passwords(event)

    with Delegate(gateway, answer, handles=["challenge", "bodyStream"]) as delegate:
        result = delegate.fetch(
            apache.url("/upload"),
            type="upload",
            method="POST",
            body={"stream": {"contentLength": len(text)}},
        )
        assert (result.status, result.body.encode()) == (200, text)
        asked = [each for each in delegate.events if each.name == "task.needNewBodyStream"]
        generations = [each.data["generation"] for each in asked]
        assert generations == list(range(1, len(generations) + 1)) and len(generations) >= 2
        assert result.task["bodyGeneration"] == generations[-1]


# Around decisions


def test_time_stands_still_while_a_decision_waits(gateway, nginx):
    """S-18: the idle timer does not run."""
    with Delegate(gateway, lambda _: None, timeoutIntervalForRequest=3) as delegate:
        task = delegate.start(nginx.url("basic"))
        question = delegate.asked(task)
        start = time.monotonic()
        eventually(lambda: time.monotonic() > start + 4, "more than the timer")
        delegate.reply(question, ALICE)
        assert delegate.finish(task).status == 200


def test_the_resource_timer_runs_while_a_decision_waits(gateway, nginx):
    """S-17, S-18"""
    with Delegate(gateway, lambda _: None, timeoutIntervalForResource=3) as delegate:
        task = delegate.start(nginx.url("basic"))
        question = delegate.asked(task)
        assert delegate.finish(task).error == -1001
        delegate.reply(question, ALICE, 410)


def test_decisions_go_on_while_a_session_ends(gateway, nginx):
    """S-11, S-9"""
    with Delegate(gateway, lambda _: None) as delegate:
        task = delegate.start(nginx.url("basic"))
        question = delegate.asked(task)
        gateway.post(f"{delegate.path}/invalidate", 202, mode="finishTasks")
        gateway.post(f"{delegate.path}/tasks", 410, type="data", request={"url": "http://a.test/"})
        delegate.reply(question, ALICE)
        assert delegate.finish(task).status == 200
        last = lambda: delegate.events[-1].name == "session.didBecomeInvalid"
        delegate.wait(last, "the end of the session")


def test_a_suspended_task_keeps_its_question(gateway, nginx):
    with Delegate(gateway, lambda _: None) as delegate:
        task = delegate.start(nginx.url("basic", "/suspended"))
        question = delegate.asked(task)
        gateway.post(f"/v1/tasks/{task}/suspend", 200)
        delegate.reply(question, ALICE)
        assert gateway.get(f"/v1/tasks/{task}")["state"] == "suspended"
        assert len(nginx.log.wait("/suspended", 1)) == 1
        gateway.post(f"/v1/tasks/{task}/resume", 200)
        assert delegate.finish(task).status == 200


@pytest.mark.parametrize("type", ["data", "download"])
@pytest.mark.parametrize("path", ["/long", "/endless"])
def test_a_401_that_was_held_is_the_result_with_its_whole_body(gateway, nginx, path, type):
    """S-66, also where the body is longer than what is kept in memory."""
    with Delegate(gateway, script(REJECT)) as delegate:
        result = delegate.fetch(nginx.url("basic", path), type=type)
        assert (result.status, result.error) == (401, None)
        assert result.body == (nginx_module.LONG if path == "/long" else nginx_module.ENDLESS)


def test_nothing_of_an_ephemeral_session_is_on_the_disk(gateway, nginx):
    """S-2: not even its questions."""
    with Delegate(gateway, lambda _: None, type="ephemeral") as delegate:
        task = delegate.start(nginx.url("basic", "/quoted-and-gone"))
        question = delegate.asked(task)
        delegate.reply(question, ALICE)
        assert delegate.finish(task).status == 200
    for path in (gateway.folder / "data").rglob("*"):
        assert not path.is_file() or b"/quoted-and-gone" not in path.read_bytes()

"""Decisions that wait: over kill -9, for nobody, for many, by the thousand (S-56, S-74)."""

import pathlib
import threading

import pytest

import nginx as nginx_module
from daemon import eventually
from delegate import Delegate, script, trust, use

ALICE = use(nginx_module.USER, nginx_module.PASSWORD)


def pending(gateway, delegate):
    return gateway.get(f"{delegate.path}/decisions")["decisions"]


def test_a_decision_outlives_kill_9(own, nginx):
    """S-56: listed as before, with its whole time once more, and good to be answered."""
    with Delegate(own, lambda _: None) as delegate:
        task = delegate.start(nginx.url("basic", "/killed"))
        question = delegate.asked(task)
        (before,) = pending(own, delegate)
        assert before["id"] == question.decision and before["state"] == "pending"
        delegate.leave()
        own.kill9()
        own.restart()
        (after,) = pending(own, delegate)
        assert after.pop("deadline") > before.pop("deadline")
        assert after == before
        assert own.get(f"/v1/tasks/{task}")["waitingFor"] == "decision"
        delegate.follow()
        delegate.reply(question, ALICE)
        result = delegate.finish(task)
        assert (result.status, result.body) == (200, nginx_module.BODY)


@pytest.mark.parametrize("server", ["self-signed", "client-on-TLSv1.3"])
def test_a_question_of_the_handshake_outlives_kill_9(own, nginx, server):
    with Delegate(own, lambda _: None) as delegate:
        task = delegate.start(nginx.url(server))
        question = delegate.asked(task)
        if server != "self-signed":
            delegate.reply(question, trust(question))
            question = delegate.asked(task, 2)
        delegate.leave()
        own.kill9()
        own.restart()
        delegate.follow()
        self_signed = server == "self-signed"
        without = {"disposition": "useCredential", "credential": None}
        delegate.reply(question, trust(question) if self_signed else without)
        assert delegate.finish(task).status == (200 if self_signed else 400)
        # What was accepted before is accepted still.
        assert len(delegate.questions(task)) == (1 if self_signed else 2)


def test_the_answer_that_was_given_before_kill_9_holds(own, nginx):
    """R-1: acknowledged is durable, in sealed form."""
    with Delegate(own, script(ALICE)) as delegate:
        task = delegate.start(nginx.url("basic"))
        delegate.asked(task)
        delegate.finish(task)
        delegate.leave()
        own.kill9()
        assert own.traces() == []
        own.restart()
        delegate.follow()
        assert own.get(f"/v1/tasks/{task}")["response"]["status"] == 200


def test_a_client_that_never_comes_back_leaves_it_to_the_default(gateway, nginx):
    with Delegate(gateway, lambda _: None, timeout=1) as delegate:
        basic = delegate.start(nginx.url("basic"))
        secure = delegate.start(nginx.url("self-signed"))
        questions = [delegate.asked(basic), delegate.asked(secure)]
        delegate.leave()
        for task in [basic, secure]:
            header = {"Prefer": "wait=10"}
            state = gateway.client.get(f"/v1/tasks/{task}", headers=header).json()
            assert state["state"] == "completed"
        assert gateway.get(f"/v1/tasks/{basic}")["response"]["status"] == 401
        assert gateway.get(f"/v1/tasks/{secure}")["error"]["code"] == -1203
        for question in questions:
            assert gateway.get(f"/v1/decisions/{question.decision}")["state"] == "expired"
            assert delegate.reply(question, ALICE, 410)


def test_the_first_of_many_answers_wins(gateway, nginx):
    """S-74"""
    with Delegate(gateway, lambda _: None) as delegate:
        task = delegate.start(nginx.url("basic"))
        question = delegate.asked(task)
        statuses = []
        start = threading.Barrier(4)

        def answer():
            start.wait()
            reply = gateway.client.post(f"/v1/decisions/{question.decision}", json=ALICE)
            statuses.append(reply.status_code)

        threads = [threading.Thread(target=answer) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(statuses) == [204, 409, 409, 409]
        assert delegate.finish(task).status == 200


def test_an_unknown_disposition_is_refused_and_the_question_stays(gateway, nginx):
    with Delegate(gateway, lambda _: None) as delegate:
        task = delegate.start(nginx.url("basic"))
        question = delegate.asked(task)
        refusal = delegate.reply(question, {"disposition": "shrug"}, 422).json()
        assert refusal["code"] == "unknown-disposition" and refusal["pointer"] == "/disposition"
        delegate.reply(question, ALICE)
        assert delegate.finish(task).status == 200


def test_a_cancelled_task_withdraws_its_question(gateway, nginx):
    with Delegate(gateway, lambda _: None) as delegate:
        task = delegate.start(nginx.url("basic"))
        question = delegate.asked(task)
        gateway.post(f"/v1/tasks/{task}/cancel", 200)
        assert delegate.finish(task).error == -999
        assert gateway.get(f"/v1/decisions/{question.decision}")["state"] == "withdrawn"
        assert pending(gateway, delegate) == []
        delegate.reply(question, ALICE, 410)


COUNT = 2000


def create(gateway, delegate, url, resume):
    """`COUNT` tasks, by arrays."""
    request = {"type": "data", "request": {"url": url}, "resume": resume}
    for _ in range(COUNT // 250):
        answer = gateway.client.post(f"{delegate.path}/tasks", json=[request] * 250)
        assert {each["status"] for each in answer.json()["results"]} == {201}


def waiting_count(gateway):
    """Tasks that wait for a decision."""
    count, cursor = 0, ""
    while cursor is not None:
        page = gateway.get(
            f"/v1/tasks?limit=500&cursor={cursor}" if cursor else "/v1/tasks?limit=500"
        )
        count += sum(each["waitingFor"] == "decision" for each in page["tasks"])
        cursor = page["nextCursor"]
    return count


def connections(gateway, port):
    """Connections of the gateway to a port of the origin's."""
    sockets = set()
    for entry in pathlib.Path(f"/proc/{gateway.identifier}/fd").iterdir():
        try:
            target = str(entry.readlink())
        except OSError:
            continue
        if target.startswith("socket:["):
            sockets.add(target[8:-1])
    found = 0
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[9] in sockets and fields[2].endswith(f":{port:04X}"):
            found += 1
    return found


# `brief` keeps no connection by itself. Tasks that meet the same certificate wait for one answer.
@pytest.mark.parametrize("server, questions", [("brief", COUNT + 1), ("self-signed", 1)])
def test_thousands_of_tasks_wait_in_little_memory_and_hold_no_connection(
    own, nginx, server, questions
):
    """At most 16 KiB for each above what a suspended task costs."""
    path = f"/thousands-{server}"
    url = nginx.url(server, path)
    with Delegate(own, lambda _: None, httpMaximumConnectionsPerHost=16) as delegate:
        # What is made once for all is there before anything is measured, and what fills up is full.
        delegate.asked(delegate.start(url))
        create(own, delegate, url, resume=False)
        waiting_count(own)
        start = own.resident()
        create(own, delegate, url, resume=False)
        waiting_count(own)
        idle = own.resident()
        create(own, delegate, url, resume=True)
        delegate.asked(count=questions, within=60)
        eventually(lambda: waiting_count(own) == COUNT + 1, "all of them to wait", 60)
        waiting = own.resident()
        cost = (waiting - idle) - (idle - start)
        print(f"idle {(idle - start) // COUNT}, waiting {(waiting - idle) // COUNT} bytes a task")
        assert cost / COUNT <= 16 * 1024, f"{cost // COUNT} bytes a task"
        assert len(pending(own, delegate)) == questions
        assert connections(own, nginx.ports[server]) == 0
        assert len(nginx.log.requests(path)) == (0 if server == "self-signed" else COUNT + 1)


def test_a_task_that_waits_for_its_response_decision_holds_its_connection(own, nginx):
    """S-56: it is live, and ends with a stop of the gateway."""
    with Delegate(own, lambda _: None, handles=["response"]) as delegate:
        task = delegate.start(nginx.url("open", "/long"))
        question = delegate.asked(task)
        assert connections(own, nginx.ports["open"]) == 1
        delegate.leave()
        own.kill9()
        own.restart()
        delegate.follow()
        assert delegate.finish(task).error == -997
        assert pending(own, delegate) == []
        delegate.reply(question, {"disposition": "allow"}, 410)

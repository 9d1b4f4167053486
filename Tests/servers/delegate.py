"""A client that answers from afar: follows a session's events, and decides by a function."""

import collections
import json
import threading
import time

import httpx
import httpx_sse

import canaries

DEFAULT = {"disposition": "performDefaultHandling"}
CANCEL = {"disposition": "cancelAuthenticationChallenge"}
REJECT = {"disposition": "rejectProtectionSpace"}
WITHOUT = {"disposition": "useCredential", "credential": None}


def use(user, password, persistence="none"):
    """The answer with a user's name and password."""
    credential = {"user": user, "password": password, "persistence": persistence}
    return {"disposition": "useCredential", "credential": credential}


def trust(event):
    """The answer that accepts the certificate that is shown."""
    leaf = event.space["serverTrust"]["certificates"][0]["fingerprint"]
    return {"disposition": "useCredential", "credential": {"serverTrust": leaf}}


def script(*answers):
    """Decides by these answers, one after another: values, or functions of the event."""
    remaining = iter(answers)

    def answer(event):
        chosen = next(remaining, None)
        assert chosen is not None, f"nobody expected {event}"
        return chosen(event) if callable(chosen) else chosen

    return answer


class Event:
    """One event of the session's stream."""

    def __init__(self, event):
        assert canaries.seen_in(event.data.encode()) == [], event.event
        self.name = event.event
        self.id = event.id
        self.text = event.data
        self.data = json.loads(event.data)

    def __repr__(self):
        return f"{self.name} {self.text}"

    @property
    def task(self):
        return self.data.get("task")

    @property
    def decision(self):
        """The id of the decision that it asks for, if it does."""
        decision = self.data.get("decision")
        return decision and decision["id"]

    @property
    def challenge(self):
        return self.data["challenge"]

    @property
    def space(self):
        return self.challenge["protectionSpace"]

    @property
    def method(self):
        return self.space["authenticationMethod"].removeprefix("NSURLAuthenticationMethod")


class Delegate:
    """A session whose events that ask are answered by `answer(event)`; None lets them wait."""

    def __init__(
        self,
        gateway,
        answer=None,
        handles=("challenge",),
        type="default",
        timeout=60,
        **configuration,
    ):
        self.gateway = gateway
        self._answer = answer or script()
        delegate = {"handles": list(handles), "decisionTimeout": timeout} if handles else None
        members = dict(type=type, configuration=configuration, delegate=delegate)
        session = gateway.post("/v1/sessions", 201, **members)
        self.path = session.headers["Location"]
        self.events = []
        self._changed = threading.Condition()
        self._problem = None
        self._is_over = False
        self._thread = None
        self.follow()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            self.gateway.post(f"{self.path}/invalidate", 202, mode="cancelTasks")
            self._thread.join(20)
            assert kind or not self._thread.is_alive(), "the stream of events did not end"
        finally:
            self.leave()
        if kind is None and self._problem:
            raise self._problem

    # Following

    def follow(self):
        """Reads the events from the last known one on, on a thread of its own."""
        after = self.events[-1].id if self.events else None
        stop = self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, args=[after, stop], daemon=True)
        self._thread.start()

    def leave(self):
        """No longer listens."""
        self._stop.set()

    def _follow(self, after, stop):
        client = self.gateway.client
        headers = {"Last-Event-ID": after} if after else {}
        query = "" if after else "?replay=all"
        try:
            # A connection of its own: nothing else may wait for it.
            with httpx.Client(
                base_url=client.base_url, headers=client.headers, timeout=60, trust_env=False
            ) as own:
                path = f"{self.path}/events{query}"
                with httpx_sse.connect_sse(own, "GET", path, headers=headers) as source:
                    for event in source.iter_sse():
                        if stop.is_set():
                            return
                        self._take(Event(event), own)
        except httpx.TransportError as error:
            if not stop.is_set():
                self._fail(error)
        except BaseException as error:
            self._fail(error)
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def _fail(self, error):
        with self._changed:
            self._problem = self._problem or error
            self._changed.notify_all()

    def _take(self, event, client):
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()
        answer = self._answer(event) if event.decision else None
        if answer is not None:
            answer = client.post(f"/v1/decisions/{event.decision}", json=answer)
            assert answer.status_code == 204, f"{event}: {answer.status_code} {answer.text}"

    def wait(self, look, what, within=60):
        """What `look` gives as soon as that is something; looks again after every event."""
        deadline = time.monotonic() + within
        with self._changed:
            while not (found := look()):
                if self._problem:
                    raise self._problem
                names = dict(collections.Counter(event.name for event in self.events))
                left = deadline - time.monotonic()
                assert left > 0, f"after {within} s still waiting for {what}: {names}"
                self._changed.wait(left)
            return found

    def asked(self, task=None, count=1, within=60):
        """Question number `count`, of one task or of the session."""
        look = lambda: self.questions(task)[count - 1 :]
        return self.wait(look, f"question {count}", within)[0]

    def questions(self, task=None):
        """The events that ask, so far."""
        return [each for each in self.events if each.decision and task in (None, each.task)]

    def names(self, task):
        """The names of a task's events; those that repeat as they like only once. That a wait is over
        is told where it outlives a commit, and left out."""
        names = [
            event.name
            for event in self.events
            if event.task == task and event.name != "task.didChange"
        ]
        repeated = ["task.didReceiveData", "download.didWriteData", "task.didSendBodyData"]
        return [
            name
            for index, name in enumerate(names)
            if name not in repeated or name not in names[:index]
        ]

    # Tasks

    def start(self, url, type="data", headers=None, method="GET", **members):
        """Starts a task; its id."""
        request = {"url": url, "method": method, "headers": headers or {}}
        answer = self.gateway.post(
            f"{self.path}/tasks", 201, type=type, request=request, resume=True, **members
        )
        return answer.json()["id"]

    def finish(self, task, within=60):
        """The task, after its last event."""
        end = lambda event: event.name == "task.didComplete" and event.task == task
        self.wait(lambda: list(filter(end, self.events)), f"the end of {task}", within)
        return Result(self.gateway, self.gateway.get(f"/v1/tasks/{task}"))

    def fetch(self, url, **members):
        """Starts a task and waits for its end."""
        return self.finish(self.start(url, **members))

    def reply(self, event, answer, status=204):
        """Answers a question by hand."""
        reply = self.gateway.client.post(f"/v1/decisions/{event.decision}", json=answer)
        assert reply.status_code == status, f"{reply.status_code} {reply.text}"
        return reply


class Result:
    """A task that has completed."""

    def __init__(self, gateway, task):
        self._gateway = gateway
        self.task = task
        self.id = task["id"]
        assert task["state"] == "completed"

    def __repr__(self):
        return json.dumps(self.task)

    @property
    def error(self):
        """The code of the task's error; None for none."""
        return self.task["error"] and self.task["error"]["code"]

    @property
    def status(self):
        """The status of the response; None without one."""
        return self.task["response"] and self.task["response"]["status"]

    @property
    def body(self):
        return self._gateway.content(self.id)

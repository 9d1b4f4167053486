"""Clients of a gateway that all work at once until its power fails, and know what was said."""

import collections
import threading
import time

import httpx

from daemon import eventually
from witness import UNKNOWN, Fact, File, Order, Place

SPACE = {
    "host": "127.0.0.1",
    "protocol": "http",
    "realm": "another cave",
    "authenticationMethod": "NSURLAuthenticationMethodHTTPBasic",
}
CONFIGURATION = {"httpMaximumConnectionsPerHost": 40, "timeoutIntervalForRequest": 20}
RETRY = {"attempts": 9, "statuses": [503]}
RETRY["backoff"] = {"initial": 0.5, "maximum": 1, "multiplier": 1}
BACKGROUND = ["small", "small", "slow", "busy", "broken", "locked", "put", "post"]
FOREGROUND = ["small", "small", "busy", "put", "post"]
BRIEF = ["small"]
FINISHED = "session.didFinishEvents"


class Crowd:
    """Works in a background session and in a default one, by a given chance."""

    def __init__(self, gateway, servant, receiver, chance):
        self.gateway = gateway
        self.servant = servant
        self.receiver = receiver
        self.chance = chance
        self.orders = []
        # Those that nobody has answered: they are sent once more, with the same key.
        self.unanswered = []
        self.files = {}
        # Which background session has a name.
        self.named = {}
        self.answered_decisions = set()
        # What was seen of each stream: of each id the name and the data.
        self.seen = {"/v1": {}}
        self.ids = set()
        # When the power failed.
        self.losses = []
        self.counts = collections.Counter()
        self._is_off = threading.Event()
        self._lock = threading.RLock()
        self._problems = []
        self._threads = []
        self._number = 0
        bound = {"url": receiver.url("/bound"), "events": ["*"]}
        delegate = {"handles": ["challenge"], "decisionTimeout": 3600}
        # One whose tasks go on by themselves, another that runs dry again and again, and one whose
        # tasks end with the gateway.
        self.background = self._open(
            BACKGROUND, type="background", identifier="power", delegate=delegate, webhooks=[bound]
        )
        self.brief = self._open(BRIEF, type="background", identifier="brief", delegate={})
        self.foreground = self._open(FOREGROUND, type="default")
        made = gateway.post("/v1/webhooks", 201, url=receiver.url("/all"), events=["*"]).json()
        self.webhooks = [made, *self.background.session["webhooks"]]
        for path, webhook in zip(["/all", "/bound"], self.webhooks):
            receiver.secrets[path] = webhook["secret"]
        # What each of them is told.
        self.streams = {"/all": "/v1", "/bound": self.background.path}

    def _open(self, kinds, **members):
        """Makes a session."""
        members["configuration"] = CONFIGURATION
        answer = self.gateway.post("/v1/sessions", 201, **members)
        place = Place(answer.json(), kinds, members)
        self.seen[place.path] = {}
        self._is_new(place.id)
        return place

    @property
    def places(self):
        return [self.background, self.brief, self.foreground]

    def _is_new(self, id):
        """No id is given twice."""
        with self._lock:
            assert id not in self.ids, f"{id} was given before"
            self.ids.add(id)

    # Work, each client on a thread of its own

    def work(self, seconds):
        """Everybody works for so long, and does not stop then."""
        self._is_off.clear()
        for path in self.seen:
            ready = threading.Event()
            self._start(self._follow, path, ready)
            assert ready.wait(30), f"no events of {path}"
        self._ask_again()
        for place in self.background, self.foreground:
            self._start(self._repeat, self._order, place)
        self._start(self._repeat, self._order_alone)
        for place in self.places:
            self._start(self._repeat, self._furnish, place)
        self._start(self._repeat, self._stage)
        self._start(self._repeat, self._decide)
        self._start(self._repeat, self._end)
        self._start(self._repeat, self._look)
        time.sleep(seconds)

    def leave(self, lose_power):
        """The power fails under all that they do."""
        self._is_off.set()
        self.losses.append(time.monotonic())
        lose_power()
        for thread in self._threads:
            thread.join(40)
            assert not thread.is_alive(), "a client still waits"
        self._threads = []
        if self._problems:
            raise self._problems[0]

    def _start(self, work, *arguments):
        def run():
            try:
                with self.gateway.connect() as client:
                    work(client, *arguments)
            except BaseException as error:
                self._problems.append(error)

        thread = threading.Thread(target=run, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _repeat(self, client, act, *arguments):
        while not self._is_off.is_set() and not self._problems:
            act(client, *arguments)
            time.sleep(self.chance.uniform(0, 0.05))

    def _follow(self, client, path, ready):
        """Reads a stream from what was read last."""
        seen = self.seen[path]
        headers = {"Last-Event-ID": list(seen)[-1]} if seen else {}
        query = "" if seen else "?replay=all"
        try:
            with client.stream("GET", f"{path}/events{query}", headers=headers) as stream:
                assert stream.status_code == 200
                ready.set()
                event = {}
                for line in stream.iter_lines():
                    name, _, value = line.partition(": ")
                    if name:
                        event[name] = value
                        continue
                    assert event.get("event") != "reset", "events are missing"
                    # Progress has no id.
                    if id := event.get("id"):
                        assert id not in seen, f"{id} came twice"
                        seen[id] = (event["event"], event["data"])
                    event = {}
        except httpx.TransportError:
            if not self._is_off.is_set():
                raise

    def _tell(self, client, method, path, *statuses, **request):
        """The answer, which has one of the statuses; None where the power failed before it."""
        try:
            answer = client.request(method, path, **request)
        except httpx.TransportError:
            if not self._is_off.is_set():
                raise
            return None
        status = answer.status_code
        assert status in statuses, f"{method} {path}: {status} {answer.text}"
        return answer

    def _order(self, client, place):
        """Creates a task, sometimes with a file that it sends."""
        with self._lock:
            self._number += 1
            number = self._number
            kind = self.chance.choice(place.kinds)
            running = [each for each in self.orders if each.kind == "slow" and not each.end]
            if kind == "slow" and len(running) > 5:
                kind = "small"
            length = self.chance.choice([0, 100, 4096, 70_000, 600_000])
            if kind == "slow":
                length = 10_000_000
        target = f"/{kind}?number={number}&length={length}"
        request = {"url": self.servant.url(target)}
        spec = {"type": "download", "request": request, "resume": True, "retry": RETRY}
        spec |= {"description": f"number {number}", "computeDigest": kind != "post"}
        if kind in ("put", "post"):
            file = self._stage_whole(client, self.chance.randbytes(length))
            if file is None:
                return
            request["method"] = kind.upper()
            spec |= {"type": "upload", "body": {"file": file}}
        if not place.is_background and kind != "busy":
            del spec["retry"]
        with self._lock:
            order = Order(place, kind, target, spec, spec["description"])
            self.unanswered.append(order)
        self._send(client, order)

    def _order_alone(self, client):
        """Creates a task once it is told that the session has run dry after the one before."""
        names = [name for name, _ in list(self.seen[self.brief.path].values())]
        if names.count(FINISHED) == len(self.orders_of(self.brief)):
            self._order(client, self.brief)

    def orders_of(self, place):
        with self._lock:
            return [each for each in self.orders if each.session is place]

    def _send(self, client, order):
        path = f"{order.session.path}/tasks"
        headers = {"Idempotency-Key": order.key}
        answer = self._tell(client, "POST", path, 201, json=order.spec, headers=headers)
        if answer is None:
            return
        order.task = answer.json()
        self._is_new(order.task["id"])
        with self._lock:
            self.unanswered.remove(order)
            self.orders.append(order)
        order.show(order.task)

    def _ask_again(self):
        """What nobody has answered is created now, or was before (R-10)."""
        for order in self.unanswered[:]:
            self._send(self.gateway.client, order)

    def _stage_whole(self, client, bytes):
        """The id of a file, which is sent whole or in two parts; None where the power failed."""
        if self.chance.random() < 0.5 or not bytes:
            headers = {"Upload-Complete": "?1"}
            answer = self._tell(client, "POST", "/v1/files", 201, content=bytes, headers=headers)
            return answer and self._has_staged(answer, bytes, len(bytes))
        half = len(bytes) // 2
        headers = {"Upload-Complete": "?0"}
        answer = self._tell(client, "POST", "/v1/files", 201, content=bytes[:half], headers=headers)
        if answer is None:
            return None
        id = self._has_staged(answer, bytes, half)
        headers = {"Upload-Complete": "?1", "Upload-Offset": str(half)}
        rest = {"content": bytes[half:], "headers": headers}
        if not self._tell(client, "PATCH", f"/v1/files/{id}", 204, **rest):
            return None
        self.files[id].count = len(bytes)
        return id

    def _has_staged(self, answer, bytes, count):
        id = answer.json()["id"]
        self._is_new(id)
        self.files[id] = File(bytes, count)
        return id

    def _stage(self, client):
        """Stages a file, and forgets some."""
        length = self.chance.choice([10, 5000, 200_000])
        id = self._stage_whole(client, self.chance.randbytes(length))
        if id and self.chance.random() < 0.5:
            self._change(client, self.files[id].is_deleted, True, "DELETE", f"/v1/files/{id}")

    def _furnish(self, client, place):
        """Changes what a session remembers."""
        what = self.chance.choice(["description", "cookie", "cookie", "user", "name"])
        name, value = f"name{self.chance.randrange(6)}", f"{self.chance.random()}"
        if what == "name":
            self._found_or_end(client, f"{name} beside {place.id}")
        elif what == "description":
            body = {"description": value}
            self._change(client, place.description, value, "PATCH", place.path, json=body)
        elif what == "cookie":
            fact = place.cookies.setdefault(name, Fact())
            path = f"{place.path}/cookies"
            if fact.value is None or self.chance.random() < 0.7:
                cookie = {"name": name, "value": value, "domain": "127.0.0.1"}
                self._change(client, fact, value, "POST", path, json=cookie)
            else:
                self._change(client, fact, None, "DELETE", f"{path}?name={name}")
        else:
            fact = place.users.setdefault(name, Fact())
            path = f"{place.path}/credentials"
            if fact.value is None:
                entry = {"protectionSpace": SPACE, "user": name, "password": value}
                entry["persistence"] = "permanent"
                self._change(client, fact, name, "PUT", path, json=entry)
            else:
                self._change(client, fact, None, "DELETE", f"{path}?user={name}")

    def _found_or_end(self, client, name):
        """Makes a background session of a name, or ends it."""
        fact = self.named.setdefault(name, Fact())
        if fact.value:
            path = f"/v1/sessions/{fact.value}/invalidate"
            self._change(client, fact, None, "POST", path, json={"mode": "cancelTasks"})
            return
        body = {"type": "background", "identifier": name, "delegate": {}}
        fact.ask(UNKNOWN)
        if answer := self._tell(client, "POST", "/v1/sessions", 201, json=body):
            self._is_new(id := answer.json()["id"])
            fact.ask(id)
            fact.acknowledge()

    def _change(self, client, fact, value, method, path, **request):
        fact.ask(value)
        if self._tell(client, method, path, 200, 201, 202, 204, **request):
            fact.acknowledge()

    def _decide(self, client):
        """Answers a question of a task."""
        path = f"{self.background.path}/decisions"
        answer = self._tell(client, "GET", path, 200)
        waiting = answer.json()["decisions"] if answer else []
        if waiting and self.chance.random() < 0.3:
            self._answer(client, self.chance.choice(waiting)["id"])

    def _answer(self, client, decision):
        credential = {"user": "u", "password": "p", "persistence": "none"}
        body = {"disposition": "useCredential", "credential": credential}
        # Its task may have been cancelled meanwhile.
        answer = self._tell(client, "POST", f"/v1/decisions/{decision}", 204, 410, json=body)
        if answer and answer.status_code == 204:
            with self._lock:
                assert decision not in self.answered_decisions, f"{decision} was answered before"
                self.answered_decisions.add(decision)

    def _pick(self):
        """One of the tasks that are there, by chance; None where there is none."""
        with self._lock:
            there = [each for each in self.orders if not each.is_deleted.value]
            return self.chance.choice(there) if there else None

    def _end(self, client):
        """Describes, suspends, resumes, cancels or forgets a task."""
        order = self._pick()
        if order is None:
            return
        with order.lock:
            what = self.chance.random()
            if what < 0.5:
                value = f"{self.chance.random()}"
                body = {"description": value}
                self._change(client, order.description, value, "PATCH", order.path, json=body)
            elif what < 0.6 and order.kind != "slow":
                self._suspend(client, order)
            elif what < 0.7 and order.end is None and order.kind != "slow":
                order.is_cancelled = True
                if answer := self._tell(client, "POST", f"{order.path}/cancel", 200):
                    order.show(answer.json())
                    order.must_be_cancelled = order.end is None
            elif what > 0.9 and order.end:
                self._change(client, order.is_deleted, True, "DELETE", order.path)

    def _suspend(self, client, order):
        """Suspends a task, or resumes it."""
        verb, count = ("suspend", 1) if order.suspend_count.value == 0 else ("resume", 0)
        self._change(client, order.suspend_count, count, "POST", f"{order.path}/{verb}")

    def _look(self, client):
        """Looks at a task, and at its content where it is whole."""
        if order := self._pick():
            with order.lock:
                self.look_at(client, order, self.chance.random() < 0.3)

    def look_at(self, client, order, with_content):
        """What is shown of a task stays like that, and its content is what the origin has."""
        answer = self._tell(client, "GET", order.path, 200, 404)
        if answer is None:
            return
        order.is_deleted.expect(answer.status_code == 404, order)
        if answer.status_code == 404:
            return
        order.show(answer.json())
        if with_content and order.end and order.end[0] is None:
            if answer := self._tell(client, "GET", f"{order.path}/content", 200):
                assert answer.content == order.content, f"{order} has another content"
                self.counts["contents"] += 1

    def settle(self, place):
        """Answers what the tasks of a session ask, until none is outstanding."""
        client = self.gateway.client
        self._ask_again()
        for order in self.orders:
            if order.session is place and order.suspend_count.value and not order.end:
                self._suspend(client, order)

        def is_settled():
            for decision in self.gateway.get(f"{place.path}/decisions")["decisions"]:
                self._answer(client, decision["id"])
            return not self.gateway.get(f"{place.path}/tasks")["tasks"]

        eventually(is_settled, f"the end of all tasks of {place.path}", 90)

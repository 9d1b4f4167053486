"""What clients of a gateway know for sure, because it was acknowledged or shown to them."""

import base64
import hashlib
import random
import threading
import time
import urllib.parse

from origin import Answer

NETWORK_LOST, CANCELLED, STOPPED = -1005, -999, -997
# The origin sends a piece of a slow body in each of these times, 1.6 MB in a second.
PAUSE = 0.02
PIECE = 32 << 10
# A second of a download may be lost. A busy disk comes to it later, and what the kernel still
# holds for the gateway has been sent, too.
LOST_SECONDS = 4


def length_of(target):
    return int(urllib.parse.parse_qs(urllib.parse.urlsplit(target).query)["length"][0])


def body(target):
    """What is at a target of the origin: no piece of it is anywhere else."""
    return random.Random(target).randbytes(length_of(target))


def digest(content):
    return "sha-256=:" + base64.b64encode(hashlib.sha256(content).digest()).decode() + ":"


# Stands for a value, not None, that nobody has been told.
UNKNOWN = object()


class Fact:
    """A value that one client changes: the acknowledged one, or one that was asked for since."""

    def __init__(self, value=None):
        self._possible = [value]

    def ask(self, value):
        self._possible.append(value)

    def acknowledge(self):
        """The value that was asked for last is in force."""
        self._possible = self._possible[-1:]

    @property
    def value(self):
        """The last one that was asked for."""
        return self._possible[-1]

    def expect(self, found, what):
        """What is shown stays."""
        is_possible = found in self._possible or (found is not None and UNKNOWN in self._possible)
        assert is_possible, f"{what}: {found}, not one of {self._possible}"
        self._possible = [found]


class Order:
    """A task as it was asked for; `task` is the first answer, None while none has come."""

    def __init__(self, session, kind, target, spec, description):
        self.session = session
        self.kind = kind
        self.target = target
        self.spec = spec
        self.key = f'"{target}"'
        self.description = Fact(description)
        self.is_deleted = Fact(False)
        self.suspend_count = Fact(0)
        # Whether somebody has asked for its end, and whether that was acknowledged.
        self.is_cancelled = False
        self.must_be_cancelled = False
        # Held by who speaks of it, so that answers are heard in their order.
        self.lock = threading.Lock()
        self.task = None
        # How it has ended, as somebody was shown it.
        self.end = None

    def __repr__(self):
        return f"{self.kind} {self.target} {self.task and self.task['id']}"

    @property
    def path(self):
        return f"/v1/tasks/{self.task['id']}"

    @property
    def content(self):
        """What it brings where it ends well."""
        return b"taken" if self.kind in ("put", "post") else body(self.target)

    def may_end_with(self, error):
        """Whether an error, or None, can come of it."""
        if error is None:
            return True
        if error == CANCELLED:
            return self.is_cancelled
        # What is not idempotent is not sent twice; foreground tasks do not go on (S-56).
        return error == NETWORK_LOST and self.kind == "post" or (
            error == STOPPED and not self.session.is_background
        )

    def show(self, task):
        """Somebody is shown it."""
        for name in "id", "session", "number", "type", "createdAt", "originalRequest", "retry":
            assert task[name] == self.task[name], f"{self}: {name}"
        self.description.expect(task["description"], self)
        if task["state"] != "completed":
            assert self.end is None, f"{self} had ended: {self.end}, and now {task}"
            self.suspend_count.expect(task["suspendCount"], self)
            assert task["state"] == "canceling" or not self.must_be_cancelled, f"{self}: {task}"
            return
        error = task["error"] and task["error"]["code"]
        end = (error, task["content"], task["completedAt"])
        assert self.end in (None, end), f"{self} had ended: {self.end}, and now {end}"
        assert self.may_end_with(error), f"{self}: {task['error']}"
        assert error == CANCELLED or not self.must_be_cancelled, f"{self}: {task['error']}"
        self.end = end
        if error is None:
            assert task["content"]["length"] == len(self.content), f"{self}: {task['content']}"
            if self.spec.get("computeDigest"):
                assert task["content"]["digest"] == digest(self.content), f"{self}"


class File:
    """A staged file: all its bytes, and how many of them are acknowledged."""

    def __init__(self, bytes, count):
        self.bytes = bytes
        self.count = count
        self.is_deleted = Fact(False)


class Place:
    """A session, and what clients have put into it."""

    def __init__(self, session, kinds, members):
        self.id = session["id"]
        self.session = session
        # What it was made of.
        self.members = members
        # The kinds of its tasks.
        self.kinds = kinds
        self.is_background = session["type"] == "background"
        self.path = session["links"]["self"]
        self.description = Fact(session["description"])
        self.cookies = {}
        self.users = {}


class Servant:
    """What the origin does, and what it has seen."""

    def __init__(self, origin):
        self.origin = origin
        self._lock = threading.Lock()
        # Of each target: when which part of its body has left, a list for each request.
        self.sent = {}
        # The bodies that were taken, and how often one was refused.
        self.taken = {}
        self.refused = {}
        for kind in "small", "slow", "broken":
            origin.on(f"/{kind}", self._give)
        origin.on("/busy", self._give_later)
        origin.on("/locked", self._give_to_known)
        for kind in "put", "post":
            origin.on(f"/{kind}", self._take)

    def url(self, target):
        return self.origin.url(target)

    def _give(self, request):
        whole = body(request.target)
        headers = {"ETag": f'"{len(whole)}"', "Accept-Ranges": "bytes"}
        start, status = 0, 200
        if request["Range"] and request["If-Range"] == headers["ETag"]:
            start, status = int(request["Range"].removeprefix("bytes=").rstrip("-")), 206
            headers["Content-Range"] = f"bytes {start}-{len(whole) - 1}/{len(whole)}"
        with self._lock:
            earlier = self.sent.setdefault(request.target, [])
            is_first = not earlier
            earlier.append(marks := [(time.monotonic(), start)])
        return Answer(
            status=status,
            headers=headers,
            pieces=self._pieces(request.path, whole, start, is_first, marks),
            length=len(whole) - start,
        )

    def _pieces(self, path, whole, start, is_first, marks):
        for offset in range(start, len(whole), PIECE):
            if path == "/broken" and is_first and offset > len(whole) // 2:
                raise ConnectionAbortedError
            yield whole[offset : offset + PIECE]
            marks.append((time.monotonic(), min(offset + PIECE, len(whole))))
            if path in ("/slow", "/locked"):
                time.sleep(PAUSE)

    def _give_later(self, request):
        """Not to the first two who ask."""
        with self._lock:
            count = self.refused[request.target] = self.refused.get(request.target, 0) + 1
        return Answer(status=503) if count < 3 else Answer(body(request.target))

    def _give_to_known(self, request):
        """To those who tell a name."""
        if request["Authorization"] is None:
            return Answer(status=401, headers={"WWW-Authenticate": 'Basic realm="cave"'})
        return self._give(request)

    def _take(self, request):
        with self._lock:
            self.taken.setdefault(request.target, []).append(request.body)
        time.sleep(length_of(request.target) % 300 / 1000)
        return Answer(b"taken")

    def expect_little_sent_twice(self, losses):
        """After a loss of power a download goes on not far before where it was (R-2).
        Returns how many have gone on."""
        with self._lock:
            slow = [list(all) for target, all in self.sent.items() if target.startswith("/slow")]
        gone_on = 0
        for requests in slow:
            for before, after in zip(requests, requests[1:]):
                between = [at for at in losses if before[0][0] < at < after[0][0]]
                if not between:
                    continue
                kept = [end for at, end in before if at < between[0] - LOST_SECONDS]
                assert not kept or after[0][1] >= kept[-1], f"{before[-1]}, then {after[0]}"
                gone_on += after[0][1] > 0
        return gone_on

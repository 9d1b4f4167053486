"""The power fails: what was not synced is lost, and nothing that was acknowledged or shown
(R-1, R-2, R-11, R-13)."""

import collections
import contextlib
import json
import os
import random
import shutil
import signal
import time

import httpx
import pytest

from crowd import FINISHED, Crowd
from daemon import eventually
from disk import Disk
from gateway import Gateway, number_of
from origin import Answer
from receiver import Receiver
from session import Session
from witness import Servant

# `FERRY_CRASH_ROUNDS=50` for a night.
ROUNDS = int(os.environ.get("FERRY_CRASH_ROUNDS", 3))
STRAY = "No row tells of this file: a crash leaves such ones"
CHALLENGE = "task.didReceiveChallenge"
UNTOLD = object()
TERMINAL = {"task.didComplete", "task.didBecomeDownloadTask"}


@pytest.fixture
def disk():
    with Disk() as disk:
        yield disk


@pytest.fixture
def gateway(disk):
    with Gateway(disk=disk) as gateway:
        yield gateway


@pytest.fixture
def receiver():
    with Receiver() as receiver:
        yield receiver
        assert [each for each in receiver.messages if each[0] == "wrong"] == []


def write(path, bytes, synced):
    with open(path, "wb", buffering=0) as file:
        file.write(bytes)
        if synced:
            os.fsync(file.fileno())


def sync_folder(path):
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def test_what_was_not_synced_is_lost_and_only_that(disk):
    """Else the other tests would prove nothing."""
    for name in "kept", "renamed.new":
        write(disk.view / name, b"x" * 100_000, synced=True)
    write(disk.view / "lost", b"y" * 100_000, synced=False)
    os.rename(disk.view / "renamed.new", disk.view / "renamed")
    write(disk.view / "kept", b"z" * 50_000, synced=False)
    disk.lose_power()
    with pytest.raises(OSError):
        write(disk.view / "late", b"", synced=True)
    disk.restore_power()
    names = {path.name for path in disk.view.iterdir()} - {"lost+found"}
    assert names == {"kept", "renamed.new"}
    assert (disk.view / "kept").read_bytes() == b"x" * 100_000


def fail(disk, gateway):
    """The power goes, and comes again.

    The gateway goes first: what it has said until then has to hold. It may not go on while the
    kernel stops the disk, which takes some milliseconds, and in them a sync may succeed in vain.
    """
    gateway.kill9()
    disk.lose_power()
    disk.restore_power()


def test_a_first_start_that_is_cut_off_is_made_good_by_the_next(disk, gateway):
    """At any moment of it: there is a key without a database then, or half of one, or no token."""
    gateway.stop()
    began = time.monotonic()
    gateway.restart()
    usual = time.monotonic() - began
    for _ in range(3 * ROUNDS):
        gateway.stop()
        shutil.rmtree(gateway.data)
        sync_folder(disk.view)
        gateway.launch()
        time.sleep(random.uniform(0, usual))
        fail(disk, gateway)
        gateway.restart()
        gateway.post("/v1/sessions", 201)
    # Of the first content the folder is new, too.
    file = gateway.client.post("/v1/files", content=b"f" * 100_000).headers["Location"]
    fail(disk, gateway)
    gateway.restart()
    assert gateway.client.get(file).content == b"f" * 100_000


def test_a_new_token_holds(disk, gateway):
    """Of the first start, and of one that SIGHUP has made in place of it."""
    first = gateway.client.headers["Authorization"]
    fail(disk, gateway)
    gateway.restart()
    assert gateway.client.headers["Authorization"] == first
    os.unlink(gateway.data / "token")
    os.kill(gateway.identifier, signal.SIGHUP)
    eventually((gateway.data / "token").exists, "a new token")
    eventually(lambda: gateway.client.get("/v1/sessions").status_code == 401, "it to be in force")
    second = (gateway.data / "token").read_text()
    fail(disk, gateway)
    gateway.restart()
    assert (gateway.data / "token").read_text() == second


def finish(crowd):
    """Answers all that is asked, until no task is outstanding and every webhook has been heard."""
    gateway = crowd.gateway
    for place in crowd.places:
        crowd.settle(place)
    for webhook in crowd.webhooks:
        path = f"/v1/webhooks/{webhook['id']}"
        for state in "paused", "active":  # what waits is tried at once
            assert gateway.client.patch(path, json={"state": state}).status_code == 200
        eventually(lambda: gateway.get(path)["waitingCount"] == 0, "all events to be taken")


class Inspection:
    """Holds what a gateway says against what its crowd knows."""

    def __init__(self, crowd):
        self._crowd = crowd
        self._gateway = crowd.gateway
        # What was told before the streams are read.
        self._messages = list(crowd.receiver.messages)
        # The numbered events of each stream, by their ids.
        self._stories = {
            path: {each.id: (each.event, each.data) for each in crowd.gateway.replayed(path)}
            for path in crowd.seen
        }
        # With which error, or None, each task has ended.
        self._ends = {}

    def run(self):
        self._events()
        self._webhooks()
        self._sessions()
        self._tasks()
        self._files()
        self._decisions()
        self._requests()

    def _events(self):
        """What was seen is replayed as it was, in one order, with one end of each task."""
        for path, story in self._stories.items():
            seen = self._crowd.seen[path]
            lost = {id: (seen[id], story.get(id)) for id in seen if story.get(id) != seen[id]}
            assert lost == {}, path
            numbers = [number_of(id) for id in story]
            assert numbers == sorted(set(numbers))
            ends = {}
            for name, text in story.values():
                data = json.loads(text)
                task = data.get("task")
                # Nothing follows the end but that it is forgotten (S-57).
                assert task not in ends or name == "task.didDelete", f"{name} {text}"
                if name in TERMINAL:
                    ends[task] = data["error"] and data["error"]["code"]
            self._crowd.counts[path] = len(story)
            self._ends |= ends

    def _webhooks(self):
        """What a receiver was told has happened; an event has one id, whatever try it is."""
        ids = {}
        for id, path, kind, data, _ in self._messages:
            event = data["id"]
            assert ids.setdefault((path, event), id) == id
            name, text = self._stories[self._crowd.streams[path]].get(event, (None, "{}"))
            assert (name, json.loads(text) | {"id": event}) == (kind, data), f"{path} {id}"
        assert len(set(ids.values())) == len(ids)

    def expect_all_told(self):
        """Every event was taken by its receivers, those of a task in their order, and each time
        that a background session ran dry was told once."""
        for path, stream in self._crowd.streams.items():
            expected, told = collections.defaultdict(list), collections.defaultdict(list)
            for id, (_, text) in self._stories[stream].items():
                data = json.loads(text)
                expected[data["session"], data.get("task")].append(id)
            for _, data in self._crowd.receiver.taken(path):
                told[data["session"], data.get("task")].append(data["id"])
            for each in expected | told:
                assert told[each] == expected[each], f"{path}: {each}"
        crowd = self._crowd
        self._expect_dry(crowd.background)
        assert self._expect_dry(crowd.brief) == len(crowd.orders_of(crowd.brief))

    def _expect_dry(self, place):
        """How often it was told that the session had run dry: at most once for each time that it
        had, and behind the last. What is created at once may come before a time is told, and then
        two times may be told as one."""
        outstanding, times, count, is_told, story = set(), 0, 0, True, []
        for name, text in self._stories[place.path].values():
            data = json.loads(text)
            task = data.get("task")
            story.append(f"{data['at']} {name} {task}")
            if name == "task.didCreate":
                outstanding.add(task)
                is_told = False
            elif name in TERMINAL:
                outstanding.discard(task)
                times += not outstanding
            elif name == FINISHED:
                assert count < times, "\n".join(story[-9:])
                is_told = not outstanding
                count += 1
        assert is_told and not outstanding, "\n".join(story[-9:])
        return count

    def _sessions(self):
        """Those that were made, with all that was put into them."""
        found = {each["id"]: each for each in self._all("sessions", "&state=all")}
        live = [each for each in found.values() if each["state"] == "active"]
        named = {each["identifier"]: each["id"] for each in live if each["identifier"]}
        for place in self._crowd.places:
            session = found[place.id]
            for name in set(session) - {"description", "taskCounts"}:
                assert session[name] == place.session[name], name
            place.description.expect(session["description"], place.path)
            cookies = self._gateway.get(f"{place.path}/cookies")["cookies"]
            there = {each["name"]: each["value"] for each in cookies}
            assert len(there) == len(cookies) and set(there) <= set(place.cookies)
            for name, fact in place.cookies.items():
                fact.expect(there.get(name), f"cookie {name}")
            entries = self._gateway.get(f"{place.path}/credentials")["credentials"]
            users = {each["user"] for each in entries}
            assert len(users) == len(entries) and users <= set(place.users)
            for name, fact in place.users.items():
                fact.expect(name if name in users else None, f"user {name}")
        for name, fact in self._crowd.named.items():
            fact.expect(named.get(name), name)
        again = self._gateway.post("/v1/sessions", 200, **self._crowd.background.members)
        assert again.json()["id"] == self._crowd.background.id
        hooks = {each["id"] for each in self._gateway.get("/v1/webhooks")["webhooks"]}
        assert hooks == {each["id"] for each in self._crowd.webhooks}

    def _tasks(self):
        """Each once, also where nobody has heard that it was created."""
        made = self._crowd.orders + self._crowd.unanswered
        targets = {self._crowd.servant.url(order.target) for order in made}
        found = [each["originalRequest"]["url"] for each in self._all("tasks", "&state=all")]
        assert len(found) == len(set(found)) and set(found) <= targets
        for order in self._crowd.orders:
            # It may end while it is looked at, but its end was told before it was shown.
            was_shown = order.end is not None
            self._crowd.look_at(self._gateway.client, order, with_content=True)
            told = self._ends.get(order.task["id"], UNTOLD)
            if was_shown or (told is not UNTOLD and not order.is_deleted.value):
                assert order.end and order.end[0] == told, f"{order}: {order.end}, told {told}"

    def _all(self, what, query):
        cursor = ""
        while cursor is not None:
            page = self._gateway.get(f"/v1/{what}?limit=500{query}{cursor}")
            yield from page[what]
            cursor = page["nextCursor"] and f"&cursor={page['nextCursor']}"

    def _files(self):
        for id, file in self._crowd.files.items():
            path = f"/v1/files/{id}"
            answer = self._gateway.client.head(path)
            file.is_deleted.expect(answer.status_code == 404, path)
            if answer.status_code == 404:
                continue
            assert int(answer.headers["Upload-Offset"]) >= file.count, path
            is_whole = answer.headers["Upload-Complete"] == "?1"
            assert is_whole or file.count < len(file.bytes), path
            if is_whole:
                assert self._gateway.client.get(path).content == file.bytes, path

    def _decisions(self):
        """What was answered is, and is not asked again."""
        for id in self._crowd.answered_decisions:
            answer = self._gateway.client.get(f"/v1/decisions/{id}")
            # It is forgotten with its task.
            assert answer.status_code == 404 or answer.json()["state"] == "answered", answer.text
        story = self._stories[self._crowd.background.path].values()
        asked = [json.loads(text)["task"] for name, text in story if name == CHALLENGE]
        assert len(asked) == len(set(asked))

    def _requests(self):
        """R-13: what is not idempotent was sent once, and whole where it has ended well (R-2)."""
        taken = self._crowd.servant.taken
        for order in self._crowd.orders:
            if order.kind not in ("put", "post"):
                continue
            bodies = taken.get(order.target, [])
            assert order.kind == "put" or len(bodies) < 2, f"{order} was sent {len(bodies)} times"
            if order.end and order.end[0] is None:
                assert self._crowd.files[order.spec["body"]["file"]].bytes == bodies[-1], order
        lost = self._crowd.losses
        self._crowd.counts["gone on"] = self._crowd.servant.expect_little_sent_twice(lost)


def test_a_gateway_whose_disk_has_failed_says_nothing_wrong_and_ends(disk, gateway, origin):
    """R-6, R-1: it neither acknowledges what it cannot keep, nor denies what it has."""
    length = 200_000
    origin.on("/a", Answer(b"a" * length))
    task = Session(gateway).fetch(origin.url("/a"), type="download")
    file = gateway.client.post("/v1/files", content=b"f" * length).headers["Location"]
    sessions = gateway.get("/v1/sessions")
    disk.lose_power()
    with contextlib.suppress(httpx.TransportError):  # it may have ended
        for path in file, f"/v1/tasks/{task.id}/content":
            assert gateway.client.get(path).status_code >= 500, path
        assert gateway.client.post("/v1/sessions", json={}).status_code >= 500
    assert gateway.ended(within=60) == 74
    disk.restore_power()
    gateway.restart()
    assert gateway.get("/v1/sessions") == sessions
    assert task.body == b"a" * length
    assert gateway.client.get(file).content == b"f" * length


def test_nothing_that_was_acknowledged_or_shown_is_lost(disk, gateway, origin, receiver):
    # It brings the same moments again, though the clients take their turns as they come.
    seed = int(os.environ.get("FERRY_CRASH_SEED", random.randrange(1 << 32)))
    print(f"seed {seed}")
    chance = random.Random(seed)
    # One answer in five is a failure.
    receiver.answer = lambda message, count: chance.choice([204, 204, 204, 204, 500])
    crowd = Crowd(gateway, Servant(origin), receiver, chance)
    for round in range(ROUNDS):
        # Once so long that downloads have passed a checkpoint.
        crowd.work(chance.uniform(0.3, 4) if round else 4)
        crowd.leave(lambda: fail(disk, gateway))
        if chance.random() < 0.3:
            # Once more, while it starts.
            gateway.launch()
            time.sleep(chance.uniform(0, 0.6))
            fail(disk, gateway)
        if chance.random() < 0.5:
            # A file is there before its row, never the other way round.
            assert [each for each in gateway.damage() if STRAY not in each] == []
        gateway.restart()
        Inspection(crowd).run()
    receiver.answer = lambda message, count: 204
    finish(crowd)
    inspection = Inspection(crowd)
    inspection.run()
    inspection.expect_all_told()
    gateway.stop()
    assert gateway.damage() == []
    assert "are lost" not in (gateway.folder / "log").read_text()
    # None of this would say anything if hardly anything had been cut off.
    assert crowd.counts["contents"] > 10 * ROUNDS and crowd.counts["gone on"] > 0
    print(dict(crowd.counts), f"ran dry {len(crowd.orders_of(crowd.brief))} times")

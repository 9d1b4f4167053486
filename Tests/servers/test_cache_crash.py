"""`kill -9` while responses are stored: each is then there whole, or not at all (S-1, R-1)."""

import collections
import contextlib
import hashlib
import os
import random
import threading
import time
import urllib.parse

from daemon import eventually
from gateway import Gateway
from origin import FRESH, Answer
from session import Session

# `FERRY_CRASH_ROUNDS=50` for a night.
ROUNDS = int(os.environ.get("FERRY_CRASH_ROUNDS", 5))
MEBIBYTE = 1 << 20
# From sealed in a row of the database to a file of its own, which begins above 32 KiB.
SMALL = [0, 17, 1000, 8000, 32 * 1024, 32 * 1024 + 1, 40_000, 90_000]
# Whole responses of 1 MiB, but not so many that none is given up in the course of the rounds.
CACHE = {"memoryCapacity": 0, "diskCapacity": 24 * MEBIBYTE}


def body(target, version=0):
    """What is at a target: no part of it is in any other body."""
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(target).query))
    length = int(query["length"])
    word = hashlib.sha256(f"{target} {version}".encode()).digest()
    return (word * (length // len(word) + 1))[:length]


class Crowd:
    """What is fetched round after round, and what of it has been seen in the cache."""

    def __init__(self, origin, chance):
        self.origin = origin
        self.chance = chance
        self.versions = collections.Counter()
        self.known = []
        self.found = collections.Counter()
        self._lock = threading.Lock()
        origin.on("/body", lambda request: Answer(body(request.target), headers=FRESH))
        origin.on("/turning", self._turn)

    def _turn(self, request):
        """Another body at each request, told by a field beside it."""
        with self._lock:
            self.versions[request.target] += 1
            version = self.versions[request.target]
        headers = FRESH | {"ETag": f'"{version}"', "X-Version": str(version)}
        return Answer(body(request.target, version), headers=headers)

    def start(self, session, round):
        """Fetches new targets, and old ones whose content is another each time; gives them."""
        lengths = [self.chance.choice(SMALL) for _ in range(60)] + [MEBIBYTE] * 4
        new = [f"/body?at={round}-{each}&length={n}" for each, n in enumerate(lengths)]
        old = [f"/turning?number={each}&length={n}" for each, n in enumerate([*SMALL, MEBIBYTE])]
        self.known += new
        targets = new + old
        self.chance.shuffle(targets)
        # Of data tasks, for downloads are not stored (S-84).
        policy = "reloadIgnoringLocalCacheData"
        session.start_all([session.spec(self.origin.url(at), policy=policy) for at in targets])
        return targets

    def specs(self, session, targets):
        return [
            session.spec(
                self.origin.url(target),
                type=self.chance.choice(["data", "download"]),
                policy="returnCacheDataDontLoad",
            )
            for target in targets
        ]

    def check(self, session, targets):
        """Nothing but the stored, and that as it was sent; never asks the origin."""
        before = len(self.origin.requests)
        tasks = session.start_all(self.specs(session, targets))
        for target, task in zip(targets, tasks):
            outcome = session.finish(task)
            if outcome.error:
                assert (outcome.error, outcome.status) == (-1008, None), outcome
                self.found["missing"] += 1
                continue
            version = int(outcome.header("X-Version") or 0)
            assert outcome.status == 200 and outcome.is_hit
            assert outcome.body == body(target, version), target
            self.found["large" if len(outcome.body) == MEBIBYTE else "small"] += 1
        assert len(self.origin.requests) == before


def test_a_killed_gateway_never_serves_half_an_entry(origin):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    crowd = Crowd(origin, chance)
    with Gateway() as gateway:
        session = Session(gateway, urlCache=CACHE, httpMaximumConnectionsPerHost=100)
        # A round to its end tells how long one takes on this machine.
        began = time.monotonic()
        crowd.start(session, 0)
        idle(session)
        usual = time.monotonic() - began
        for round in range(1, ROUNDS + 1):
            targets = crowd.start(session, round)
            time.sleep(chance.random() * usual)
            gateway.kill9()
            gateway.restart()
            # Tasks that had not begun do so now (S-56).
            idle(session)
            older = chance.sample(crowd.known, 40)
            crowd.check(session, list(dict.fromkeys(targets + older)))
        # None of this would say anything if hardly a response had been stored.
        print(dict(crowd.found))
        assert crowd.found["small"] > 10 * ROUNDS and crowd.found["missing"] > ROUNDS // 2
        assert crowd.found["large"] > ROUNDS // 2
        nothing_is_left_over(gateway, session)


def idle(session):
    """Waits until no task of the session is outstanding."""
    eventually(lambda: not session.get("tasks")["tasks"], "the end of all tasks", 60)


def nothing_is_left_over(gateway, session):
    """No file without an entry, and no more bytes than are told."""

    def files():
        """The sizes of those that are there."""
        sizes = []
        for path in gateway.folder.rglob("cch_*"):
            with contextlib.suppress(FileNotFoundError):  # swept just now
                sizes.append(path.stat().st_size)
        return sizes

    def is_swept():
        usage = session.cache()
        sizes = files()
        return len(sizes) <= usage["entryCount"] and sum(sizes) <= usage["diskUsage"]

    eventually(is_swept, "the sweep of the cache's files", 20)
    assert files(), "large responses have files"
    assert session.cache()["diskUsage"] <= CACHE["diskCapacity"]
    session.forget("cache")
    assert session.cache()["entryCount"] == 0
    eventually(lambda: not files(), "the removal of the cache's files", 20)

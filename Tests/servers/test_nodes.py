"""Several nodes on one database (`ferry serve --node-address`): who answers, and what outlives what."""

import base64
import contextlib
import hashlib
import os
import pathlib
import random
import signal
import threading
import time
from email.utils import parsedate_to_datetime

import pytest

from daemon import Daemon, eventually, free_ports, run, undisturbed
from gateway import Gateway
from nodes import KEY, LOST, SCOPES, Caller, Cluster, Reader, placed, tenant, with_clock
from origin import Answer
from postgres import Postgres
from session import Session
from storage import Moto, Storage
from test_metrics import NAMES, NODE_NAMES, types_of
from test_tls import Folder as Certificates

CONTENT = random.Random(23).randbytes(3 << 20)
# Of which stretches of 8 MiB are sent ahead.
LARGE = random.Random(29).randbytes(48 << 20)
HANG = 15
BALANCER = pathlib.Path(__file__).parents[2] / "Examples" / "nodes" / "haproxy.cfg"


@pytest.fixture(scope="module")
def postgres():
    with Postgres() as server:
        yield server


@pytest.fixture
def stack():
    """What is entered there is left when the test ends."""
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture
def cluster(postgres):
    with Cluster(postgres) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def moto():
    with Moto() as moto:
        yield moto


@pytest.fixture
def storage(moto):
    with Storage(moto) as storage:
        yield storage


@pytest.fixture
def pair(cluster):
    """Two nodes, of which the first has the operator's tenant."""
    return two_nodes(cluster)


@pytest.fixture(params=["folder", "s3"])
def place(request, cluster):
    """Where the cluster has its contents; tells what was sent there before it was whole."""
    if request.param == "folder":
        return cluster.ahead
    storage = request.getfixturevalue("storage")
    cluster.contents = storage.place(request.function.__name__)
    cluster.environment |= request.getfixturevalue("moto").environment
    return lambda: {key for key in storage.keys if key.endswith(".ahead")} | storage.uploads


def two_nodes(cluster, program=None):
    first, second = cluster.node(program=program), cluster.node(program=program)
    first.get("/v1/sessions")
    for node in first, second:
        # They know each other.
        eventually(lambda: len(node.get("/v1/nodes")["nodes"]) == 2, "both nodes", 20)
    return first, second


class Held:
    """A file of an origin, or a part of it where that is asked for: its first so many answers stop
    after some bytes, until they are let go."""

    def __init__(self, origin, path, count=1, content=CONTENT, stop=1 << 20):
        self.content, self.stop = content, stop
        self.gate = threading.Event()
        self.url = origin.url(path)
        # How many bytes were sent, about: of what is held only the first part is.
        self.sent = 0
        self._left = count
        self._lock = threading.Lock()
        origin.on(path, self._answer)

    def _answer(self, request):
        with self._lock:
            self._left -= 1
            is_held = self._left >= 0
        fields = {"ETag": '"one"', "Accept-Ranges": "bytes"}
        content = self.content
        if is_held:
            self.sent += self.stop
            return Answer(headers=fields, pieces=self._pieces(), length=len(content))
        wanted = request.headers.get("Range")
        start = int(wanted.removeprefix("bytes=").split("-")[0]) if wanted else 0
        self.sent += len(content) - start
        if not wanted:
            return Answer(content, headers=fields)
        fields["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        return Answer(content[start:], status=206, headers=fields)

    def _pieces(self):
        yield self.content[: self.stop]
        self.gate.wait(180)
        yield self.content[self.stop :]


def background(caller, name="work"):
    return Session(
        caller, path=caller.post(
            "/v1/sessions", 201, type="background", identifier=name, delegate={}
        ).headers["Location"]
    )


def download(session, url):
    """A download of which the first MiB has come; its id."""
    task = session.start(url, type="download", computeDigest=True)
    received = lambda: session.gateway.get(f"/v1/tasks/{task}")["countOfBytesReceived"]
    eventually(lambda: received() >= 1 << 20, "the first MiB")
    return task


def large(origin, path, stretches=4):
    """A file of which so many stretches come before it is held."""
    # The last block is full, too: nothing else begins a checkpoint behind the last stretch.
    return Held(origin, path, content=LARGE, stop=(stretches * 8 << 20) + (1 << 20))


def await_stretches(cluster, place, caller, task, held):
    """All that comes before a large file is held is in stretches that the task's record tells of."""
    received = lambda: caller.get(f"/v1/tasks/{task}")["countOfBytesReceived"]
    eventually(lambda: received() == held.stop, "all that comes")
    stretches = held.stop >> 23
    eventually(lambda: len(place()) >= stretches, "its stretches")
    told = lambda: cluster.checkpoint(task) >= stretches << 23
    eventually(told, "the record to tell of the newest one")


def assert_fetched_once(held, nodes=()):
    """What the origin has sent, or what nodes have received, is hardly more than the file."""
    for sent in [held.sent] + ([sum(map(received, nodes))] if nodes else []):
        assert sent <= 1.05 * len(held.content), f"{sent / len(held.content):.2f} of its bytes"


def is_completed(caller, task):
    return caller.has(f"/v1/tasks/{task}") and caller.get(f"/v1/tasks/{task}")["state"] == "completed"


def digest(content):
    return "sha-256=:" + base64.b64encode(hashlib.sha256(content).digest()).decode() + ":"


def assert_whole(caller, task, content=CONTENT):
    """Its content is what the origin has, and its end was told once."""
    eventually(lambda: is_completed(caller, task), "the end of the task", 90)
    record = caller.get(f"/v1/tasks/{task}")
    assert record["error"] is None, record["error"]
    assert record["content"]["digest"] == digest(content)
    answer = caller.client.get(f"/v1/tasks/{task}/content")
    assert answer.status_code == 200 and answer.content == content
    events = caller.replayed(f"/v1/tasks/{task}")
    assert [event.event for event in events].count("task.didComplete") == 1


def one_each(pair):
    """A tenant at each of two nodes: their tokens. The operator's is at the first."""
    first, second = pair
    tokens = [tenant(first, "alpha"), tenant(first, "beta")]
    for node, token in zip(pair, tokens):
        # The others know a token within a second.
        caller = node.caller(token)
        eventually(lambda caller=caller: caller.has("/v1/sessions"), "a token to be known", 20)
    placed(first, 2)
    placed(second, 1)
    return tokens


# Who answers


def test_what_is_made_through_either_node_is_seen_through_both(pair, origin):
    first, second = pair
    origin.on("/a", Answer(b"twelve bytes"))
    (token,) = [tenant(second, "team")]
    ends = [node.caller(token) for node in pair]
    made = [Session(end) for end in ends]
    tasks = [session.start(origin.url("/a")) for session in made]
    for end in ends:
        listed = {each["id"] for each in end.get("/v1/sessions")["sessions"]}
        assert {session.path.rsplit("/", 1)[1] for session in made} <= listed
        for task in tasks:
            outcome = Session(end, path=made[0].path).finish(task)
            assert outcome.error is None and outcome.body == b"twelve bytes"
    # Both show the same events, and each of them once.
    one, other = [[(e.id, e.event, e.data) for e in end.replayed(made[0].path)] for end in ends]
    assert one == other and len({id for id, _, _ in one}) == len(one)
    # Of another tenant there is nothing to see, at either node.
    for node in pair:
        assert node.client.get(made[0].path).status_code == 404


def test_an_upload_and_a_stream_pass_through_the_other_node(pair, origin):
    pass_through(pair, origin)


def test_nodes_ask_each_other_by_https(cluster, origin, tmp_path):
    made = Certificates(tmp_path / "made", "localhost", "127.0.0.1")
    nodes = cluster.node(made), cluster.node(made)
    for node in nodes:
        eventually(lambda: len(node.get("/v1/nodes")["nodes"]) == 2, "both nodes", 20)
    pass_through(nodes, origin)
    # One that shows a certificate of somebody else's is not asked.
    stranger = cluster.node(Certificates(tmp_path / "other", "localhost", "127.0.0.1"))
    first = nodes[0]
    eventually(lambda: len(first.get("/v1/nodes")["nodes"]) == 3, "three nodes", 20)
    token = tenant(first, "strange")
    eventually(lambda: stranger.caller(token).has("/v1/sessions"), "its token", 20)
    placed(stranger, 1)
    answer = first.caller(token).client.get("/v1/sessions")
    assert answer.status_code == 503 and "does not answer" in answer.json()["detail"]
    assert "unable to get local issuer certificate" in (first.folder / "log").read_text()


def pass_through(pair, origin, name="team"):
    """A staged file, its task and their events, through the node that does not have the tenant."""
    first, second = pair
    sent = []
    origin.on("/up", lambda request: sent.append(request.body) or Answer(b"thanks"))
    token = tenant(first, name)
    first.caller(token).get("/v1/sessions")
    other = second.caller(token)
    eventually(lambda: other.has("/v1/sessions"), "the token to be known", 20)
    answer = other.client.post("/v1/files", content=CONTENT, headers={"Upload-Complete": "?1"})
    assert answer.status_code == 201, answer.text
    session = Session(other)
    with Reader(other, session.path) as reader:
        outcome = session.fetch(
            origin.url("/up"), type="upload", method="POST", body={"file": answer.json()["id"]}
        )
        assert outcome.error is None and sent == [CONTENT]
        eventually(lambda: "task.didComplete" in reader.names, "the event", 20)
        eventually(lambda: reader.has_all_of(first.caller(token)), "all events", 20)


def test_an_identical_creation_through_both_nodes_makes_one_task(pair, origin):
    """R-10, whichever node is asked."""
    origin.on("/a", Answer(b"a"))
    token = tenant(pair[0], "team")
    ends = [node.caller(token) for node in pair]
    session = Session(ends[0])
    eventually(lambda: ends[1].has(session.path), "the token to be known", 20)
    spec, made = session.spec(origin.url("/a")), []

    def create(end):
        headers = {"Idempotency-Key": "the-same"}
        made.append(end.client.post(f"{session.path}/tasks", json=spec, headers=headers))

    threads = [threading.Thread(target=create, args=[end]) for end in ends * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    # One that comes while the first is on its way is told so.
    assert {answer.status_code for answer in made} <= {201, 409}
    assert len({answer.json()["id"] for answer in made if answer.status_code == 201}) == 1
    assert len(origin.wait("/a", 1)) == 1


def seconds_until(look, what):
    """How long it takes, ten seconds at most. Looks ten times a second: an address with many wrong tokens
    would be shut out."""
    began = time.monotonic()
    while not look():
        assert time.monotonic() < began + 10, f"after ten seconds still waiting for {what}"
        time.sleep(0.1)
    return time.monotonic() - began


def test_a_token_works_and_ends_at_all_nodes_within_a_second(pair):
    def turn(node, other):
        made = node.post("/v1/tokens", 201, tenant="default", scopes=SCOPES).json()
        caller = other.caller(made["token"])
        known = lambda: caller.has("/v1/sessions")
        times = [seconds_until(known, "the other node to know the token")]
        assert node.client.delete(f"/v1/tokens/{made['id']}").status_code == 204
        refused = lambda: caller.client.get("/v1/sessions").status_code == 401
        times.append(seconds_until(refused, "the other node to refuse the token"))
        assert node.caller(made["token"]).client.get("/v1/sessions").status_code == 401
        # The look that finds it may begin as late as the second ends.
        return [(each, 1.2) for each in times]

    for nodes in pair, pair[::-1]:
        undisturbed(lambda: turn(*nodes))


def test_the_nodes_are_listed_and_one_of_them_is_the_one_that_is_asked(pair):
    shown = [node.get("/v1/nodes")["nodes"] for node in pair]
    for node, nodes in zip(pair, shown):
        assert {each["address"] for each in nodes} == {node.address for node in pair}
        assert {each["state"] for each in nodes} == {"serving"}
        assert [each["address"] for each in nodes if each["isThis"]] == [node.address]
        table = node.ferry("nodes")
        assert table.returncode == 0, table.stderr
        title, *rows = table.stdout.splitlines()
        assert title.split() == ["NODE", "ADDRESS", "STATE", "TENANTS", "JOINED"]
        assert [row.split()[1] for row in rows if "*" in row.split()[0]] == [node.address]
    about = pair[0].get(f"/v1/nodes/{pair[1].number}")
    assert about["address"] == pair[1].address and about["isThis"] is False
    assert pair[0].client.get("/v1/nodes/63").status_code == 404
    for node in pair:
        text = node.client.get("/metrics").text
        assert {name: kind for name, kind in types_of(text).items() if name not in NAMES} == NODE_NAMES
        assert "\nferry_nodes 2\n" in text
        assert 5 < node.metric("ferry_node_lease_left_seconds") <= 12


def test_the_balancer_of_the_examples_leads_to_nodes_that_are_ready(pair):
    (port,) = free_ports(1)
    text = BALANCER.read_text().replace("bind :8080", f"bind 127.0.0.1:{port}")
    for name, node in zip(["node-a", "node-b"], pair):
        text = text.replace(f"{name}:8080", f"127.0.0.1:{node.port}")
    address, token = f"http://127.0.0.1:{port}", pair[0].cluster.token
    with Daemon("haproxy") as haproxy:
        haproxy.start("haproxy", "-f", haproxy.write("haproxy.cfg", text), ports=[port])
        numbers = [node.number for node in pair]
        strangers = [asked(Caller(address, token, True)) for _ in range(6)]
        assert set(strangers) == set(numbers)
        # Who comes with a cookie is led to the same node each time, as long as that is ready.
        known = Caller(address, token, True)
        own = asked(known)
        assert [asked(known) for _ in range(3)] == [own] * 3
        pair[numbers.index(own)].kill9()
        (left,) = set(numbers) - {own}
        eventually(lambda: known.has("/v1/nodes") and asked(known) == left, "the other node", 30)


def asked(caller):
    """Which node answers."""
    return next(each["node"] for each in caller.get("/v1/nodes")["nodes"] if each["isThis"])


# When a node is gone


@pytest.mark.parametrize("lost", ["first", "second"])
def test_a_killed_node_s_tenants_are_taken_over_and_their_work_goes_on(pair, origin, lost):
    """R-1, R-8, S-52, S-56: as after a restart, but at another node."""
    tokens = dict(zip(["first", "second"], one_each(pair)))
    gone, stays = pair if lost == "first" else pair[::-1]
    before, after = gone.caller(tokens[lost]), stays.caller(tokens[lost])
    held, brief = Held(origin, "/held"), Held(origin, "/brief")
    work, foreground = background(before), Session(before)
    task, ended = download(work, held.url), download(foreground, brief.url)
    with Reader(after, work.path) as reader, Reader(after, "/v1") as whole:
        eventually(lambda: len(reader.ids) >= 2 and whole.ids, "the first events", 20)
        gone.kill9()
        eventually(lambda: after.has(work.path), "the tenant at the other node", LOST)
        assert_whole(after, task)
        assert moves(stays, "takenOver") == {"first": 2, "second": 1}[lost]
        # Nobody repeats what belonged to a default session.
        eventually(lambda: is_completed(after, ended), "the end of the other task", 20)
        assert after.get(f"/v1/tasks/{ended}")["error"]["name"] == "backgroundSessionWasDisconnected"
        for each in reader, whole:
            eventually(lambda: each.has_all_of(after), "all events", 60)
        assert reader.names.count("task.didComplete") == 1
        assert reader.names.count("session.didFinishEvents") == 1
        # What is new is in the same order.
        session = Session(after, path=work.path)
        origin.on("/next", Answer(CONTENT))
        assert_whole(after, session.start(origin.url("/next"), type="download", computeDigest=True))
        eventually(lambda: reader.has_all_of(after), "the new events", 60)
    for each in held, brief:
        each.gate.set()
    gone.restart()
    eventually(lambda: len(stays.get("/v1/nodes")["nodes"]) == 2, "it to join again", 30)
    assert gone.caller(tokens[lost]).get(f"/v1/tasks/{task}")["content"]["digest"] == digest(CONTENT)


def test_a_download_goes_on_behind_what_its_lost_node_has_sent(place, cluster, origin):
    """R-2, S-36: it costs the origin no byte twice that was in a stretch."""
    first, second = two_nodes(cluster)
    work = background(first.caller())
    held, ended, ended_later = [
        large(origin, f"/{name}", stretches) for name, stretches in [("held", 4), ("ended", 1), ("later", 1)]
    ]
    tasks = [download(work, each.url) for each in (held, ended, ended_later)]
    eventually(lambda: len(place()) == 6, "the stretches of three downloads")
    first.post(f"/v1/tasks/{tasks[1]}/cancel", 200)
    eventually(lambda: len(place()) == 5, "what was cancelled to go")
    for task, each in (tasks[0], held), (tasks[2], ended_later):
        await_stretches(cluster, place, first, task, each)
    first.kill9()
    after = second.caller()
    eventually(lambda: after.has(work.path), "the tenant at the other node", LOST)
    after.post(f"/v1/tasks/{tasks[2]}/cancel", 200)
    assert_whole(after, tasks[0], LARGE)
    assert_fetched_once(held)
    eventually(lambda: not place(), "nothing to be left of stretches", 20)
    for each in held, ended, ended_later:
        each.gate.set()


def assert_back(node, caller, pid):
    """A node that was taken for lost is the same process, and one of the nodes again."""
    eventually(lambda: node.metric("ferry_node_losses_total") == 1, "it to find out", 45)
    eventually(lambda: node.client.get("/readyz").status_code == 200, "it to join again", 45)
    eventually(lambda: len(node.get("/v1/nodes")["nodes"]) == 2, "it to know them again", 20)
    assert node.identifier == pid and node.metric("ferry_node_losses_total") == 1
    assert node.record["state"] == "serving"
    # It passes on, and takes what is new.
    answer = caller.client.get("/v1/sessions")
    assert answer.status_code == 200, answer.text
    Session(node.caller(tenant(node, "late")))


def moves(node, kind):
    return node.metric(f'ferry_node_tenant_moves_total{{type="{kind}"}}')


def received(node):
    return node.metric("ferry_transfer_received_bytes_total")


def await_standstill(node):
    eventually(lambda: "transfers stand still" in node.last_words(), "it to stand still", HANG)


def assert_paused(node):
    """Its transfers stand still, whatever their origins have to send."""
    # Before that its metrics wait for the database.
    await_standstill(node)
    assert node.metric("ferry_node_paused") == 1


def test_a_node_that_stood_still_writes_nothing_and_joins_again(cluster, pair, origin):
    first, second = pair
    _, token = one_each(pair)
    before, after = second.caller(token), first.caller(token)
    pid, held = second.identifier, large(origin, "/held")
    work = background(before)
    task = download(work, held.url)
    await_stretches(cluster, cluster.ahead, before, task, held)
    with Reader(before, work.path) as reader, Reader(after, work.path) as other:
        second.send(signal.SIGSTOP)
        try:
            stopped = time.monotonic()
            eventually(lambda: after.has(work.path), "the tenant at the other node", LOST)
            assert time.monotonic() - stopped > HANG - 6, "it was given up too soon"
            assert_whole(after, task, LARGE)
            after.client.patch(work.path, json={"description": "of the other node"})
            left = 2 * HANG - (time.monotonic() - stopped)
            time.sleep(max(left, 0))
            known = [(e.id, e.event, e.data) for e in after.replayed(work.path)]
            # What it would write at once: the end of its own transfer.
            held.gate.set()
        finally:
            second.send(signal.SIGCONT)
        assert_back(second, before, pid)
        assert [(e.id, e.event, e.data) for e in after.replayed(work.path)] == known
        assert after.get(work.path)["description"] == "of the other node"
        assert_whole(before, task, LARGE)
        for each in reader, other:
            eventually(lambda: each.has_all_of(after), "all events", 60)
            assert each.names.count("task.didComplete") == 1
    assert_fetched_once(held, pair)


def test_a_node_without_the_database_stands_still_and_joins_again(cluster, origin, tmp_path):
    """Whatever the clocks of the nodes show: they are two hours apart."""
    relay, address = cluster.relay()
    first = cluster.node(**with_clock(-3600, tmp_path))
    second = cluster.node(FERRY_STORE=address, **with_clock(3600, tmp_path))
    clocks = [parsedate_to_datetime(node.client.get("/healthz").headers["Date"]) for node in (first, second)]
    assert 7100 < (clocks[1] - clocks[0]).total_seconds() < 7300
    first.get("/v1/sessions")
    pair = (first, second)
    for node in pair:
        eventually(lambda: len(node.get("/v1/nodes")["nodes"]) == 2, "both nodes", 20)
    _, token = one_each(pair)
    before, after = second.caller(token), first.caller(token)
    pid, held = second.identifier, large(origin, "/held")
    work = background(before)
    task = download(work, held.url)
    await_stretches(cluster, cluster.ahead, before, task, held)
    made = first.post("/v1/tokens", 201, tenant="beta", scopes=SCOPES).json()
    revoked = second.caller(made["token"])
    eventually(lambda: revoked.has(work.path), "the token to be known", 20)
    with Reader(before, work.path) as reader, Reader(after, work.path) as other:
        eventually(lambda: len(reader.ids) >= 2, "the first events", 20)
        relay.cut()
        try:
            cut = time.monotonic()
            assert first.client.delete(f"/v1/tokens/{made['id']}").status_code == 204
            await_standstill(second)
            assert time.monotonic() - cut > 6, "it stood still too soon"
            # At once: the others give it up some seconds later.
            assert first.record["tenants"] == 2, "it was given up before it stood still"
            assert_paused(second)
            # It does not know who may call, nor whether it still has the tenant.
            for caller in revoked, before:
                assert caller.client.get(work.path).status_code == 503
            count = received(second)
            held.gate.set()
            placed(first, 3)
            assert_whole(after, task, LARGE)
            assert received(second) == count
            time.sleep(max(3 * HANG - (time.monotonic() - cut), 0))
            known = [(e.id, e.event, e.data) for e in after.replayed(work.path)]
        finally:
            relay.heal()
        assert_back(second, before, pid)
        assert revoked.client.get(work.path).status_code == 401
        assert [(e.id, e.event, e.data) for e in after.replayed(work.path)] == known
        assert_whole(before, task, LARGE)
        for each in reader, other:
            eventually(lambda: each.has_all_of(after), "all events", 60)
            assert each.names.count("task.didComplete") == 1
    assert_fetched_once(held, pair)


def test_tenants_of_a_node_that_ends_are_served_at_once(cluster, pair, origin):
    first, second = pair
    _, token = one_each(pair)
    session = Session(second.caller(token))
    second.stop()
    began = time.monotonic()
    # It has left: nobody waits until it counts as lost.
    assert cluster.column("SELECT count(*) FROM node WHERE holder IS NOT NULL") == ["1"]
    eventually(lambda: first.caller(token).has(session.path), "the tenant at the other node", 20)
    assert time.monotonic() - began < 12, "it was waited for as for one that is lost"


# When a node is to be stopped


@pytest.mark.parametrize("drained", ["first", "second"])
def test_a_drained_node_hands_over_all_that_runs(pair, origin, drained):
    tokens = dict(zip(["first", "second"], one_each(pair)))
    leaves, stays = pair if drained == "first" else pair[::-1]
    before, after = leaves.caller(tokens[drained]), stays.caller(tokens[drained])
    work, foreground = background(before), Session(before)
    helds = [Held(origin, "/background"), Held(origin, "/default")]
    tasks = [download(session, held.url) for session, held in zip([work, foreground], helds)]
    waiting = foreground.start(origin.url("/never"), resume=False)
    with Reader(after, foreground.path) as reader:
        eventually(lambda: len(reader.ids) >= 2, "the first events", 20)
        done = leaves.ferry("drain", "--json")
        assert done.returncode == 0, done.stderr
        assert '"state":"draining"' in done.stdout and '"tenants":0' in done.stdout
        for task, held in zip(tasks, helds):
            assert_whole(after, task)
            assert held.sent <= 1.02 * len(CONTENT), "fetched again"
        assert after.get(f"/v1/tasks/{waiting}")["state"] == "suspended"
        eventually(lambda: reader.has_all_of(after), "all events", 60)
        assert reader.names.count("task.didComplete") == 1
        # It still answers, by passing on, and takes nothing.
        assert before.get(f"/v1/tasks/{tasks[0]}")["content"]["digest"] == digest(CONTENT)
        assert leaves.record["tenants"] == 0
        assert moves(leaves, "handedOver") == moves(stays, "received") == {"first": 2, "second": 1}[drained]
    for held in helds:
        held.gate.set()
    leaves.stop()
    assert_whole(after, tasks[1])
    leaves.restart()
    assert leaves.record["state"] == "serving"


def test_a_rolling_upgrade_loses_no_transfer(place, cluster, origin, stack):
    """Node by node: each hands over what it has, ends, and comes back as the program that is tested.
    `FERRY_EARLIER` names the program of the version before; without it both are the same."""
    pair = two_nodes(cluster, os.environ.get("FERRY_EARLIER"))
    tokens = one_each(pair)
    helds = [large(origin, "/large"), Held(origin, "/small")]
    works = [background(node.caller(token)) for node, token in zip(pair, tokens)]
    tasks = [download(work, held.url) for work, held in zip(works, helds)]
    await_stretches(cluster, place, pair[0].caller(tokens[0]), tasks[0], helds[0])
    readers = [
        stack.enter_context(Reader(node.caller(token), work.path))
        for node, token, work in zip(pair[::-1], tokens, works)
    ]
    for leaves, stays in pair, pair[::-1]:
        done = leaves.ferry("drain")
        assert done.returncode == 0, done.stderr
        leaves.stop()
        leaves.program = os.environ["FERRY"]
        leaves.restart()
        eventually(lambda: leaves.record["state"] == "serving", "it to serve", 20)
        pass_through((stays, leaves), origin, f"beside-{stays.number}")
    for token, reader, task, held in zip(tokens, readers, tasks, helds):
        for node in pair:
            assert_whole(node.caller(token), task, held.content)
        assert held.sent <= 1.02 * len(held.content), "fetched again"
        eventually(lambda: reader.has_all_of(pair[0].caller(token)), "all events", 60)
        assert reader.names.count("task.didComplete") == 1
    for held in helds:
        held.gate.set()


def test_nodes_go_on_with_the_tables_of_the_next_version(cluster, pair, origin):
    """A rolling upgrade whose first node has added to the tables."""
    first, second = pair
    _, token = one_each(pair)
    before, after = second.caller(token), first.caller(token)
    work, held = background(before), Held(origin, "/held")
    task = download(work, held.url)
    with Reader(after, work.path) as reader:
        cluster.upgrade_tables()
        held.gate.set()
        assert_whole(after, task)
        pass_through(pair, origin)
        # What is to be upgraded next hands over to one of its own version.
        assert second.ferry("drain").returncode == 0
        assert_whole(after, task)
        origin.on("/next", Answer(CONTENT))
        session = Session(after, path=work.path)
        assert_whole(after, session.start(origin.url("/next"), type="download", computeDigest=True))
        eventually(lambda: reader.has_all_of(after), "all events", 60)
    second.stop()
    status, words = cluster.refusal("--node-address", "http://127.0.0.1:1")
    assert status == 74 and "written by a later version of Ferry" in words, words
    assert is_completed(after, task)
    for node in pair:
        assert "Z error " not in (node.folder / "log").read_text()


def stage(gateway, content, length, is_whole):
    """A staged file, or what has come of one; its path."""
    headers = {"Upload-Length": str(length), "Upload-Complete": "?1" if is_whole else "?0"}
    answer = gateway.client.post("/v1/files", content=content, headers=headers)
    assert answer.status_code == 201, answer.text
    return answer.headers["Location"]


def migrate(gateway, cluster, database):
    """Moves what a gateway that has ended has to where the cluster's nodes have it."""
    source = [f"sqlite:{gateway.data}"] if database == "file" else ["--data-directory", str(gateway.data)]
    run(
        os.environ["FERRY"], "migrate", *source, "--contents", cluster.contents,
        HOME=str(gateway.folder), **cluster.environment,
    )


@pytest.mark.parametrize(
    "place, database", [("folder", "file"), ("s3", "file"), ("folder", "server")], indirect=["place"]
)
def test_what_one_machine_had_is_served_by_nodes(place, database, cluster, origin):
    """A gateway with contents of its own, and mostly a database, becomes nodes with fresh folders."""
    sent = []
    origin.on("/up", lambda request: sent.append(request.body) or Answer(b"thanks"))
    origin.on("/small", Answer(CONTENT[:1000]))
    origin.on("/whole", Answer(CONTENT, headers={"Cache-Control": "max-age=86400"}))
    held, running = large(origin, "/held", stretches=2), Held(origin, "/running")
    own = {"FERRY_KEY": KEY} if database == "file" else cluster.environment
    with Gateway(**own) as gateway:
        session, work = Session(gateway), background(gateway)
        contents = {
            session.fetch(origin.url("/small"), computeDigest=True).id: CONTENT[:1000],
            session.fetch(origin.url("/whole"), computeDigest=True).id: CONTENT,
        }
        file = stage(gateway, CONTENT, len(CONTENT), True)
        begun = stage(gateway, CONTENT[: 1 << 20], len(CONTENT), False)
        suspended, under_way = download(work, held.url), download(work, running.url)
        received = lambda: gateway.get(f"/v1/tasks/{suspended}")["countOfBytesReceived"]
        eventually(lambda: received() == held.stop, "all that comes")
        gateway.post(f"/v1/tasks/{suspended}/suspend", 200)
        gateway.stop()
        for each in held, running:
            each.gate.set()
        migrate(gateway, cluster, database)
        assert place(), "what came of downloads"
        nodes = two_nodes(cluster)
        for node in nodes:
            for task, content in contents.items():
                assert_whole(node.caller(), task, content)
        # By itself, from where it was.
        assert_whole(nodes[1].caller(), under_way)
        assert_fetched_once(running)
        assert nodes[1].get(f"/v1/tasks/{suspended}")["state"] == "suspended"
        nodes[1].post(f"/v1/tasks/{suspended}/resume", 200)
        assert_whole(nodes[0].caller(), suspended, LARGE)
        assert_fetched_once(held)
        eventually(lambda: not place(), "nothing to be left of stretches", 20)
        moved = Session(nodes[1].caller(), path=session.path)
        stored = moved.fetch(origin.url("/whole"), policy="returnCacheDataDontLoad")
        assert stored.is_hit
        headers = {
            "Upload-Offset": str(1 << 20), "Upload-Complete": "?1",
            "Content-Type": "application/partial-upload",
        }
        answer = nodes[1].client.patch(begun, content=CONTENT[1 << 20 :], headers=headers)
        assert answer.status_code == 204, answer.text
        for path in file, begun:
            body = {"file": path.rsplit("/", 1)[1]}
            moved.fetch(origin.url("/up"), type="upload", method="POST", body=body)
        assert sent == [CONTENT, CONTENT]


def test_draining_is_called_off_and_needs_somebody_to_take_the_tenants(pair):
    first, second = pair
    assert second.ferry("drain").returncode == 0
    states = lambda: [node["state"] for node in first.get("/v1/nodes")["nodes"]]
    eventually(lambda: "draining" in states(), "the other node to hear of it", 20)
    alone = first.ferry("drain")
    assert alone.returncode == 1 and "no other beside it" in alone.stderr
    assert first.record["state"] == "serving"
    assert first.ferry("drain", "--cancel", str(second.number)).returncode == 0
    eventually(lambda: second.record["state"] == "serving", "it to serve", 20)
    assert first.ferry("drain", "63").returncode == 1


# When the database is away


@pytest.mark.parametrize("seconds", [4, 2 * HANG])
def test_both_nodes_go_on_when_the_database_is_back(postgres, pair, origin, stack, seconds):
    tokens = one_each(pair)
    callers = [node.caller(token) for node, token in zip(pair, tokens)]
    works = [background(caller) for caller in callers]
    helds = [Held(origin, f"/held-{number}") for number in (1, 2)]
    tasks = [download(work, held.url) for work, held in zip(works, helds)]
    pids = [node.identifier for node in pair]
    others = [node.caller(token) for node, token in zip(pair[::-1], tokens)]
    readers = [Reader(other, work.path) for other, work in zip(others, works)]
    for reader in readers:
        stack.enter_context(reader)
        eventually(lambda: len(reader.ids) >= 2, "the first events", 20)
    postgres.stop()
    try:
        time.sleep(seconds)
        for node in pair:
            assert node.client.get("/healthz").status_code == 200
            assert node.client.get("/readyz").status_code == 503
            if seconds > HANG:
                assert_paused(node)
        counts = [received(node) for node in pair]
        for held in helds:
            held.gate.set()
        if seconds > HANG:
            time.sleep(1)
            assert [received(node) for node in pair] == counts
    finally:
        postgres.restart()
    for node in pair:
        eventually(lambda: node.client.get("/readyz").status_code == 200, "the node", 60)
    for caller, task, reader in zip(callers, tasks, readers):
        assert_whole(caller, task)
        eventually(lambda: reader.has_all_of(caller), "all events", 60)
        assert reader.names.count("task.didComplete") == 1
    # Nobody was taken for dead, and nothing has moved.
    assert [node.identifier for node in pair] == pids
    assert [node.record["tenants"] for node in pair] == [2, 1]
    for held, path in zip(helds, ["/held-1", "/held-2"]):
        assert origin.count(path) == 1, "it was fetched again"
    for node, token in zip(pair, reversed(tokens)):
        Session(node.caller(token))


# Who may not be one of them


def test_a_gateway_that_is_no_node_does_not_start_beside_nodes(cluster, pair):
    status, words = cluster.refusal()
    assert status not in (0, 64) and "ferry: " in words, words
    cluster.environment["FERRY_KEY"] = "6b" * 32
    status, words = cluster.refusal("--node-address", "http://127.0.0.1:1")
    assert status == 78 and "The key is not the one" in words, words
    for node in pair:
        assert node.client.get("/readyz").status_code == 200


def test_a_node_does_not_start_beside_a_gateway_that_has_the_database(cluster):
    with Gateway("--contents", cluster.contents, **cluster.environment):
        status, words = cluster.refusal("--node-address", "http://127.0.0.1:1")
        assert status not in (0, 64) and "ferry: " in words, words

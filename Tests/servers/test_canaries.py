"""A secret in every field that has one; then all that can be read is read (security.md §5)."""

import base64
import secrets
import threading

import httpx
import httpx_sse
import pytest

from canaries import Planted
from daemon import eventually
from delegate import Delegate
from gateway import Gateway
from origin import Answer
from session import Session

LATER = {"Cache-Control": "max-age=600", "ETag": '"1"'}
HALF = 200_000


def serve(origin, planted):
    """What the tasks of the story fetch."""

    def guarded(request):
        if not request["Authorization"]:
            headers = {"WWW-Authenticate": f'Basic realm="{request.path}"'}
            return Answer(b"who?", 401, headers)
        return Answer(b"come in", headers=LATER | {"Vary": "Authorization"})

    gate, never = threading.Event(), threading.Event()

    def halves(gate):
        yield bytes(HALF)
        gate.wait(30)
        yield bytes(HALF)

    def slow(request):
        headers = {"ETag": '"1"', "Accept-Ranges": "bytes"}
        if not request["Range"]:
            chosen = never if request.path == "/stuck" else gate
            return Answer(pieces=halves(chosen), length=2 * HALF, headers=headers)
        start = int(request["Range"][6:].partition("-")[0])
        headers["Content-Range"] = f"bytes {start}-{2 * HALF - 1}/{2 * HALF}"
        return Answer(bytes(2 * HALF - start), 206, headers)

    cookie = f"set={planted['set by an answer']}; Max-Age=600; HttpOnly"
    hop = f"hop={planted['set by a redirect']}; Max-Age=600"
    varied = LATER | {"Vary": "Cookie, X-Api-Key, X-Hidden", "Set-Cookie": cookie}
    origin.on("/stored", Answer(b"stored", headers=varied))
    origin.on("/hop", Answer(status=302, headers={"Set-Cookie": hop, "Location": "/stored"}))
    origin.on("/refused", Answer(b"refused", 500, {"Set-Cookie": f"a={planted['set by a 500']}"}))
    origin.on("/hook", Answer(b"taken"))
    for path in ["/put/", "/answered/", "/guarded/"]:
        origin.on(path, guarded)
    for path in ["/slow", "/stuck"]:
        origin.on(path, slow)
    return gate


def space(origin, path):
    return {
        "host": "127.0.0.1",
        "port": origin.port,
        "protocol": "http",
        "realm": path,
        "authenticationMethod": "NSURLAuthenticationMethodHTTPBasic",
    }


class Story:
    """A client with a secret for every field, whose delegate answers with some more."""

    def __init__(self, gateway, origin, authorities, planted, type):
        self.gateway, self.origin, self.planted = gateway, origin, planted
        self.is_persistent = type == "default"
        self.persistence = "permanent" if self.is_persistent else "forSession"
        self.answers = []
        additional = {"Authorization": f"Bearer {planted['of the configuration']}"}
        self.other = Session(gateway, type, httpAdditionalHeaders=additional)
        handles = ["challenge", "cache", "redirect"]
        self.delegate = Delegate(gateway, self.decide, handles=handles, type=type)
        self.session = Session(gateway, path=self.delegate.path)
        self.client = httpx.Client(
            base_url=gateway.client.base_url,
            headers=gateway.client.headers,
            timeout=30,
            trust_env=False,
        )
        self.authorities = authorities

    def decide(self, event):
        if event.name.endswith("didReceiveChallenge"):
            if event.space["realm"] == "/put/":
                return {"disposition": "performDefaultHandling"}
            credential = {"user": "u", "password": self.planted["answered to a challenge"]}
            credential["persistence"] = self.persistence
            return {"disposition": "useCredential", "credential": credential}
        if event.name == "task.willCacheResponse":
            info = {"note": self.planted["user info"]}
            return {"disposition": "store", "userInfo": info}
        return {"disposition": "follow"}

    def send(self, method, path, status, **members):
        """Sends what may hold secrets; the answer must hold none."""
        answer = self.client.request(method, path, **members)
        assert answer.status_code == status, f"{answer.status_code} {answer.text}"
        self.answers.append(answer.content + str(answer.headers).encode())
        return answer

    def put_secrets(self):
        """Into the stores, by hand; and again in forms that are refused."""
        planted, path = self.planted, self.session.path
        soon = "2099-01-01T00:00:00.000Z"
        cookie = {"name": "own", "value": planted["set by hand"], "domain": "127.0.0.1"}
        self.client.post(f"{path}/cookies", json=cookie | {"expires": soon}).raise_for_status()
        line = f"127.0.0.1\tFALSE\t/\tFALSE\t4070908800\tfile\t{planted['in a file']}\n"
        text = {"Content-Type": "text/plain"}
        wrong = f"com\tTRUE\t/\tFALSE\t0\tfile\t{planted['in a wrong line']}\n"
        self.send("POST", f"{path}/cookies", 200, content=line + wrong, headers=text)
        for changed in [{"domain": "com", "hostOnly": False}, {"path": 7}, {"sameSite": "?"}]:
            self.send("POST", f"{path}/cookies", 422, json=cookie | changed)

        entry = {
            "protectionSpace": space(self.origin, "/put/"),
            "user": "u",
            "password": planted["put"],
            "persistence": self.persistence,
        }
        pair = self.authorities.client("dora")
        lines = pair.key.strip().splitlines()
        planted.add("key of a certificate", base64.b64decode("".join(lines[1:-1]))[30:])
        planted.add("key of a certificate, its text", lines[2])
        method = {"authenticationMethod": "NSURLAuthenticationMethodClientCertificate"}
        theirs = space(self.origin, None) | {"protocol": "https"} | method
        packed = base64.b64encode(pair.pkcs12(planted["passphrase"])).decode()
        certificates = [
            {"pem": pair.certificate, "key": pair.key},
            {"pkcs12": packed, "passphrase": planted["passphrase"]},
        ]
        credentials = f"{path}/credentials"
        self.send("PUT", credentials, 204, json=entry)
        for certificate in certificates:
            entry_of = {"protectionSpace": theirs, "certificate": certificate}
            entry_of["persistence"] = self.persistence
            self.send("PUT", credentials, 204, json=entry_of)
            broken = entry_of | {"certificate": certificate | {"pem": "none", "pkcs12": "none"}}
            self.send("PUT", credentials, 422, json=broken)
        for changed in [{"persistence": "none"}, {"user": 7}, {"password": planted["put"] + "\n"}]:
            self.send("PUT", credentials, 422, json=entry | changed)

    def make_webhook(self):
        """One that is posted everything, with a secret of its client's and one that replaced it."""
        key = secrets.token_bytes(32)
        self.planted.add("webhook", key)
        secret = "whsec_" + base64.b64encode(key).decode()
        members = {"url": self.origin.url("/hook"), "events": ["*"], "secret": secret}
        made = self.client.post("/v1/webhooks", json=members).raise_for_status()
        assert made.json()["secret"] == secret
        self.webhook = made.headers["Location"]
        rotated = self.client.post(f"{self.webhook}/rotate-secret").raise_for_status()
        new = rotated.json()["secret"].removeprefix("whsec_")
        self.planted.add("rotated webhook", base64.b64decode(new))
        broken = members | {"events": ["nothing"]}
        self.send("POST", "/v1/webhooks", 422, json=broken)

    def request(self, path):
        """Fields that are always sensitive, and one that the client says is."""
        planted = self.planted
        return {
            "url": self.origin.url(f"{path}?q={planted['query']}"),
            "headers": {
                "Authorization": f"Bearer {planted['Authorization']}",
                "Cookie": f"own={planted['Cookie']}",
                "X-Api-Key": planted["sensitive header"],
            },
            "sensitiveHeaders": ["X-Api-Key"],
        }

    def run_tasks(self, gate):
        """Tasks that end in every way, and some that do not."""
        path = f"{self.session.path}/tasks"
        fetch = lambda at, **more: self.delegate.fetch(self.origin.url(at), **more)
        assert fetch("/hop").status == 200
        for turn in range(2):
            assert [fetch(at).status for at in ["/put/", "/answered/"]] == [200, 200], turn
        assert fetch("/refused").status == 500
        for type, at in [("data", "/stored"), ("download", "/guarded/"), ("data", "/missing")]:
            members = {"type": type, "request": self.request(at), "resume": True}
            task = self.send("POST", path, 201, json=members).json()["id"]
            assert self.delegate.finish(task).error is None
        closed = self.request("/x") | {"url": "http://127.0.0.1:1/"}
        members = {"type": "data", "request": closed, "resume": True}
        task = self.send("POST", path, 201, json=members).json()["id"]
        assert self.delegate.finish(task).error == -1004
        injected = self.request("/stored")
        injected["headers"]["X-Api-Key"] += "\r\nX-More: 1"
        for wrong in [injected, self.request("/x") | {"method": 7}]:
            self.send("POST", path, 422, json={"type": "data", "request": wrong})
        # What waits for its start keeps all that it will send.
        waiting = {"type": "data", "request": self.request("/stored")}
        self.waiting = self.send("POST", path, 201, json=waiting).json()["id"]
        self.other.fetch(self.origin.url("/guarded/"))

        # One goes on from resume data, which hold the request.
        task = self.half_downloaded("/slow")
        members = {"producingResumeData": True}
        told = self.send("POST", f"/v1/tasks/{task}/cancel", 200, json=members)
        data = told.json()["resumeData"]
        self.answers.append(base64.urlsafe_b64decode(data + "=="))
        gate.set()
        members = {"type": "download", "resumeData": data, "resume": True}
        task = self.send("POST", path, 201, json=members).json()["id"]
        assert self.delegate.finish(task).error is None
        sent = self.origin.seen("/slow")[-1]
        assert sent["Range"] == f"bytes={HALF}-"
        assert sent["X-Api-Key"] == self.planted["sensitive header"]
        self.stuck = self.half_downloaded("/stuck")

    def half_downloaded(self, at):
        """A download that has come to its half."""
        members = {"type": "download", "request": self.request(at), "resume": True}
        task = self.send("POST", f"{self.session.path}/tasks", 201, json=members).json()["id"]
        count = lambda: self.client.get(f"/v1/tasks/{task}").json()["countOfBytesReceived"]
        eventually(lambda: count() == HALF, "the half")
        return task

    def look_everywhere(self):
        """All that can be read; what may show a secret to its owner is read for the others."""
        planted = self.planted
        set_by_answers = ["set by an answer", "set by a redirect", "set by a 500"]
        # The query of a URL is no secret to who reads the task.
        shown = {"query"}
        for data in self.answers:
            # A task that is created may have its response already.
            assert planted.seen_in(data, *shown, *set_by_answers) == [], data
        paths = ["/v1/sessions", "/v1/gateway", "/metrics", "/healthz", "/readyz", "/"]
        paths += ["/v1/webhooks", self.webhook, f"{self.webhook}/deliveries"]
        for session in [self.session, self.other]:
            parts = ["", "/credentials", "/cache", "/decisions", "/tasks"]
            paths += [session.path + part for part in parts]
        for path in paths:
            data = self.client.get(path).content
            assert planted.seen_in(data, *shown) == [], path
        for task in self.client.get("/v1/tasks?state=all&limit=500").json()["tasks"]:
            data = self.client.get(f"/v1/tasks/{task['id']}").content
            assert planted.seen_in(data, *shown, *set_by_answers) == [], data
        # The jar is for the jar's owner; and what it stored, for who has stored it.
        jar = self.client.get(f"{self.session.path}/cookies").content
        by_hand = ["set by hand", "in a file", *set_by_answers]
        assert planted.seen_in(jar) == [each for each in planted.names if each in by_hand]
        query = {"url": self.origin.url("/stored")}
        stored = self.client.get(f"{self.session.path}/cache", params=query).content
        assert planted.seen_in(stored, "set by an answer") == ["user info"]

        for path in [self.session.path, self.other.path, "/v1"]:
            events = self.replay(f"{path}/events")
            for event in events:
                assert planted.seen_in(event.encode(), *shown) == [], event
            # What may be seen is, so that the reading is none of thin air.
            if path != self.other.path:
                assert planted.seen_in("".join(events).encode()) == ["query"]
        posts = self.origin.seen("/hook")
        assert bool(posts) is self.is_persistent
        for post in posts:
            assert planted.seen_in(post.body + str(post.headers).encode(), *shown) == [], post
        for event in self.delegate.events:
            assert planted.seen_in(event.text.encode(), *shown) == [], event

    def replay(self, path):
        """All events of a stream so far."""
        events = []
        with httpx_sse.connect_sse(self.client, "GET", f"{path}?replay=all") as source:
            last = source.response.headers["Ferry-Last-Event-ID"]
            for event in source.iter_sse():
                events.append(event.data)
                if event.id == last:
                    return events


def search(gateway, planted):
    """Nothing on the disk, in the log or in what was printed; a query only where its URL is."""
    for path in [path for path in gateway.folder.rglob("*") if path.is_file()]:
        is_log = path.parent == gateway.folder
        but = [] if is_log else ["query"]
        assert planted.seen_in(path.read_bytes(), *but) == [], path
        assert planted.seen_in(path.name.encode()) == []


@pytest.mark.parametrize("type", ["default", "ephemeral"])
def test_no_secret_is_ever_seen_again(origin, authorities, type):
    planted = Planted()
    key = secrets.token_bytes(32)
    planted.add("query", f"query-{secrets.token_hex(8)}")  # good for a URL as it is
    planted.add("FERRY_KEY", key)
    planted.add("FERRY_KEY as it was given", key.hex())
    gate = serve(origin, planted)
    with Gateway("--log-level", "debug", FERRY_KEY=key.hex()) as gateway:
        story = Story(gateway, origin, authorities, planted, type)
        story.put_secrets()
        story.make_webhook()
        story.run_tasks(gate)
        story.look_everywhere()
        search(gateway, planted)
        # The search finds what is there.
        query = planted["query"].encode()
        database = gateway.folder / "data" / "ferry.sqlite"
        wal = database.with_name("ferry.sqlite-wal")
        is_on_disk = query in database.read_bytes() + wal.read_bytes()
        assert is_on_disk is story.is_persistent

        story.session.tell("flush")
        story.delegate.leave()
        gateway.kill9()
        search(gateway, planted)
        gateway.restart()
        story.client.base_url = gateway.client.base_url
        if story.is_persistent:
            story.delegate.follow()
            story.look_everywhere()
            still_known(story, origin, planted)
        else:
            assert story.client.get(story.session.path).status_code == 404
        search(gateway, planted)
        gateway.stop()
        search(gateway, planted)


def still_known(story, origin, planted):
    """It was all kept, and goes where it belongs: to the origin."""
    session = story.session
    error = story.client.get(f"/v1/tasks/{story.stuck}").json()["error"]
    data = error["userInfo"]["NSURLSessionDownloadTaskResumeData"]
    assert planted.seen_in(base64.urlsafe_b64decode(data + "==")) == []
    path = f"{session.path}/tasks"
    again = session.gateway.post(path, 201, type="download", resumeData=data, resume=True).json()
    assert session.finish(again["id"]).error is None
    assert origin.seen("/stuck")[-1]["Authorization"] == f"Bearer {planted['Authorization']}"
    session.gateway.post(f"/v1/tasks/{story.waiting}/resume", 200)
    headers = {"Prefer": "wait=20"}
    story.client.get(f"/v1/tasks/{story.waiting}", headers=headers).raise_for_status()
    sent = origin.seen("/stored")[-1]
    assert sent["X-Api-Key"] == planted["sensitive header"]
    assert sent["Cookie"] == f"own={planted['Cookie']}"
    assert session.fetch(origin.url("/missing")).status == 404
    cookies = origin.seen("/missing")[-1]["Cookie"]
    for name in ["set by hand", "in a file", "set by an answer", "set by a redirect"]:
        assert planted[name] in cookies
    for path, name in [("/put/", "put"), ("/answered/", "answered to a challenge")]:
        origin_answer = session.fetch(origin.url(path), policy="reloadIgnoringLocalCacheData")
        assert origin_answer.status == 200
        basic = base64.b64encode(f"u:{planted[name]}".encode()).decode()
        assert origin.seen(path)[-1]["Authorization"] == f"Basic {basic}"

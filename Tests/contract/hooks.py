"""What schemathesis cannot know: where tasks may go, and which requests would wait for ever."""

import http.server
import itertools
import os
import re
import threading
import time
import urllib.parse

import requests
import schemathesis
from hypothesis import strategies
from schemathesis.core.parameters import ParameterLocation

BASE = os.environ["FERRY_URL"]
# What is left of the 8 KiB of a request line.
LONGEST_QUERY = 7 << 10
TOKEN = {"Authorization": "Bearer " + os.environ["FERRY_TOKEN"]}


class Origin(http.server.BaseHTTPRequestHandler):
    """An origin on loopback for the tasks that the tests create."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        # A body in chunks is not looked at: what is left of it ends with the connection.
        self.close_connection = "Transfer-Encoding" in self.headers
        moved = self.path == "/moved"
        body = b"" if moved else b"twelve bytes"
        self.send_response({"/moved": 302, "/missing": 404, "/locked": 401}.get(self.path, 200))
        if moved:
            self.send_header("Location", "/")
        if self.path == "/fresh":
            self.send_header("Cache-Control", "max-age=60")
        if self.path == "/locked":
            self.send_header("WWW-Authenticate", 'Basic realm="locked"')
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        pass

    def __getattr__(self, name):
        # Tasks may have any method; BaseHTTPRequestHandler asks for do_METHOD.
        if name.startswith("do_"):
            return self.answer
        raise AttributeError(name)


class Server(http.server.ThreadingHTTPServer):
    """Five connections at most would wait on a busy machine, and others be tried again seconds later."""

    request_queue_size = 256


origin = Server(("127.0.0.1", 0), Origin)
origin.daemon_threads = True
threading.Thread(target=origin.serve_forever, daemon=True).start()

address = f"http://127.0.0.1:{origin.server_port}"
urls = [f"{address}{path}" for path in ("/", "/moved", "/missing", "/a%20b?c=d")]
# Nothing listens on the discard port: the connection is refused.
schemathesis.openapi.format("web-url", strategies.sampled_from([*urls, "http://127.0.0.1:9/"]))
schemathesis.openapi.format("host", strategies.sampled_from(["127.0.0.1", "localhost", "::1"]))


def gateway(method, path, json=None, data=None, **headers):
    answer = requests.request(
        method, BASE + path, json=json, data=data, headers={**TOKEN, **headers}, timeout=20
    )
    return answer.json() if answer.content else None


def make_task(resume):
    spec = {"type": "download", "resume": resume, "request": {"url": urls[0]}}
    wait = {"Prefer": "wait=5"} if resume else {}
    return gateway("POST", "/v1/sessions/shared/tasks", spec, **wait)["id"]


def make_session(**spec):
    return gateway("POST", "/v1/sessions", {"type": "ephemeral", **spec})["id"]


def make_streamed_task():
    """A task that waits for its body."""
    session = make_session(delegate={"handles": ["bodyStream"], "decisionTimeout": 10})
    spec = {"type": "upload", "resume": True, "request": {"url": urls[0]}, "body": {"stream": {}}}
    return gateway("POST", f"/v1/sessions/{session}/tasks", spec)["id"]


def make_file(complete):
    fields = {"Upload-Complete": "?1" if complete else "?0"}
    return gateway("POST", "/v1/files", data=b"twelve bytes", **fields)["id"]


# Of each kind of decision that is asked for: its dispositions, and a task that leads to it.
QUESTIONS = {
    "redirect": ({"follow", "stop"}, {"request": {"url": f"{address}/moved"}}),
    "response": ({"allow", "cancel", "becomeDownload"}, {"request": {"url": urls[0]}}),
    "delayedRequest": (
        {"continue", "useNewRequest"},
        {"request": {"url": urls[0]}, "earliestBeginDate": "2026-01-01T00:00:00Z"},
    ),
    "cache": ({"store", "refuse"}, {"request": {"url": f"{address}/fresh"}}),
    "challenge": (set(), {"request": {"url": f"{address}/locked"}}),
}


def make_decision(answer):
    """A decision that waits, of the kind that an answer is one to; a challenge for all others."""
    disposition = answer.get("disposition") if isinstance(answer, dict) else None
    kinds = (kind for kind, (known, _) in QUESTIONS.items() if disposition in list(known))
    kind = next(kinds, "challenge")
    session = make_session(delegate={"handles": [kind], "decisionTimeout": 10})
    spec = {"type": "data", "resume": True, **QUESTIONS[kind][1]}
    gateway("POST", f"/v1/sessions/{session}/tasks", spec)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        waiting = gateway("GET", f"/v1/sessions/{session}/decisions")["decisions"]
        if waiting:
            return waiting[0]["id"]
        time.sleep(0.01)
    raise AssertionError(f"nothing was asked: {kind}")


turn = itertools.count()


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """URLs and hosts are drawn from those that lead somewhere; the document has no name for that."""
    schemas = raw_schema["components"]["schemas"]
    schemas["WebURL"]["format"] = "web-url"
    schemas["Host"]["format"] = "host"


@schemathesis.hook
def filter_case(context, case):
    """A wrong item of an array is refused by itself, in an answer of 200: nothing to expect a 4xx from.

    A query that does not fit into the request line is refused before its route is known: every
    operation would have to tell of 414.
    """
    if len(urllib.parse.urlencode(case.query or {}, doseq=True)) > LONGEST_QUERY:
        return False
    is_wrong_body = case.meta is not None and case.meta.is_negative_at(ParameterLocation.BODY)
    return not (is_wrong_body and isinstance(case.body, list))


@schemathesis.hook
def before_call(context, case, kwargs):
    """Points requests at what exists, and keeps them from waiting for what never comes."""
    operation = case.operation.definition.raw.get("operationId")
    is_drawn = case.meta is not None and case.meta.phase.name.value != "stateful"
    if is_drawn and not case.meta.is_negative_at(ParameterLocation.PATH):
        point_at_something(case, operation)
    if str((case.headers or {}).get("Prefer")).startswith("wait="):
        case.headers["Prefer"] = "wait=0"
    is_wrong_body = case.meta is not None and case.meta.is_negative_at(ParameterLocation.BODY)
    free_key(case, operation)
    if operation == "createTasks":
        for spec in case.body if isinstance(case.body, list) else [case.body]:
            if isinstance(spec, dict):
                end_by_itself(spec)
                if not is_wrong_body:
                    end_soon(spec)
                    send_something(spec)
                    agree(spec)
    if operation in ("updateGateway", "updateSession", "updateTask") and not is_wrong_body:
        end_soon(case.body)
    if operation == "getTaskContent":
        end_task(str(case.path_parameters["task"]))


def point_at_something(case, operation):
    """A drawn id names nothing; three times out of four it is exchanged for a real one."""
    number = next(turn)
    if number % 4 == 3:
        return
    if operation == "sendTaskBody":
        case.path_parameters["task"] = make_streamed_task()
        return
    if "decision" in case.path_parameters:
        case.path_parameters["decision"] = make_decision(case.body)
    if "file" in case.path_parameters:
        case.path_parameters["file"] = make_file(complete=number % 4 != 0)
    if "task" in case.path_parameters:
        case.path_parameters["task"] = make_task(resume=number % 4 != 0)
    if "session" in case.path_parameters:
        changes = operation in ("updateSession", "invalidateSession")
        if operation == "listDecisions":
            decision = gateway("GET", f"/v1/decisions/{make_decision(None)}")
            case.path_parameters["session"] = decision["session"]
            return
        case.path_parameters["session"] = make_session() if changes else "shared"


def free_key(case, operation):
    """A key stands for one request: most get one of their own, and none where it is no use."""
    wrong = case.meta.is_negative_at if case.meta is not None else lambda _: True
    if wrong(ParameterLocation.HEADER) or wrong(ParameterLocation.QUERY):
        return
    query, headers, number = case.query or {}, case.headers or {}, next(turn)
    if operation == "createTasks" and isinstance(case.body, list) and number % 4:
        query.pop("answer", None)
    if "Idempotency-Key" in headers and "answer" in query and number % 4:
        del headers["Idempotency-Key"]
    elif "Idempotency-Key" in headers and number % 4:
        headers["Idempotency-Key"] = f"key-{number}"


def end_by_itself(spec):
    """A begin date may lie in the year 9000, and a stream waits for its reader."""
    if isinstance(spec.get("earliestBeginDate"), str):
        del spec["earliestBeginDate"]
    if spec.get("delivery") == "stream" and spec.get("resume") is True:
        spec["resume"] = False


def end_soon(spec):
    """Limits and delays that are allowed, but too slow for a test."""
    if not isinstance(spec, dict):
        return
    if isinstance(spec.get("maximumBytesPerSecond"), int):
        spec["maximumBytesPerSecond"] = max(spec["maximumBytesPerSecond"], 1000000)
    if isinstance(spec.get("retry"), dict):
        spec["retry"]["backoff"] = {"initial": 0, "maximum": 0}


def send_something(spec):
    """A drawn id of a file or a task names nothing; every other time it is exchanged for a real one."""
    body = spec.get("body")
    if not isinstance(body, dict) or next(turn) % 2 == 0:
        return
    if "file" in body:
        body["file"] = make_file(complete=True)
    if "task" in body:
        body["task"] = make_task(resume=True)


def agree(spec):
    """What members ask of one another, three times out of four: the rest is refused for it."""
    if next(turn) % 4 == 0:
        return
    kind, body, request = spec.get("type"), spec.get("body"), spec.get("request")
    if kind != "download":
        for member in ("connections", "mirrors", "destination"):
            spec.pop(member, None)
    elif isinstance(spec.get("destination"), dict):
        spec["destination"].update(folder="music", path=f"drawn/{next(turn)}")
    if kind != "data" or spec.get("computeDigest") or spec.get("expectedDigest"):
        spec.pop("delivery", None)
    if isinstance(body, dict) and "stream" in body:
        body.clear()
        body["text"] = "no stream"
    if isinstance(request, dict) and body is not None:
        request["method"] = "POST"
        spec.pop("connections", None)


def end_task(task):
    """The content of a task that is under way is followed to its end."""
    if not re.fullmatch("tsk_[0-9a-z]+", task):
        return
    path = f"/v1/tasks/{task}"
    if gateway("GET", path).get("state") in ("running", "suspended"):
        gateway("POST", f"{path}/cancel")
        gateway("GET", path, Prefer="wait=5")

"""What schemathesis cannot know: where tasks may go, and which requests would wait for ever."""

import http.server
import os
import threading

import requests
import schemathesis
from hypothesis import strategies

BASE = os.environ["FERRY_URL"]
TOKEN = {"Authorization": "Bearer " + os.environ["FERRY_TOKEN"]}


class Origin(http.server.BaseHTTPRequestHandler):
    """An origin on loopback for the tasks that the tests create."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        moved = self.path == "/moved"
        body = b"" if moved else b"twelve bytes"
        self.send_response(302 if moved else 404 if self.path == "/missing" else 200)
        if moved:
            self.send_header("Location", "/")
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


origin = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin)
origin.daemon_threads = True
threading.Thread(target=origin.serve_forever, daemon=True).start()

address = f"http://127.0.0.1:{origin.server_port}"
urls = [f"{address}{path}" for path in ("/", "/moved", "/missing", "/a%20b?c=d")]
# Nothing listens on the discard port: the connection is refused.
schemathesis.openapi.format("web-url", strategies.sampled_from([*urls, "http://127.0.0.1:9/"]))


@schemathesis.hook
def before_call(context, case, kwargs):
    """Takes out of a request what would make its answer wait for what never comes."""
    operation = case.operation.definition.raw.get("operationId")
    if operation == "createTasks":
        for spec in case.body if isinstance(case.body, list) else [case.body]:
            if isinstance(spec, dict):
                end_by_itself(spec)
    if operation == "getTaskContent":
        end_task(str(case.path_parameters.get("task")))


def end_by_itself(spec):
    """A begin date may lie in the year 9000, and a stream waits for its reader."""
    if isinstance(spec.get("earliestBeginDate"), str):
        del spec["earliestBeginDate"]
    if spec.get("delivery") == "stream" and spec.get("resume") is True:
        spec["resume"] = False


def end_task(task):
    """The content of a task that is under way is followed to its end."""
    if not task.startswith("tsk_") or not task.isalnum() and not task[4:].isalnum():
        return
    url = f"{BASE}/v1/tasks/{task}"
    answer = requests.get(url, headers={**TOKEN, "Prefer": "wait=1"}, timeout=10)
    if answer.status_code == 200 and answer.json()["state"] != "completed":
        requests.post(f"{url}/cancel", headers=TOKEN, timeout=10)
        requests.get(url, headers={**TOKEN, "Prefer": "wait=5"}, timeout=10)

#!/usr/bin/env python3
"""Leaves downloads to Ferry, goes away, and is called back when they have ended.

    FERRY_TOKEN=fry_… python3 called_back.py listen --port 9000 --folder done   # in one terminal
    FERRY_TOKEN=fry_… python3 called_back.py queue https://host/file …          # in another

Standard library only. `queue` makes a background session, or joins the one that is there, posts the
downloads and exits; with the session it makes a webhook that calls `listen`. `listen` verifies
each call as standardwebhooks.com says, fetches what has been downloaded, and forgets the task. Either
can be stopped, and the gateway too: what ends meanwhile is told when both are there again.

A gateway calls this machine only where it may: `ferry serve --allow-destination 127.0.0.1/32`.
"""

import argparse
import base64
import hashlib
import hmac
import http.server
import json
import os
import pathlib
import secrets
import shutil
import sys
import time
import urllib.error
import urllib.request

GATEWAY = os.environ.get("FERRY_URL", "http://127.0.0.1:8080")
TOKEN = os.environ.get("FERRY_TOKEN", "")
SESSION = "called-back"
# The token goes to the gateway, and to no proxy that the environment names.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def call(method, path, body=None):
    """One request to the gateway; an answer of 400 or more raises HTTPError."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    if body is not None:
        headers["Content-Type"] = "application/json"
        body = json.dumps(body).encode()
    request = urllib.request.Request(GATEWAY + path, body, headers, method=method)
    return OPENER.open(request, timeout=60)


def secret(path):
    """The secret that both sides have: a file for this user only, made at its first use."""
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write("whsec_" + base64.b64encode(secrets.token_bytes(32)).decode())
    except FileExistsError:
        pass
    return pathlib.Path(path).read_text()


def queue(arguments):
    """Posts the downloads. Posting the session again finds the one that is there."""
    webhook = {
        "url": f"http://127.0.0.1:{arguments.port}/",
        "events": ["task.didComplete", "session.didFinishEvents"],
        "secret": secret(arguments.secret),
    }
    session = {"type": "background", "identifier": SESSION, "delegate": {}, "webhooks": [webhook]}
    with call("POST", "/v1/sessions", session) as answer:
        path = answer.headers["Location"]
    for url in arguments.urls:
        task = {"type": "download", "resume": True, "request": {"url": url}}
        with call("POST", f"{path}/tasks", task) as answer:
            print(json.load(answer)["id"], url)


def is_signed(headers, body, key):
    """Whether the gateway has sent it, in the last five minutes."""
    name, timestamp = headers["webhook-id"], headers["webhook-timestamp"]
    if not name or not timestamp or not timestamp.isdigit():
        return False
    if abs(time.time() - int(timestamp)) > 300:
        return False
    signed = f"{name}.{timestamp}.".encode() + body
    code = hmac.new(base64.b64decode(key.removeprefix("whsec_")), signed, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(code).decode()
    given = (headers["webhook-signature"] or "").split(" ")
    return any(hmac.compare_digest(expected, each) for each in given)


def fetch(task, folder):
    """Saves what a task has downloaded, and forgets the task; a call that comes twice does no harm."""
    try:
        with call("GET", f"/v1/tasks/{task}") as answer:
            name = json.load(answer).get("response", {}).get("suggestedFilename") or task
        target = folder / f"{task}-{pathlib.PurePath(name).name}"
        with call("GET", f"/v1/tasks/{task}/content") as content, open(target, "wb") as file:
            shutil.copyfileobj(content, file)
        call("DELETE", f"/v1/tasks/{task}").close()
        print("saved", target, flush=True)
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise


def listen(arguments):
    """Takes the calls of the gateway until it is stopped."""
    key = secret(arguments.secret)
    folder = pathlib.Path(arguments.folder)
    folder.mkdir(exist_ok=True)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = 204 if is_signed(self.headers, body, key) else 401
            try:
                if status == 204:
                    self.take(json.loads(body))
            except OSError as error:
                # Not taken: it comes again.
                print("later:", error, file=sys.stderr, flush=True)
                status = 503
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def take(self, message):
            data = message["data"]
            if message["type"] == "session.didFinishEvents":
                print("all done", flush=True)
            elif message["type"] == "task.didComplete":
                if data["error"]:
                    print("failed", data["task"], data["error"]["message"], flush=True)
                else:
                    fetch(data["task"], folder)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", arguments.port), Handler)
    print(f"listening on http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    for name, run in ("queue", queue), ("listen", listen):
        command = commands.add_parser(name)
        command.set_defaults(run=run)
        command.add_argument("--port", type=int, default=9000)
        command.add_argument("--secret", default="called-back.secret", help="a file")
        if name == "queue":
            command.add_argument("urls", nargs="+")
        else:
            command.add_argument("--folder", default="done")
    arguments = parser.parse_args()
    try:
        arguments.run(arguments)
    except urllib.error.HTTPError as error:
        sys.exit(json.loads(error.read() or b"{}").get("detail") or str(error))
    except KeyboardInterrupt:
        pass


main()

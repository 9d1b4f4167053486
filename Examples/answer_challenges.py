#!/usr/bin/env python3
"""Downloads a file through Ferry and answers the server that asks for a password.

    FERRY_TOKEN=fry_… python3 answer_challenges.py https://host/file [--user NAME] [-o FILE]

Standard library only. The steps: create a session whose delegate answers challenges, create a
download in it, follow the session's events (again from `Last-Event-ID` after a cut), answer each
decision, fetch the content.
"""

import argparse
import getpass
import http.client
import json
import os
import shutil
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

GATEWAY = os.environ.get("FERRY_URL", "http://127.0.0.1:8080")
TOKEN = os.environ.get("FERRY_TOKEN", "")
# The token goes to the gateway, and to no proxy that the environment names.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def call(method, path, body=None, headers={}, timeout=60):
    """One request to the gateway; an answer of 400 or more raises HTTPError."""
    headers = {"Authorization": f"Bearer {TOKEN}", **headers}
    if body is not None:
        headers["Content-Type"] = "application/json"
        body = json.dumps(body).encode()
    request = urllib.request.Request(GATEWAY + path, body, headers, method=method)
    return OPENER.open(request, timeout=timeout)


def lines_of(path, last_id):
    """The lines of one connection to an event stream. Silence is a comment every 15 seconds."""
    headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last_id} if last_id else {})}
    with call("GET", path if last_id else f"{path}?replay=all", headers=headers, timeout=45) as stream:
        for line in stream:
            yield line.decode().rstrip("\r\n")


def events(path):
    """Every event as (name, data). A cut connection is no end: the next one goes on behind the last id."""
    last_id, pause = "", 2
    while True:
        name, data, seen = "message", "", last_id
        try:
            for line in lines_of(path, last_id):
                field, _, value = line.partition(":")
                value = value.removeprefix(" ")
                if field == "id":
                    seen = value
                elif field == "event":
                    name = value
                elif field == "data":
                    data += value
                elif field == "retry":
                    pause = int(value) / 1000
                elif line == "" and data:
                    last_id = seen
                    yield name, json.loads(data)
                    name, data = "message", ""
        except urllib.error.HTTPError as problem:
            if problem.code < 500:
                raise
        except (OSError, http.client.HTTPException):
            pass  # a cut, or the gateway starts anew
        time.sleep(pause)


def answer_to(challenge, user, password):
    """What POST /v1/decisions/{id} gets. Anything but a password is left to Ferry's defaults."""
    space, failures = challenge["protectionSpace"], challenge["previousFailureCount"]
    if space["authenticationMethod"].removeprefix("NSURLAuthenticationMethod") not in (
        "HTTPBasic", "HTTPDigest", "NTLM"
    ):
        known = space["authenticationMethod"].endswith(("ServerTrust", "ClientCertificate"))
        return {"disposition": "performDefaultHandling" if known else "rejectProtectionSpace"}
    if failures > 2 or (failures and password is not None):
        return {"disposition": "performDefaultHandling"}  # the 401 becomes the response
    print(f"{space['host']}:{space['port']} asks: {space['realm']!r}", file=sys.stderr)
    credential = {
        "user": user or input("User name: "),
        "password": getpass.getpass("Password: ") if password is None else password,
        "persistence": "none",
    }
    return {"disposition": "useCredential", "credential": credential}


def answer(decision, challenge, user, password):
    try:
        call("POST", f"/v1/decisions/{decision}", answer_to(challenge, user, password))
    except urllib.error.HTTPError as problem:
        if problem.code not in (409, 410):  # answered by somebody else, or too late
            raise


def download(url, user, password, path):
    delegate = {"handles": ["challenge"], "decisionTimeout": 600}
    session = call("POST", "/v1/sessions", {"type": "default", "delegate": delegate}).headers["Location"]
    try:
        task = json.load(call("POST", f"{session}/tasks", {
            "type": "download", "resume": True, "request": {"url": url}}))
        for name, data in events(f"{session}/events"):
            if "decision" in data:
                answer(data["decision"]["id"], data["challenge"], user, password)
            elif name == "download.didWriteData":
                done, total = data["totalBytesWritten"], data["totalBytesExpectedToWrite"]
                print(f"{done} of {total if total >= 0 else '?'} bytes", file=sys.stderr)
            elif name == "reset":  # events were lost: ask what they would have told
                for pending in json.load(call("GET", f"{session}/decisions"))["decisions"]:
                    answer(pending["id"], pending["event"]["challenge"], user, password)
                if json.load(call("GET", f"/v1/tasks/{task['id']}"))["state"] == "completed":
                    break
            elif name == "task.didComplete":
                break
        task = json.load(call("GET", f"/v1/tasks/{task['id']}"))
        if task["error"]:
            sys.exit(f"{task['error']['name']}: {task['error']['message']}")
        if not task["response"] or task["response"]["status"] >= 400:
            sys.exit(f"the server answered {(task['response'] or {}).get('status')}")
        path = path or os.path.basename(task["response"]["suggestedFilename"] or "download")
        with call("GET", f"/v1/tasks/{task['id']}/content") as content, open(path, "wb") as file:
            shutil.copyfileobj(content, file)
        call("DELETE", f"/v1/tasks/{task['id']}")
        print(path)
    finally:
        call("POST", f"{session}/invalidate", {"mode": "cancelTasks"})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("url")
    parser.add_argument("--user", help="NAME; the password is FERRY_PASSWORD, or is asked for")
    parser.add_argument("-o", "--output", help="the file (default: the name that the server suggests)")
    options = parser.parse_args()
    download(options.url, options.user, os.environ.get("FERRY_PASSWORD"), options.output)

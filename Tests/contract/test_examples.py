"""The programs in Examples, run as a reader would run them against a live gateway."""

import base64
import contextlib
import http.server
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

import pytest
import yaml

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "Examples"
CONTENT = bytes(range(256)) * 1000
RIGHT = "Basic " + base64.b64encode("alice:wönderland".encode()).decode()


class Origin(http.server.BaseHTTPRequestHandler):
    """Wants alice's password, and offers a scheme that nobody can type first."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        allowed = self.headers.get("Authorization") == RIGHT
        body = CONTENT if allowed else b"no"
        self.send_response(200 if allowed else 401)
        if allowed:
            self.send_header("Content-Disposition", 'attachment; filename="report.bin"')
        else:
            self.send_header("WWW-Authenticate", 'Bearer realm="x", Basic realm="Staff", charset="UTF-8"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def origin():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/report"
        server.shutdown()
        thread.join()


class CuttingProxy:
    """Passes bytes to the gateway, but cuts the first event stream once it has asked a question."""

    def __init__(self):
        self.heads = []
        self._has_cut = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        place = urllib.parse.urlsplit(os.environ["FERRY_URL"])
        with client, socket.create_connection((place.hostname, place.port)) as gateway:
            threading.Thread(target=self._pass, args=(client, gateway, self._up()), daemon=True).start()
            self._pass(gateway, client, self._down())

    @staticmethod
    def _pass(source, target, watch):
        next(watch)
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                target.sendall(piece)
                if watch.send(piece):
                    break
        # Both ways end together.
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _up(self):
        cut = False
        while True:
            piece = yield cut
            if b"/events" in piece.partition(b"\r\n")[0]:
                self.heads.append(piece.decode())

    def _down(self):
        text, cut = b"", False
        while True:
            text += yield cut
            if not self._has_cut and b"\nevent: task.didReceiveChallenge" in text and text.endswith(b"\n\n\r\n"):
                cut = self._has_cut = True


@pytest.fixture
def cutting_proxy():
    proxy = CuttingProxy()
    yield proxy
    proxy.close()


def run(command, folder, typed="", **environment):
    """Runs a program without a terminal; what is typed comes by standard input."""
    return subprocess.run(
        command, cwd=folder, input=typed, env={**os.environ, **environment}, text=True,
        capture_output=True, timeout=60, start_new_session=True, encoding="utf-8",
    )


def sessions():
    """The sessions that are not over."""
    active, cursor = set(), ""
    while cursor is not None:
        request = urllib.request.Request(
            f"{os.environ['FERRY_URL']}/v1/sessions?limit=500{cursor}",
            headers={"Authorization": "Bearer " + os.environ["FERRY_TOKEN"]},
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            page = json.load(answer)
        active |= {s["id"] for s in page["sessions"] if s["state"] == "active"}
        cursor = page["nextCursor"] and "&cursor=" + page["nextCursor"]
    return active


def assert_came_back(proxy):
    """S-8: the second connection went on behind the last event of the first, the question."""
    assert len(proxy.heads) == 2, proxy.heads
    assert "last-event-id" not in proxy.heads[0].lower()
    assert re.search(r"^last-event-id: \S+\r$", proxy.heads[1], re.IGNORECASE | re.MULTILINE)


# Python


def python(*arguments):
    return [sys.executable, str(EXAMPLES / "answer_challenges.py"), *arguments]


def test_python_answers_from_the_command_line_and_leaves_the_file(origin, tmp_path):
    before = sessions()
    done = run(python(origin, "--user", "alice"), tmp_path, FERRY_PASSWORD="wönderland")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "report.bin\n"
    assert (tmp_path / "report.bin").read_bytes() == CONTENT
    assert f"{len(CONTENT)} of {len(CONTENT)} bytes" in done.stderr
    assert sessions() <= before


def test_python_asks_until_the_password_is_right(origin, tmp_path):
    typed = "alice\nwrong\nalice\nwönderland\n"
    done = run(python(origin, "-o", "here"), tmp_path, typed)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "here").read_bytes() == CONTENT
    assert done.stderr.count("asks: 'Staff'") == 2


def test_python_tells_when_the_password_is_wrong(origin, tmp_path):
    before = sessions()
    done = run(python(origin, "--user", "alice"), tmp_path, FERRY_PASSWORD="wrong")
    assert done.returncode == 1
    assert done.stderr.endswith("the server answered 401\n")
    assert list(tmp_path.iterdir()) == []
    assert sessions() <= before


def test_python_misses_nothing_when_its_events_are_cut(origin, tmp_path, cutting_proxy):
    done = run(
        python(origin, "--user", "alice"), tmp_path,
        FERRY_URL=cutting_proxy.url, FERRY_PASSWORD="wönderland",
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "report.bin").read_bytes() == CONTENT
    assert_came_back(cutting_proxy)


# JavaScript

DRIVER = """
import { writeFile } from "node:fs/promises";
const [module, base, token, url, logins, byCookie] = JSON.parse(process.argv[1]);
const { Ferry } = await import(module);
const asked = [], progress = [];
let cookie;
if (byCookie) {
  // What a browser does by itself: it keeps the cookie, and tells where the page is from.
  const bare = globalThis.fetch;
  globalThis.fetch = async (input, options = {}) => {
    const headers = { ...options.headers, Origin: base, ...(cookie && { Cookie: cookie }) };
    const answer = await bare(input, { ...options, headers });
    cookie = answer.headers.get("set-cookie")?.split(";")[0] ?? cookie;
    return answer;
  };
}
const ferry = new Ferry({ base, token });
if (byCookie) await ferry.signIn(token);
try {
  const file = await ferry.download(url, {
    askPassword: async (space, failures) => {
      asked.push([space.realm, failures]);
      const [user, password] = logins.shift() ?? [];
      return user === undefined ? null : { user, password };
    },
    onProgress: (bytes, total) => progress.push([bytes, total]),
  });
  await writeFile(file.name, new Uint8Array(await (await file.content()).arrayBuffer()));
  await file.forget();
  console.log(JSON.stringify({ name: file.name, asked, progress }));
} catch (error) {
  console.log(JSON.stringify({ error: error.message, kind: error.constructor.name, asked }));
}
"""


def node(folder, url, logins, base=None, token=None, by_cookie=False):
    module = (EXAMPLES / "browser" / "ferry.js").as_uri()
    assert shutil.which("node"), "node 18 or newer is needed: .ci/setup test"
    options = [module, base or os.environ["FERRY_URL"], token or os.environ["FERRY_TOKEN"], url, logins, by_cookie]
    done = run(["node", "--input-type=module", "-e", DRIVER, json.dumps(options)], folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_javascript_asks_until_the_password_is_right(origin, tmp_path):
    before = sessions()
    told = node(tmp_path, origin, [["alice", "wrong"], ["alice", "wönderland"]])
    assert told["asked"] == [["Staff", 0], ["Staff", 1]]
    assert told["progress"][-1] == [len(CONTENT), len(CONTENT)]
    assert (tmp_path / "report.bin").read_bytes() == CONTENT
    assert sessions() <= before


def test_javascript_goes_on_without_a_password_to_the_401(origin, tmp_path):
    told = node(tmp_path, origin, [])
    assert told == {"error": "the server answered 401", "kind": "TransferFailed", "asked": [["Staff", 0]]}
    assert list(tmp_path.iterdir()) == []


def test_javascript_tells_a_refusal_of_the_gateway(origin, tmp_path):
    told = node(tmp_path, origin, [], token="fry_wrong")
    assert told["kind"] == "Refusal"


def test_javascript_misses_nothing_when_its_events_are_cut(origin, tmp_path, cutting_proxy):
    told = node(tmp_path, origin, [["alice", "wönderland"]] * 2, base=cutting_proxy.url)
    assert told["name"] == "report.bin"
    assert (tmp_path / "report.bin").read_bytes() == CONTENT
    assert_came_back(cutting_proxy)


@pytest.fixture
def nginx(tmp_path_factory):
    """The page and the gateway at one origin, by the configuration that Examples gives."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    folder = tmp_path_factory.mktemp("nginx")
    text = (EXAMPLES / "browser" / "nginx.conf").read_text()
    for old, new in (
        ("127.0.0.1:8090", f"127.0.0.1:{port}"),
        ("http://127.0.0.1:8080", os.environ["FERRY_URL"]),
        ("/tmp/ferry-example", f"{folder}/ferry-example"),
    ):
        assert old in text
        text = text.replace(old, new)
    configuration = folder / "nginx.conf"
    configuration.write_text(text)
    # A worker of root's may not see a folder of the user's.
    directives = "daemon off;" + (" user root;" if os.geteuid() == 0 else "")
    process = subprocess.Popen(
        ["/usr/sbin/nginx", "-p", EXAMPLES / "browser", "-c", configuration, "-g", directives],
        stderr=subprocess.PIPE, text=True,
    )
    try:
        for _ in range(200):
            assert process.poll() is None, process.stderr.read()
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def test_the_page_and_the_gateway_are_one_origin_behind_nginx(nginx, origin, tmp_path):
    with urllib.request.urlopen(f"{nginx}/example/", timeout=20) as page:
        assert page.headers["Content-Type"] == "text/html"
        assert b'from "./ferry.js"' in page.read()
    with urllib.request.urlopen(f"{nginx}/example/ferry.js", timeout=20) as module:
        assert module.headers["Content-Type"] == "text/javascript"
    told = node(tmp_path, origin, [["alice", "wönderland"]], base=nginx, by_cookie=True)
    assert told["name"] == "report.bin"
    assert (tmp_path / "report.bin").read_bytes() == CONTENT


class Manifest:
    """A gateway in a manifest: the words of its command, its environment, the paths of probes."""

    def __init__(self, name, command, environment, probes, others=()):
        self.name, self.command, self.environment, self.probes = name, command, environment, probes
        # Further commands that are run in it, from `ferry` on.
        self.others = others


def composed(folder, names):
    """The gateways of a file for Compose, with a balancer that leads to them."""
    services = yaml.safe_load((folder / "compose.yaml").read_text())["services"]
    balancer = (folder / "haproxy.cfg").read_text()
    for name in names:
        assert re.search(rf" {name}:8080\b", balancer)
        service = services[name]
        health = service["healthcheck"]["test"]
        yield Manifest(
            f"{folder.name} {name}", service["command"], service["environment"],
            re.findall(r"httpchk GET (\S+)", balancer), [health[health.index("ferry") :]],
        )


def clustered(folder):
    """The gateway of a file for Kubernetes; a stateful set has the names of its headless service."""
    documents = list(yaml.safe_load_all((folder / "kubernetes.yaml").read_text()))
    named = {(each["kind"], each["metadata"]["name"]): each for each in documents}
    assert len(named) == len(documents)
    gateway = named["StatefulSet", "ferry"]
    pod = gateway["spec"]["template"]
    for (kind, _), document in named.items():
        if kind == "Service":
            assert document["spec"]["selector"] == pod["metadata"]["labels"]
        if kind == "PodDisruptionBudget":
            assert document["spec"]["selector"] == gateway["spec"]["selector"]
    assert ("Service", gateway["spec"]["serviceName"]) in named
    (container,) = pod["spec"]["containers"]
    probes = [container[probe]["httpGet"]["path"] for probe in ("readinessProbe", "livenessProbe")]
    before = container.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", [])
    environment = {each["name"]: each.get("value") for each in container["env"]}
    others = [before[before.index("ferry") :]] if before else []
    yield Manifest(folder.name, container["args"], environment, probes, others)


STANDING_BY = [
    *composed(EXAMPLES / "two-gateways", ["gateway-a", "gateway-b"]),
    *clustered(EXAMPLES / "two-gateways"),
]
NODES = [*composed(EXAMPLES / "nodes", ["node-a", "node-b"]), *clustered(EXAMPLES / "nodes")]


def help_of(*words):
    command = [os.environ["FERRY"], *words, "--help"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("gateway", STANDING_BY + NODES, ids=lambda each: each.name)
def test_what_the_manifests_say_is_known_to_the_gateway(gateway):
    assert gateway.command[0] == "serve"
    known = help_of("serve")
    options = [word.split("=")[0] for word in gateway.command[1:]]
    options += [
        "--" + name.removeprefix("FERRY_").lower().replace("_", "-")
        for name in gateway.environment
        if name.startswith("FERRY_") and name not in ("FERRY_KEY", "FERRY_TOKEN")
    ]
    for option in options:
        assert re.search(rf"^ +{option}\b", known, re.MULTILINE), option
    for path in gateway.probes:
        with urllib.request.urlopen(os.environ["FERRY_URL"] + path, timeout=20) as answer:
            assert answer.status == 200
    for _, command, *words in gateway.others:
        known = help_of(command)
        for option in (word for word in words if word.startswith("--")):
            assert re.search(rf"^ +{option}\b", known, re.MULTILINE), option


def test_gateways_stand_by_or_are_nodes():
    for gateway in STANDING_BY:
        assert "--stand-by" in gateway.command and "FERRY_NODE_ADDRESS" not in gateway.environment
    for gateway in NODES:
        assert "--stand-by" not in gateway.command
        assert any(word.startswith("--contents=") for word in gateway.command)
        assert {"FERRY_STORE", "FERRY_KEY", "FERRY_TOKEN"} <= gateway.environment.keys()
    # Each has an address of its own.
    addresses = [gateway.environment["FERRY_NODE_ADDRESS"] for gateway in NODES]
    assert len(set(addresses)) == len(NODES) and "$(POD_NAME)" in addresses[-1]


@pytest.mark.parametrize("gateway", NODES, ids=lambda each: each.name)
def test_a_node_of_the_manifests_is_one_that_the_gateway_takes(gateway, tmp_path):
    values = {
        "FERRY_NODE_ADDRESS": gateway.environment["FERRY_NODE_ADDRESS"].replace("$(POD_NAME)", "ferry-0"),
        "FERRY_STORE": "postgres://ferry@127.0.0.1:1/ferry", "FERRY_KEY": "5a" * 32,
    }
    own = {name: value for name, value in os.environ.items() if not name.startswith(("FERRY", "AWS_"))}
    command = [word.replace("=/data", f"={tmp_path}/data") for word in gateway.command]
    command += ["--port", "0"]
    done = subprocess.run(
        [os.environ["FERRY"], *command], env=own | values, capture_output=True, text=True, timeout=60
    )
    # All its settings were read, and there is no such database.
    assert done.returncode == 69 and "database" in done.stderr, done.stderr

"""The commands as processes: what they do with closed descriptors, pipes, signals and files."""

import contextlib
import json
import os
import pathlib
import select
import signal
import stat
import subprocess
import threading

import httpx
import pytest

from daemon import eventually, free_ports
from gateway import Gateway
from origin import Answer

CONTENT = bytes(range(256)) * 40
TIME_LIMIT = 60


class Person:
    """Somebody with a home and a folder, who types commands."""

    def __init__(self, root, **environment):
        self.home = root / "home"
        self.folder = root / "work"
        self.home.mkdir()
        self.folder.mkdir()
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), **environment}

    def start(self, *words, **options):
        """A command that runs."""
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        return subprocess.Popen(
            [os.environ["FERRY"], *words], cwd=self.folder, env=self.environment,
            stdin=subprocess.DEVNULL, text=True, **options,
        )

    def run(self, *words, **options):
        """A command, to its end."""
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        return subprocess.run(
            [os.environ["FERRY"], *words], cwd=self.folder, env=self.environment,
            stdin=subprocess.DEVNULL, text=True, timeout=TIME_LIMIT, **options,
        )

    def shell(self, script):
        """A script in which `ferry` is the program."""
        return subprocess.run(
            ["bash", "-c", f'ferry() {{ "{os.environ["FERRY"]}" "$@"; }}\n{script}'],
            cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=TIME_LIMIT,
        )

    def configure(self, text):
        """Writes the file with the user's own defaults."""
        path = self.home / ".config/ferry/config.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())


@pytest.fixture
def person(tmp_path):
    """Where no gateway runs."""
    return Person(tmp_path)


@pytest.fixture
def user(tmp_path, own):
    """A person whose gateway runs."""
    return Person(tmp_path, XDG_RUNTIME_DIR=str(own.folder))


def served(origin, *paths):
    """The URLs of files at the origin."""
    for path in paths:
        origin.on(path, Answer(CONTENT, headers={"ETag": '"1"'}))
    return [origin.url(path) for path in paths]


class Held:
    """An answer whose second half waits."""

    def __init__(self, origin, path):
        self.gate = threading.Event()
        self.url = origin.url(path)
        origin.on(path, self._answer)

    def _answer(self, request):
        return Answer(pieces=self._pieces(), length=len(CONTENT))

    def _pieces(self):
        yield CONTENT[:5000]
        self.gate.wait(TIME_LIMIT)
        yield CONTENT[5000:]


# Standard output


@pytest.mark.parametrize("redirection", [">/dev/full 2>/dev/full", ">&- 2>&- <&-", "2>&1 | true"])
def test_a_gateway_serves_though_nobody_can_read_what_it_says(person, redirection):
    (port,) = free_ports(1)
    program = os.environ["FERRY"]
    serve = f'"{program}" serve --port {port} --data-directory data'
    shell = subprocess.Popen(
        ["bash", "-c", f"{serve} {redirection} & wait"], cwd=person.folder,
        env=person.environment, start_new_session=True,
    )
    try:
        health = ("health", "--gateway", f"http://127.0.0.1:{port}")
        eventually(lambda: person.run(*health).returncode == 0, "the gateway to serve")
    finally:
        os.killpg(shell.pid, signal.SIGTERM)
        shell.wait(20)


@pytest.mark.parametrize(
    "words",
    [
        ["tasks", "--all"], ["tasks", "--json"], ["add", "http://127.0.0.1:1/"], ["status"],
        ["sessions"], ["decisions", "--json"], ["limit"], ["health"], ["cookies", "export"],
        ["--help"], ["get", "--help"], ["--version"], ["completions", "zsh"],
    ],
)
def test_a_result_that_is_lost_is_no_success(user, words):
    with open("/dev/full", "w") as full:
        ended = user.run(*words, stdout=full)
    assert ended.returncode == (1 if words == ["health"] else 23)
    assert "standard output: No space left on device" in ended.stderr
    assert ended.stderr.count("standard output") == 1


def test_the_status_tells_of_the_quotas_of_whoever_asks(tmp_path, own, user):
    assert "quotas" not in user.run("status").stdout
    own.client.patch("/v1/tenants/default", json={"quotas": {"sessions": 10}})
    shown = user.run("status").stdout
    assert "version" in shown and "sessions  0 of 10" in shown
    own.post("/v1/tenants", 201, name="team", quotas={"sessions": 1, "storedBytes": None})
    made = own.post("/v1/tokens", 201, tenant="team", scopes=["sessions"]).json()
    url = str(own.client.base_url).rstrip("/")
    (tmp_path / "guest").mkdir()
    guest = Person(tmp_path / "guest", FERRY_GATEWAY=url, FERRY_TOKEN=made["token"])
    with own.connect() as client:
        client.headers["Authorization"] = f"Bearer {made['token']}"
        assert client.post("/v1/sessions", json={"type": "default"}).status_code == 201
    shown = guest.run("status")
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert lines[0].split() == ["gateway", url]
    assert lines[1].split(maxsplit=2) == ["quotas", "sessions", "1 of 1, at the limit"]
    assert lines[-1].split(maxsplit=2) == ["all", "else", "takes a token with the scope admin"]
    assert "storedBytes" not in shown.stdout and "version" not in shown.stdout
    status = json.loads(guest.run("status", "--json").stdout)
    assert list(status) == ["usage"]
    assert status["usage"]["quotas"]["sessions"] == {"used": 1, "limit": 1}


def test_the_outcome_of_a_download_is_a_result_and_progress_is_none(user, origin):
    one, two = served(origin, "/one", "/two")
    with open("/dev/full", "w") as full:
        ended = user.run("get", "--json", one, two, stdout=full)
        assert ended.returncode == 23 and "standard output" in ended.stderr
        assert user.run("get", "-d", "there", one, stdout=full, stderr=full).returncode == 0
    assert user.names() == ["one", "there", "two"]


def test_a_closed_standard_output_is_no_file_of_ours(user, origin):
    (url,) = served(origin, "/a")
    ended = user.shell(f"ferry get --json {url} >&-")
    assert ended.returncode == 23
    assert (user.folder / "a").read_bytes() == CONTENT


def test_check_tells_when_its_findings_are_lost(own):
    own.stop()
    with open("/dev/full", "w") as full:
        check = subprocess.run(
            [os.environ["FERRY"], "check", str(own.data)], stdout=full, stderr=subprocess.PIPE,
            text=True, timeout=TIME_LIMIT,
        )
    assert check.returncode == 74 and "standard output: No space left" in check.stderr


@pytest.mark.parametrize(
    "words", [["events"], ["events", "--json"], ["watch"], ["watch", "--json"]]
)
def test_a_stream_ends_with_its_reader_and_says_nothing_of_it(user, words):
    command = user.start(*words)
    # What is done before it listens is not shown.
    for _ in range(200):
        user.run("add", "http://127.0.0.1:1/")
        ready, _, _ = select.select([command.stdout], [], [], 0.05)
        if ready:
            break
    assert command.stdout.readline()
    command.stdout.close()
    assert command.wait(TIME_LIMIT) == 23
    assert command.stderr.read() == ""


def test_a_list_whose_reader_goes_early_says_nothing(user):
    for _ in range(3):
        user.run("add", "http://127.0.0.1:1/")
    ended = user.shell("ferry tasks --all | head -1; ferry events --replay | head -1")
    assert ended.stdout.count("\n") == 2 and ended.stderr == ""


# Files that are there


def test_the_part_of_another_program_is_not_touched(person, origin):
    (url,) = served(origin, "/a.iso")
    (person.folder / "a.iso.part").write_text("Firefox's")
    for words in (["get", url], ["get", "-f", url], ["get", "--no-continue", url]):
        ended = person.run(*words)
        assert ended.returncode == 23 and "a.iso.part" in ended.stderr
        assert (person.folder / "a.iso.part").read_text() == "Firefox's"
    assert person.names() == ["a.iso.part"]


def test_a_killed_command_needs_no_hands(user, own, origin):
    held = Held(origin, "/a")
    for words in (["get", held.url], ["get", held.url, "-o", "b"]):
        command = user.start(*words)
        name = words[3] if len(words) > 2 else "a"
        part = user.folder / f"{name}.part"
        eventually(lambda: part.exists() and part.stat().st_size == 5000, "half of the file")
        command.kill()
        command.wait(20)
        held.gate.set()
        ended = user.run(*words)
        assert ended.returncode == 0, ended.stderr
        assert (user.folder / name).read_bytes() == CONTENT
        held.gate.clear()
    assert user.names() == ["a", "b"]


def test_a_file_that_is_replaced_stays_private_and_a_link_stays(person, origin):
    (url,) = served(origin, "/a")
    real = person.folder / "real"
    real.write_text("secret")
    real.chmod(0o600)
    link = person.folder / "link"
    link.symlink_to("real")
    held = Held(origin, "/held")
    command = person.start("get", "-f", "-o", "link", held.url)
    part = person.folder / "real.part"
    eventually(lambda: part.exists() and part.stat().st_size, "a part")
    assert stat.S_IMODE(part.stat().st_mode) == 0o600
    held.gate.set()
    assert command.wait(TIME_LIMIT) == 0
    assert link.is_symlink() and real.read_bytes() == CONTENT
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert person.names() == ["link", "real"]


def test_devices_pipes_and_descriptors_are_written_to(person, origin):
    (url,) = served(origin, "/a")
    ended = person.shell(
        f"""
        ferry get -q -o /dev/null {url} || exit 1
        ferry get -q -f -o /dev/null {url} || exit 2
        echo begun > file
        ferry get -q -o /dev/stdout {url} >> file || exit 3
        ferry get -q -o /dev/stdout {url} | cat > piped || exit 4
        mkfifo pipe
        cat pipe > fifo & ferry get -q -o pipe {url} || exit 5
        wait
        ferry get -q {url} -o >(cat > process) || exit 6
        ferry cookies export --gateway http://127.0.0.1:1 -f -o /dev/null
        test -c /dev/null || exit 7
        """
    )
    assert ended.returncode == 0, ended.stderr
    folder = person.folder
    assert (folder / "file").read_bytes() == b"begun\n" + CONTENT
    for name in ("piped", "fifo"):
        assert (folder / name).read_bytes() == CONTENT
    eventually(lambda: (folder / "process").read_bytes() == CONTENT, "what cat writes")
    assert person.names() == ["fifo", "file", "pipe", "piped", "process"]


def test_a_name_that_a_server_makes_up_is_no_option(person, origin):
    origin.on(
        "/a", Answer(CONTENT, headers={"Content-Disposition": 'attachment; filename="-rf"'})
    )
    ended = person.run("get", origin.url("/a"), "--on-complete", 'ls "$1"')
    assert ended.returncode == 0 and ended.stdout == "rf\n"
    assert person.names() == ["rf"]


def test_a_command_for_files_does_not_go_with_standard_output(person):
    assert person.run("get", "http://h/", "-o", "-", "--on-complete", "x").returncode == 64


# Lists


@pytest.mark.parametrize("words", [["--on-complete", "touch x"], ["-j2"]])
def test_what_a_collection_of_a_task_would_not_heed_is_refused(person, words):
    refused = person.run("get", "--task", "tsk_1", *words)
    assert refused.returncode == 64 and "--task goes with" in refused.stderr


def test_a_task_whose_bytes_were_read_while_they_came_costs_no_file(user, own, origin):
    (url,) = served(origin, "/a")
    made = own.post(
        "/v1/sessions/shared/tasks", 201, type="data", resume=True, delivery="stream", request={"url": url}
    ).json()["id"]
    assert own.client.get(f"/v1/tasks/{made}/content").content == CONTENT
    eventually(lambda: own.get(f"/v1/tasks/{made}")["state"] == "completed", "the end")
    (user.folder / "a").write_bytes(b"good")
    ended = user.run("get", "--task", made, "-f", "-o", "a")
    assert ended.returncode == 64 and "has kept nothing" in ended.stderr, ended.stderr
    assert (user.folder / "a").read_bytes() == b"good" and user.names() == ["a"]
    assert own.get(f"/v1/tasks/{made}")["state"] == "completed"


def test_a_list_that_was_interrupted_is_gone_on_with(person, origin):
    quick = served(origin, "/one", "/two")
    held = Held(origin, "/three")
    (person.folder / "list").write_text("\n".join([*quick, held.url, quick[0]]))
    words = ["get", "-i", "list", "--on-complete", 'echo "$1" >> told']
    command = person.start(*words)
    eventually(
        lambda: (person.folder / "three.part").exists()
        and (person.folder / "told").exists()
        and len((person.folder / "told").read_text().split()) == 2,
        "two of three",
    )
    command.send_signal(signal.SIGINT)
    assert command.wait(TIME_LIMIT) == 130
    held.gate.set()
    again = person.run(*words)
    assert again.returncode == 0, again.stderr
    assert again.stderr.count("all there already") == 2
    assert [origin.count(path) for path in ("/one", "/two")] == [1, 1]
    assert sorted((person.folder / "told").read_text().split()) == ["one", "three", "two"]
    # It is over: whoever gives the command once more is told what is in the way.
    assert person.run(*words).returncode == 23


def test_a_list_is_tried_until_all_is_there(person, origin):
    (url,) = served(origin, "/a")
    answers = iter([404, 404])
    origin.on("/b", lambda request: Answer(CONTENT, next(answers, 200)))
    (person.folder / "list").write_text(f"{url}\n{origin.url('/b')}\n")
    ended = person.shell("until ferry get -q -i list; do sleep 0.1; done")
    assert ended.returncode == 0
    assert origin.count("/a") == 1 and origin.count("/b") == 3


def test_what_to_type_again_has_no_password(person, origin):
    held = Held(origin, "/a")
    url = held.url.replace("http://", "http://me:canary@")
    words = ["get", "-uyou:canary", f"--mirror={url}", "-H", "Authorization: canary", held.url]
    command = person.start(*words)
    eventually(lambda: (person.folder / "a.part").exists(), "a part")
    command.send_signal(signal.SIGINT)
    _, errors = command.communicate(timeout=TIME_LIMIT)
    held.gate.set()
    assert command.returncode == 130
    assert "To go on: " in errors or "interrupted" in errors
    assert "canary" not in errors


# The environment


def test_a_person_without_home_is_known_to_the_system(person, origin):
    (url,) = served(origin, "/a")
    known = str(pathlib.Path("~").expanduser()) != "~"
    environment = {"PATH": os.environ["PATH"], "XDG_STATE_HOME": str(person.home)}
    person.environment = environment
    assert person.run("get", url).returncode == 0
    assert known and (person.home / "ferry/private").is_dir()


def test_proxies_of_the_environment_are_taken_by_a_private_gateway(person, origin):
    origin.on("/a", Answer(CONTENT))
    (url,) = served(origin, "/b")
    unreadable = "192.168.0.0/255.255.0.0,10.0.0.0/33,a/b,fe80::1%eth0," + "a" * 254
    person.environment |= {"http_proxy": origin.url(""), "no_proxy": f"127.0.0.1,169.254/16,{unreadable}"}
    ended = person.run("get", "http://ferry.example/a")
    assert ended.returncode == 0, ended.stderr
    assert origin.seen("/a")[0].target == "http://ferry.example/a"
    assert person.run("get", url).returncode == 0
    assert origin.seen("/b")[0].target == "/b"


def test_proxies_of_the_environment_are_not_for_a_gateway_with_an_operator(user, origin):
    (url,) = served(origin, "/a")
    user.environment["http_proxy"] = "http://127.0.0.1:1"
    assert user.run("get", url).returncode == 0


# The user's own defaults


@pytest.mark.parametrize(
    "words, status",
    [
        (["--version"], 0), (["--help"], 0), (["get", "--help"], 0), (["completions", "bash"], 0),
        (["health"], 0), (["key", "--help"], 0), (["get", "http://127.0.0.1:1/"], 64),
        (["tasks"], 64),
    ],
)
def test_a_spoilt_file_of_defaults_stops_only_what_it_is_for(user, words, status):
    user.configure("{")
    ended = user.run(*words)
    assert ended.returncode == status, ended.stderr
    assert ("config.json" in ended.stderr) == (status == 64)


def test_defaults_that_mean_nothing_beside_what_is_typed_do_not_count(user, origin):
    (url, other) = served(origin, "/a", "/b")
    user.configure(
        json.dumps(
            {
                "get": {
                    "directory": str(user.folder / "there"), "parallel": 2, "onComplete": "false",
                    "connections": 2, "header": ["X-Default: 1"], "insecure": True, "retry": 1,
                }
            }
        )
    )
    left = user.run("get", "--background", "nightly", "--json", url)
    assert left.returncode == 0, left.stderr
    ended = user.run("get", "--task", json.loads(left.stdout)["task"])
    assert ended.returncode == 0, ended.stderr
    assert (user.folder / "there/a").read_bytes() == CONTENT
    typed = ["-o", "-", "-q", "-H", "X-Typed: 1"]
    ended = user.run("get", *typed, other, stdout=subprocess.DEVNULL)
    assert ended.returncode == 0, ended.stderr
    (request,) = origin.seen("/b")
    assert request["X-Typed"] == "1" and request["X-Default"] is None


def test_a_session_by_default_is_not_meant_where_a_task_is_typed(user, own, origin):
    held = Held(origin, "/held")
    task = user.run("add", held.url).stdout.strip()
    own.client.patch(f"/v1/tasks/{task}", json={"maximumBytesPerSecond": 5000})
    session = {"json": True, "session": "shared"}
    user.configure(json.dumps({"events": session, "limit": session}))
    limit = user.run("limit", "--task", task)
    held.gate.set()
    assert limit.returncode == 0, limit.stderr
    assert json.loads(limit.stdout) == {"maximumBytesPerSecond": 5000}
    shown = user.run("events", "--task", task)
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout.splitlines()[-1])["event"] == "task.didComplete"


# A gateway that is killed


def test_a_command_that_waits_for_the_gateway_says_so(user, own, origin):
    held = Held(origin, "/a")
    command = user.start("get", held.url)
    eventually(lambda: (user.folder / "a.part").exists(), "a part")
    own.kill9()
    lines = []
    with contextlib.suppress(StopIteration):
        for line in command.stderr:
            lines.append(line)
            if "waiting for the gateway" in line:
                break
    assert "waiting for the gateway" in lines[-1], lines
    command.send_signal(signal.SIGINT)
    held.gate.set()
    assert command.wait(TIME_LIMIT) == 130


def test_transfers_side_by_side_outlive_their_private_gateway(person, origin):
    held = [Held(origin, f"/{number}") for number in range(4)]
    command = person.start("get", *[each.url for each in held])
    parts = [person.folder / f"{number}.part" for number in range(4)]
    eventually(lambda: all(part.exists() for part in parts), "four parts")
    place = person.home / ".local/state/ferry/private/gateway.json"
    os.kill(json.loads(place.read_text())["pid"], signal.SIGKILL)
    for each in held:
        each.gate.set()
    _, errors = command.communicate(timeout=TIME_LIMIT)
    assert command.returncode == 0, errors
    assert person.names() == ["0", "1", "2", "3"]
    assert all((person.folder / name).read_bytes() == CONTENT for name in person.names())


# A receiver of webhooks


def listener(user, *words):
    """A command that listens, and where."""
    command = user.start("webhooks", "listen", *words)
    line = command.stderr.readline()
    assert line.startswith("Listening on http://"), line
    return command, line.split()[2]


@pytest.mark.parametrize("timestamp", ["-9223372036854775808", "9223372036854775807", "0", "x"])
def test_no_timestamp_ends_a_receiver_of_webhooks(user, timestamp):
    user.environment["FERRY_WEBHOOK_SECRET"] = "whsec_" + "A" * 32
    command, address = listener(user)
    fields = {"webhook-id": "msg_1", "webhook-timestamp": timestamp, "webhook-signature": "v1,AA=="}
    for _ in range(2):
        assert httpx.post(address, content=b"{}", headers=fields, trust_env=False).status_code == 401
    command.send_signal(signal.SIGINT)
    assert command.wait(TIME_LIMIT) == 0


def test_a_webhook_is_taken_away_however_early_ctrl_c_is(person, origin):
    asked, gate = threading.Event(), threading.Event()

    def made(request):
        asked.set()
        gate.wait(TIME_LIMIT)
        secret = "whsec_" + "A" * 32
        return Answer(json.dumps({"id": "whk_1", "url": "http://127.0.0.1/", "secret": secret, "state": "active"}).encode(), 201)

    origin.on("/v1/webhooks", made)
    origin.on("/v1/webhooks/whk_1", Answer(status=204))
    person.environment["FERRY_TOKEN"] = "fry_t"
    command = person.start("webhooks", "listen", "--gateway", origin.url("").rstrip("/"))
    assert asked.wait(TIME_LIMIT)
    command.send_signal(signal.SIGINT)
    gate.set()
    assert command.wait(TIME_LIMIT) == 0, command.stderr.read()
    assert [request.method for request in origin.seen("/v1/webhooks/whk_1")] == ["DELETE"]

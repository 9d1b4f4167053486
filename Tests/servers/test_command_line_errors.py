"""The commands as processes: what they refuse, what they say of it, and that nothing is lost."""

import base64
import json
import os
import pathlib
import pty
import select
import signal
import stat
import subprocess
import tempfile

import pytest

from certificates import Authorities
from daemon import eventually, free_ports
from origin import Answer
from test_command_line import CONTENT, TIME_LIMIT, Held, Person, served

EX_USAGE, EX_NOINPUT, EX_CONFIG = 64, 66, 78


@pytest.fixture
def person(tmp_path):
    """Where no gateway runs."""
    return Person(tmp_path)


@pytest.fixture
def user(tmp_path, own):
    """A person whose gateway runs."""
    return Person(tmp_path, XDG_RUNTIME_DIR=str(own.folder))


def lines(text):
    """What JSON lines say."""
    return [json.loads(line) for line in text.splitlines()]


def on_terminal(person, *words, until=None):
    """A command whose streams are a terminal: all that is shown there, and the exit status.

    With `until` it is interrupted once that is shown.
    """
    ours, theirs = pty.openpty()
    command = person.start(*words, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        if not select.select([ours], [], [], TIME_LIMIT)[0]:
            command.kill()
            break
        try:
            read = os.read(ours, 65536)
        except OSError:  # how Linux tells that nobody has the other end
            break
        if not read:
            break
        shown += read
        if until and until in shown:
            command.send_signal(signal.SIGINT)
            until = None
    os.close(ours)
    return shown, command.wait(TIME_LIMIT)


# Files


@pytest.mark.parametrize("force", [[], ["-f"]])
@pytest.mark.parametrize("known", [True, False])
def test_of_two_files_of_one_name_the_first_is_there_and_the_other_told(
    person, origin, force, known
):
    """Also where the second answers first; and where only the server makes up the name."""
    first, second = ("/one/same", "/two/same") if known else ("/one/a", "/two/b")
    named = {"Content-Disposition": 'attachment; filename="same"'}

    def late(_):
        origin.wait(second, 1)
        return Answer(CONTENT, headers=named)

    origin.on(first, late if known else Answer(CONTENT, headers=named))
    other = Answer(b"other", headers=named)
    origin.on(second, other)
    words = ["get", *force, "-j", "2" if known else "1", origin.url(first), origin.url(second)]
    ended = person.run(*words)
    assert ended.returncode == 23, ended.stderr
    assert (person.folder / "same").read_bytes() == CONTENT
    assert person.names() == ["same"]
    said = f"ferry: {origin.url(second)}: same: is the name of {origin.url(first)} in this command"
    assert said in ended.stderr
    again = person.run(*words)
    assert again.returncode == 23 and said in again.stderr
    assert (person.folder / "same").read_bytes() == CONTENT


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a file system of its own")
@pytest.mark.parametrize("left", [False, True])
def test_a_full_disk_costs_nothing_that_the_gateway_has(user, origin, left):
    whole = os.urandom(8 << 20)
    origin.on("/big", Answer(whole, headers={"ETag": '"1"'}))
    url, ferry = origin.url("/big"), os.environ["FERRY"]
    # Of what an earlier command has left, and of what this one leaves itself.
    earlier = f'"{ferry}" get -q -o big {url}' if left else "true"
    script = f"""
        mount -t tmpfs -o size=4m none . && cd "{user.folder}"
        {earlier}
        "{ferry}" get -o big {url}
        test $? = 23 && test -s big.resume && test ! -e big || exit 9
        mount -o remount,size=64m . && "{ferry}" get -o big {url} && cat big >&3
    """
    with open(user.home / "fetched", "wb") as fetched:
        ended = subprocess.run(
            ["unshare", "--mount", "bash", "-c", f"exec 3>&{fetched.fileno()}\n{script}"],
            cwd=user.folder, env=user.environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=TIME_LIMIT, pass_fds=[fetched.fileno()],
        )
    assert ended.returncode == 0, ended.stderr
    assert (user.home / "fetched").read_bytes() == whole
    assert "nothing is left to resume" not in ended.stderr
    assert origin.count("/big") == 1


def test_a_folder_that_is_not_there_is_told_without_options_that_are_not_there(person, origin):
    (person.folder / "file").write_text("x")
    ended = person.run("put", "-o", "no/answer", "file", origin.url("/up"))
    assert ended.returncode == 23
    assert "no/: there is no such folder: make it first" in ended.stderr


# Where things are kept


def serve(person, *words, **environment):
    """Runs `ferry serve` until it ends, or says where its token is, which it gives."""
    person.environment |= environment
    (port,) = free_ports(1)
    command = person.start("serve", "--port", str(port), *words, stderr=subprocess.STDOUT)
    said = []
    for line in command.stdout:
        said.append(line)
        if line.startswith("The token is in "):
            command.terminate()
    return command.wait(TIME_LIMIT), said


@pytest.mark.parametrize(
    "words, environment, configuration, status",
    [
        (["--data-directory", ""], {}, {}, EX_USAGE),
        ([], {"FERRY_DATA_DIRECTORY": ""}, {}, EX_CONFIG),
        ([], {}, {"dataDirectory": ""}, EX_CONFIG),
    ],
)
def test_a_data_directory_without_a_name_is_none(
    person, words, environment, configuration, status
):
    file = person.home / "ferry.json"
    file.write_text(json.dumps(configuration))
    code, said = serve(person, "--configuration", str(file), *words, **environment)
    assert code == status
    assert "The data directory has an empty name" in "".join(said)
    assert person.names() == []
    check = person.run("check", "--configuration", str(file), *words[1:])
    assert check.returncode == status and "empty name" in check.stderr


@pytest.mark.parametrize("words", [[], ["--data-directory", "there"]])
def test_a_gateway_says_where_its_token_really_is(person, words):
    code, said = serve(person, *words)
    assert code == 0, said
    (line,) = [each for each in said if each.startswith("The token is in ")]
    path = line.removeprefix("The token is in ").strip()
    assert path == str(person.folder / (words[-1] if words else "ferry-data") / "token")
    assert os.path.isfile(path)


def test_without_a_home_that_can_be_written_a_command_works(person, origin):
    origin.on("/a", Answer(b"content"))
    url = origin.url("/a")
    temporary = person.home / "temporary"
    temporary.mkdir()
    person.environment |= {"HOME": "/proc/none", "TMPDIR": str(temporary)}
    ended = person.run("get", "-o", "-", url)
    assert (ended.returncode, ended.stdout) == (0, "content"), ended.stderr
    place = temporary / f"ferry-{os.geteuid()}"
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    # Somebody else may have put a link there.
    eventually(lambda: ends(place), "the gateway's end")
    place.rename(temporary / "other")
    place.symlink_to("other")
    ended = person.run("get", "-o", "-", url)
    assert ended.returncode == 3
    assert "XDG_STATE_HOME" in ended.stderr and "--gateway" in ended.stderr
    person.environment |= {"XDG_STATE_HOME": "/proc/none"}
    place.unlink()
    ended = person.run("get", "-o", "-", url)
    assert ended.returncode == 3 and "/proc/none/ferry" in ended.stderr
    assert not place.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_in_the_home_of_somebody_else_a_command_works(person, origin):
    """As after `sudo -u` and `su` without a login: there may be defaults, which are not read."""
    origin.on("/a", Answer(b"content"))
    person.configure("{")
    person.home.chmod(0o700)
    nobody = ["setpriv", "--reuid", "nobody", "--clear-groups"]
    with tempfile.TemporaryDirectory() as temporary:
        os.chmod(temporary, 0o1777)
        ended = subprocess.run(
            [*nobody, os.environ["FERRY"], "get", "-o", "-", origin.url("/a")],
            env={**person.environment, "TMPDIR": temporary}, cwd="/", stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=TIME_LIMIT,
        )
        assert (ended.returncode, ended.stdout) == (0, "content"), ended.stderr
        (place,) = pathlib.Path(temporary).iterdir()
        eventually(lambda: ends(place), "the gateway's end")


def ends(place):
    """Whether no gateway holds the lock on what is there."""
    return subprocess.run(["flock", "-n", place / "private/data/lock", "true"]).returncode == 0


# What `ferry serve` refuses


@pytest.mark.parametrize(
    "option, value, status, words",
    [
        ("--trusted-certificates", "/etc/passwd", EX_CONFIG, "holds no certificate in PEM"),
        ("--trusted-certificates", "/etc", EX_NOINPUT, "/etc cannot be read"),
        ("--trusted-certificates", "KEY", EX_CONFIG, "holds no certificate in PEM"),
        ("--trusted-certificates", "/no/such", EX_NOINPUT, "/no/such cannot be read"),
        ("--allow-host", "bad/host", EX_USAGE, "--allow-host bad/host: a host is"),
        ("--allow-host", "host:8080", EX_USAGE, "--allow-host host:8080: a host is"),
        ("--allow-host", "::1", EX_USAGE, "--allow-host ::1: a host is"),
        ("--allow-host", "", EX_USAGE, "--allow-host : a host is"),
        ("--negotiate-host", "a/b", EX_USAGE, "--negotiate-host a/b: a host is"),
        ("--negotiate-host", "*.a.example", EX_USAGE, "--negotiate-host *.a.example: a host is"),
    ],
)
def test_a_gateway_does_not_start_with_what_means_nothing(person, option, value, status, words):
    if value == "KEY":
        value = str(person.home / "key.pem")
        subprocess.run(["openssl", "genrsa", "-out", value, "2048"], check=True)
    code, said = serve(person, option, value)
    assert code == status, said
    assert words in "".join(said)


def test_a_gateway_starts_with_hosts_and_authorities_that_mean_something(person):
    file = person.home / "authorities.pem"
    file.write_text("A comment.\n" + Authorities().pem)
    words = ["--trusted-certificates", str(file), "--negotiate-host", "KDC.example"]
    for host in ["ferry.example", "*.example.com", "[2001:db8::1]", "192.0.2.1", "my_service"]:
        words += ["--allow-host", host]
    code, said = serve(person, *words)
    assert code == 0, said


@pytest.mark.parametrize(
    "member, near", [("prot", "port"), ("log-level", "logLevel"), ("colour", None)]
)
def test_an_unknown_member_of_a_configuration_is_told_with_its_neighbour(person, member, near):
    file = person.home / "ferry.json"
    file.write_text(json.dumps({member: 1}))
    code, said = serve(person, "--configuration", str(file))
    assert code == EX_CONFIG
    assert (f'did you mean "{near}"?' in "".join(said)) == (near is not None)
    assert ("did you mean" in "".join(said)) == (near is not None)


# The queue


def test_a_url_that_is_refused_keeps_no_other_from_the_queue(user, origin):
    one, two = served(origin, "/one", "/two")
    (user.folder / "list").write_text(f"{one}\nftp://host/a\n{two}\n")
    ended = user.run("add", "-i", "list", "--json")
    assert ended.returncode == 1
    told = lines(ended.stdout)
    assert [each["url"] for each in told] == [one, "ftp://host/a", two]
    assert ["task" in each for each in told] == [True, False, True]
    assert "ferry: ftp://host/a: " in ended.stderr
    assert len(lines(user.run("tasks", "--all", "--json").stdout)[0]["tasks"]) == 2
    alone = user.run("add", "--json", "ftp://host/a")
    assert alone.returncode == 1 and lines(alone.stdout)[0]["url"] == "ftp://host/a"
    wrong = user.run("add", "-i", "list", "--gateway", "http://127.0.0.1:1")
    assert wrong.returncode == 3


def test_a_url_that_is_refused_keeps_no_other_from_a_background_session(user, origin):
    (url,) = served(origin, "/one")
    (user.folder / "list").write_text(f"ftp://host/a\n{url}\n")
    ended = user.run("get", "--background", "nightly", "--json", "-i", "list")
    assert ended.returncode == 1
    refused, left = lines(ended.stdout)
    assert refused["url"] == "ftp://host/a" and left["url"] == url
    assert "ferry: ftp://host/a: " in ended.stderr
    assert user.run("get", "--task", left["task"]).returncode == 0


@pytest.mark.parametrize("words", [["retry"], ["rm"]])
def test_a_task_that_is_refused_keeps_no_other_from_its_turn(user, origin, words):
    (url,) = served(origin, "/one")
    held = Held(origin, "/held")
    running, ended = user.run("add", held.url, url).stdout.split()
    assert user.run("watch", "-q", ended).returncode == 0
    told = user.run(*words, running, ended, "--json")
    assert told.returncode == 1 and f"ferry: {running}: " in told.stderr
    refused, done = lines(told.stdout)
    assert refused["error"]["status"] == 409 and done["id"].startswith("tsk_")
    # A name that is wrong is told before anything is done.
    wrong = user.run(*words, running, "tsk_nobodys")
    assert wrong.returncode == EX_USAGE and "there is no task tsk_nobodys" in wrong.stderr
    assert running not in wrong.stderr
    held.gate.set()


def test_a_token_that_is_not_there_keeps_no_other_from_being_revoked(user, own):
    made = user.run("tokens", "add", "--scope", "read").stdout.split()
    ended = user.run("tokens", "rm", "tok_nobodys", made[0])
    assert ended.returncode == 1 and "ferry: tok_nobodys: " in ended.stderr
    assert made[0] not in ended.stderr
    assert lines(user.run("tokens", "list", "--json").stdout) == [{"tokens": []}]


def test_tasks_that_are_removed_are_told_as_json(user, origin):
    one, two = served(origin, "/one", "/two")
    tasks = user.run("add", one, two).stdout.split()
    eventually(
        lambda: len(lines(user.run("tasks", "--all", "--json").stdout)[0]["tasks"]) == 2
        and user.run("tasks", "--json").stdout.count('"running"') == 0,
        "both tasks' ends",
    )
    told = lines(user.run("rm", "--json", tasks[0]).stdout)
    assert told == [{"id": tasks[0], "deleted": True}]
    told = lines(user.run("rm", "--all", "--json").stdout)
    assert told == [{"id": tasks[1], "deleted": True}]


def test_a_suspended_task_is_shown_as_far_as_it_is_and_how_it_goes_on(user, origin):
    held = Held(origin, "/a")
    task = user.run("add", held.url).stdout.strip()

    def received():
        shown = json.loads(user.run("show", "--json", task).stdout)
        return shown["countOfBytesReceived"] >= 5000

    eventually(received, "half of it")
    user.run("pause", task)
    # The sentence comes first, and the progress below it a moment later.
    shown, status = on_terminal(user, "get", "--task", task, until=b"48%")
    assert status == 130
    assert f"{task} is suspended: `ferry resume {task}` lets it go on".encode() in shown
    assert b"48%" in shown and b" 0%" not in shown, shown
    held.gate.set()
    assert user.run("resume", task).returncode == 0
    assert user.run("get", "--task", task).returncode == 0
    assert (user.folder / "a").read_bytes() == CONTENT


# Proxies and passwords


@pytest.mark.parametrize("command", ["get", "put"])
@pytest.mark.parametrize("typed", [True, False])
def test_a_proxy_that_is_not_there_is_blamed_itself(person, origin, command, typed):
    (port,) = free_ports(1)
    (url,) = served(origin, "/a")
    words = [command, "--retry", "0"]
    if typed:
        words += ["--proxy", f"127.0.0.1:{port}"]
    else:
        person.environment["http_proxy"] = f"http://127.0.0.1:{port}"
    if command == "put":
        (person.folder / "file").write_text("x")
        words.append("file")
    ended = person.run(*words, url)
    assert ended.returncode == 4, ended.stderr
    assert f"The proxy 127.0.0.1:{port} does not answer" in ended.stderr
    assert f"port {origin.port}." not in ended.stderr
    if not typed:
        person.environment["no_proxy"] = "127.0.0.0/8"
        (gone,) = free_ports(1)
        ended = person.run("get", f"http://127.0.0.1:{gone}/")
        assert f"Nothing answers at 127.0.0.1, port {gone}." in ended.stderr


def asks(status, header):
    """An answer that wants to know who asks, whoever it is."""
    return Answer(b"no", status, {header: 'Basic realm="Staff"'})


@pytest.mark.parametrize(
    "status, header, who, words",
    [
        (401, "WWW-Authenticate", ["-u", "bob:bad"], "The server does not take this user name"),
        (401, "WWW-Authenticate", [], "Say who you are with -u NAME"),
        (407, "Proxy-Authenticate", ["--proxy-user", "bob:bad"], "The proxy does not take this"),
        (407, "Proxy-Authenticate", [], "Say who you are to the proxy with --proxy-user NAME"),
    ],
)
def test_who_has_said_a_wrong_password_is_not_asked_for_one(
    person, origin, status, header, who, words
):
    origin.on("/a", asks(status, header))
    proxy = ["--proxy", f"127.0.0.1:{origin.port}"] if status == 407 else []
    url = "http://ferry.example/a" if proxy else origin.url("/a")
    ended = person.run("get", *proxy, *who, url)
    assert ended.returncode == 22, ended.stderr
    assert words in ended.stderr
    assert ended.stderr.count("Say who you are") == (0 if who else 1)
    if who:
        sent = [each["Authorization"] or each["Proxy-Authorization"] for each in origin.seen("/a")]
        assert f"Basic {base64.b64encode(b'bob:bad').decode()}" in sent


# Terminals and JSON


@pytest.mark.parametrize("output", ["-", "/dev/stdout"])
def test_content_on_a_terminal_has_no_progress_in_it(person, origin, output):
    origin.on("/a", Answer(b"content\n", headers={"Content-Type": "text/plain"}))
    shown, status = on_terminal(person, "get", "-o", output, origin.url("/a"))
    assert status == 0
    assert shown == b"content\r\n"


def test_errors_as_json_have_their_url(person):
    for urls in [["ftp://host/a"], ["ftp://host/a", "ftp://host/b"]]:
        told = lines(person.run("get", "--json", *urls).stdout)
        assert sorted(each["url"] for each in told) == urls
        assert all(each["error"]["exitStatus"] == 1 for each in told)


@pytest.mark.parametrize(
    "words", [["watch"], ["watch", "tsk_1"], ["events"], ["webhooks", "listen"],
              ["webhooks", "rotate-secret", "whk_1"]]
)
def test_whoever_asks_for_json_gets_errors_as_json(person, words):
    ended = person.run(*words, "--json", "--gateway", "http://127.0.0.1:1", "--token-file", "no")
    (told,) = lines(ended.stdout)
    assert told["error"]["exitStatus"] == ended.returncode == 26
    assert ended.stderr.startswith("ferry: no: ")


def test_a_new_secret_of_a_webhook_is_told_as_json(user):
    made = json.loads(user.run("webhooks", "create", "https://example.com/", "--json").stdout)
    (told,) = lines(user.run("webhooks", "rotate-secret", made["id"], "--json").stdout)
    assert told["secret"].startswith("whsec_") and told["secret"] != made["secret"]


def test_what_a_command_of_the_users_prints_is_not_mixed_into_json(person, origin):
    (url,) = served(origin, "/a")
    ended = person.run("get", "--json", "--on-complete", "echo done", url)
    assert ended.returncode == 0
    (told,) = lines(ended.stdout)
    assert told["url"] == url and "done\n" in ended.stderr
    ended = person.run("get", "-f", "--on-complete", "echo done", url)
    assert ended.stdout == "done\n"


# Files that commands read


@pytest.mark.parametrize("words", [["status"], ["rm", "--all"], ["get", "http://h/"]])
def test_a_token_file_that_cannot_be_read_is_told_by_its_status(person, words):
    ended = person.run(*words, "--gateway", "http://127.0.0.1:1", "--token-file", "nothing")
    assert ended.returncode == 26
    assert ended.stderr.startswith("ferry: nothing: No such file or directory")
    assert "26 " in person.run(words[0], "--help").stdout


def test_what_is_no_data_directory_is_told_as_it_is(person):
    ended = person.run("check", "/nonexist")
    assert ended.returncode == EX_NOINPUT
    assert "/nonexist is no data directory" in ended.stderr
    assert "--data-directory" not in ended.stderr
    ended = person.run("check", "x" * 300)
    assert ended.returncode == EX_NOINPUT
    assert "cannot be looked into: File name too long." in ended.stderr


@pytest.mark.parametrize(
    "text, said",
    [
        ('{"get": {"parallel": "x"}}', "config.json: The value 'x' is invalid for '--parallel <number>'"),
        ('{"get": {"parallel": 100}}', "config.json: --parallel is 1 to 64"),
        ('{"gte": {"parallel": 2}}', "there is no command 'gte' that has defaults: did you mean"),
        ('{"serve": {"port": 2}}', "there is no command 'serve' that has defaults"),
    ],
)
def test_what_is_wrong_in_the_users_defaults_is_told_with_their_file(user, origin, text, said):
    (url,) = served(origin, "/a")
    user.configure(text)
    ended = user.run("get", url)
    assert ended.returncode == EX_USAGE, ended.stderr
    assert said in ended.stderr and str(user.home) in ended.stderr
    # A mistake of the command line is not the file's.
    wrong = user.run("get", "-j", "y", url)
    assert wrong.returncode == EX_USAGE
    if "get" in text:
        assert "config.json" not in wrong.stderr


def test_the_help_of_every_command_tells_its_exit_statuses(person):
    def untold(command, *parents):
        told = [command.get("discussion") or "", *parents]
        below = [each for each in command.get("subcommands", []) if each["commandName"] != "help"]
        for each in below:
            yield from untold(each, *told)
        if not below and not any("Exit status: 0 " in text for text in told):
            yield [*command["superCommands"], command["commandName"]]

    root = json.loads(person.run("--experimental-dump-help").stdout)["command"]
    assert list(untold(root)) == []


@pytest.mark.parametrize(
    "words, said",
    [
        (["nosuch"], "there is no command 'nosuch'"),
        (["gte"], "did you mean `ferry get`?"),
        (["key", "rotat"], "did you mean"),
    ],
)
def test_help_for_a_command_that_there_is_not_is_an_error(person, words, said):
    ended = person.run("help", *words)
    assert ended.returncode == EX_USAGE and said in ended.stderr
    for good in [["get"], ["key", "rotate"], []]:
        assert person.run("help", *good).returncode == 0

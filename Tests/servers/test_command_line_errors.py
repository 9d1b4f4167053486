"""The commands as processes: what they refuse, what they say of it, and that nothing is lost."""

import base64
import json
import os
import pty
import select
import signal
import stat
import subprocess

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

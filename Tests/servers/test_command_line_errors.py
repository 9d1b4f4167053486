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

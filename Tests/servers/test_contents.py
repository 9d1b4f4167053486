"""Contents elsewhere: on S3 (moto), and in a shared folder (R-1, R-3)."""

import base64
import hashlib
import os
import random
import shutil
import subprocess

import pytest

from daemon import eventually
from gateway import Gateway
from origin import Answer
from storage import Moto, Storage

CONTENT = random.Random(17).randbytes(20 << 20)
DIGEST = "sha-256=:" + base64.b64encode(hashlib.sha256(CONTENT).digest()).decode() + ":"


@pytest.fixture(scope="module")
def moto():
    with Moto() as moto:
        yield moto


@pytest.fixture
def storage(moto):
    with Storage(moto) as storage:
        yield storage


def download(gateway, url):
    """A download of a background session, which goes on over restarts; its path."""
    members = dict(type="background", identifier=f"session {random.random()}", delegate={})
    session = gateway.post("/v1/sessions", 201, **members).headers["Location"]
    spec = dict(type="download", resume=True, computeDigest=True, request={"url": url})
    return gateway.post(f"{session}/tasks", 201, **spec).headers["Location"]


def finish(gateway, task):
    eventually(lambda: gateway.get(task)["state"] == "completed", "the end")
    record = gateway.get(task)
    assert record["error"] is None, record["error"]
    return record


def local(gateway):
    """What lies in the data directory of contents, but for what was set aside there."""
    folders = [each for each in (gateway.data / "content").iterdir() if "moved" not in each.name]
    return [path.name for folder in folders for path in folder.rglob("*_*")]


def refusal(gateway, *arguments):
    """What a gateway says that does not start on the data of one that has ended."""
    command = [os.environ["FERRY"], *arguments, "--data-directory", str(gateway.data)]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("FERRY_", "AWS_"))}
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, env=environment)
    assert ended.returncode != 0
    return ended.returncode, ended.stderr


@pytest.mark.parametrize("style", ["path", "virtual"])
def test_a_download_goes_to_s3_over_a_kill(moto, storage, origin, style):
    origin.on("/file", Answer(CONTENT, headers={"ETag": '"one"'}))
    place = storage.place(f"download-{style}", style)
    with Gateway("--contents", place, **moto.environment) as gateway:
        # The process is killed with one part on S3, and another one on its way.
        storage.is_shut = True
        task = download(gateway, origin.url("/file"))
        assert storage.held.wait(30)
        gateway.kill9()
        storage.is_shut = False
        gateway.restart()
        assert finish(gateway, task)["content"]["digest"] == DIGEST
        assert gateway.client.get(f"{task}/content").content == CONTENT
        for start, end in [(0, 0), (1_000_000, 9_999_999), (len(CONTENT) - 5, len(CONTENT) - 1)]:
            part = gateway.client.get(f"{task}/content", headers={"Range": f"bytes={start}-{end}"})
            assert part.status_code == 206 and part.content == CONTENT[start : end + 1]
        # It is there and nowhere else, and of the first upload nothing is left.
        assert storage.contents() == {task.rsplit("/", 1)[1]}
        assert local(gateway) == []
        eventually(lambda: not storage.uploads, "the upload to be forgotten")
        assert gateway.client.delete(task).status_code in (202, 204)
        eventually(lambda: not storage.contents(), "the object to go")
        assert storage.refused == []


def test_a_staged_file_is_on_s3_and_goes_from_there_to_an_origin(moto, storage, origin):
    sent = []
    origin.on("/up", lambda request: sent.append(request.body) or Answer(b"thanks"))
    bytes = CONTENT[: 9 << 20]
    with Gateway("--contents", storage.place("file"), **moto.environment) as gateway:
        # The length is announced, and the bytes come in two pieces with a restart in between.
        headers = {"Upload-Length": str(len(bytes)), "Upload-Complete": "?0"}
        answer = gateway.client.post("/v1/files", content=bytes[: 3 << 20], headers=headers)
        assert answer.status_code == 201, answer.text
        file = answer.headers["Location"]
        gateway.stop()
        gateway.restart()
        headers = {
            "Upload-Offset": str(3 << 20), "Upload-Complete": "?1",
            "Content-Type": "application/partial-upload",
        }
        assert gateway.client.patch(
            file, content=bytes[3 << 20 :], headers=headers
        ).status_code == 204
        identifier = file.rsplit("/", 1)[1]
        assert storage.contents() == {identifier} and local(gateway) == []
        gateway.kill9()
        gateway.restart()
        session = gateway.post("/v1/sessions", 201, type="default").headers["Location"]
        request = {"url": origin.url("/up"), "method": "POST"}
        spec = dict(type="upload", resume=True, request=request, body={"file": identifier})
        finish(gateway, gateway.post(f"{session}/tasks", 201, **spec).headers["Location"])
        assert sent == [bytes]
        assert gateway.client.delete(file).status_code == 204
        eventually(lambda: not storage.contents(), "the object to go")


def test_credentials_that_run_out_are_waited_for(moto, storage, origin):
    origin.on("/file", Answer(CONTENT, headers={"ETag": '"one"'}))
    with Gateway("--contents", storage.place("renewal"), **moto.environment) as gateway:
        def told(words):
            return (gateway.folder / "log").read_text().count(words)

        storage.code = "ExpiredToken"
        task = download(gateway, origin.url("/file"))
        warning = "S3 does not take the credentials"
        eventually(lambda: told(warning), "the warning")
        assert gateway.get(task)["state"] != "completed" and len(local(gateway)) == 1
        storage.code = None
        assert finish(gateway, task)["content"]["digest"] == DIGEST
        assert gateway.client.get(f"{task}/content").content == CONTENT
        assert told(warning) == 1 and told("the contents on S3 are reached again") == 1
        assert local(gateway) == []


def test_contents_that_are_elsewhere_are_not_taken_for_lost(moto, storage, origin, tmp_path):
    origin.on("/file", Answer(CONTENT[:70_000]))
    shared = tmp_path / "shared"
    shared.mkdir()
    with Gateway("--contents", str(shared)) as gateway:
        # A first start that was interrupted before the folder had its mark.
        gateway.kill9()
        (shared / "ferry-contents").unlink()
        gateway.restart()
        assert (shared / "ferry-contents").exists()
        task = download(gateway, origin.url("/file"))
        finish(gateway, task)
        name = task.rsplit("/", 1)[1]
        assert [each.name for each in shared.rglob("tsk_*")] == [name] and local(gateway) == []
        gateway.kill9()
        status, words = refusal(gateway, "serve")
        assert status == 78 and f"--contents {shared}" in words, words
        other = tmp_path / "other"
        other.mkdir()
        status, words = refusal(gateway, "serve", "--contents", str(other))
        assert status == 65 and "it is empty" in words and str(shared) in words, words
        status, words = refusal(gateway, "serve", "--contents", str(tmp_path / "none"))
        assert status == 69 and str(tmp_path / "none") in words, words
        # Not mounted: the folder is there, and empty.
        shared.rename(tmp_path / "elsewhere")
        shared.mkdir()
        assert refusal(gateway, "serve", "--contents", str(shared))[0] == 65
        shutil.rmtree(shared)
        (tmp_path / "elsewhere").rename(shared)
        for command in ("check", "backup"):
            arguments = [command] + ([str(tmp_path / "copy")] if command == "backup" else [])
            command = [os.environ["FERRY"], *arguments]
            command += [str(gateway.data)] if "check" in arguments else [
                "--data-directory", str(gateway.data)
            ]
            ended = subprocess.run(command, capture_output=True, text=True, timeout=30)
            assert ended.returncode == 78 and str(shared) in ended.stderr, ended.stderr
        gateway.restart()
        assert gateway.client.get(f"{task}/content").content == CONTENT[:70_000]
        # Another gateway does not take the folder for its own.
        gateway.stop()
        shutil.rmtree(gateway.data)
        status, words = refusal(gateway, "serve", "--contents", str(shared))
        assert status == 65 and "another gateway" in words, words


def test_what_a_data_directory_has_moves_to_a_shared_folder(origin, tmp_path):
    """The database stays, and so does what is not whole."""
    origin.on("/file", Answer(CONTENT[:70_000]))
    shared = tmp_path / "shared"
    shared.mkdir()
    with Gateway() as gateway:
        task = download(gateway, origin.url("/file"))
        finish(gateway, task)
        empty, begun = [
            gateway.client.post("/v1/files", content=content, headers={"Upload-Complete": complete})
            for content, complete in [(b"", "?1"), (b"begun", "?0")]
        ]
        gateway.kill9()
        status, words = refusal(gateway, "serve", "--contents", str(shared))
        assert status == 65 and f"--contents {shared}` moves results there" in words, words
        own = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        command = [os.environ["FERRY"], "migrate", f"sqlite:{gateway.data}", "--contents", str(shared)]
        for there in 0, 2:
            ended = subprocess.run(command, capture_output=True, text=True, timeout=30, env=own)
            assert ended.returncode == 0, ended.stderr
            assert f"; there already: {there}." in ended.stdout, ended.stdout
        names = {each.headers["Location"].rsplit("/", 1)[1] for each in (empty, begun)}
        assert {name.split(".")[0] for name in local(gateway)} < names
        assert refusal(gateway, "serve")[0] == 78
        gateway.restart(arguments=["--contents", str(shared)])
        assert gateway.client.get(f"{task}/content").content == CONTENT[:70_000]
        lengths = {each["id"]: each["length"] for each in gateway.get("/v1/files")["files"]}
        assert sorted(lengths) == sorted(names) and sorted(lengths.values()) == [0, 5]


def test_a_bucket_or_key_that_is_wrong_is_told_at_the_start(moto, storage, tmp_path):
    def words(place, **environment):
        command = [os.environ["FERRY"], "serve", "--port", "0", "--contents", place]
        command += ["--data-directory", str(tmp_path / "data")]
        own = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)} | environment
        ended = subprocess.run(command, capture_output=True, text=True, timeout=30, env=own)
        assert ended.returncode == 69, ended
        told = [line for line in ended.stderr.splitlines() if not line.startswith("{")]
        assert len(told) == 1 and told[0].startswith("ferry: "), ended.stderr
        return told[0]

    right = storage.place("start")
    assert "There are no credentials" in words(right)
    wrong = moto.environment | {"AWS_SECRET_ACCESS_KEY": "wrong"}
    assert "correct the credentials" in words(right, **wrong)
    unknown = moto.environment | {"AWS_ACCESS_KEY_ID": "AKIANOBODY"}
    assert "correct the credentials" in words(right, **unknown)
    elsewhere = right.replace(moto.bucket, "no-such-bucket", 1)
    assert "make the bucket no-such-bucket" in words(elsewhere, **moto.environment)
    storage.stop()
    assert f"127.0.0.1:{storage.port} can be reached" in words(right, **moto.environment)

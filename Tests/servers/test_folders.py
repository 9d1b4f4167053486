"""Downloads that are saved in a folder of the gateway's machine."""

import os
import pathlib
import random
import threading
import time

import pytest

from daemon import eventually, run
from gateway import Gateway
from origin import Answer, Origin

SMALL = b"twelve bytes"
LARGE = random.Random(5).randbytes(3_000_001)
CONTENTS = {"/small": SMALL, "/large": LARGE, "/empty": b""}


def serve(origin):
    for path, content in CONTENTS.items():
        origin.on(path, Answer(content, headers={"ETag": '"one"'}))


class Saving:
    """A gateway with two folders, and what is in them."""

    def __init__(self, root, **options):
        self.music = pathlib.Path(root) / "music"
        self.films = pathlib.Path(root) / "films"
        for folder in (self.music, self.films):
            folder.mkdir(exist_ok=True)
        self.outside = pathlib.Path(root) / "outside"
        self.outside.mkdir(exist_ok=True)
        arguments = ["--folder", f"music={self.music}", "--folder", f"films={self.films}"]
        self.gateway = Gateway(*arguments, **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.gateway.stop()
        self.gateway.__exit__()

    def create(self, url, path, folder="music", status=201, type="download", **members):
        destination = {"folder": folder, "path": path}
        for name in ("ifExists",):
            if name in members:
                destination[name] = members.pop(name)
        return self.gateway.post(
            "/v1/sessions/shared/tasks", status, type=type, resume=True, request={"url": url},
            destination=destination, **members,
        ).json()

    def save(self, *arguments, **members):
        """The task, once it has completed."""
        return self.end(self.create(*arguments, **members)["id"])

    def end(self, task):
        look = lambda: (found := self.gateway.get(f"/v1/tasks/{task}"))["state"] == "completed" and found
        return eventually(look, f"the end of {task}")

    def names(self):
        return sorted(
            str(path.relative_to(self.music)) for path in self.music.rglob("*") if not path.is_dir()
        )


@pytest.fixture(scope="module")
def origin():
    with Origin() as origin:
        serve(origin)
        yield origin


@pytest.fixture
def saving(tmp_path):
    with Saving(tmp_path) as saving:
        yield saving


def url(origin, path):
    return f"http://127.0.0.1:{origin.port}{path}"


@pytest.mark.parametrize("source", CONTENTS)
def test_a_download_ends_in_the_folder_and_nowhere_else(saving, origin, source):
    task = saving.save(url(origin, source), "new/of today/a.bin", computeDigest=True)
    assert task["error"] is None
    assert task["destination"] == {"folder": "music", "path": "new/of today/a.bin", "ifExists": "fail"}
    saved = saving.music / "new" / "of today" / "a.bin"
    assert saved.read_bytes() == CONTENTS[source]
    assert saving.names() == ["new/of today/a.bin"]
    assert saved.stat().st_nlink == 1
    mask = os.umask(0)
    os.umask(mask)
    assert saved.stat().st_mode & 0o777 == 0o666 & ~mask
    told = dict(saving.gateway.story(f"/v1/tasks/{task['id']}", "task.didComplete"))
    assert told["download.didFinishDownloading"]["destination"] == {
        "folder": "music", "path": "new/of today/a.bin",
    }
    # It is read from there, by ranges too.
    path = f"/v1/tasks/{task['id']}/content"
    assert saving.gateway.client.get(path).content == CONTENTS[source]
    if len(CONTENTS[source]) > 10:
        part = saving.gateway.client.get(path, headers={"Range": "bytes=2-5"})
        assert part.status_code == 206 and part.content == CONTENTS[source][2:6]
    # The store keeps nothing of it, and the file outlives the task.
    kept = [p for p in (saving.gateway.data / "content").rglob("tsk_*")]
    assert kept == []
    assert saving.gateway.client.delete(f"/v1/tasks/{task['id']}").status_code == 204
    assert saved.read_bytes() == CONTENTS[source]


def test_the_gateway_tells_its_folders(saving):
    assert saving.gateway.get("/v1/gateway")["folders"] == ["films", "music"]


@pytest.mark.parametrize(
    "path",
    ["", "/a", "a/", "a//b", ".", "..", "../a", "a/../../b", "a/..", "./a", "a\u0000b", "a\nb", "x" * 256,
     "a/" + "ä" * 128, ".ferry-tsk_1", "a/.ferry-x", "y/" * 2000 + "z",
     # With a mark that joins it a slash is part of another character, and separates all the same.
     "../\u0301x", "a/../\u0301x", "sub/..\u200d/../\u0301x", "/\u0301x"],
)
def test_a_path_that_leads_elsewhere_is_refused(saving, origin, path):
    problem = saving.create(url(origin, "/small"), path, status=422)
    assert (problem["code"], problem["pointer"]) == ("invalid-value", "/destination/path")


def test_only_downloads_are_saved_and_only_where_the_operator_says(saving, origin):
    problem = saving.create(url(origin, "/small"), "a", folder="other", status=422)
    assert problem["pointer"] == "/destination/folder" and "films, music" in problem["detail"]
    problem = saving.create(url(origin, "/small"), "a", type="data", status=422)
    assert problem["pointer"] == "/destination"


def test_names_of_255_bytes_are_kept_and_numbered(saving, origin):
    name = "ä" * 125 + "x.bin"
    assert len(name.encode()) == 255
    for _ in range(2):
        assert saving.save(url(origin, "/small"), name, ifExists="rename")["error"] is None
    second = max(saving.names(), key=lambda each: "(1)" in each)
    assert second.endswith(" (1).bin") and len(second.encode()) <= 255
    assert len(saving.names()) == 2


def test_a_number_fits_into_a_long_name_that_has_no_extension(saving, origin):
    name = "a." + "b" * 253
    for _ in range(2):
        assert saving.save(url(origin, "/small"), name, ifExists="rename")["error"] is None
    assert sorted(map(len, saving.names())) == [255, 255]


def test_a_folder_in_the_way_is_passed_by_another_name(saving, origin):
    (saving.music / "dir.d").mkdir()
    renamed = saving.save(url(origin, "/small"), "dir.d", ifExists="rename")
    assert renamed["error"] is None and renamed["destination"]["path"] == "dir (1).d"
    for choice in ("fail", "replace"):
        refused = saving.save(url(origin, "/small"), "dir.d", ifExists=choice)
        assert refused["error"]["name"] == "cannotCreateFile"
        assert refused["error"]["message"] == "There is a folder already at dir.d in the folder music."


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")
@pytest.mark.parametrize("path", ["a.bin", "new/a.bin"])
def test_a_folder_that_cannot_be_written_to_is_noticed_before_a_byte_is_fetched(saving, origin, path):
    run("mount", "-t", "tmpfs", "-o", "ro,size=1m", "none", str(saving.films))
    try:
        seen = len(origin.requests)
        task = saving.save(url(origin, "/small"), path, folder="films")
        assert task["error"]["name"] == "cannotWriteToFile"
        assert "Read-only file system" in task["error"]["message"]
        assert len(origin.requests) == seen, "a byte was fetched"
    finally:
        run("umount", str(saving.films))


@pytest.mark.parametrize("link", ["folder", "marked", "file", "nested"])
def test_no_link_leads_out_of_the_folder(saving, origin, link):
    (saving.outside / "deep").mkdir()
    if link == "file":
        (saving.music / "a.bin").symlink_to(saving.outside / "a.bin")
        path, choice = "a.bin", "replace"
    elif link in ("folder", "marked"):
        (saving.music / "sub").symlink_to(saving.outside)
        path, choice = ("sub/a.bin" if link == "folder" else "sub/\u0301a.bin"), "fail"
    else:
        (saving.music / "sub").mkdir()
        (saving.music / "sub" / "deep").symlink_to("../../outside/deep")
        path, choice = "sub/deep/more/a.bin", "fail"
    seen = len(origin.requests)
    task = saving.save(url(origin, "/small"), path, ifExists=choice)
    assert [p for p in saving.outside.rglob("*") if not p.is_dir()] == []
    if link == "file":
        # The link itself is replaced.
        assert task["error"] is None and not (saving.music / "a.bin").is_symlink()
    else:
        assert task["error"]["name"] == "fileOutsideSafeArea"
        assert len(origin.requests) == seen, "a byte was fetched"


def test_a_name_that_is_taken(saving, origin):
    taken = saving.music / "a.tar.gz"
    taken.write_bytes(b"old")
    seen = len(origin.requests)
    refused = saving.save(url(origin, "/small"), "a.tar.gz")
    assert refused["error"]["name"] == "cannotCreateFile" and refused["content"] is None
    assert refused["error"]["message"] == "There is a file already at a.tar.gz in the folder music."
    assert len(origin.requests) == seen, "a byte was fetched"
    renamed = saving.save(url(origin, "/small"), "a.tar.gz", ifExists="rename")
    assert renamed["destination"]["path"] == "a.tar (1).gz"
    assert taken.read_bytes() == b"old"
    replaced = saving.save(url(origin, "/large"), "a.tar.gz", ifExists="replace")
    assert replaced["error"] is None and taken.read_bytes() == LARGE
    assert saving.names() == ["a.tar (1).gz", "a.tar.gz"]
    (saving.music / "folder").mkdir()
    assert saving.save(url(origin, "/small"), "folder", ifExists="replace")["error"]["code"] == -3000


def test_of_two_downloads_to_one_name_one_gets_it(saving, origin):
    go = threading.Event()

    def pieces():
        go.wait(20)
        yield SMALL

    origin.on("/slow", lambda _: Answer(pieces=pieces(), length=len(SMALL)))
    tasks = [saving.create(url(origin, "/slow"), "one")["id"] for _ in range(4)]
    eventually(lambda: all(saving.gateway.get(f"/v1/tasks/{each}")["response"] for each in tasks), "heads")
    go.set()
    ends = [saving.end(task) for task in tasks]
    assert sorted((end["error"] or {"name": ""})["name"] for end in ends) == ["", *["cannotCreateFile"] * 3]
    assert saving.names() == ["one"] and (saving.music / "one").read_bytes() == SMALL


@pytest.mark.parametrize("change", ["removed", "changed", "replaced"])
def test_a_file_that_people_have_changed_is_not_passed_off_as_the_content(saving, origin, change):
    task = saving.save(url(origin, "/large"), "a")
    saved = saving.music / "a"
    if change == "removed":
        saved.unlink()
    elif change == "changed":
        with open(saved, "r+b") as file:
            file.write(b"X")
    else:
        (saving.music / "b").write_bytes(LARGE)
        (saving.music / "b").rename(saved)
    answer = saving.gateway.client.get(f"/v1/tasks/{task['id']}/content")
    assert answer.status_code == 409 and answer.json()["code"] == "no-content"
    assert "changed, moved or removed" in answer.json()["detail"]


def test_a_folder_that_is_gone_is_the_tasks_error(saving, origin):
    saving.music.rmdir()
    seen = len(origin.requests)
    task = saving.save(url(origin, "/small"), "a")
    assert task["error"]["name"] == "cannotCreateFile" and "does not exist" in task["error"]["message"]
    assert len(origin.requests) == seen, "a byte was fetched"


def test_nothing_is_left_of_a_download_that_is_cancelled(saving, origin):
    go = threading.Event()

    def pieces():
        yield LARGE[:1000]
        go.wait(20)
        yield LARGE[1000:]

    origin.on("/endless", lambda _: Answer(pieces=pieces(), length=len(LARGE)))
    task = saving.create(url(origin, "/endless"), "a/b")["id"]
    eventually(lambda: saving.gateway.get(f"/v1/tasks/{task}")["countOfBytesReceived"], "bytes")
    saving.gateway.post(f"/v1/tasks/{task}/cancel")
    saving.end(task)
    go.set()
    assert saving.names() == []


def test_an_ephemeral_session_saves_too(saving, origin):
    session = saving.gateway.post("/v1/sessions", 201, type="ephemeral").headers["Location"]
    for source, content in CONTENTS.items():
        task = saving.gateway.post(
            f"{session}/tasks", 201, type="download", resume=True, request={"url": url(origin, source)},
            destination={"folder": "films", "path": source[1:]},
        ).json()["id"]
        assert saving.end(task)["error"] is None
        assert (saving.films / source[1:]).read_bytes() == content


class SmallDisk:
    """A file system of its own for a folder; only root may have one."""

    def __init__(self, folder, mebibytes):
        if os.geteuid() != 0:
            pytest.skip("NO FULL FOLDER IS TRIED: a file system of its own needs root")
        self._folder = str(folder)
        run("mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "none", self._folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        run("umount", self._folder)


def test_another_file_system_gets_a_copy_and_a_full_one_an_error(tmp_path, origin):
    (tmp_path / "music").mkdir()
    with SmallDisk(tmp_path / "music", 5), Saving(tmp_path) as saving:
        first = saving.save(url(origin, "/large"), "a")
        assert first["error"] is None and (saving.music / "a").read_bytes() == LARGE
        second = saving.save(url(origin, "/large"), "b")
        assert second["error"]["name"] == "cannotWriteToFile" and "no room" in second["error"]["message"]
        assert saving.names() == ["a"]
        # What is expected is known before a byte is fetched.
        seen = len(origin.requests)
        third = saving.save(url(origin, "/large"), "c", countOfBytesClientExpectsToReceive=len(LARGE))
        assert third["error"]["name"] == "cannotWriteToFile"
        assert len(origin.requests) == seen, "a byte was fetched"
        # Or as soon as the response says how long it is: the rest of it is not waited for.
        go = threading.Event()

        def pieces():
            yield LARGE[:1000]
            go.wait(60)
            yield LARGE[1000:]

        origin.on("/held", lambda _: Answer(pieces=pieces(), length=len(LARGE)))
        fourth = saving.save(url(origin, "/held"), "d", retry={"attempts": 3})
        assert fourth["error"]["name"] == "cannotWriteToFile" and "no room" in fourth["error"]["message"]
        assert fourth["countOfBytesReceived"] <= 1000
        go.set()


@pytest.mark.parametrize("place", ["same", "other"])
def test_a_gateway_that_is_killed_saves_every_file_once(tmp_path, origin, place):
    (tmp_path / "music").mkdir()
    if place == "other":
        with SmallDisk(tmp_path / "music", 200):
            killed_again_and_again(tmp_path, origin)
    else:
        killed_again_and_again(tmp_path, origin)


def killed_again_and_again(tmp_path, origin):
    chance = random.Random(6)
    with Saving(tmp_path) as saving:
        tasks, saved = {}, []
        for round in range(6):
            for number in range(6):
                path, source = f"{round}/{number}", chance.choice(["/large", "/small"])
                choice = "fail" if number % 2 else "rename"
                tasks[path] = source, saving.create(
                    url(origin, source), path, ifExists=choice,
                    # Some may not go on by themselves: those end with nothing in the folder.
                    retry={"attempts": 20} if number % 3 else None,
                )["id"]
            time.sleep(chance.random() * 0.15)
            saving.gateway.kill9()
            saving.gateway.restart()
        for path, (source, task) in tasks.items():
            end = saving.end(task)
            if end["error"] and int(path[-1]) % 3 == 0:
                assert end["error"]["code"] == -997, end["error"]
                assert not (saving.music / path).exists()
                continue
            assert end["error"] is None, (path, end["error"])
            saved.append(path)
            assert end["destination"]["path"] == path
            assert (saving.music / path).read_bytes() == CONTENTS[source]
            answer = saving.gateway.client.get(f"/v1/tasks/{task}/content")
            assert answer.content == CONTENTS[source]
        look = lambda: saving.names() == sorted(saved)
        eventually(look, f"nothing but {saved}: {saving.names()}")
        saving.gateway.stop()
        assert saving.gateway.damage() == []
        saving.gateway.restart()

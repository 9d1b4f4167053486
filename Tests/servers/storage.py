"""S3 as a gateway sees it: moto behind a door that counts what goes in and out, and can be shut."""

import http.client
import json
import pathlib
import re
import subprocess
import threading
import urllib.parse

import pytest

from origin import Answer, Origin

SERVE = pathlib.Path(__file__).parent.parent / "moto" / "serve"
HOP = {"connection", "content-length", "transfer-encoding", "keep-alive", "date", "server"}


class Moto:
    """moto in a process of its own, with a bucket and a user (`Tests/moto/serve`)."""

    def __enter__(self):
        if subprocess.run([SERVE, "--install"], capture_output=True).returncode != 0:
            pytest.skip("moto cannot be installed: nothing is tested on S3")
        self._process = subprocess.Popen([SERVE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        place = json.loads(self._process.stdout.readline())
        self.port = urllib.parse.urlsplit(place["url"]).port
        self.bucket = place["bucket"]
        self.environment = {
            "AWS_ACCESS_KEY_ID": place["accessKey"], "AWS_SECRET_ACCESS_KEY": place["secretKey"]
        }
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(10)
        self._process.stdout.close()


class Storage(Origin):
    """Passes everything on, but parts of uploads behind the first while `is_shut`; while there is a
    `code`, S3's word for an error, that is the answer to all."""

    def __init__(self, moto):
        self._moto = moto
        self._guard = threading.Lock()
        self.keys, self.uploads, self.refused = set(), set(), []
        self.is_shut = False
        self.code = None
        self.held = threading.Event()
        super().__init__()

    def place(self, prefix, style="path"):
        """The place of a prefix; of the style `virtual` the bucket stands in the host's name."""
        host = "127.0.0.1" if style == "path" else "localhost"
        return f"s3://{self._moto.bucket}/{prefix}?style={style}&endpoint=http://{host}:{self.port}"

    def answer(self, request):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(request.target).query)
        if self.is_shut and request.method == "PUT" and query.get("partNumber", ["1"]) != ["1"]:
            self.held.set()
            return Answer(b"", 503)
        if self.code:
            error = f"<Error><Code>{self.code}</Code></Error>".encode()
            return Answer(b"" if request.method == "HEAD" else error, 400)
        connection = http.client.HTTPConnection("127.0.0.1", self._moto.port, timeout=30)
        headers = {name: value for name, value in request.headers.items() if name != "Connection"}
        connection.request(request.method, request.target, request.body, headers)
        came = connection.getresponse()
        body = came.read()
        connection.close()
        self._note(request, query, came.status, body.decode(errors="replace"))
        headers = {name: value for name, value in came.getheaders() if name.lower() not in HOP}
        length = int(came.getheader("Content-Length") or 0)
        return Answer(body, came.status, headers, length=length)

    def _note(self, request, query, status, body):
        key = request.path.removeprefix(f"/{self._moto.bucket}/")
        upload = query.get("uploadId", [None])[0]
        with self._guard:
            if status in (401, 403):
                self.refused.append(request.target)
            if status >= 300:
                return
            if request.method == "POST" and "uploads=" in request.target:
                self.uploads.add(re.search("<UploadId>(.*?)</UploadId>", body)[1])
            elif request.method == "POST" and upload:
                self.uploads.discard(upload)
                self.keys.add(key)
            elif request.method == "POST":
                self.keys -= set(re.findall("<Key>(.*?)</Key>", request.body.decode()))
            elif request.method == "PUT" and not upload:
                self.keys.add(key)
            elif request.method == "DELETE":
                self.uploads.discard(upload) if upload else self.keys.discard(key)

    def contents(self):
        """The names of the objects that are contents."""
        with self._guard:
            return {key.rsplit("/", 1)[1] for key in self.keys if re.search("/[0-9]{2}/", key)}

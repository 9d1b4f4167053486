"""1 GiB down and up over TLS 1.3: the content of a completed task, and a file that is staged.

Beside it nginx (one worker) with the same certificate: a file, and WebDAV PUT. Both are read and
written by curl with HTTP/1.1, which throws away what it gets. Ferry's staged file is synced when
its answer comes, nginx's is not. One download of each is compared by SHA-256 before the rounds; in
the rounds lengths are checked.
"""

from __future__ import annotations

import json
from pathlib import Path

from ..bench import GIBIBYTE, Bench, settle
from ..certificates import Certificate, make_certificate
from ..digests import sha256_of_file, sha256_of_output
from ..gateway import Gateway, completed_task, start_gateway
from ..http import Connection
from ..nginx import start_nginx
from ..processes import Failed, run_measured
from ..receiver import PUT
from ..results import Comparison


def measure(bench: Bench) -> list[Comparison]:
    folder = bench.origin_folder()
    source = folder / "gibibyte"
    certificate = make_certificate(bench.ferry, bench.work / "large-tls-pair")
    locations = f"{certificate.directives} location = /gibibyte {{ root {folder}; }} {PUT}"
    with (
        start_nginx(bench.work, "large-tls-origin", root=folder) as origin,
        start_nginx(bench.work, "large-tls-peer", locations=locations, protocol="ssl") as peer,
        start_gateway(bench.ferry, bench.work, "large-tls", certificate=certificate) as gateway,
        gateway.connection() as connection,
    ):
        curl = _Curl(certificate, bench.work / "large-tls-staged.json")
        nginx = f"https://127.0.0.1:{peer.port}"
        task = completed_task(connection, gateway.session(connection), origin.url("/gibibyte"))
        content = gateway.url(f"/v1/tasks/{task['id']}/content")
        reading = ["--header", gateway.authorization, content]
        curl.check([reading, [f"{nginx}/gibibyte"]], sha256_of_file(source, GIBIBYTE))
        down = bench.take_turns(
            {
                "ferry": lambda: curl.download(reading),
                "nginx": lambda: curl.download([f"{nginx}/gibibyte"]),
            }
        )
        put = bench.work / "large-tls-peer" / "put" / "file"
        up = bench.take_turns(
            {
                "ferry": lambda: curl.stage(source, gateway, connection),
                "nginx": lambda: curl.put(source, f"{nginx}/put/file", put),
            }
        )
    return [
        Comparison("large-tls", "down", "MiB/s", down["ferry"], "nginx", down["nginx"], "≥", 0.8),
        Comparison("large-tls", "up", "MiB/s", up["ferry"], "nginx", up["nginx"], "≥", 0.8),
    ]


class _Curl:
    """What moves the bytes; gives MiB a second."""

    def __init__(self, certificate: Certificate, answer: Path):
        self._answer = answer
        self._command = [
            "curl", "--silent", "--show-error", "--fail", "--http1.1", "--tlsv1.3",
            "--cacert", str(certificate.authority),
        ]  # fmt: skip

    def check(self, downloads: list[list[str]], expected: str) -> None:
        for words in downloads:
            digest = sha256_of_output([*self._command, *words])
            if digest != expected:
                raise Failed(f"{words[-1]} gives a file with the SHA-256 {digest}")

    def download(self, words: list[str]) -> float:
        # curl fails where a body is shorter than it was said to be.
        spent = run_measured([*self._command, "--output", "/dev/null", *words])
        return GIBIBYTE / (1 << 20) / spent.wall

    def stage(self, source: Path, gateway: Gateway, connection: Connection) -> float:
        spent = run_measured(
            [
                *self._command, "--request", "POST", "--header", gateway.authorization,
                "--header", "Upload-Complete: ?1", "--output", str(self._answer),
                "--upload-file", str(source), gateway.url("/v1/files"),
            ]
        )  # fmt: skip
        file = json.loads(self._answer.read_text())
        if file["length"] != GIBIBYTE or not file["complete"]:
            raise Failed(f"the staged file is {file}")
        answer = connection.request("DELETE", f"/v1/files/{file['id']}")
        if answer.status != 204:
            raise Failed(f"the staged file is not deleted: {answer.status}")
        settle()
        return GIBIBYTE / (1 << 20) / spent.wall

    def put(self, source: Path, url: str, file: Path) -> float:
        spent = run_measured([*self._command, "--upload-file", str(source), url])
        if file.stat().st_size != GIBIBYTE:
            raise Failed(f"nginx has {file.stat().st_size} bytes")
        file.unlink()
        settle()
        return GIBIBYTE / (1 << 20) / spent.wall

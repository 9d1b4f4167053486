"""nginx as the receiver of uploads (WebDAV PUT), which says whether they have arrived whole."""

from __future__ import annotations

from pathlib import Path

from .bench import GIBIBYTE, Bench, settle
from .digests import sha256_of_file
from .nginx import Nginx, start_nginx
from .processes import Failed, run_measured

# A location of nginx. A large buffer makes nginx faster, so that less of what is compared is nginx itself.
PUT = """
location /put/ {
    dav_methods PUT;
    create_full_put_path on;
    client_max_body_size 0;
    client_body_buffer_size 1m;
}
"""


class Receiver:
    """A running nginx that keeps what is PUT below `/put/`, for uploads of the file of 1 GiB."""

    def __init__(self, bench: Bench, name: str):
        self.source: Path = bench.origin_folder() / "gibibyte"
        self._expected = sha256_of_file(self.source, GIBIBYTE)
        self._folder = bench.work / name / "put"
        self._nginx: Nginx = start_nginx(bench.work, name, locations=PUT)

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self._nginx.__exit__()

    def url(self, name: str) -> str:
        return self._nginx.url(f"/put/{name}")

    def rate_of_curl(self) -> float:
        """MiB a second of `curl -T`, straight here; raises unless all has arrived."""
        command = ["curl", "--silent", "--show-error", "--fail", "--upload-file", str(self.source)]
        spent = run_measured([*command, self.url("curl")])
        self.take("curl")
        return GIBIBYTE / (1 << 20) / spent.wall

    def take(self, name: str) -> None:
        """Removes what has arrived; raises unless it is the file of 1 GiB, byte for byte."""
        file = self._folder / name
        if not file.exists():
            raise Failed(f"nothing has arrived as {name}")
        length = file.stat().st_size
        if length != GIBIBYTE or sha256_of_file(file, length) != self._expected:
            raise Failed(f"{length} bytes have arrived as {name}, which are not those of the file")
        file.unlink()
        settle()

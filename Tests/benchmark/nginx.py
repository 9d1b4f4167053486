"""nginx, as the origin of downloads and as a contestant; one worker, on ports of this run."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from .processes import Server, accepts, free_port

_NCHAN = "/usr/lib/nginx/modules/ngx_nchan_module.so"

_CONFIGURATION = """\
{modules}
{user}
daemon off;
worker_processes 1;
worker_rlimit_nofile 16384;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections 8192; }}
http {{
    access_log off;
    default_type application/octet-stream;
    sendfile on;
    tcp_nopush on;
    tcp_nodelay on;
    keepalive_timeout 75s;
    keepalive_requests 100000000;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {directives}
    server {{
        listen 127.0.0.1:{port} backlog=4096{protocol};
        root {root};
        {locations}
    }}
}}
"""


@dataclass
class Nginx:
    """A running nginx."""

    server: Server
    port: int

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self.server.stop()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"


def start_nginx(
    work: Path,
    name: str,
    locations: str = "",
    directives: str = "",
    root: Path | None = None,
    with_nchan: bool = False,
    cores: frozenset[int] | None = None,
    protocol: str = "",
) -> Nginx:
    folder = work / name
    folder.mkdir(exist_ok=True)
    port = free_port()
    configuration = folder / "nginx.conf"
    configuration.write_text(
        _CONFIGURATION.format(
            modules=f"load_module {_NCHAN};" if with_nchan else "",
            user="user root;" if os.geteuid() == 0 else "",
            folder=folder,
            directives=directives,
            port=port,
            protocol=protocol and f" {protocol}",
            root=root or folder,
            locations=locations,
        )
    )
    command = [
        "/usr/sbin/nginx", "-p", str(folder), "-e", str(folder / "error.log"),
        "-c", str(configuration),
    ]  # fmt: skip
    server = Server(command, folder / "output.log", cores)
    try:
        server.wait_for("to listen", lambda: accepts(port))
        return Nginx(server, port)
    except BaseException:
        server.stop()
        raise


def answer_of_size(size: int) -> str:
    """A directive that answers 200 with a JSON-like body of so many bytes."""
    return f"default_type application/json; return 200 '{'x' * size}';"

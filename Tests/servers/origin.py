"""An origin whose answers a test writes, and which counts all that reaches it."""

import contextlib
import dataclasses
import http.server
import socket
import threading
import urllib.parse

from daemon import eventually

FRESH = {"Cache-Control": "max-age=600"}


@dataclasses.dataclass
class Request:
    """One that came; `connection` counts the sockets that the origin has taken, from 1."""

    method: str
    target: str
    headers: object
    body: bytes
    connection: int

    @property
    def path(self):
        return urllib.parse.urlsplit(self.target).path

    def __getitem__(self, name):
        """A field's value; None without one."""
        return self.headers[name]


@dataclasses.dataclass
class Answer:
    """`pieces` come one by one, for a body of `length`; else the body is sent at once."""

    body: bytes = b""
    status: int = 200
    headers: dict = dataclasses.field(default_factory=dict)
    pieces: object = None
    length: int = 0


class Origin:
    """Answers paths as `on` says, and others with 404, on a port that it keeps."""

    def __init__(self, host="127.0.0.1"):
        self._host = host
        self.requests = []
        self._answers = {}
        self._lock = threading.Lock()
        self._sockets = set()
        self.connections = 0
        self._server = None
        self.port = 0
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        """Listens, on the port that it had before if it had one."""
        self._server = self.listener((self._host, self.port))
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=[0.02], daemon=True).start()

    def listener(self, address):
        """A server at an address that does not serve yet."""
        return _Server(address, self)

    def stop(self):
        """Takes no connection any more, and drops those that it has."""
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
        with self._lock:
            sockets, self._sockets = self._sockets, set()
        for each in sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def url(self, path="/", host=None):
        return f"http://{host or self._host}:{self.port}{path}"

    def on(self, path, answer):
        """Answers a path so: an `Answer`, or a function that makes one of the request."""
        self._answers[path] = answer

    def seen(self, path):
        """The requests for a path, whatever their query, oldest first."""
        with self._lock:
            return [each for each in self.requests if each.path == path]

    def count(self, path):
        return len(self.seen(path))

    def wait(self, path, count):
        """The requests for a path, once there are so many."""
        eventually(lambda: self.count(path) >= count, f"{count} requests for {path}")
        return self.seen(path)

    # What the server's threads tell

    def opened(self, connection):
        with self._lock:
            self._sockets.add(connection)
            self.connections += 1
            return self.connections

    def closed(self, connection):
        with self._lock:
            self._sockets.discard(connection)

    def answer(self, request):
        with self._lock:
            self.requests.append(request)
        chosen = self._answers.get(request.path, Answer(b"nothing here", 404))
        return chosen(request) if callable(chosen) else chosen


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 256

    def __init__(self, address, origin):
        self.origin = origin
        super().__init__(address, _Handler)

    def handle_error(self, *_):
        """A client that goes away is none."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body leave in one piece, else the second waits for the first's acknowledgement.
    wbufsize = 1 << 16
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        self.number = self.server.origin.opened(self.connection)

    def finish(self):
        self.server.origin.closed(self.connection)
        with contextlib.suppress(OSError):
            super().finish()

    def respond(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = Request(self.command, self.path, self.headers, body, self.number)
        answer = self.server.origin.answer(request)
        self.send_response(answer.status)
        if answer.status not in (204, 304):
            self.send_header("Content-Length", str(answer.length or len(answer.body)))
        for name, values in answer.headers.items():
            for value in [values] if isinstance(values, str) else values:
                self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD" or answer.status in (204, 304):
            return
        for piece in answer.pieces or [answer.body]:
            self.wfile.write(piece)
            self.wfile.flush()

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = respond

    def log_message(self, *_):
        pass

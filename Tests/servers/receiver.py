"""What a webhook posts to: it verifies by the library of Standard Webhooks, and keeps what came."""

import http.server
import json
import threading

from standardwebhooks.webhooks import Webhook

from daemon import eventually


class Receiver:
    """Answers each message as `answer(message, count)` says, `count` being how often it has come."""

    def __init__(self, answer=lambda message, count: 204):
        self.answer = answer
        self.secrets = {}
        # Every message as it came, in that order: (webhook-id, path, type, data).
        self.messages = []
        self._lock = threading.Lock()
        self._server = None
        self.port = 0
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        """Begins to listen, at the port that it had before."""
        self._server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", self.port), _handler(self), bind_and_activate=False
        )
        self._server.daemon_threads = True
        # A gateway that is killed goes away in the middle of what it says.
        self._server.handle_error = lambda *_: None
        self._server.allow_reuse_address = True
        self._server.server_bind()
        self._server.server_activate()
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self):
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def url(self, path="/"):
        return f"http://127.0.0.1:{self.port}{path}"

    def take(self, path, headers, body):
        """The status of the answer; a signature that is wrong fails the test that looks at it."""
        Webhook(self.secrets[path]).verify(body, headers)
        message = json.loads(body)
        name = headers["webhook-id"]
        with self._lock:
            count = 1 + sum(each[0] == name for each in self.messages)
            status = self.answer(message, count)
            self.messages.append((name, path, message["type"], message["data"], status))
        return status

    def taken(self, path="/"):
        """What was answered with 2xx, each event once, in the order in which that came first."""
        with self._lock:
            first = {}
            for name, at, kind, data, status in self.messages:
                if at == path and 200 <= status < 300:
                    first.setdefault(name, (kind, data))
            return list(first.values())

    def wait(self, count, path="/", seconds=60):
        eventually(lambda: len(self.taken(path)) >= count, f"{count} messages", seconds)
        return self.taken(path)


def _handler(receiver):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Nagle's algorithm would hold each answer back until the last one is acknowledged.
        disable_nagle_algorithm = True

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            try:
                status = receiver.take(self.path, headers, body)
            except Exception as error:  # noqa: BLE001: whatever it is, the test sees it
                receiver.messages.append(("wrong", self.path, str(error), {}, 401))
                status = 401
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    return Handler

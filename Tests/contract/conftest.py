"""What several of these tests talk to."""

import http.server
import threading

import pytest


class TwelveBytes(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", "12")
        self.end_headers()
        self.wfile.write(b"twelve bytes")

    def log_message(self, *_):
        pass


@pytest.fixture(scope="session")
def twelve_bytes():
    """The URL of a server whose every answer is `twelve bytes`."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), TwelveBytes) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/a"
        server.shutdown()
        thread.join()

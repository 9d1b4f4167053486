"""httpbin from PyPI, twice, so that there is another origin to be sent to."""

import contextlib
import threading

import httpbin
import werkzeug.serving


class Handler(werkzeug.serving.WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *_):
        pass


@contextlib.contextmanager
def serve():
    """Runs httpbin while the block does; gives its URL."""
    server = werkzeug.serving.make_server(
        "127.0.0.1", 0, httpbin.app, threaded=True, request_handler=Handler
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()

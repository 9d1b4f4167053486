"""An origin by https, with a certificate of the test's choice."""

import pathlib
import ssl
import tempfile

from origin import Origin


class SecureOrigin(Origin):
    """Shows the certificate of `pair`; with `clients`, authorities in PEM, it wants one of theirs."""

    def __init__(self, pair, clients=None):
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:
            pair.write(folder, "server")
            self._context.load_cert_chain(
                pathlib.Path(folder, "server.crt"), pathlib.Path(folder, "server.key"))
        if clients:
            self._context.load_verify_locations(cadata=clients)
            self._context.verify_mode = ssl.CERT_REQUIRED
        super().__init__()

    def listener(self, address):
        server = super().listener(address)
        server.socket = self._context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False)
        return server

    def url(self, path="/", host=None):
        return f"https://{host or '127.0.0.1'}:{self.port}{path}"

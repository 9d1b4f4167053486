"""A SOCKS server, versions 4, 4a and 5, that keeps a list of what it was asked for."""

import contextlib
import dataclasses
import ipaddress
import selectors
import socket
import socketserver
import threading


@dataclasses.dataclass(frozen=True)
class Wish:
    """Where somebody wanted to go: `host` is a name where the server has to look it up."""

    version: int
    host: str
    port: int


class Socks:
    """Connects whoever asks, or refuses all with the code `refusal`."""

    def __init__(self):
        self.wishes = []
        self.connections = 0
        self.refusal = None
        self._server = _Server(("127.0.0.1", 0), self)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=[0.02], daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def configuration(self, version, *exceptions):
        """Of a session that goes through it."""
        proxy = {"SOCKSEnable": True, "SOCKSProxy": "127.0.0.1", "SOCKSPort": self.port}
        proxy |= {"SOCKSVersion": version, "ExceptionsList": list(exceptions)}
        return {"connectionProxyDictionary": proxy}


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, address, socks):
        self.socks = socks
        super().__init__(address, _Conversation)

    def handle_error(self, *_):
        """A client that goes away is none."""


class _Conversation(socketserver.StreamRequestHandler):
    # What follows the greeting may come with it, and is for the other side.
    rbufsize = 0

    def handle(self):
        self.server.socks.connections += 1
        (version,) = self._take(1)
        wish = self._version_4() if version == 4 else self._version_5()
        self.server.socks.wishes.append(wish)
        refusal = self.server.socks.refusal
        if refusal is not None:
            return self._reply(wish.version, refusal)
        with socket.create_connection((wish.host, wish.port), timeout=10) as other:
            self._reply(wish.version, 90 if wish.version == 4 else 0)
            self._relay(other)

    def _take(self, count):
        data = b""
        while len(data) < count:
            piece = self.request.recv(count - len(data))
            if not piece:
                raise ConnectionError
            data += piece
        return data

    def _take_text(self):
        """Up to a zero byte."""
        text = b""
        while (byte := self._take(1)) != b"\0":
            text += byte
        return text.decode()

    def _version_4(self):
        command, *port = self._take(3)
        assert command == 1
        address = self._take(4)
        self._take_text()  # the user
        # 4a: an address that cannot be, and a name behind it.
        is_named = address[:3] == b"\0\0\0" and address[3]
        host = self._take_text() if is_named else str(ipaddress.IPv4Address(address))
        return Wish(4, host, int.from_bytes(port))

    def _version_5(self):
        (count,) = self._take(1)
        assert 0 in self._take(count)
        self.request.sendall(b"\5\0")
        version, command, _, kind = self._take(4)
        assert (version, command) == (5, 1)
        if kind == 3:
            (length,) = self._take(1)
            host = self._take(length).decode()
        else:
            host = str(ipaddress.ip_address(self._take(4 if kind == 1 else 16)))
        return Wish(5, host, int.from_bytes(self._take(2)))

    def _reply(self, version, code):
        if version == 4:
            self.request.sendall(bytes([0, code]) + bytes(6))
        else:
            self.request.sendall(bytes([5, code, 0, 1]) + bytes(6))

    def _relay(self, other):
        with selectors.DefaultSelector() as selector, contextlib.suppress(OSError):
            selector.register(self.request, selectors.EVENT_READ, other)
            selector.register(other, selectors.EVENT_READ, self.request)
            while True:
                for key, _ in selector.select():
                    data = key.fileobj.recv(65536)
                    if not data:
                        return
                    key.data.sendall(data)

"""HTTP/2 frame by frame (RFC 9113): a client that also sends what no client should."""

import contextlib
import dataclasses
import socket
import struct
import time
import urllib.parse

import hpack

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS = 0, 1, 2, 3, 4
PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 5, 6, 7, 8, 9

END_STREAM = ACK = 0x1
END_HEADERS, PADDED, PRIORITIZED = 0x4, 0x8, 0x20

HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS = 1, 2, 3
INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE = 4, 5, 6

NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR = 0, 1, 2, 3
STREAM_CLOSED, FRAME_SIZE_ERROR, REFUSED_STREAM, CANCEL = 5, 6, 7, 8
COMPRESSION_ERROR, ENHANCE_YOUR_CALM = 9, 11

LARGEST_WINDOW = (1 << 31) - 1
LARGEST_FRAME = 16_384


# Frames as bytes


def frame(kind, flags=0, stream=0, payload=b"", length=None):
    """A frame; its header may announce another `length` than it has."""
    length = len(payload) if length is None else length
    return struct.pack(">HBBBI", length >> 8, length & 0xFF, kind, flags, stream) + payload


def settings(*pairs):
    return frame(SETTINGS, payload=b"".join(struct.pack(">HI", *pair) for pair in pairs))


def window_update(stream, increment):
    return frame(WINDOW_UPDATE, stream=stream, payload=struct.pack(">I", increment))


def reset(stream, code=CANCEL):
    return frame(RST_STREAM, stream=stream, payload=struct.pack(">I", code))


def priority(stream, depends_on=0, weight=15):
    return frame(PRIORITY, stream=stream, payload=struct.pack(">IB", depends_on, weight))


def ping(payload=b"8 octets", flags=0):
    return frame(PING, flags, payload=payload)


@dataclasses.dataclass
class Stream:
    """What has come of an answer."""

    fields: list = dataclasses.field(default_factory=list)
    # Statuses of the answers before the last one, such as 100.
    interim: list = dataclasses.field(default_factory=list)
    body: bytearray = dataclasses.field(default_factory=bytearray)
    has_ended: bool = False
    # The code of RST_STREAM.
    reset: int | None = None

    @property
    def status(self):
        """None before the header is here."""
        return int(self[":status"]) if self.fields else None

    @property
    def is_over(self):
        return self.has_ended or self.reset is not None

    def __getitem__(self, name):
        return dict(self.fields).get(name)


class Client:
    """A connection, whose frames are read while a test waits for something.

    It begins with the preface and SETTINGS of `pairs`, unless `opening` is something else, and
    takes all that comes unless it `grants` nothing: then only the windows of the beginning are
    there.
    """

    def __init__(self, gateway, *pairs, opening=None, grants=True, receive_buffer=None):
        base = gateway.client.base_url
        self.authority = urllib.parse.urlsplit(str(base)).netloc
        self._token = gateway.client.headers["Authorization"]
        self._socket = socket.socket()
        if receive_buffer:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._socket.connect((base.host, base.port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._grants = grants
        self._encoder, self._decoder = hpack.Encoder(), hpack.Decoder()
        self._input = bytearray()
        self._block = b""
        self._next = 1
        self.streams = {}
        # The server's SETTINGS, as pairs.
        self.settings = None
        self.acknowledged = 0
        self.pongs = 0
        self.window = 65_535
        self.windows = {}
        # Code and last stream of GOAWAY.
        self.goaway = None
        self.last_stream = None
        self.is_closed = False
        self.send(PREFACE + settings(*pairs) if opening is None else opening)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    # Sending

    def send(self, *frames):
        """Sends, or finds that the server has closed."""
        data = memoryview(b"".join(frames))
        self._socket.settimeout(10)
        try:
            self._socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            self.is_closed = True

    def try_to_send(self, data):
        """How many bytes the server's end takes at once; none if it has closed."""
        self._socket.settimeout(0)
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0
        except (BrokenPipeError, ConnectionResetError):
            self.is_closed = True
            return 0

    def next_id(self):
        self._next += 2
        return self._next - 2

    def fields(self, method="GET", path="/healthz", *more, **pseudo):
        """The fields of a request, with a token; pseudo-header fields by keyword, None for none."""
        first = {"method": method, "scheme": "http", "path": path, "authority": self.authority}
        first |= pseudo
        fields = [(f":{name}", value) for name, value in first.items() if value is not None]
        return [*fields, ("authorization", self._token), *more]

    def encode(self, fields):
        """A header block of fields."""
        return self._encoder.encode(fields, huffman=False)

    def headers(self, stream, fields, flags=END_STREAM | END_HEADERS):
        """One HEADERS frame; in pieces where they are too many for one."""
        block = self.encode(fields)
        if len(block) <= LARGEST_FRAME:
            return frame(HEADERS, flags, stream, block)
        pieces = [block[at : at + LARGEST_FRAME] for at in range(0, len(block), LARGEST_FRAME)]
        frames = [frame(HEADERS, flags & ~END_HEADERS, stream, pieces[0])]
        frames += [frame(CONTINUATION, 0, stream, piece) for piece in pieces[1:-1]]
        return b"".join(frames) + frame(CONTINUATION, flags & END_HEADERS, stream, pieces[-1])

    def open(self, method="GET", path="/healthz", *more, ends=True, **pseudo):
        """Sends the header of a request; the stream's id."""
        stream = self.next_id()
        flags = END_HEADERS | (END_STREAM if ends else 0)
        self.send(self.headers(stream, self.fields(method, path, *more, **pseudo), flags))
        return stream

    def get(self, path="/healthz", *more, **pseudo):
        """An answer, once it is whole."""
        return self.answer(self.open("GET", path, *more, **pseudo))

    def write(self, stream, body, ends=True):
        """Sends a body as windows allow."""
        view = memoryview(body)
        initial = dict(self.settings or {}).get(INITIAL_WINDOW_SIZE, 65_535)
        self.windows.setdefault(stream, 0)
        while view and not self.stream(stream).is_over:
            room = lambda: min(LARGEST_FRAME, self.window, initial + self.windows[stream])
            self.wait(lambda: room() > 0 or self.stream(stream).is_over, "room for a body")
            count = min(room(), len(view))
            if count <= 0:
                return
            ending = END_STREAM if ends and count == len(view) else 0
            self.send(frame(DATA, ending, stream, bytes(view[:count])))
            self.window -= count
            self.windows[stream] -= count
            view = view[count:]

    # Receiving

    def stream(self, id):
        return self.streams.setdefault(id, Stream())

    def answer(self, id, seconds=10):
        """A stream once it is over."""
        self.wait(lambda: self.stream(id).is_over, f"the end of stream {id}", seconds)
        return self.stream(id)

    def ending(self, seconds=10):
        """How the server has ended the connection: the code of its GOAWAY; None without one."""
        self.wait(lambda: self.is_closed, "the server to close", seconds)
        return self.goaway

    def refusal(self, stream, seconds=10):
        """How the server refuses something: ("stream", code), or ("connection", code)."""
        is_settled = lambda: self.stream(stream).is_over or self.is_closed
        self.wait(is_settled, "a refusal", seconds)
        if self.stream(stream).reset is not None:
            return "stream", self.stream(stream).reset
        assert self.is_closed, f"it was answered: {self.stream(stream)}"
        return "connection", self.goaway

    def lives(self):
        """Whether the server still answers."""
        pongs = self.pongs
        self.send(ping())
        self.wait(lambda: self.pongs > pongs or self.is_closed, "an answer to PING")
        return not self.is_closed

    def wait(self, condition, what, seconds=10):
        """Reads until the condition holds."""
        deadline = time.monotonic() + seconds
        while not condition():
            left = deadline - time.monotonic()
            assert left > 0, f"after {seconds} s still waiting for {what}: {self}"
            assert not self.is_closed, f"closed, waiting for {what}: {self}"
            self.read(left)

    def read(self, seconds):
        """Reads what comes first within so many seconds; whether something came."""
        self._socket.settimeout(max(seconds, 0.001))
        try:
            data = self._socket.recv(1 << 18)
        except TimeoutError:
            return False
        except ConnectionResetError:
            data = b""
        self.is_closed = not data
        self._input += data
        while len(self._input) >= 9:
            high, low, kind, flags, stream = struct.unpack_from(">HBBBI", self._input)
            end = 9 + (high << 8 | low)
            if len(self._input) < end:
                break
            payload = bytes(self._input[9:end])
            del self._input[:end]
            self._take(kind, flags, stream, payload)
        return True

    def _take(self, kind, flags, stream, payload):
        match kind:
            case 0:
                self._take_data(flags, stream, payload)
            case 1 | 9:
                self._block += payload
                if flags & END_HEADERS:
                    self._take_header(stream)
                if kind == HEADERS and flags & END_STREAM:
                    self.stream(stream).has_ended = True
            case 3:
                (self.stream(stream).reset,) = struct.unpack(">I", payload)
            case 4 if flags & ACK:
                self.acknowledged += 1
            case 4:
                pairs = struct.iter_unpack(">HI", payload)
                self.settings = list(pairs)
                self.send(frame(SETTINGS, ACK))
            case 6 if flags & ACK:
                self.pongs += 1
            case 7:
                self.last_stream, self.goaway = struct.unpack_from(">II", payload)
            case 8:
                (increment,) = struct.unpack(">I", payload)
                if stream:
                    self.windows[stream] = self.windows.get(stream, 0) + increment
                else:
                    self.window += increment

    def _take_data(self, flags, stream, payload):
        answer = self.stream(stream)
        answer.body += payload
        answer.has_ended = bool(flags & END_STREAM)
        if payload and self._grants:
            self.send(window_update(0, len(payload)))
            if not answer.has_ended:
                self.send(window_update(stream, len(payload)))

    def _take_header(self, stream):
        fields = self._decoder.decode(self._block)
        self._block = b""
        answer = self.stream(stream)
        status = int(dict(fields)[":status"])
        if status < 200:
            answer.interim.append(status)
        else:
            answer.fields = fields

    def close(self):
        """Ends the connection without a word."""
        with contextlib.suppress(OSError):
            self._socket.close()

    def __repr__(self):
        code = None if self.goaway is None else f"GOAWAY {self.goaway}"
        return f"{len(self.streams)} streams, {code}, closed: {self.is_closed}"

"""HTTP/2 as RFC 9113 and RFC 7541 have it, section by section, and what they forbid (X-10).

The cases are those that h2spec has made the yardstick of servers, and some of our own.
"""

import struct

import pytest

import frames
from frames import (
    ACK, COMPRESSION_ERROR, CONTINUATION, DATA, END_HEADERS, END_STREAM, FLOW_CONTROL_ERROR,
    FRAME_SIZE_ERROR, GOAWAY, HEADERS, INITIAL_WINDOW_SIZE, LARGEST_FRAME, LARGEST_WINDOW, NO_ERROR, PADDED,
    PING, PREFACE, PRIORITIZED, PRIORITY, PROTOCOL_ERROR, PUSH_PROMISE, RST_STREAM, SETTINGS,
    STREAM_CLOSED, WINDOW_UPDATE, Client, frame, ping, priority, reset, settings, window_update,
)

BODY = b'{"type": "ephemeral"}'
JSON = ("content-type", "application/json")
CREATE = ("POST", "/v1/sessions", JSON)


@pytest.fixture
def client(gateway):
    with Client(gateway) as client:
        yield client


def goes_on(client):
    """The connection is as good as new."""
    assert client.get().status == 200
    assert client.goaway is None


# What is allowed


def allowed(name):
    def keep(body):
        ALLOWED[name] = body
        return body

    return keep


ALLOWED = {}


@allowed("PRIORITY on an idle stream (5.1)")
def _(client):
    client.send(priority(1), priority(9))


@allowed("PRIORITY on a closed stream (5.1)")
def _(client):
    stream = client.open()
    client.answer(stream)
    client.send(priority(stream))


@allowed("WINDOW_UPDATE and PRIORITY on a half-closed stream (5.1)")
def _(client):
    stream = client.next_id()
    header = client.headers(stream, client.fields())
    client.send(header, window_update(stream, 100), priority(stream))
    assert client.answer(stream).status == 200


@allowed("WINDOW_UPDATE and RST_STREAM on a closed stream (5.1)")
def _(client):
    stream = client.open()
    client.answer(stream)
    client.send(window_update(stream, 100), reset(stream))


@allowed("a frame of a type that nobody knows (4.1, 5.5)")
def _(client):
    client.send(frame(0x16, payload=b"whatever"), frame(0x16, 0xFF, 1, bytes(LARGEST_FRAME)))


@allowed("flags that nobody knows (4.1)")
def _(client):
    client.send(ping(flags=0x16))
    client.wait(lambda: client.pongs == 1, "an answer to PING")


@allowed("the reserved bit of a stream's number (4.1)")
def _(client):
    client.send(frame(PING, stream=1 << 31, payload=b"8 octets"))
    client.wait(lambda: client.pongs == 1, "an answer to PING")


@allowed("a setting that nobody knows (6.5.2)")
def _(client):
    client.send(settings((0xFF, 1)))
    client.wait(lambda: client.acknowledged == 2, "the acknowledgement")


@allowed("PING that answers nothing (6.7)")
def _(client):
    client.send(ping(flags=ACK), ping(b"good one"))
    client.wait(lambda: client.pongs == 1, "an answer to PING")


@allowed("RST_STREAM with a code that nobody knows (7)")
def _(client):
    stream = client.open("GET", "/v1/events")
    client.send(reset(stream, 0xFF))


@allowed("DATA of the largest size, with padding, in pieces, and with no byte at its end (6.1)")
def _(client):
    session = b'{"type": "ephemeral", "description": "%s"}' % (b"d" * 100)
    stream = client.open(*CREATE, ends=False)
    padded = bytes([7]) + session[:5] + bytes(7)
    client.send(frame(DATA, PADDED, stream, padded), frame(DATA, 0, stream, session[5:]))
    client.send(frame(DATA, 0, stream, b" " * LARGEST_FRAME), frame(DATA, END_STREAM, stream))
    assert client.answer(stream).status == 201


@allowed("HEADERS with padding and priority (6.2)")
def _(client):
    stream = client.next_id()
    block = client.encode(client.fields())
    payload = bytes([3]) + struct.pack(">IB", 0, 255) + block + bytes(3)
    flags = END_STREAM | END_HEADERS | PADDED | PRIORITIZED
    client.send(frame(HEADERS, flags, stream, payload))
    assert client.answer(stream).status == 200


@allowed("a header in several CONTINUATION frames, one of them empty (6.10)")
def _(client):
    stream = client.next_id()
    block = client.encode(client.fields())
    client.send(frame(HEADERS, END_STREAM, stream, block[:1]))
    client.send(frame(CONTINUATION, 0, stream, block[1:9]), frame(CONTINUATION, 0, stream))
    client.send(frame(CONTINUATION, END_HEADERS, stream, block[9:]))
    assert client.answer(stream).status == 200


@allowed("trailers, which mean nothing (8.1)")
def _(client):
    stream = client.open(*CREATE, ends=False)
    client.send(frame(DATA, 0, stream, BODY))
    client.send(client.headers(stream, [("authorization", "Bearer wrong"), ("x-more", "1")]))
    assert client.answer(stream).status == 201


@allowed("TE: trailers (8.2.2)")
def _(client):
    assert client.get("/healthz", ("te", "trailers")).status == 200


@allowed("every form of a field that HPACK has (7541 6.1, 6.2, 6.3)")
def _(client):
    fields = client.fields()
    plain, huffman = frames.hpack.Encoder(), frames.hpack.Encoder()
    never = [frames.hpack.NeverIndexedHeaderTuple(*each) for each in fields]
    literal = b"".join(
        b"\x00" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
        for name, value in fields
    )
    # Two changes of the table's size may begin a block; afterwards it is as the client has it.
    resized = b"\x20" + b"\x3f\xe1\x1f" + literal
    blocks = [
        resized, plain.encode(fields, huffman=False), plain.encode(fields, huffman=False),
        plain.encode(never, huffman=False), literal, huffman.encode(fields, huffman=True)
    ]
    for block in blocks[:-1]:
        stream = client.next_id()
        client.send(frame(HEADERS, END_STREAM | END_HEADERS, stream, block))
        assert client.answer(stream).status == 200
    with_huffman = huffman.encode([*fields, ("x-word", "some words")], huffman=True)
    assert b"healthz" not in with_huffman
    client._encoder = plain


@pytest.mark.parametrize("what", ALLOWED)
def test_http2_allows(client, what):
    ALLOWED[what](client)
    goes_on(client)


# What ends a connection

FORBIDDEN = {}


def ends(name, *codes):
    """The frames end the connection, by one of these codes."""

    def keep(body):
        FORBIDDEN[name] = (body, codes)
        return body

    return keep


ends("DATA on an idle stream (5.1)", PROTOCOL_ERROR, STREAM_CLOSED)(
    lambda client: [frame(DATA, END_STREAM, 1, b"d")])
ends("RST_STREAM on an idle stream (5.1, 6.4)", PROTOCOL_ERROR)(lambda client: [reset(1)])
ends("WINDOW_UPDATE on an idle stream (5.1)", PROTOCOL_ERROR)(
    lambda client: [window_update(1, 100)])
ends("CONTINUATION on an idle stream (5.1)", PROTOCOL_ERROR)(
    lambda client: [frame(CONTINUATION, END_HEADERS, 1, client.encode(client.fields()))])


def half_closed(client):
    """A stream whose request is whole, and whose answer is not."""
    stream = client.open("GET", "/v1/events")
    client.wait(lambda: client.stream(stream).status, "the stream's header")
    return stream


def closed(client):
    stream = client.open()
    client.answer(stream)
    return stream


def taken_back(client):
    stream = half_closed(client)
    client.send(reset(stream))
    return stream


def on(make, *frames_of):
    return lambda client: [frames_of[0](client, make(client))]


FRAMES = {
    "DATA": lambda client, stream: frame(DATA, END_STREAM, stream, b"d"),
    "HEADERS": lambda client, stream: client.headers(stream, client.fields()),
    "CONTINUATION": lambda client, stream: frame(CONTINUATION, END_HEADERS, stream, b"\x88"),
}
STATES = {
    "a half-closed stream": half_closed, "a closed stream": closed,
    "a stream that was reset": taken_back,
}
for state, make in STATES.items():
    for kind, of in FRAMES.items():
        codes = [STREAM_CLOSED, PROTOCOL_ERROR] if kind == "CONTINUATION" else [STREAM_CLOSED]
        ends(f"{kind} on {state} (5.1)", *codes)(on(make, of))


@ends("a stream with an even number (5.1.1)", PROTOCOL_ERROR)
def _(client):
    return [client.headers(2, client.fields())]


@ends("a stream with a number below the last one (5.1.1)", PROTOCOL_ERROR, STREAM_CLOSED)
def _(client):
    return [client.headers(5, client.fields()), client.headers(3, client.fields())]


@ends("a header block that is none (4.3)", COMPRESSION_ERROR)
def _(client):
    return [frame(HEADERS, END_STREAM | END_HEADERS, 1, b"\x40")]


@ends("a field of an index that there is not (7541 2.3.3)", COMPRESSION_ERROR)
def _(client):
    return [frame(HEADERS, END_STREAM | END_HEADERS, 1, b"\xff\x00")]


@ends("a name of an index that there is not (7541 2.3.3)", COMPRESSION_ERROR)
def _(client):
    return [frame(HEADERS, END_STREAM | END_HEADERS, 1, b"\x7f\x00\x01a")]


@ends("a field of the index 0 (7541 6.1)", COMPRESSION_ERROR)
def _(client):
    return [frame(HEADERS, END_STREAM | END_HEADERS, 1, b"\x80")]


@ends("a number without an end (7541 5.1)", COMPRESSION_ERROR)
def _(client):
    return [frame(HEADERS, END_STREAM | END_HEADERS, 1, b"\xff" + b"\xff" * 20 + b"\x00")]


@ends("a change of the table's size at a block's end (7541 4.2)", COMPRESSION_ERROR)
def _(client):
    return [frame(HEADERS, END_STREAM | END_HEADERS, 1, client.encode(client.fields()) + b"\x20")]


@ends("a table larger than the server allows (7541 6.3)", COMPRESSION_ERROR)
def _(client):
    block = b"\x3f\xff\xff\x03" + client.encode(client.fields())
    return [frame(HEADERS, END_STREAM | END_HEADERS, 1, block)]


HUFFMAN = {
    "padding of more than 7 bits": b"\x00\x85\xf2\xb2\x4a\x84\xff\x84\x49\x50\x9f\xff",
    "padding with zeros": b"\x00\x85\xf2\xb2\x4a\x84\xff\x83\x49\x50\x90",
    "the end of a string": b"\x00\x85\xf2\xb2\x4a\x84\xff\x87\x49\x51\xff\xff\xff\xfa\x7f",
}
for what, field in HUFFMAN.items():
    ends(f"Huffman's code with {what} (7541 5.2)", COMPRESSION_ERROR)(
        lambda client, field=field: [
            frame(HEADERS, END_STREAM | END_HEADERS, 1, client.encode(client.fields()) + field)
        ])


def inside_header(*later):
    """What comes between a HEADERS frame without an end and its CONTINUATION."""

    def frames_of(client):
        block = client.encode(client.fields())
        between = [each(client) if callable(each) else each for each in later]
        end = frame(CONTINUATION, END_HEADERS, 1, block[5:])
        return [frame(HEADERS, END_STREAM, 1, block[:5]), *between, end]

    return frames_of


BETWEEN = {
    "PRIORITY": priority(1), "PING": ping(), "DATA": frame(DATA, END_STREAM, 1, b"d"),
    "a frame that nobody knows": frame(0x16, payload=b"8 octets"),
    "HEADERS of another stream": lambda client: client.headers(3, client.fields()),
    "CONTINUATION of another stream": frame(CONTINUATION, END_HEADERS, 3),
}
for what, each in BETWEEN.items():
    ends(f"{what} inside of a header (4.3, 5.5, 6.2, 6.10)", PROTOCOL_ERROR)(inside_header(each))


@ends("CONTINUATION behind a whole header (6.10)", PROTOCOL_ERROR, STREAM_CLOSED)
def _(client):
    block = client.encode(client.fields())
    return [
        frame(HEADERS, END_HEADERS, 1, block), frame(CONTINUATION, END_HEADERS, 1, block),
    ]


@ends("CONTINUATION behind the last CONTINUATION (6.10)", PROTOCOL_ERROR, STREAM_CLOSED)
def _(client):
    block = client.encode(client.fields())
    end = frame(CONTINUATION, END_HEADERS, 1, block[5:])
    return [frame(HEADERS, 0, 1, block[:5]), end, frame(CONTINUATION, END_HEADERS, 1)]


@ends("CONTINUATION behind DATA (6.10)", PROTOCOL_ERROR, STREAM_CLOSED)
def _(client):
    stream = client.open(*CREATE, ends=False)
    return [frame(DATA, 0, stream, b"{"), frame(CONTINUATION, END_HEADERS, stream, b"\x88")]


CONNECTION_ONLY = {
    "DATA": frame(DATA, END_STREAM, 0, b"d"),
    "HEADERS": frame(HEADERS, END_STREAM | END_HEADERS, 0, b"\x82"),
    "PRIORITY": priority(0), "RST_STREAM": reset(0),
    "CONTINUATION": frame(CONTINUATION, END_HEADERS, 0, b"\x82"),
}
for what, bad in CONNECTION_ONLY.items():
    ends(f"{what} without a stream (6)", PROTOCOL_ERROR)(lambda client, bad=bad: [bad])

STREAM_ONLY = {
    "SETTINGS": frame(SETTINGS, stream=1, payload=bytes(6)),
    "PING": frame(PING, stream=1, payload=b"8 octets"),
    "GOAWAY": frame(GOAWAY, stream=1, payload=bytes(8)),
}
for what, bad in STREAM_ONLY.items():
    ends(f"{what} on a stream (6)", PROTOCOL_ERROR)(lambda client, bad=bad: [bad])

SIZES = {
    "RST_STREAM": lambda stream: frame(RST_STREAM, stream=stream, payload=bytes(3)),
    "SETTINGS": lambda _: frame(SETTINGS, payload=bytes(3)),
    "SETTINGS that acknowledges": lambda _: frame(SETTINGS, ACK, payload=bytes(6)),
    "PING": lambda _: frame(PING, payload=bytes(6)),
    "GOAWAY": lambda _: frame(GOAWAY, payload=bytes(7)),
    "WINDOW_UPDATE": lambda _: frame(WINDOW_UPDATE, payload=bytes(3)),
    "WINDOW_UPDATE of a stream": lambda stream: frame(WINDOW_UPDATE, 0, stream, bytes(3)),
    "HEADERS that is too large": lambda _: frame(HEADERS, END_HEADERS, 5, bytes(LARGEST_FRAME + 1)),
    "SETTINGS that is too large": lambda _: frame(SETTINGS, 0, 0, bytes(6 * 2731)),
    "a frame of 16 MiB": lambda _: frame(0x16, 0, 0, b"begins", length=(1 << 24) - 1),
}
for what, bad in SIZES.items():
    ends(f"{what} of a wrong size (4.2, 6)", FRAME_SIZE_ERROR)(
        lambda client, bad=bad: [bad(half_closed(client))])


@ends("DATA with more padding than room (6.1)", PROTOCOL_ERROR)
def _(client):
    stream = client.open(*CREATE, ends=False)
    return [frame(DATA, PADDED | END_STREAM, stream, b"\x05test")]


@ends("HEADERS with more padding than room (6.2)", PROTOCOL_ERROR)
def _(client):
    block = client.encode(client.fields())
    return [frame(HEADERS, PADDED | END_STREAM | END_HEADERS, 1, bytes([255]) + block[:20])]


VALUES = {
    "push that is neither on nor off": ((frames.ENABLE_PUSH, 2), PROTOCOL_ERROR),
    "a window above 2^31 - 1": ((INITIAL_WINDOW_SIZE, LARGEST_WINDOW + 1), FLOW_CONTROL_ERROR),
    "frames below 16,384": ((frames.MAX_FRAME_SIZE, LARGEST_FRAME - 1), PROTOCOL_ERROR),
    "frames above 16,777,215": ((frames.MAX_FRAME_SIZE, 1 << 24), PROTOCOL_ERROR),
}
for what, (pair, code) in VALUES.items():
    ends(f"SETTINGS with {what} (6.5.2)", code)(lambda client, pair=pair: [settings(pair)])

ends("WINDOW_UPDATE by nothing (6.9)", PROTOCOL_ERROR)(lambda client: [window_update(0, 0)])
ends("a connection's window above 2^31 - 1 (6.9.1)", FLOW_CONTROL_ERROR)(
    lambda client: [window_update(0, LARGEST_WINDOW), window_update(0, 1)])


@ends("a client's PUSH_PROMISE (8.4)", PROTOCOL_ERROR)
def _(client):
    stream = half_closed(client)
    payload = struct.pack(">I", 2) + client.encode(client.fields())
    return [frame(PUSH_PROMISE, END_HEADERS, stream, payload)]



@pytest.mark.parametrize("what", FORBIDDEN)
def test_http2_ends_a_connection_for(client, what):
    frames_of, codes = FORBIDDEN[what]
    client.wait(lambda: client.settings is not None, "the server's SETTINGS")
    client.send(*frames_of(client))
    assert client.ending() in codes


# What resets a stream, and no other

MALFORMED = {
    "upper case in a name (8.2.1)": [("X-Upper", "1")],
    "a name without a letter (8.2.1)": [("", "1")],
    "a space in a name (8.2.1)": [("x y", "1")],
    "a colon in a name (8.2.1)": [("x:y", "1")],
    "a line end in a value (8.2.1)": [("x-line", "1\r\nx: 2")],
    "NUL in a value (8.2.1)": [("x-nul", "a\0b")],
    "a space before a value (8.2.1)": [("x-space", " 1")],
    "a space behind a value (8.2.1)": [("x-space", "1 ")],
    "Connection (8.2.2)": [("connection", "keep-alive")],
    "Proxy-Connection (8.2.2)": [("proxy-connection", "keep-alive")],
    "Keep-Alive (8.2.2)": [("keep-alive", "timeout=5")],
    "Transfer-Encoding (8.2.2)": [("transfer-encoding", "chunked")],
    "Upgrade (8.2.2)": [("upgrade", "h2c")],
    "TE of anything but trailers (8.2.2)": [("te", "gzip")],
    "a pseudo-header field behind others (8.3)": [("x-first", "1"), (":method", "GET")],
    "an unknown pseudo-header field (8.3)": [(":unknown", "1")],
    "two lengths (8.1.1)": [("content-length", "0"), ("content-length", "0")],
    "a length that is no number (8.1.1)": [("content-length", "+1")],
    "a length without a body (8.1.1)": [("content-length", "1")],
    "two Host fields (8.3.1)": [("host", "127.0.0.1"), ("host", "127.0.0.1")],
}


def refusal_of(client, fields):
    stream = client.next_id()
    client.send(client.headers(stream, fields))
    refusal = client.refusal(stream)
    goes_on(client)
    return refusal


@pytest.mark.parametrize("what", MALFORMED)
def test_http2_resets_a_stream_for(client, what):
    fields = client.fields("GET", "/healthz", *MALFORMED[what])
    assert refusal_of(client, fields) == ("stream", PROTOCOL_ERROR)


PSEUDO = {
    "no method": dict(method=None), "no scheme": dict(scheme=None), "no path": dict(path=None),
    "an empty path": dict(path=""), "a path without a slash": dict(path="healthz"),
    "a status": dict(status="200"), "an empty method": dict(method=""),
    "a method of no token": dict(method="G T"), "an authority with a user": dict(authority="a@b c"),
    "* for GET": dict(path="*"), "CONNECT with a path": dict(method="CONNECT"),
}


@pytest.mark.parametrize("what", PSEUDO)
def test_http2_resets_a_stream_for_pseudo_header_fields_with(client, what):
    assert refusal_of(client, client.fields(**PSEUDO[what])) == ("stream", PROTOCOL_ERROR)


@pytest.mark.parametrize("name", ["method", "scheme", "path", "authority"])
def test_http2_resets_a_stream_with_two_pseudo_header_fields_of_one_name(client, name):
    fields = client.fields()
    (twice,) = [each for each in fields if each[0] == f":{name}"]
    assert refusal_of(client, [twice, *fields]) == ("stream", PROTOCOL_ERROR)


@pytest.mark.parametrize("pieces", [[b"test"], [b"te", b"st", b""], [b""], [b"0123456789"]])
def test_http2_resets_a_stream_whose_body_has_another_length_than_announced(client, pieces):
    """8.1.1"""
    stream = client.open(*CREATE, ("content-length", "5"), ends=False)
    for piece in pieces[:-1]:
        client.send(frame(DATA, 0, stream, piece))
    client.send(frame(DATA, END_STREAM, stream, pieces[-1]))
    assert client.refusal(stream) == ("stream", PROTOCOL_ERROR)
    goes_on(client)


@pytest.mark.parametrize(
    "fields, flags",
    [
        ([("x-more", "1")], END_HEADERS),
        ([(":path", "/")], END_HEADERS | END_STREAM),
        ([("X-More", "1")], END_HEADERS | END_STREAM),
    ],
    ids=["no end", "a pseudo-header field", "upper case"],
)
def test_http2_resets_a_stream_with_trailers_that_have(client, fields, flags):
    """8.1"""
    stream = client.open(*CREATE, ends=False)
    client.send(frame(DATA, 0, stream, BODY[:5]), client.headers(stream, fields, flags))
    assert client.refusal(stream)[1] == PROTOCOL_ERROR


def test_http2_resets_a_stream_that_depends_on_itself(client):
    """5.3.1 of RFC 7540, which RFC 9113 has given up: what follows of it is nobody's harm."""
    stream = client.next_id()
    payload = struct.pack(">IB", stream, 15) + client.encode(client.fields())
    client.send(frame(HEADERS, END_STREAM | END_HEADERS | PRIORITIZED, stream, payload))
    assert client.refusal(stream)[1] == PROTOCOL_ERROR


def test_http2_resets_a_stream_for_a_window_above_its_largest(client):
    """6.9.1"""
    stream = half_closed(client)
    client.send(window_update(stream, LARGEST_WINDOW))
    assert client.refusal(stream) == ("stream", FLOW_CONTROL_ERROR)
    goes_on(client)


def test_http2_refuses_a_priority_of_a_wrong_size(client):
    """6.3"""
    stream = half_closed(client)
    client.send(frame(PRIORITY, stream=stream, payload=bytes(4)))
    assert client.refusal(stream)[1] == FRAME_SIZE_ERROR


def test_http2_refuses_data_above_the_frames_size(client):
    """4.2"""
    stream = client.open(*CREATE, ends=False)
    client.send(frame(DATA, END_STREAM, stream, bytes(LARGEST_FRAME + 1)))
    assert client.refusal(stream)[1] == FRAME_SIZE_ERROR


def test_http2_refuses_a_stream_above_the_limit(client):
    """5.1.2"""
    client.wait(lambda: client.settings is not None, "the server's SETTINGS")
    limit = dict(client.settings)[frames.MAX_CONCURRENT_STREAMS]
    streams = [client.open(*CREATE, ends=False) for _ in range(limit)]
    assert client.lives() and not any(client.stream(each).is_over for each in streams)
    assert client.refusal(client.open())[1] in (PROTOCOL_ERROR, frames.REFUSED_STREAM)


def test_http2_sends_no_more_than_a_window_that_settings_have_made_smaller(gateway):
    """6.9.2, 6.9.3: a window may be below zero."""
    with Client(gateway, (INITIAL_WINDOW_SIZE, 0), grants=False) as client:
        stream = client.open("GET", "/openapi.yaml")
        received = lambda: len(client.stream(stream).body)
        assert client.lives() and received() == 0
        client.send(settings((INITIAL_WINDOW_SIZE, 3)))
        client.wait(lambda: received() == 3, "three bytes")
        client.send(settings((INITIAL_WINDOW_SIZE, 1)), window_update(stream, 2))
        assert client.lives() and received() == 3
        client.send(window_update(stream, 1))
        client.wait(lambda: received() == 4, "one byte more")
        # Of several values of a setting the last one holds (6.5.3).
        client.send(settings((INITIAL_WINDOW_SIZE, 100), (INITIAL_WINDOW_SIZE, 6)))
        client.wait(lambda: received() >= 9, "five bytes more")
        assert client.lives() and received() == 9


def test_http2_refuses_settings_that_raise_a_window_above_its_largest(client):
    """6.9.2"""
    stream = half_closed(client)
    client.send(window_update(stream, LARGEST_WINDOW - 70_000))
    client.send(settings((INITIAL_WINDOW_SIZE, 1 << 30)))
    assert client.refusal(stream)[1] == FLOW_CONTROL_ERROR


def test_http2_takes_goaway_with_any_code_as_farewell(client):
    """6.8, 7: what was begun is answered, also after it."""
    stream = client.open("POST", "/v1/sessions", JSON, ends=False)
    client.send(frame(GOAWAY, payload=struct.pack(">II", 0, 0xFF)))
    client.write(stream, BODY)
    assert client.answer(stream).status == 201


def test_http2_answers_its_first_settings_first(client):
    """3.4, 6.5.3"""
    client.wait(lambda: client.settings is not None and client.acknowledged == 1, "SETTINGS")
    assert dict(client.settings) == {
        frames.MAX_CONCURRENT_STREAMS: 128, INITIAL_WINDOW_SIZE: 65_536,
        frames.MAX_HEADER_LIST_SIZE: 32_768,
    }
    client.wait(lambda: client.window > 1 << 20, "the connection's window")


@pytest.mark.parametrize(
    "first", [ping(), window_update(0, 1), b""], ids=["PING", "WINDOW_UPDATE", "HEADERS"]
)
def test_http2_wants_settings_to_follow_the_preface(gateway, first):
    """3.4"""
    with Client(gateway, opening=PREFACE) as client:
        client.send(first or client.headers(1, client.fields()))
        assert client.ending() == PROTOCOL_ERROR


def test_http2_takes_a_preface_byte_by_byte(gateway):
    """3.4"""
    with Client(gateway, opening=b"") as client:
        for byte in PREFACE + settings():
            client.send(bytes([byte]))
        goes_on(client)


@pytest.mark.parametrize("at", range(len(PREFACE)))
def test_http2_is_not_taken_for_a_preface_with_a_wrong_byte(gateway, at):
    """3.4: what is no preface is no request of HTTP/1 either, and is answered as such."""
    wrong = bytearray(PREFACE)
    wrong[at] ^= 0x01
    with Client(gateway, opening=bytes(wrong)) as client:
        answer = b""
        client._socket.settimeout(10)
        while piece := client._socket.recv(65_536):
            answer += piece
        assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 505 ", b"HTTP/1.1 501 "))


# What comes behind an answer that did not wait for its request's body


def answered_early(client, *more):
    """A stream whose answer is whole and whose request is not."""
    stream = client.open("POST", "/", *more, ends=False)
    client.wait(lambda: client.stream(stream).has_ended, "the answer")
    assert client.stream(stream).status == 405
    return stream


LATE = {
    "a body of another length (8.1.1)":
        (PROTOCOL_ERROR, lambda stream: frame(DATA, END_STREAM, stream, b"three")),
    "a second header that does not end it (8.1)":
        (PROTOCOL_ERROR, lambda stream: frame(HEADERS, END_HEADERS, stream, b"\x88")),
    "a window above its largest (6.9.1)":
        (FLOW_CONTROL_ERROR, lambda stream: window_update(stream, LARGEST_WINDOW)),
}  # fmt: skip


@pytest.mark.parametrize("what", LATE)
def test_http2_resets_an_answered_stream_for(client, what):
    code, late = LATE[what]
    stream = answered_early(client, ("content-length", "4"))
    client.send(late(stream))
    client.wait(lambda: client.stream(stream).reset is not None, "the reset")
    assert client.stream(stream).reset == code
    goes_on(client)


def test_http2_lets_the_rest_of_an_answered_request_come(client):
    stream = answered_early(client)
    client.send(frame(DATA, END_STREAM, stream, b"the rest"))
    assert client.stream(stream).reset is None
    goes_on(client)


def test_http2_passes_over_what_comes_behind_its_own_reset(client):
    stream = answered_early(client)
    client.wait(lambda: client.stream(stream).reset is not None, "the reset")
    assert client.stream(stream).reset == NO_ERROR
    # As many as are remembered, so that nothing is known of the first any more.
    for _ in range(130):
        assert client.get().status == 200
    trailers = client.headers(stream, [("x-late", "1")])
    client.send(frame(DATA, 0, stream, b"late"), trailers)
    goes_on(client)

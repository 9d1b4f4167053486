"""The gateway's own TLS: certificates, handshakes, reloads, and the commands as its clients."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import statistics
import subprocess
import threading
import time
import urllib.parse

import pytest

import frames
from certificates import Authorities
from daemon import eventually, run, undisturbed
from gateway import Gateway
from origin import Answer
from session import Session
from test_command_line import Person

MIB = 1 << 20


class Folder:
    """What `ferry certificate` has made."""

    def __init__(self, path, *hosts):
        self.path = pathlib.Path(path)
        self.make(*hosts)

    def make(self, *words):
        return run(os.environ["FERRY"], "certificate", *words, "--directory", str(self.path))

    def __getitem__(self, name):
        return str(self.path / name)

    @property
    def arguments(self):
        return [
            "--tls-certificate", self["gateway.pem"], "--tls-key", self["gateway.key"],
        ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return Folder(tmp_path_factory.mktemp("tls") / "made", "localhost", "127.0.0.1", "gw.test")


@pytest.fixture(scope="module")
def secure(folder):
    with Gateway(*folder.arguments, authority=folder["authority.pem"]) as gateway:
        yield gateway


def port(gateway):
    return gateway.client.base_url.port


def token(gateway):
    return (gateway.data / "token").read_text().strip()


def context(folder, **options):
    made = ssl.create_default_context(cafile=folder["authority.pem"])
    for name, value in options.items():
        setattr(made, name, value)
    return made


@contextlib.contextmanager
def connected(gateway, tls, **options):
    """A TLS connection to the gateway."""
    with socket.create_connection(("127.0.0.1", port(gateway)), timeout=20) as plain:
        with tls.wrap_socket(plain, server_hostname="localhost", **options) as wrapped:
            yield wrapped


def ask(connection, path="/healthz", **headers):
    """Sends a GET and gives the whole answer, on a connection that stays open."""
    fields = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n".encode())
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    return answer.status, answer.read()


def count(gateway, name, **labels):
    """A sample of /metrics."""
    wanted = name + "{" + ",".join(f'{key}="{value}"' for key, value in labels.items()) + "}"
    for line in gateway.client.get("/metrics").text.splitlines():
        if line.startswith(wanted if labels else name + " "):
            return float(line.split()[-1])
    raise AssertionError(f"{wanted} is no metric")


def failures(gateway, reason):
    return count(gateway, "ferry_tls_handshake_failures_total", reason=reason)


# Certificates


def test_ferry_certificate_makes_what_curl_and_ferry_trust(folder, secure, tmp_path, origin):
    url = f"https://localhost:{port(secure)}"
    run("openssl", "verify", "-x509_strict", "-purpose", "sslserver", "-CAfile",
        folder["authority.pem"], folder["gateway.pem"])
    assert run("curl", "-sSf", "--cacert", folder["authority.pem"], url + "/healthz")
    for name in ("authority.key", "gateway.key"):
        assert os.stat(folder[name]).st_mode & 0o777 == 0o600

    origin.on("/file", Answer(b"content"))
    (tmp_path / "token").write_text(token(secure))
    person = Person(tmp_path, FERRY_GATEWAY=url)
    words = ["get", origin.url("/file"), "--token-file", str(tmp_path / "token")]
    ended = person.run(*words, "--gateway-ca", folder["authority.pem"])
    assert ended.returncode == 0, ended.stderr
    assert (person.folder / "file").read_bytes() == b"content"


def test_a_users_defaults_for_a_gateway_hold_where_a_task_is_typed(
    folder, secure, tmp_path, origin
):
    origin.on("/left", Answer(b"content"))
    person = Person(tmp_path, FERRY_TOKEN=token(secure))
    gateway = {
        "gateway": f"https://localhost:{port(secure)}", "gatewayCa": folder["authority.pem"],
    }
    person.configure(json.dumps({"get": gateway, "events": gateway, "limit": gateway}))
    left = person.run("get", "--background", "left", "--json", origin.url("/left"))
    assert left.returncode == 0, left.stderr
    task = json.loads(left.stdout)["task"]
    for words in [["limit"], ["events"], ["get"]]:
        ended = person.run(*words, "--task", task)
        assert ended.returncode == 0, ended.stderr
    assert (person.folder / "left").read_bytes() == b"content"


def test_commands_on_the_machine_know_the_gateway_by_its_key(folder, secure, tmp_path):
    own = {"HOME": str(secure.folder), "XDG_RUNTIME_DIR": str(secure.folder)}
    ended = Person(tmp_path, **own | {"PATH": os.environ["PATH"]}).run("status", "--json")
    assert ended.returncode == 0, ended.stderr
    shown = json.loads(ended.stdout)["certificate"]
    assert shown["names"] == ["localhost", "127.0.0.1", "gw.test"]

    # Another gateway at that address would be found out.
    left = next(pathlib.Path(secure.folder).rglob("gateway-*.json"))
    before = left.read_text()
    left.write_text(before.replace("sha256//", "sha256//A", 1)[: len(before)])
    left.write_text(json.dumps(json.loads(before) | {"publicKey": "sha256//" + "A" * 43 + "="}))
    try:
        (tmp_path / "b").mkdir()
        ended = Person(tmp_path / "b", **own).run("status")
        assert ended.returncode == 3
        assert "is not the gateway that was started on this machine" in ended.stderr
    finally:
        left.write_text(before)


@pytest.mark.parametrize("kind, reason", [
    ("unknown_authority", "an authority that is not trusted"),
    ("wrong_host", "for another name"), ("expired", "has expired"),
])
def test_ferry_refuses_a_gateway_that_it_cannot_know(tmp_path, kind, reason):
    authorities = Authorities()
    getattr(authorities, kind)().write(tmp_path, "pair")
    (tmp_path / "authority.pem").write_text(authorities.pem)
    process = subprocess.Popen(
        ["openssl", "s_server", "-accept", "127.0.0.1:0", "-www", "-cert", tmp_path / "pair.crt",
         "-cert_chain", tmp_path / "pair.crt", "-key", tmp_path / "pair.key"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )
    try:
        line = next(line for line in process.stdout if line.startswith("ACCEPT"))
        url = f"https://localhost:{line.split(':')[-1].strip()}"
        ended = Person(tmp_path, FERRY_TOKEN="t").run(
            "status", "--gateway", url, "--gateway-ca", str(tmp_path / "authority.pem"))
    finally:
        process.kill()
        process.wait()
    assert ended.returncode == 3
    assert reason in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 2, ended.stderr


def test_a_second_run_renews_and_nothing_of_others_is_replaced(tmp_path):
    made = Folder(tmp_path / "tls", "a.test", "10.0.0.7")
    first = pathlib.Path(made["gateway.pem"]).read_text()
    authority = pathlib.Path(made["authority.pem"]).read_text()
    said = made.make()
    assert said.startswith("Renewed: a certificate for a.test, 10.0.0.7")
    assert pathlib.Path(made["gateway.pem"]).read_text() != first
    assert pathlib.Path(made["authority.pem"]).read_text() == authority
    run("openssl", "verify", "-CAfile", made["authority.pem"], made["gateway.pem"])

    def refused(status, *words):
        ended = subprocess.run(
            [os.environ["FERRY"], "certificate", *words], capture_output=True, text=True)
        assert ended.returncode == status, ended.stderr
        assert ended.stderr.startswith("ferry: ") and not ended.stdout

    Authorities().good().write(tmp_path / "tls", "gateway")
    foreign = tmp_path / "tls/gateway.crt"
    shutil.copy(foreign, made["gateway.pem"])
    refused(78, "a.test", "--directory", str(made.path))
    assert pathlib.Path(made["gateway.pem"]).read_text() == foreign.read_text()
    os.unlink(made["authority.key"])
    refused(66, "a.test", "--directory", str(made.path))
    refused(64, "--directory", str(tmp_path / "new"))
    refused(64, "a b", "--directory", str(tmp_path / "new"))
    refused(64, "https://a", "--directory", str(tmp_path / "new"))
    refused(64, "a", "--days", "398", "--directory", str(tmp_path / "new"))
    refused(64, "--client", "../x", "--directory", str(tmp_path / "new"))
    refused(73, "a", "--directory", "/proc/no/such")
    assert not (tmp_path / "new").exists()


# Starting


def start(tmp_path, *arguments, within=20):
    """A start that ends by itself: its status and its words."""
    ended = subprocess.run(
        [os.environ["FERRY"], "serve", "--port", "0", "--data-directory", tmp_path / "data",
         *arguments],
        capture_output=True, text=True, timeout=within, env={"PATH": os.environ["PATH"]},
    )
    return ended.returncode, ended.stderr


def test_files_that_are_of_no_use_end_the_start(folder, tmp_path):
    certificate, key = folder["gateway.pem"], folder["gateway.key"]
    other = Authorities().good()
    other.write(tmp_path, "other")
    locked = tmp_path / "locked.key"
    run("openssl", "pkey", "-in", key, "-aes256", "-passout", "pass:x", "-out", str(locked))
    wrong_order = tmp_path / "order.pem"
    wrong_order.write_text(
        pathlib.Path(folder["authority.pem"]).read_text() + pathlib.Path(certificate).read_text())
    half = tmp_path / "half.pem"
    half.write_text(pathlib.Path(certificate).read_text()[:-100])
    os.mkfifo(tmp_path / "pipe")
    for status, words, *arguments in [
        (64, "go together", "--tls-certificate", certificate),
        (64, "go together", "--tls-key", key),
        (64, "needs --tls-certificate", "--tls-client-ca", folder["authority.pem"]),
        (66, "No such file", "--tls-certificate", "/no/such.pem", "--tls-key", key),
        (66, "cannot be read", "--tls-certificate", tmp_path / "pipe", "--tls-key", key),
        (66, "cannot be read", "--tls-certificate", tmp_path, "--tls-key", key),
        (78, "no certificate in PEM", "--tls-certificate", key, "--tls-key", key),
        (78, "cannot be read", "--tls-certificate", half, "--tls-key", key),
        (78, "no private key", "--tls-certificate", certificate, "--tls-key", certificate),
        (78, "is not that of", "--tls-certificate", certificate, "--tls-key",
         tmp_path / "other.key"),
        (78, "passphrase", "--tls-certificate", certificate, "--tls-key", locked),
        (78, "must be the first", "--tls-certificate", wrong_order, "--tls-key", key),
        (78, "no certificate in PEM", *folder.arguments, "--tls-client-ca", key),
    ]:
        found, said = start(tmp_path, *arguments)
        assert (found, words in said) == (status, True), (words, found, said)
        assert not (tmp_path / "data/token").exists()


def test_an_expired_certificate_is_served_with_a_word_in_the_log(tmp_path):
    authorities = Authorities()
    authorities.expired().write(tmp_path, "old")
    os.chmod(tmp_path / "old.key", 0o644)
    process = subprocess.Popen(
        [os.environ["FERRY"], "serve", "--port", "0", "--data-directory", tmp_path / "data",
         "--tls-certificate", tmp_path / "old.crt", "--tls-key", tmp_path / "old.key",
         "--log-format", "json"],
        stdout=subprocess.PIPE, stderr=open(tmp_path / "log", "w"), text=True,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
    )
    try:
        url = process.stdout.readline().split()[-1]
        assert url.startswith("https://127.0.0.1:")
        run("curl", "-sSfk", url + "/healthz")
    finally:
        process.terminate()
        assert process.wait(20) == 0
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    said = {line["message"]: line for line in lines if line["area"] == "tls"}
    assert said["the certificate has expired: clients will refuse it"]["level"] == "error"
    assert any(message.startswith("everybody on this machine can read") for message in said)


@pytest.mark.parametrize("days, words", [(13, "the certificate will expire soon"), (16, None)])
def test_an_end_that_is_near_is_told(tmp_path, days, words):
    made = Folder(tmp_path / "tls", "127.0.0.1", "--days", str(days))
    with Gateway(*made.arguments, authority=made["authority.pem"]) as gateway:
        said = [line["message"] for line in log(gateway) if line["level"] == "warning"]
        assert said == ([words] if words else [])


def test_beyond_loopback_it_listens_with_tls(folder):
    with Gateway("--host", "0.0.0.0", *folder.arguments, authority=folder["authority.pem"]) as far:
        assert far.client.base_url.scheme == "https"
        # The names of the certificate are names of the gateway.
        assert far.client.get("/healthz", headers={"Host": "gw.test"}).status_code == 200
        assert far.client.get("/v1/gateway", headers={"Host": "gw.test"}).status_code == 200
        assert far.client.get("/v1/gateway", headers={"Host": "x.test"}).status_code == 421


# Handshakes


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
def test_old_versions_are_refused(folder, secure, version):
    before = failures(secure, "version")
    old = context(folder, minimum_version=version, maximum_version=version)
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.raises(ssl.SSLError, match="(?i)protocol.version"), connected(secure, old):
        pass
    assert failures(secure, "version") == before + 1


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_session_is_taken_up_again(folder, secure, version):
    tls = context(folder, minimum_version=version, maximum_version=version)
    before = count(secure, "ferry_tls_handshakes_total", type="resumed")
    with connected(secure, tls) as first:
        # With TLS 1.3 the ticket comes with the first answer.
        assert ask(first)[0] == 200
        session = first.session
        assert not first.session_reused and first.version() == version.name.replace("_", ".")
    with connected(secure, tls, session=session) as second:
        assert second.session_reused
        assert ask(second)[0] == 200
    assert count(secure, "ferry_tls_handshakes_total", type="resumed") == before + 1


def test_protocols_above_tls(folder, secure):
    tls = context(folder)
    tls.set_alpn_protocols(["spdy/1", "http/1.1"])
    with connected(secure, tls) as agreed:
        assert agreed.selected_alpn_protocol() == "http/1.1"
        assert ask(agreed)[0] == 200
    tls.set_alpn_protocols(["http/1.1", "h2"])
    with connected(secure, tls) as agreed:
        assert agreed.selected_alpn_protocol() == "h2"
    said = run(
        "curl", "-sSf", "--http2", "--cacert", folder["authority.pem"], "-o", "/dev/null", "-w",
        "%{http_version} %{response_code}", f"https://localhost:{port(secure)}/healthz")
    assert said == "2 200"
    tls.set_alpn_protocols(["spdy/1"])
    before = failures(secure, "protocols")
    with pytest.raises(ssl.SSLError), connected(secure, tls):
        pass
    assert failures(secure, "protocols") == before + 1


def test_what_was_agreed_on_is_spoken(folder, secure):
    """RFC 9113 §3.3: HTTP/2 begins with its preface, and HTTP/1.1 knows none."""
    tls = context(folder)
    tls.set_alpn_protocols(["h2"])
    with connected(secure, tls) as agreed:
        agreed.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = b""
        while piece := agreed.recv(4096):
            answer += piece
        assert frames.GOAWAY in [kind for kind, _ in kinds(answer)]
        assert b"HTTP/1.1" not in answer
    tls.set_alpn_protocols(["http/1.1"])
    with connected(secure, tls) as agreed:
        agreed.sendall(frames.PREFACE + frames.settings())
        assert re.match(rb"HTTP/1\.1 (400|505) ", agreed.recv(4096))


def kinds(answer):
    """The frames of an answer: kind and payload."""
    while answer:
        length, kind = int.from_bytes(answer[:3], "big"), answer[3]
        yield kind, answer[9 : 9 + length]
        answer = answer[9 + length :]


def test_only_suites_with_forward_secrecy_and_authentication(folder, secure):
    tls = context(folder, maximum_version=ssl.TLSVersion.TLSv1_2)
    for suites in ["AES128-GCM-SHA256:AES256-SHA", "ECDHE+AES:!AESGCM:!AESCCM"]:
        tls.set_ciphers(suites)
        with pytest.raises(ssl.SSLError), connected(secure, tls):
            pass


def test_renegotiation_is_refused(folder, secure):
    client = subprocess.Popen(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{port(secure)}", "-tls1_2", "-CAfile",
         folder["authority.pem"]],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    try:
        for line in client.stdout:
            if "Extended master secret" in line:
                break
        client.stdin.write("R\n")
        client.stdin.flush()
        said = client.communicate(timeout=20)[0]
    finally:
        client.kill()
        client.wait()
    assert "no renegotiation" in said
    assert secure.client.get("/healthz").status_code == 200


def test_http_in_clear_is_told_so(secure):
    before = failures(secure, "plainHTTP")
    connection = http.client.HTTPConnection("127.0.0.1", port(secure), timeout=10)
    connection.request("GET", "/v1/tasks")
    answer = connection.getresponse()
    assert answer.status == 400
    assert b"https" in answer.read()
    assert failures(secure, "plainHTTP") == before + 1


def test_what_is_no_tls_is_closed_and_counted(secure):
    for noise in [b"\x00" * 64, b"SSH-2.0-x\r\n", os.urandom(600), b"\x16\x03\x01\x40\x00" * 9]:
        with socket.create_connection(("127.0.0.1", port(secure)), timeout=20) as plain:
            plain.sendall(noise)
            plain.shutdown(socket.SHUT_WR)
            while plain.recv(4096):
                pass
    assert secure.client.get("/healthz").status_code == 200


@pytest.mark.parametrize("limit", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_only_clients_of_the_authority_come_in(tmp_path, limit):
    made = Folder(tmp_path / "tls", "localhost", "127.0.0.1")
    made.make("--client", "alice")
    unix = tmp_path / "socket"
    arguments = [*made.arguments, "--tls-client-ca", made["authority.pem"], "--unix-socket", unix]
    # The probes of this gateway come by its socket.
    with contextlib.ExitStack() as stack:
        root = tmp_path / "gateway"
        root.mkdir()
        process = subprocess.Popen(
            [os.environ["FERRY"], "serve", "--port", "0", "--data-directory", root / "data",
             *arguments],
            stdout=subprocess.PIPE, stderr=open(root / "log", "w"), text=True,
            env={"PATH": os.environ["PATH"], "HOME": str(root)},
        )
        stack.callback(lambda: (process.terminate(), process.wait(20)))
        url = urllib.parse.urlsplit(process.stdout.readline().split()[-1])
        assert process.stdout.readline().split()[-1] == f"unix:{unix}"

        def visit(tls):
            with socket.create_connection((url.hostname, url.port), timeout=20) as plain:
                with tls.wrap_socket(plain, server_hostname="localhost") as wrapped:
                    return ask(wrapped)[0]

        known = context(made, maximum_version=limit)
        known.load_cert_chain(made["alice.pem"], made["alice.key"])
        assert visit(known) == 200

        with pytest.raises(ssl.SSLError, match="(?i)certificate|handshake"):
            visit(context(made, maximum_version=limit))
        foreign = context(made, maximum_version=limit)
        Authorities().client("eve").write(tmp_path, "eve")
        foreign.load_cert_chain(tmp_path / "eve.crt", tmp_path / "eve.key")
        with pytest.raises(ssl.SSLError, match="(?i)unknown ca"):
            visit(foreign)
        # A server's certificate is none of a client.
        server = context(made, maximum_version=limit)
        server.load_cert_chain(made["gateway.pem"], made["gateway.key"])
        with pytest.raises(ssl.SSLError):
            visit(server)

        # The commands of this machine come by the socket, which asks for nothing.
        ended = Person(tmp_path, HOME=str(root)).run("status")
        assert ended.returncode == 0, ended.stderr
        assert f"unix:{unix}" in ended.stdout
        (tmp_path / "b").mkdir()
        person = Person(
            tmp_path / "b", FERRY_TOKEN=(root / "data/token").read_text().strip(),
            FERRY_GATEWAY=url.geturl(), FERRY_GATEWAY_CA=made["authority.pem"])
        refused = person.run("status")
        assert refused.returncode == 3
        assert "asks for the certificate of a client" in refused.stderr
        assert "--gateway-certificate" in refused.stderr
        pair = ["--gateway-certificate", made["alice.pem"], "--gateway-key", made["alice.key"]]
        ended = person.run("status", *pair)
        assert ended.returncode == 0, ended.stderr


def test_a_thousand_slow_handshakes_keep_nobody_waiting(folder, secure):
    hello = ssl.MemoryBIO()
    draft = context(folder).wrap_bio(ssl.MemoryBIO(), hello, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        draft.do_handshake()
    first = hello.read()[:100]

    def once():
        before = failures(secure, "timedOut")
        secure.client.get("/healthz")
        idle = secure.resident()
        slow = []
        try:
            began = time.monotonic()
            for _ in range(1000):
                client = socket.create_connection(("127.0.0.1", port(secure)), timeout=30)
                client.sendall(first)
                slow.append(client)
            times = []
            # Enough for a percentile, also where opening them took long.
            while time.monotonic() - began < 8 or len(times) < 100:
                start = time.monotonic()
                assert secure.client.get("/healthz").status_code == 200
                times.append(time.monotonic() - start)
            # A handshake that has begun costs what OpenSSL needs for it, and no more.
            assert secure.resident() - idle < 1000 * 64 * 1024
            for client in slow:
                assert client.recv(1) == b""
            closed = time.monotonic() - began
        finally:
            for client in slow:
                client.close()
        assert failures(secure, "timedOut") == before + 1000
        return [(statistics.quantiles(times, n=100)[98], 0.1), (closed, 16)]

    undisturbed(once)


# Bytes


def test_a_request_of_records_of_one_byte(folder, secure):
    body = json.dumps({"type": "ephemeral"}).encode()
    request = (
        f"POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token(secure)}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body
    with connected(secure, context(folder)) as connection:
        for byte in request:
            connection.send(bytes([byte]))
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        assert answer.status == 201, answer.read()


def test_many_requests_in_one_record(folder, secure):
    with connected(secure, context(folder)) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 200)
        stream = connection.makefile("rb")
        for _ in range(200):
            assert stream.readline() == b"HTTP/1.1 200 OK\r\n"
            length = 0
            while (line := stream.readline()) != b"\r\n":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            assert stream.read(length) == b'{"status":"ok"}'


def test_large_bodies_are_whole_in_both_directions(folder, secure):
    content = os.urandom(MIB) * 64
    answer = secure.client.post(
        "/v1/files", content=content, headers={"Content-Type": "application/octet-stream"})
    assert answer.status_code == 201, answer.text
    assert answer.json()["length"] == len(content)
    assert secure.client.get(answer.headers["Location"]).content == content


def test_a_slow_reader_holds_the_gateway_back_and_gets_everything(secure, folder, origin):
    content = os.urandom(MIB) * 96
    origin.on("/large", Answer(content))
    session = Session(secure)
    task = session.start(origin.url("/large"), type="download")
    eventually(
        lambda: secure.get(f"/v1/tasks/{task}")["state"] == "completed", "the download", 60)
    idle = secure.resident()
    with connected(secure, context(folder)) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
        connection.sendall(
            f"GET /v1/tasks/{task}/content HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: Bearer {token(secure)}\r\n\r\n".encode())
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        received = bytearray(answer.read(MIB))
        time.sleep(1)
        assert secure.resident() - idle < 16 * MIB
        while piece := answer.read(MIB):
            received += piece
    assert received == content


def test_events_follow_over_tls(secure, origin):
    origin.on("/small", Answer(b"x"))
    task = Session(secure).start(origin.url("/small"))
    names = [name for name, _ in secure.story(f"/v1/tasks/{task}", "task.didComplete")]
    assert names[-1] == "task.didComplete"


def test_events_come_while_the_stream_is_open(folder, secure, origin):
    origin.on("/small", Answer(b"x"))
    with connected(secure, context(folder)) as connection:
        connection.sendall(
            f"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: Bearer {token(secure)}\r\n\r\n".encode())
        text = b""
        while b"text/event-stream" not in text:
            text += connection.recv(4096)
        Session(secure).start(origin.url("/small"))
        # A comment comes after 15 s without an event.
        while b"event: " not in text:
            piece = connection.recv(4096)
            assert piece and b"\n:" not in piece
            text += piece


def test_cookies_are_for_https_alone(secure):
    origin = f"https://127.0.0.1:{port(secure)}"
    answer = secure.client.post("/v1/browser-session", headers={"Origin": origin})
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith(f"__Host-ferry-{port(secure)}=")
    assert cookie.endswith("; Secure")
    wrong = secure.client.post(
        "/v1/browser-session", headers={"Origin": origin.replace("https", "http")})
    assert wrong.status_code == 403
    # A cookie that another server of the machine could have set is worth nothing.
    value = cookie.split(";")[0].split("=", 1)[1]
    with secure.connect() as browser:
        del browser.headers["Authorization"]
        plain = browser.get("/v1/tasks", headers={"Cookie": f"ferry-{port(secure)}={value}"})
        assert plain.status_code == 401
        name = f"__Host-ferry-{port(secure)}"
        assert browser.get("/v1/tasks", headers={"Cookie": f"{name}={value}"}).status_code == 200


# Reloads


def serial(gateway, folder):
    with connected(gateway, context(folder)) as connection:
        return connection.getpeercert()["serialNumber"]


def log(gateway, area="tls"):
    lines = (gateway.folder / "log").read_text().splitlines()
    return [line for line in map(json.loads, lines) if line["area"] == area]


def test_a_renewed_certificate_is_taken_while_clients_go_on(tmp_path):
    made = Folder(tmp_path / "tls", "localhost", "127.0.0.1")
    with Gateway(*made.arguments, authority=made["authority.pem"]) as gateway:
        stop, failed, asked = threading.Event(), [], [0]

        def load():
            tls = context(made)
            try:
                with connected(gateway, tls) as kept:
                    while not stop.is_set():
                        assert ask(kept)[0] == 200
                        with connected(gateway, tls) as new:
                            assert ask(new)[0] == 200
                        asked[0] += 2
            except Exception as error:
                failed.append(error)

        clients = [threading.Thread(target=load) for _ in range(4)]
        for client in clients:
            client.start()
        for round in range(3):
            before = serial(gateway, made)
            if round == 0:
                # A line that is open over all of it.
                kept = connected(gateway, context(made))
                open_line = kept.__enter__()
            made.make()
            if round == 1:
                os.kill(gateway.identifier, signal.SIGHUP)
            eventually(lambda: serial(gateway, made) != before, "the new certificate", 20)
        assert ask(open_line)[0] == 200
        kept.__exit__(None, None, None)
        stop.set()
        for client in clients:
            client.join(30)
        assert failed == []
        assert asked[0] > 20
        own = {"HOME": str(gateway.folder), "XDG_RUNTIME_DIR": str(gateway.folder)}
        # The commands of this machine know the new key.
        ended = Person(tmp_path, **own).run("status")
        assert ended.returncode == 0, ended.stderr


def test_a_pair_that_does_not_fit_waits_until_it_is_whole(tmp_path):
    made = Folder(tmp_path / "tls", "localhost", "127.0.0.1")
    certificate, key = pathlib.Path(made["gateway.pem"]), pathlib.Path(made["gateway.key"])
    authorities = Authorities()
    authorities.expired().write(tmp_path, "expired")
    with Gateway(*made.arguments, "--log-format", "json", authority=made["authority.pem"]) as gateway:
        def stays():
            return [line["error"] for line in log(gateway) if "stays as it was" in line["message"]]

        before, old = serial(gateway, made), certificate.read_text()
        # Made elsewhere: the gateway might look while both are there.
        fresh = Folder(shutil.copytree(made.path, tmp_path / "fresh"), "localhost", "127.0.0.1")
        whole = pathlib.Path(fresh["gateway.pem"]).read_text()
        # The new key is there, of the certificate only a part: told once, however long it lasts.
        certificate.write_text(whole[:200])
        shutil.copy(fresh["gateway.key"], key)
        eventually(stays, "a word about it", 20)
        time.sleep(7)
        assert len(stays()) == 1 and serial(gateway, made) == before
        # The old certificate with the new key.
        certificate.write_text(old)
        os.kill(gateway.identifier, signal.SIGHUP)
        eventually(lambda: len(stays()) == 2, "a word about the pair")
        assert "is not that of" in stays()[1] and serial(gateway, made) == before
        certificate.write_text(whole)
        eventually(lambda: serial(gateway, made) != before, "the whole pair", 20)

        # What has expired takes nothing's place that has not.
        current = serial(gateway, made)
        shutil.copy(tmp_path / "expired.key", key)
        shutil.copy(tmp_path / "expired.crt", certificate)
        os.kill(gateway.identifier, signal.SIGHUP)
        eventually(lambda: any("not in force" in words for words in stays()), "a word about it")
        assert serial(gateway, made) == current
        os.unlink(certificate)
        os.kill(gateway.identifier, signal.SIGHUP)
        eventually(lambda: any("No such file" in words for words in stays()), "a word about it")
        assert serial(gateway, made) == current


def test_a_renewed_certificate_is_taken_with_an_old_one_behind_it(tmp_path):
    made = Folder(tmp_path / "tls", "localhost", "127.0.0.1")
    certificate = pathlib.Path(made["gateway.pem"])
    extra = Authorities().expired()
    with Gateway(*made.arguments, "--log-format", "json", authority=made["authority.pem"]) as gateway:
        before = serial(gateway, made)
        made.make()
        # As the chain of an authority that is signed by one of before, for old clients.
        certificate.write_text(certificate.read_text() + extra.leaf_pem)
        os.kill(gateway.identifier, signal.SIGHUP)
        eventually(lambda: serial(gateway, made) != before, "the new certificate", 20)
        warnings = [line["message"] for line in log(gateway) if line["level"] == "warning"]
        assert any("shown with the certificate has expired" in words for words in warnings)
        assert not any(line["level"] == "error" for line in log(gateway))


def test_metrics_tell_of_the_certificate(folder, secure):
    shown = secure.get("/v1/gateway")["certificate"]
    expiry = count(secure, "ferry_tls_certificate_expiry_time_seconds")
    end = run("openssl", "x509", "-in", folder["gateway.pem"], "-noout", "-enddate")
    assert ssl.cert_time_to_seconds(end.strip().removeprefix("notAfter=")) == expiry
    assert shown["notAfter"] == time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(expiry))

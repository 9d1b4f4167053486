"""A network of its own for a gateway: one cable that can be pulled, and one server of names."""

import contextlib
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import tempfile
import threading

import pytest

from daemon import eventually, run

NAME = "origin.test"


class Network:
    """A network namespace that a virtual cable joins to this machine.

    A process holds the namespace, and with it the cable: whatever becomes of the tests, nothing is
    left of them. Only root may have one; the tests are skipped for others.
    """

    def __init__(self):
        if os.geteuid() != 0 or not shutil.which("ip"):
            pytest.skip("only root, with ip(8), may make a network")
        self._stack = contextlib.ExitStack()
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="ferry-network-"))
        self._resolver = pathlib.Path(folder) / "resolv.conf"
        number = os.getpid() % 16_384
        block = f"10.{203 + number // 8192}.{number // 32 % 256}"
        first = number % 32 * 4
        self.host, self._inside = f"{block}.{first + 1}", f"{block}.{first + 2}"
        self._cable = f"ferry{os.getpid() % 1_000_000}"

    def __enter__(self):
        self._resolver.write_text(f"nameserver {self.host}\noptions timeout:1 attempts:1\n")
        bind = f"mount --bind {self._resolver} /etc/resolv.conf"
        self._holder = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--mount", "sh", "-c"]
            + [f"{bind} && ip link set lo up && echo ready && exec sleep infinity"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._stack.callback(self._release)
        if self._holder.stdout.readline() != "ready\n":
            words = self._holder.stderr.read()
            self._stack.close()
            pytest.skip(f"this machine lets nobody make a network: {words}")
        pid = str(self._holder.pid)
        cable = ["ip", "link", "add", self._cable, "type", "veth"]
        run(*cable, "peer", "name", "cable", "netns", pid)
        run("ip", "address", "add", f"{self.host}/30", "dev", self._cable)
        run("ip", "link", "set", self._cable, "up")
        self._within("ip", "address", "add", f"{self._inside}/30", "dev", "cable")
        self.plug()
        self.names = self._stack.enter_context(NameServer(self.host))
        return self

    def __exit__(self, *_):
        self._stack.close()

    def _release(self):
        self._holder.kill()
        self._holder.wait(10)
        for stream in [self._holder.stdout, self._holder.stderr]:
            stream.close()
        # The kernel takes the cable away in its own time.
        links = pathlib.Path("/sys/class/net")
        eventually(lambda: not (links / self._cable).exists(), "the cable to go", 20)

    @property
    def entrance(self):
        """What a command is put behind to run in there."""
        return ["nsenter", "--target", str(self._holder.pid), "--net", "--mount", "--"]

    def _within(self, *command):
        run(*self.entrance, *command)

    def pull(self):
        """Nothing goes in or out, and there is no way to anywhere."""
        self._within("ip", "link", "set", "cable", "down")

    def plug(self):
        self._within("ip", "link", "set", "cable", "up")
        self._within("ip", "route", "add", "default", "via", self.host)


class NameServer:
    """Answers by UDP on port 53: `NAME` is at its own address, unless `mood` is another."""

    REFUSED, SERVER_FAILURE, UNKNOWN = 5, 2, 3

    def __init__(self, host):
        self._host = host
        self.asked = 0
        # A response code, "silent", or None for an answer.
        self.mood = None

    def __enter__(self):
        self._socket = socket.socket(type=socket.SOCK_DGRAM)
        self._socket.bind((self._host, 53))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        self._socket.close()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                query, client = self._socket.recvfrom(4096)
                if len(query) < 12:
                    return
                self.asked += 1
                mood = self.mood
                if mood != "silent":
                    self._socket.sendto(self._answer(query, mood), client)

    def _answer(self, query, code):
        """The question comes back, and behind it one address, where an IPv4 one is asked for."""
        end = query.index(b"\0", 12) + 5
        name, question = query[12 : end - 4], query[12:end]
        asks_for_address = question[-4:] == struct.pack(">HH", 1, 1)
        encoded = b"".join(bytes([len(part)]) + part.encode() for part in NAME.split(".")) + b"\0"
        record = b""
        if code is None and name.lower() == encoded and asks_for_address:
            address = socket.inet_aton(self._host)
            record = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 0, 4) + address
        flags = 0x8180 | (code or 0)
        return query[:2] + struct.pack(">HHHHH", flags, 1, bool(record), 0, 0) + question + record

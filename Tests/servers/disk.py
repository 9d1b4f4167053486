"""A disk for a gateway whose power can fail: what was not synced by then is lost."""

import contextlib
import errno
import fcntl
import os
import pathlib
import shutil
import subprocess
import tempfile
import uuid

import pytest

from daemon import PROGRAMS, eventually, run

# EXT4_IOC_SHUTDOWN of the kernel's fs/ext4/ext4.h, _IOR('X', 125, __u32), and its way of not even
# writing the journal out.
SHUTDOWN = 0x8004587D
WITHOUT_JOURNAL = (2).to_bytes(4, "little")
# What nobody syncs reaches the disk after these seconds, that is to say never.
INTERVAL = 3600


class Disk:
    """An ext4 file system in a file, mounted where only a process of its own sees it.

    That process holds the mount, and with it the loop device: whatever becomes of the tests,
    nothing is left of them. Only root may have one; the tests are skipped for others.
    """

    def __init__(self, mebibytes=4096):
        programs = ["mkfs.ext4", "mount", "unshare", "nsenter", "setpriv"]
        missing = [each for each in programs if not shutil.which(each, path=PROGRAMS)]
        if os.geteuid() != 0 or missing:
            needed = ", ".join(missing) if missing else "root"
            pytest.skip(f"NO POWER LOSS IS TRIED: a disk of its own needs {needed}")
        self._stack = contextlib.ExitStack()
        folder = tempfile.TemporaryDirectory(prefix="ferry-disk-")
        self._folder = pathlib.Path(self._stack.enter_context(folder))
        self._image = self._folder / "image"
        self._boot = self._folder / "boot"
        # Where it is for who has come in by the entrance.
        self.path = self._folder / "disk"
        self.path.mkdir()
        with open(self._image, "wb") as image:
            image.truncate(mebibytes << 20)

    def __enter__(self):
        with self._stack as stack:
            run("mkfs.ext4", "-q", "-F", str(self._image))
            self._holder = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "sleep", "infinity"],
                stdin=subprocess.DEVNULL,
            )
            stack.callback(self._release)
            self._await_namespace()
            try:
                self._boot_up()
            except AssertionError as error:
                pytest.skip(f"NO POWER LOSS IS TRIED: this machine mounts no such disk: {error}")
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self._stack.close()

    def _await_namespace(self):
        """Waits until the holder has left the mounts of this process for its own."""
        ours = os.stat("/proc/self/ns/mnt")

        def is_there():
            if self._holder.poll() is not None:
                pytest.skip("NO POWER LOSS IS TRIED: this machine lets nobody mount for himself")
            with contextlib.suppress(OSError):  # it may end just now
                return not os.path.samestat(ours, os.stat(f"/proc/{self._holder.pid}/ns/mnt"))

        eventually(is_there, "a namespace", 20)

    def _release(self):
        # The kernel unmounts with the last process, and frees the loop device with that.
        self._holder.kill()
        self._holder.wait(10)

    @property
    def entrance(self):
        """What a command is put behind to see the disk."""
        return ["nsenter", "--target", str(self._holder.pid), "--mount", "--"]

    @property
    def view(self):
        """Where the disk is for this process."""
        return pathlib.Path(f"/proc/{self._holder.pid}/root{self.path}")

    def _within(self, *command):
        return run(*self.entrance, *command)

    def _boot_up(self):
        """Mounts what is on the disk, its journal first, on a machine that has another boot."""
        options = f"loop,commit={INTERVAL}"
        self._within("mount", "-t", "ext4", "-o", options, str(self._image), str(self.path))
        self._boot.write_text(f"{uuid.uuid4()}\n")
        self._within("mount", "--bind", str(self._boot), "/proc/sys/kernel/random/boot_id")

    def lose_power(self):
        """From now on nothing reaches the disk; who uses it is told of errors."""
        root = os.open(self.view, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(root, SHUTDOWN, WITHOUT_JOURNAL)
        except OSError as error:
            if error.errno in (errno.ENOTTY, errno.EOPNOTSUPP, errno.EPERM):
                pytest.skip(f"NO POWER LOSS IS TRIED: this kernel stops no disk: {error}")
            raise
        finally:
            os.close(root)

    def restore_power(self):
        """Mounts it again; nobody may use it meanwhile."""
        self._within("umount", "/proc/sys/kernel/random/boot_id")
        self._within("umount", str(self.path))
        self._boot_up()

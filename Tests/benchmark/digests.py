"""SHA-256 of what was sent and of what has arrived, always outside of what is measured."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

from .processes import Failed

_BLOCK = 1 << 20


def sha256_of_file(path: Path, length: int) -> str:
    """Of the first so many bytes of a file, in hexadecimal; raises when it has fewer."""
    digest, left = hashlib.sha256(), length
    with path.open("rb") as file:
        while left and (block := file.read(min(left, _BLOCK))):
            digest.update(block)
            left -= len(block)
    if left:
        raise Failed(f"{path.name} has {length - left} bytes instead of {length}")
    return digest.hexdigest()


def sha256_of_output(command: list[str]) -> str:
    """Of all that a command prints, in hexadecimal; raises when the command fails."""
    digest = hashlib.sha256()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        while process.stdout and (block := process.stdout.read(_BLOCK)):
            digest.update(block)
    if process.returncode != 0:
        raise Failed(f"{command[0]} ended with {process.returncode}")
    return digest.hexdigest()

"""A private authority, and a pair of ECDSA P-256 for 127.0.0.1 that Ferry and its peers share."""

from __future__ import annotations

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Certificate:
    authority: Path
    chain: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        """How clients verify it."""
        return ssl.create_default_context(cafile=str(self.authority))

    @property
    def options(self) -> list[str]:
        """Those of `ferry serve`."""
        return ["--tls-certificate", str(self.chain), "--tls-key", str(self.key)]

    @property
    def directives(self) -> str:
        """Those of nginx's server, which resumes no session, so that every handshake is whole."""
        return (
            f"ssl_certificate {self.chain}; ssl_certificate_key {self.key};"
            " ssl_protocols TLSv1.3; ssl_session_tickets off; ssl_session_cache off;"
        )


def make_certificate(ferry: Path, folder: Path) -> Certificate:
    """Makes the pair by `ferry certificate`."""
    folder.mkdir(exist_ok=True)
    command = [str(ferry), "certificate", "127.0.0.1", "--directory", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return Certificate(folder / "authority.pem", folder / "gateway.pem", folder / "gateway.key")

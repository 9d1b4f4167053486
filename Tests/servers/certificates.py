"""A certificate authority for the tests, and certificates that something is wrong with."""

import dataclasses
import datetime
import pathlib

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12


@dataclasses.dataclass
class Pair:
    """A certificate, maybe with its chain, and its key, as PEM texts."""

    certificate: str
    key: str

    def write(self, folder, name):
        """`name`.crt and `name`.key, for a server's configuration."""
        pathlib.Path(folder, f"{name}.crt").write_text(self.certificate)
        pathlib.Path(folder, f"{name}.key").write_text(self.key)

    @property
    def leaf(self):
        return x509.load_pem_x509_certificate(self.certificate.encode())

    @property
    def leaf_pem(self):
        """The certificate without its chain."""
        return self.leaf.public_bytes(serialization.Encoding.PEM).decode()

    def pkcs12(self, passphrase):
        """Both in one PKCS #12 file."""
        key = serialization.load_pem_private_key(self.key.encode(), None)
        lock = serialization.BestAvailableEncryption(passphrase.encode())
        return pkcs12.serialize_key_and_certificates(b"client", key, self.leaf, None, lock)

    def fingerprint(self):
        """The SHA-256 of the DER form."""
        return self.leaf.fingerprint(hashes.SHA256())


class Authorities:
    """The authority that clients of the tests trust, and one that nobody does."""

    def __init__(self):
        self.known = trustme.CA(organization_name="Ferry Tests")
        self.unknown = trustme.CA(organization_name="Nobody Knows")

    @property
    def pem(self):
        return self.known.cert_pem.bytes().decode()

    @property
    def subject(self):
        """The name of the known authority, as its certificates have it."""
        certificate = x509.load_pem_x509_certificate(self.known.cert_pem.bytes())
        return certificate.subject.rfc4514_string()

    def good(self):
        return _pair(self.known.issue_cert("localhost", "127.0.0.1"))

    def wrong_host(self):
        return _pair(self.known.issue_cert("elsewhere.test"))

    def unknown_authority(self):
        return _pair(self.unknown.issue_cert("localhost", "127.0.0.1"))

    def expired(self):
        now = datetime.datetime.now(datetime.timezone.utc)
        days = datetime.timedelta(days=1)
        return _pair(
            self.known.issue_cert(
                "localhost", "127.0.0.1", not_before=now - 30 * days, not_after=now - days
            )
        )

    def client(self, name):
        return _pair(self.known.issue_cert(f"{name}@ferry.test", common_name=name))

    def foreign_client(self):
        return _pair(self.unknown.issue_cert("eve@ferry.test", common_name="eve"))


def self_signed():
    """A certificate that vouches for itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Pair(
        certificate.public_bytes(serialization.Encoding.PEM).decode(),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ).decode(),
    )


def _pair(issued):
    chain = "".join(each.bytes().decode() for each in issued.cert_chain_pems)
    return Pair(chain, issued.private_key_pem.bytes().decode())

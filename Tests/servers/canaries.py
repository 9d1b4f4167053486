"""What is never seen again once the gateway has it: in no event, no answer, no log, no file."""

import base64
import secrets
import urllib.parse

import apache
import nginx
import squid

PASSPHRASE = "the passphrase of a file"
COOKIE = "bitter chocolate"
KEY = "hush, little key"

_SECRETS = [nginx.PASSWORD, apache.PASSWORD, squid.PASSWORD, PASSPHRASE, COOKIE, KEY]


def _spellings(secret):
    """The bytes in every form in which they could be written somewhere."""
    yield secret
    yield secret.hex().encode()
    yield secret.hex().upper().encode()
    quoted = urllib.parse.quote(secret, safe="").encode()
    yield quoted
    yield quoted.lower()
    yield secret.replace(b"/", b"\\/")  # as some writers of JSON have it
    # In Base64 of a longer text it can lie in three ways; the groups at its ends have neighbours.
    for offset in range(3):
        for alphabet in [b"+/", b"-_"]:
            text = base64.b64encode(b"\0" * offset + secret, alphabet)
            yield text[4 if offset else 0 : -4]


_NEEDLES = {b"PRIVATE KEY-----"} | {
    each for secret in _SECRETS for each in _spellings(secret.encode())
}


def seen_in(data):
    """Those that stand in the data, in whatever form."""
    return [needle for needle in _NEEDLES if needle in data]


class Planted:
    """Secrets of one test, each under the name of where it was put."""

    def __init__(self):
        self._needles = {}

    def __getitem__(self, name):
        """A new secret under this name, or the one that is there; good for a field of a header."""
        if name not in self._needles:
            # Not the same in any two of the forms.
            self.add(name, f"{name}/+{secrets.token_hex(8)}~?")
        return self._needles[name][0].decode()

    def add(self, name, secret):
        """One that was made elsewhere: text or bytes."""
        secret = secret if isinstance(secret, bytes) else secret.encode()
        self._needles[name] = list(dict.fromkeys(_spellings(secret)))

    @property
    def names(self):
        return list(self._needles)

    def seen_in(self, data, *but):
        """The names of those that stand in the data, in whatever form, without some."""
        return [
            name
            for name, needles in self._needles.items()
            if name not in but and any(needle in data for needle in needles)
        ]

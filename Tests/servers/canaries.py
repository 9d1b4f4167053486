"""What is never seen again once the gateway has it: in no event, no answer, no log, no file."""

import base64

import apache
import nginx
import squid

PASSPHRASE = "the passphrase of a file"
COOKIE = "bitter chocolate"
KEY = "hush, little key"

_SECRETS = [nginx.PASSWORD, apache.PASSWORD, squid.PASSWORD, PASSPHRASE, COOKIE, KEY]


def _spellings(secret):
    yield secret.encode()
    # In Base64 of a longer text it can lie in three ways; the groups at its ends have neighbours.
    for offset in range(3):
        text = base64.b64encode(b"\0" * offset + secret.encode())
        yield text[4 if offset else 0 : -4]


_NEEDLES = [b"PRIVATE KEY-----"] + [each for secret in _SECRETS for each in _spellings(secret)]


def seen_in(data):
    """Those that stand in the data, as they are or in Base64."""
    return [needle for needle in _NEEDLES if needle in data]

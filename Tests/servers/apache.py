"""Apache httpd: Digest, several challenges, Negotiate."""

import hashlib

from daemon import AccessLog, Daemon, free_ports, run

BODY = "Apache speaks\n"
USER, PASSWORD = "bob", "sweet & sour"

CONFIGURATION = r"""
ServerRoot %(folder)s
ServerName localhost
PidFile httpd.pid
Listen 127.0.0.1:%(port)d
ErrorLog error.log
LogLevel warn
DefaultRuntimeDir %(folder)s
Mutex file:%(folder)s
DocumentRoot %(folder)s/site

Include modules.conf

LogFormat "{\"target\":\"%%U%%<q\",\"status\":%%>s,\"authorization\":\"%%{Authorization}i\",\"user\":\"%%u\"}" json
CustomLog access.log json

ScriptSock %(folder)s/cgi.sock
ScriptAlias /late %(folder)s/late
ScriptAlias /upload %(folder)s/upload
AliasMatch "^/(digest|stale|several|kerberos|open)" %(folder)s/site/content
<Directory />
    Require all granted
</Directory>
<Directory %(folder)s/site>
    ForceType text/plain
</Directory>

<LocationMatch "^/(digest|upload)">
    AuthType Digest
    AuthName Vault
    AuthDigestProvider file
    AuthUserFile %(folder)s/htdigest
    Require valid-user
</LocationMatch>

# The first answer leaves when its nonce has outlived its second.
<Location /stale>
    AuthType Digest
    AuthName Vault
    AuthDigestProvider file
    AuthDigestNonceLifetime 1
    AuthUserFile %(folder)s/htdigest
    Require valid-user
    ErrorDocument 401 /late
</Location>
<Location /late>
    CGIPassAuth On
</Location>

# Offers more than it knows: only Basic opens.
<Location /several>
    AuthType Basic
    AuthName "Last resort"
    AuthUserFile %(folder)s/htpasswd
    Require valid-user
    Header always add WWW-Authenticate "Hawk, Digest realm=\"A, B\", nonce=\"00\", algorithm=MD5, qop=\"auth\""
    Header always add WWW-Authenticate "Digest realm=\"A, B\", nonce=\"00\", algorithm=SHA-256, qop=\"auth\""
</Location>

<Location /kerberos>
    AuthType GSSAPI
    AuthName Realm
    GssapiCredStore keytab:%(keys)s
    GssapiAllowedMech krb5
    Require valid-user
</Location>
"""

MODULES = [
    "alias",
    "auth_basic",
    "auth_digest",
    "auth_gssapi",
    "authn_core",
    "authn_file",
    "authz_core",
    "authz_user",
    "cgid",
    "headers",
    "mime",
    "mpm_event",
]

LATE = """#!/bin/sh
[ -n "$HTTP_AUTHORIZATION" ] || sleep 2.2
printf 'Content-Type: text/plain\\r\\n\\r\\nlate\\n'
"""

ECHO = """#!/bin/sh
printf 'Content-Type: text/plain\\r\\n\\r\\n'
cat
"""


class Apache(Daemon):
    """One httpd; what a path asks for is in its name."""

    def __init__(self, kerberos):
        super().__init__("apache")
        (self.port,) = free_ports(1)
        words = dict(folder=self.folder, port=self.port)
        words["keys"] = self.folder / "service.keytab"
        words["keys"].write_bytes(kerberos.service_keys.read_bytes())
        libraries = "/usr/lib/apache2/modules"
        self.write(
            "modules.conf",
            "".join(f"LoadModule {name}_module {libraries}/mod_{name}.so\n" for name in MODULES),
        )
        self.write("httpd.conf", CONFIGURATION % words)
        self.write("mime.types", "text/plain txt\n")
        self.write("site/content", BODY)
        self.write("late", LATE).chmod(0o755)
        self.write("upload", ECHO).chmod(0o755)
        proof = hashlib.md5(f"{USER}:Vault:{PASSWORD}".encode()).hexdigest()
        self.write("htdigest", f"{USER}:Vault:{proof}\n")
        digest = run("openssl", "passwd", "-apr1", "-stdin", input=PASSWORD).strip()
        self.write("htpasswd", f"{USER}:{digest}\n")
        self.log = AccessLog(self.folder / "access.log")
        self.start(
            *("apache2", "-D", "FOREGROUND", "-d", self.folder, "-f", "httpd.conf"),
            ports=[self.port],
            KRB5_CONFIG=kerberos.environment["KRB5_CONFIG"],
            KRB5RCACHEDIR=str(self.folder),
        )

    def url(self, path, host="127.0.0.1"):
        return f"http://{host}:{self.port}{path}"

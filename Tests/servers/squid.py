"""squid: a proxy that wants to know who asks, by one scheme a port."""

import hashlib

from daemon import AccessLog, Daemon, free_ports, run

USER, PASSWORD = "carol", "through the gate"
REALM = "Proxy of the tests"

CONFIGURATION = r"""
%(ports)s
visible_hostname localhost
pid_filename %(folder)s/squid.pid
cache_log %(folder)s/cache.log
coredump_dir %(folder)s
netdb_filename none
pinger_enable off
cache deny all
shutdown_lifetime 0 seconds
logfile_rotate 0
logformat json {"target":"%%ru","method":"%%rm","status":%%>Hs,"user":"%%un","port":%%>lp}
access_log stdio:%(folder)s/access.log logformat=json
buffered_logs off

auth_param ntlm program /usr/lib/squid/ntlm_fake_auth
auth_param ntlm children 2 startup=1
auth_param digest program /usr/lib/squid/digest_file_auth -c %(folder)s/htdigest
auth_param digest children 1 startup=1
auth_param digest realm %(realm)s
auth_param basic program /usr/lib/squid/basic_ncsa_auth %(folder)s/htpasswd
auth_param basic children 1 startup=1
auth_param basic realm %(realm)s
auth_param negotiate program %(tickets)s -k %(keys)s -s GSS_C_NO_NAME
auth_param negotiate children 1 startup=1
authenticate_ttl 1 second

acl on_basic myportname basic
acl on_digest myportname digest
acl on_ntlm myportname ntlm
acl on_negotiate myportname negotiate
acl on_all myportname all
auth_schemes basic on_basic
auth_schemes digest on_digest
auth_schemes ntlm on_ntlm
auth_schemes negotiate on_negotiate
auth_schemes digest,ntlm,basic on_all

acl known proxy_auth REQUIRED
http_access deny !known
http_access allow known
"""


class Squid(Daemon):
    """One squid with a port for each scheme, and `all` for those that take passwords."""

    def __init__(self, kerberos):
        super().__init__("squid")
        names = ["basic", "digest", "ntlm", "negotiate", "all"]
        self.ports = dict(zip(names, free_ports(len(names))))
        lines = [f"http_port 127.0.0.1:{port} name={name}" for name, port in self.ports.items()]
        keys = self.folder / "service.keytab"
        keys.write_bytes(kerberos.service_keys.read_bytes())
        words = dict(folder=self.folder, realm=REALM, ports="\n".join(lines))
        words |= dict(keys=keys, tickets="/usr/lib/squid/negotiate_kerberos_auth")
        self.write("squid.conf", CONFIGURATION % words)
        digest = run("openssl", "passwd", "-apr1", "-stdin", input=PASSWORD).strip()
        self.write("htpasswd", f"{USER}:{digest}\n")
        proof = hashlib.md5(f"{USER}:{REALM}:{PASSWORD}".encode()).hexdigest()
        self.write("htdigest", f"{USER}:{REALM}:{proof}\n")
        self.log = AccessLog(self.folder / "access.log")
        self.start(*("squid", "-N", "-f", self.folder / "squid.conf"), ports=self.ports.values())

    def url(self, scheme):
        return f"http://127.0.0.1:{self.ports[scheme]}"

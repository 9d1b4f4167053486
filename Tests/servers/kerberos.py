"""A realm with its KDC on loopback, and tickets for a user and a service of it."""

from daemon import Daemon, free_ports, run

REALM = "FERRY.TEST"
USER = "ferry"

CLIENT = """
[libdefaults]
    default_realm = %(realm)s
    dns_lookup_kdc = false
    dns_lookup_realm = false
    dns_canonicalize_hostname = false
    rdns = false
[realms]
    %(realm)s = {
        kdc = 127.0.0.1:%(port)d
    }
[domain_realm]
    localhost = %(realm)s
"""

SERVER = """
[kdcdefaults]
    kdc_listen = 127.0.0.1:%(port)d
    kdc_tcp_listen = 127.0.0.1:%(port)d
[realms]
    %(realm)s = {
        database_name = %(folder)s/principal
        key_stash_file = %(folder)s/stash
        acl_file = %(folder)s/acl
        max_life = 1h
    }
[logging]
    kdc = FILE:%(folder)s/kdc.log
"""


class Kerberos(Daemon):
    """The realm FERRY.TEST with the principals `ferry` and `HTTP/localhost`."""

    def __init__(self):
        super().__init__("kdc")
        (port,) = free_ports(1)
        words = dict(realm=REALM, port=port, folder=self.folder)
        self.environment = {
            "KRB5_CONFIG": str(self.write("krb5.conf", CLIENT % words)),
            "KRB5_KDC_PROFILE": str(self.write("kdc.conf", SERVER % words)),
        }
        self.service_keys = self.folder / "service.keytab"
        self._user_keys = self.folder / "user.keytab"
        self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "a secret of no use")
        for name, keys in [(USER, self._user_keys), ("HTTP/localhost", self.service_keys)]:
            self._run("kadmin.local", "addprinc", "-randkey", name)
            self._run("kadmin.local", "ktadd", "-k", str(keys), name)
        self.start("krb5kdc", "-n", "-P", "kdc.pid", ports=[port], **self.environment)
        self.tickets = self.tickets_of_user("tickets")

    def _run(self, *command):
        return run(*command, **self.environment)

    def tickets_of_user(self, name):
        """A new ticket cache, with nothing but the user's ticket for tickets."""
        cache = f"FILE:{self.folder}/{name}"
        self._run("kinit", "-k", "-t", str(self._user_keys), "-c", cache, USER)
        return cache

    def client_environment(self):
        """What makes a program a client of the realm, with the user's tickets."""
        return {"KRB5_CONFIG": self.environment["KRB5_CONFIG"], "KRB5CCNAME": self.tickets}

    def services(self):
        """The services that the ticket cache has tickets for."""
        return self._run("klist", "-c", self.tickets)

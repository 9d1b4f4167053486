"""nginx: Basic, certificates that something is wrong with, certificates of clients."""

import certificates
from daemon import AccessLog, Daemon, free_ports, run

BODY = "nginx speaks\n"
# Just below what the gateway holds while a decision waits, and more than that.
LONG = "no, and for a long time no\n" * 38_000
ENDLESS = LONG * 2
USER, PASSWORD = "alice", "open sesame"

HEAD = r"""
daemon off;
worker_processes 1;
pid nginx.pid;
error_log error.log warn;
events { worker_connections 2048; }
http {
    log_format json escape=json '{"port":"$server_port","target":"$request_uri","status":$status,'
        '"method":"$request_method","authorization":"$http_authorization","cookie":"$http_cookie",'
        '"sensitive":"$http_x_api_key","user":"$remote_user","subject":"$ssl_client_s_dn",'
        '"tls":"$ssl_protocol"}';
    access_log access.log json;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    default_type text/plain;
    keepalive_timeout 75s;
    # Every task reaches the server, though a session may have stored what it gets (`no-cache`).
    expires -1;
    root site;
"""

# `brief` closes each connection after one answer.
PLAIN_NAMES = ["open", "basic", "brief"]
PLAIN = r"""
    server {
        listen 127.0.0.1:%(open)d;
        try_files /content =404;
    }
    server {
        listen 127.0.0.1:%(basic)d;
        auth_basic_user_file htpasswd;
        location / {
            auth_basic "Staff only";
            try_files /content =404;
        }
        location /quoted {
            auth_basic "the \\\"inner\\\" circle, back\\\\slash";
            try_files /content =404;
        }
        location /long {
            auth_basic "Staff only";
            error_page 401 /refusal-long;
        }
        location /endless {
            auth_basic "Staff only";
            error_page 401 /refusal-endless;
        }
        location /refusal {
            auth_basic off;
        }
        location /leave {
            auth_basic "Staff only";
            try_files /none @leave;
        }
        location @leave {
            return 302 http://127.0.0.1:%(open)d$request_uri;
        }
    }
    server {
        listen 127.0.0.1:%(brief)d;
        keepalive_timeout 0;
        auth_basic "Staff only";
        auth_basic_user_file htpasswd;
        try_files /content =404;
    }
"""

SECURE = r"""
    server {
        listen 127.0.0.1:%(port)d ssl%(http2)s;
        ssl_certificate %(name)s.crt;
        ssl_certificate_key %(name)s.key;
        ssl_protocols %(protocols)s;
        %(more)s
        add_header X-Verify $ssl_client_verify always;
        try_files /content =404;
    }
"""

TLS12, TLS13 = "TLSv1.2", "TLSv1.3"


class Nginx(Daemon):
    """One nginx with a server for each purpose; `ports` has them by name."""

    def __init__(self, authorities):
        super().__init__("nginx")
        self.certificates = {
            "good": authorities.good(),
            "self-signed": certificates.self_signed(),
            "expired": authorities.expired(),
            "wrong-host": authorities.wrong_host(),
            "unknown-authority": authorities.unknown_authority(),
        }
        for name, pair in self.certificates.items():
            pair.write(self.folder, name)
        servers = [(name, name, f"{TLS12} {TLS13}", "") for name in self.certificates]
        for protocol in [TLS12, TLS13]:
            for mode in ["on", "optional"]:
                more = f"ssl_client_certificate clients.pem; ssl_verify_client {mode};"
                servers.append((f"client-{mode}-{protocol}", "good", protocol, more))
        names = [*PLAIN_NAMES] + [name for name, *_ in servers]
        self.ports = dict(zip(names, free_ports(len(names))))

        text = HEAD + PLAIN % self.ports
        for name, pair, protocols, more in servers:
            port = self.ports[name]
            # HTTP/2 where one session may have several tasks on a connection, 1.1 elsewhere.
            http2 = "" if "client-on" in name else " http2"
            text += SECURE % dict(port=port, http2=http2, name=pair, protocols=protocols, more=more)
        self.write("nginx.conf", text + "}\n")
        self.write("clients.pem", authorities.pem)
        self.write("site/content", BODY)
        self.write("site/refusal-long", LONG)
        self.write("site/refusal-endless", ENDLESS)
        digest = run("openssl", "passwd", "-apr1", "-stdin", input=PASSWORD).strip()
        self.write("htpasswd", f"{USER}:{digest}\n")
        self.log = AccessLog(self.folder / "access.log")
        # nginx takes relative paths from its prefix.
        command = ["nginx", "-p", f"{self.folder}/", "-c", "nginx.conf", "-e", "error.log"]
        self.start(*command, ports=self.ports.values())

    def url(self, server, path="/"):
        scheme = "http" if server in PLAIN_NAMES else "https"
        host = "127.0.0.1" if scheme == "http" else "localhost"
        return f"{scheme}://{host}:{self.ports[server]}{path}"

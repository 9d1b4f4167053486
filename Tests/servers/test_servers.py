"""The servers themselves, as curl sees them: what fails here is no fault of the gateway's."""

import pytest

import apache as apache_module
import nginx as nginx_module
import squid as squid_module
from daemon import run


def curl(*words, **environment):
    """What curl gives: the status, then the body."""
    command = ["curl", "-sS", "--noproxy", "", "-w", "\n%{http_code}", *words]
    body, _, status = run(*command, **environment).rpartition("\n")
    return int(status), body


def login(module):
    return f"{module.USER}:{module.PASSWORD}"


def test_nginx_wants_a_password(nginx):
    assert curl(nginx.url("basic"))[0] == 401
    answer = curl("--basic", "-u", login(nginx_module), nginx.url("basic", "/a?in=1"))
    assert answer == (200, nginx_module.BODY)
    (entry,) = nginx.log.wait("in=1", 1)
    assert entry["user"] == nginx_module.USER


def test_nginx_has_one_good_certificate(nginx, authorities, tmp_path):
    trust = tmp_path / "trust.pem"
    trust.write_text(authorities.pem)
    answer = curl("--cacert", str(trust), nginx.url("good"))
    assert answer == (200, nginx_module.BODY)
    for name in nginx.certificates.keys() - {"good"}:
        with pytest.raises(AssertionError, match="curl: .60."):
            curl("--cacert", str(trust), nginx.url(name))


@pytest.mark.parametrize("protocol", [nginx_module.TLS12, nginx_module.TLS13])
def test_nginx_wants_a_client_certificate(nginx, authorities, tmp_path, protocol):
    authorities.client("dora").write(tmp_path, "dora")
    words = ["-k", "--cert", f"{tmp_path}/dora.crt", "--key", f"{tmp_path}/dora.key"]
    path = f"/client-{protocol}"
    url = nginx.url(f"client-on-{protocol}", path)
    assert curl("-k", url)[0] == 400
    assert curl(*words, url) == (200, nginx_module.BODY)
    entry = nginx.log.wait(path, 2)[-1]
    assert entry["tls"] == protocol and "CN=dora" in entry["subject"]


def test_apache_speaks_digest(apache):
    words = ["--digest", "-u", login(apache_module)]
    assert curl(*words, apache.url("/digest")) == (200, apache_module.BODY)


def test_apaches_nonce_can_be_too_old(apache):
    words = ["--digest", "-u", login(apache_module), "-D", "-"]
    status, answers = curl(*words, apache.url("/stale"))
    assert status == 200 and answers.count("401 Unauthorized") == 2
    assert answers.count("stale=true") == 1


def test_apache_offers_several_schemes(apache):
    status, answer = curl("-D", "-", apache.url("/several"))
    assert status == 401 and answer.count("WWW-Authenticate") == 3
    assert curl("-u", login(apache_module), apache.url("/several"))[0] == 200


def test_apache_takes_tickets(apache, kerberos):
    words = ["--negotiate", "-u", ":", apache.url("/kerberos", "localhost")]
    assert curl(*words, **kerberos.client_environment()) == (200, apache_module.BODY)
    entry = apache.log.wait("/kerberos", 1)[-1]
    assert entry["user"] == "ferry@FERRY.TEST"
    assert "HTTP/localhost" in kerberos.services()


@pytest.mark.parametrize("scheme", ["basic", "digest", "ntlm"])
def test_squid_wants_to_know_who_asks(squid, nginx, scheme):
    words = ["-x", squid.url(scheme), f"--proxy-{scheme}", "-U", login(squid_module)]
    assert curl("-x", squid.url(scheme), nginx.url("open"))[0] == 407
    assert curl(*words, nginx.url("open")) == (200, nginx_module.BODY)
    assert curl("-k", *words, nginx.url("good")) == (200, nginx_module.BODY)
    # NTLM is always content here: its helper is a fake one.
    if scheme != "ntlm":
        wrong = ["-x", squid.url(scheme), f"--proxy-{scheme}", "-U", "carol:wrong"]
        assert curl(*wrong, nginx.url("open"))[0] == 407


def test_squid_takes_tickets(squid, nginx, kerberos):
    words = ["-x", f"http://localhost:{squid.ports['negotiate']}", "--proxy-negotiate", "-U", ":"]
    answer = curl(*words, nginx.url("open"), **kerberos.client_environment())
    assert answer == (200, nginx_module.BODY)


def test_squid_offers_all_on_one_port(squid, nginx):
    _, answer = curl("-D", "-", "-x", squid.url("all"), nginx.url("open"))
    for scheme in ["Basic", "Digest", "NTLM"]:
        assert f"Proxy-Authenticate: {scheme}" in answer


@pytest.mark.parametrize("algorithm", ["MD5", "SHA-256"])
def test_httpbin_speaks_digest(httpbin, algorithm):
    url = f"{httpbin}/digest-auth/auth/user/passwd/{algorithm}"
    assert curl("--digest", "-u", "user:passwd", url)[0] == 200

"""The servers, each started once, when the first test wants it."""

import pytest

import bin_server
from apache import Apache
from certificates import Authorities
from gateway import Gateway
from kerberos import Kerberos
from nginx import Nginx
from origin import Origin
from session import Session
from squid import Squid


@pytest.fixture(scope="session")
def authorities():
    return Authorities()


@pytest.fixture(scope="session")
def nginx(authorities):
    with Nginx(authorities) as server:
        yield server


@pytest.fixture(scope="session")
def kerberos():
    with Kerberos() as server:
        yield server


@pytest.fixture(scope="session")
def apache(kerberos):
    with Apache(kerberos) as server:
        yield server


@pytest.fixture(scope="session")
def squid(kerberos):
    with Squid(kerberos) as server:
        yield server


@pytest.fixture(scope="session")
def httpbin():
    with bin_server.serve() as url:
        yield url


@pytest.fixture(scope="session")
def gateway_arguments(authorities, tmp_path_factory):
    """What makes a gateway trust the authority of the tests."""
    path = tmp_path_factory.mktemp("trust") / "authorities.pem"
    path.write_text(authorities.pem)
    return ["--trusted-certificates", str(path)]


@pytest.fixture(scope="session")
def gateway(gateway_arguments):
    """One for all tests that do no harm to it. It leaves nothing secret behind."""
    with Gateway(*gateway_arguments) as gateway:
        yield gateway
        assert gateway.traces() == []


@pytest.fixture
def origin():
    """One of the test's own, which has seen nothing yet."""
    with Origin() as origin:
        yield origin


@pytest.fixture
def session(gateway):
    """A default session that remembers nothing yet."""
    session = Session(gateway)
    yield session
    session.invalidate()


@pytest.fixture
def own(gateway_arguments):
    """A gateway that a test may kill."""
    with Gateway(*gateway_arguments) as gateway:
        yield gateway

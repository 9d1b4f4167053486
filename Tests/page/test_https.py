"""The page over https: the browser takes HTTP/2, and one connection does for all."""

import os

import pytest

from browser import Page
from daemon import run
from gateway import Gateway

PROTOCOLS = """
return [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
  .map((entry) => entry.nextHopProtocol);
"""


@pytest.fixture
def certified(tmp_path, driver):
    """A gateway with a certificate, which the browser takes as if its authority were known."""
    run(os.environ["FERRY"], "certificate", "127.0.0.1", "--directory", str(tmp_path))
    pair = ("--tls-certificate", str(tmp_path / "gateway.pem"), "--tls-key", str(tmp_path / "gateway.key"))
    driver.execute_cdp_cmd("Security.setIgnoreCertificateErrors", {"ignore": True})
    with Gateway(*pair, authority=str(tmp_path / "authority.pem")) as gateway:
        yield gateway
        driver.get("about:blank")
    driver.execute_cdp_cmd("Security.setIgnoreCertificateErrors", {"ignore": False})


def test_everything_comes_by_http2(certified, driver, origin, held):
    page = Page(driver, certified)
    page.size(1280)
    page.open()
    assert page.url.startswith("https://")
    page.add(origin.url("/held.iso"))
    page.wait_row("held.iso", kind="running", part="25 %")
    held.step()
    # Told by an event stream.
    page.wait_row("held.iso", kind="running", part="50 %")
    held.finish()
    page.wait_row("held.iso", kind="done")
    assert set(page.js(PROTOCOLS)) == {"h2"}
    assert page.complaints() == []

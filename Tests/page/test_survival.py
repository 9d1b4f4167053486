"""What the page survives: cuts, restarts, cookies that end, other tabs, other gateways."""

import pytest

from browser import Page
from daemon import eventually, free_ports
from gateway import Gateway
from test_transfers import start


@pytest.fixture
def own(driver):
    """A gateway that a test may stop, on a port that stays."""
    (port,) = free_ports(1)
    with Gateway("--port", str(port)) as gateway:
        page = Page(driver, gateway)
        page.size(1280)
        yield gateway, page


def sign_in(page):
    field = page.wait_for("#token")
    field.send_keys(page.token)
    page.press_button("Sign in", "dialog.sign-in")
    page.wait_none("dialog.sign-in")


def test_signing_in_says_where_the_token_is_and_refuses_another_one(driver, gateway):
    page = Page(driver, gateway)
    page.size(1280)
    page.open(signed_in=False)
    page.wait_text("dialog.sign-in", "ferry-data/token")
    assert "docker exec" in page.text("dialog.sign-in")
    page.wait_for("#token").send_keys("fry_nonsense")
    page.press_button("Sign in", "dialog.sign-in")
    page.wait_text("#sign-in-fault", "not the token of this gateway")
    page.js("document.getElementById('token').value = ''")
    sign_in(page)
    page.wait_for("#task-grid")
    page.press_button("Sign out", "#tools")
    page.wait_for("dialog.sign-in")
    assert f"ferry-{gateway.client.base_url.port}" not in [one["name"] for one in driver.get_cookies()]
    page.driver.refresh()
    page.wait_for("dialog.sign-in")


def test_the_token_in_the_fragment_leaves_the_address_at_once(driver, gateway):
    page = Page(driver, gateway).open()
    assert "fry_" not in driver.current_url
    assert page.js("return history.length") >= 1 and page.count("dialog.sign-in") == 0


def test_the_page_goes_on_over_a_restart_of_the_gateway_where_it_was(own, origin, held):
    gateway, page = own
    page.open()
    start(gateway, origin.url("/held.iso"))
    page.wait_row("held.iso", kind="running", part="25 %")
    page.type("n")
    page.wait_for("#new-urls").send_keys("https://example.com/not-lost")
    gateway.stop()
    page.wait_text("#banner", "The gateway does not answer")
    held.finish()
    gateway.restart()
    # The cookie ended with the process: the panel lies over the page, and nothing of it is lost.
    page.wait_text("dialog.sign-in", "The gateway has restarted")
    assert page.js("return document.getElementById('new-urls').value") == "https://example.com/not-lost"
    sign_in(page)
    page.press_button("Cancel", "dialog[open]")
    # What happened meanwhile has been told.
    page.wait_row("held.iso", kind="failed", state="Gateway stopped")
    eventually(lambda: page.js("return document.getElementById('banner').hidden"), "the banner to go")
    start(gateway, origin.url("/held.iso"), fileName="after.iso")
    page.wait_row("after.iso", kind="done")


def test_a_cookie_that_ends_is_renewed_and_the_call_made_again(driver, gateway, origin, held):
    page = Page(driver, gateway)
    page.size(1280)
    page.open()
    page.wait_for("#task-grid")
    page.type("n")
    page.wait_for("#new-urls").send_keys(origin.url("/held.iso"))
    driver.delete_all_cookies()
    page.click("dialog[open] .dialog-foot .primary")
    sign_in(page)
    # Nothing had to be pressed again.
    page.wait_none("dialog[open]")
    page.wait_row("held.iso", kind="running", part="25 %")
    held.finish()
    page.wait_row("held.iso", kind="done")


def test_two_tabs_follow_one_stream_and_both_see_everything(driver, gateway, origin, held):
    first = Page(driver, gateway)
    first.size(1280)
    first.open()
    one = driver.current_window_handle
    driver.switch_to.new_window("tab")
    other = driver.current_window_handle
    try:
        second = Page(driver, gateway)
        second.open()
        second.add(origin.url("/held.iso"), File_name="both.iso")
        second.wait_row("both.iso", kind="running")
        driver.switch_to.window(one)
        first.wait_row("both.iso", kind="running")
        # The worker that all tabs share has the stream; no tab has one of its own.
        assert "/v1/events" not in first.requests()
    finally:
        driver.switch_to.window(other)
        driver.close()
        driver.switch_to.window(one)
    held.finish()
    first.wait_row("both.iso", kind="done")


def test_two_gateways_on_one_host_do_not_sign_each_other_out(driver, gateway, own):
    other, page = own
    first = Page(driver, gateway).open()
    page.open()
    for one in (first, page):
        one.driver.get(one.url)
        one.wait_for("#task-grid")
        assert one.count("dialog.sign-in") == 0
    page.press_button("Sign out", "#tools")
    page.wait_for("dialog.sign-in")
    first.driver.get(first.url)
    first.wait_for("#task-grid")


def test_behind_a_tls_proxy_the_page_works_by_http_on_the_same_machine(driver, origin, held):
    (port,) = free_ports(1)
    with Gateway("--port", str(port), "--behind-tls-proxy") as gateway:
        page = Page(driver, gateway)
        page.size(1280)
        page.open(signed_in=False)
        sign_in(page)
        page.add(origin.url("/held.iso"))
        page.wait_row("held.iso", kind="running")
        page.press_button("Cancel held.iso")
        page.wait_row("held.iso", kind="cancelled")
        page.press_button("Sign out", "#tools")
        page.wait_for("dialog.sign-in")
        page.driver.get(page.url)
        page.wait_for("dialog.sign-in")

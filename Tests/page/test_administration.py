"""Tenants and tokens, as an administrator sees them, and nobody else does."""

import datetime
import json

import httpx
import pytest
from selenium.webdriver.common.keys import Keys

from browser import Page
from daemon import eventually
from gateway import Gateway
from test_design import look
from test_survival import sign_in

NAV = "#nav a[href='#admin']"
USUAL = """
    const {quotas} = await import('/page/quotas.js');
    return Object.fromEntries(Object.entries(quotas).map(([name, {usual}]) => [name, usual]))"""


def tenants(gateway):
    """The names of all but the operator's own."""
    return [one["name"] for one in gateway.get("/v1/tenants?limit=500")["tenants"] if one["name"] != "default"]


def clear(gateway):
    for name in tenants(gateway):
        gateway.client.delete(f"/v1/tenants/{name}")
    for token in gateway.get("/v1/tokens?limit=500")["tokens"]:
        gateway.client.delete(f"/v1/tokens/{token['id']}")
    eventually(lambda: not tenants(gateway), "the tenants to be gone", 20)


def make_token(gateway, tenant="default", scopes=("sessions", "tasks", "events"), **members):
    return gateway.post("/v1/tokens", 201, tenant=tenant, scopes=list(scopes), **members).json()["token"]


@pytest.fixture
def admin(page, gateway):
    """The page of an administrator, at a gateway where nobody else is yet."""
    clear(gateway)
    page.visit("admin")
    page.wait_text("#admin .side", "default")
    yield page
    clear(gateway)


@pytest.fixture
def client(page):
    """Makes clients that have a token."""
    made = []

    def make(token):
        made.append(httpx.Client(base_url=page.url, headers={"Authorization": f"Bearer {token}"}, trust_env=False))
        return made[-1]

    yield make
    for one in made:
        one.close()


def create_tenant(page, name, **fields):
    page.press_button("New tenant", "#admin .side")
    page.wait_for("dialog[open] fieldset")
    page.js("document.querySelector('dialog .options').open = true")
    page.fill("Name", name)
    for label, value in fields.items():
        page.fill(label.replace("_", " "), value)
    page.press_button("Create", "dialog[open]")


def create_token(page, description):
    """Makes one for the tenant in sight, with what is chosen beforehand; gives it."""
    page.press_button("New token", "#admin .pane")
    page.fill("Description", description)
    page.press_button("Create", "dialog[open]")
    page.wait_text("dialog[open] .secret-text", "fry_")
    return page.text("dialog[open] .secret-text")


# The way of a tenant


def test_a_tenant_is_made_used_watched_and_deleted(admin, gateway, client):
    page = admin
    create_tenant(
        page, "mirror", Description="nightly mirror", Sessions="2", Stored="5 GiB", Webhooks="", Keep_them_for="2",
        Unit="hours", Permitted_hosts="Only these", Only_these_hosts="*.example.com\n127.0.0.1",
        Forbidden_addresses="203.0.113.0/24:443")
    page.wait_text("#admin .pane h2", "mirror")
    made = gateway.get("/v1/tenants/mirror")
    assert made["description"] == "nightly mirror" and made["taskRetention"] == 7200
    assert made["quotas"]["sessions"] == 2 and made["quotas"]["storedBytes"] == 5 << 30 and made["quotas"]["webhooks"] is None
    assert made["egress"] == {
        "allowedHosts": ["*.example.com", "127.0.0.1"], "deniedHosts": [], "allowedAddresses": None,
        "deniedAddresses": ["203.0.113.0/24:443"]}
    page.wait_text("#admin .pane", "0 B of 5.00 GiB")
    for words in ("nightly mirror", "*.example.com, 127.0.0.1", "203.0.113.0/24:443", "Are kept for 2 hours", "0 · no limit"):
        page.wait_text("#admin .pane", words)

    token = create_token(page, "the nightly job")
    page.press_button("I have it", "dialog[open]")
    page.wait_text("#admin .tokens", "the nightly job")
    user = client(token)
    assert [user.post("/v1/sessions", json={"type": "default"}).status_code for _ in range(3)] == [201, 201, 429]
    # Nothing has to be pressed to see it.
    page.wait_text("#admin .quotas li:first-child", "2 of 2")
    page.wait_text("#admin .quotas li:first-child", "at the limit")
    page.wait_text("#admin a[data-tenant=mirror]", "Sessions: 2 of 2")
    meter = page.wait_for("#admin .quotas [role=meter]")
    assert meter.get_attribute("aria-valuetext") == "2 of 2, at the limit"

    page.press_button("Revoke the nightly job", "#admin .pane")
    page.wait_text("dialog[open]", "Its transfers go on")
    page.press_button("Revoke", "dialog[open]")
    page.wait_text("#admin .tokens", "There are none yet.")
    assert user.get("/v1/sessions").status_code == 401

    page.press_button("Delete", "#admin .pane")
    page.wait_text("dialog[open]", "now 2 sessions")
    page.press_button("Keep", "dialog[open]")
    assert tenants(gateway) == ["mirror"]
    page.press_button("Delete", "#admin .pane")
    page.press_button("Delete all of it", "dialog[open]")
    page.said("The tenant mirror is gone.")
    page.wait_none("#admin a[data-tenant=mirror]")
    page.wait_text("#admin .pane", "A tenant is who uses the gateway")
    assert tenants(gateway) == []


def test_the_token_is_shown_once_and_not_closed_without_a_copy(admin, gateway):
    page = admin
    page.visit("admin/default")
    page.wait_text("#admin .pane h2", "default")
    token = create_token(page, "once")
    page.type(Keys.ESCAPE)
    page.wait_text("dialog:last-of-type", "Close it without a copy?")
    page.press_button("Keep", "dialog:last-of-type")
    assert page.text("dialog[open] .secret-text") == token
    page.driver.execute_cdp_cmd(
        "Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"], "origin": page.url})
    page.press_button("Copy", "dialog[open]")
    page.said("Copied.")
    assert page.eval("return navigator.clipboard.readText()") == token
    page.type(Keys.ESCAPE)
    # A dialog that has closed is taken away a moment later.
    page.wait_none(".secret-text")
    assert token not in page.js("return document.documentElement.outerHTML")
    (kept,) = gateway.get("/v1/tokens")["tokens"]
    assert kept["description"] == "once" and kept["scopes"] == ["sessions", "tasks", "events"] and kept["expiresAt"]


def test_a_token_whose_answer_is_lost_is_told_of(admin, gateway):
    page = admin
    page.visit("admin/default")
    page.meddle("lose", "POST", "^/v1/tokens$")
    page.press_button("New token", "#admin .pane")
    page.fill("Description", "lost")
    page.press_button("Create", "dialog[open]")
    page.wait_text("dialog[open] form > .fault", "Perhaps there is a token now that nobody has")
    page.press_button("Cancel", "dialog[open]")
    page.press_button("Revoke lost", "#admin .pane")
    page.press_button("Revoke", "dialog[open]")
    page.wait_text("#admin .tokens", "There are none yet.")
    assert gateway.get("/v1/tokens")["tokens"] == []


def test_a_change_sends_only_what_was_changed(admin, gateway):
    page = admin
    egress = {"allowedHosts": [], "deniedHosts": ["a.example"], "allowedAddresses": None, "deniedAddresses": []}
    gateway.post("/v1/tenants", 201, name="team", egress=egress, taskRetention=90061, quotas={"bytesPerSecond": 1_234_567})
    page.visit("admin/team")
    page.press_button("Change", "#admin .pane")
    page.wait_text("dialog[open] h2", "Change team")
    # Somebody else is quicker with something else.
    gateway.client.patch("/v1/tenants/team", json={"quotas": {"webhooks": 7}, "description": "of others"})
    page.fill("Sessions", "12")
    page.press_button("Save", "dialog[open]")
    page.wait_text("#admin .pane .quotas", "0 of 12")
    after = gateway.get("/v1/tenants/team")
    assert after["quotas"]["sessions"] == 12 and after["quotas"]["webhooks"] == 7 and after["description"] == "of others"
    assert after["egress"] == egress and after["taskRetention"] == 90061 and after["quotas"]["bytesPerSecond"] == 1_234_567
    page.press_button("Change", "#admin .pane")
    page.fill("Keep them for", "")
    page.fill("Permitted hosts", "All")
    page.press_button("Save", "dialog[open]")
    page.wait_text("#admin .pane", "as long as the gateway keeps them")
    after = gateway.get("/v1/tenants/team")
    assert after["egress"] == egress | {"allowedHosts": None} and after["taskRetention"] is None


def test_what_the_form_calls_usual_is_what_the_gateway_gives(admin, gateway):
    page = admin
    create_tenant(page, "plain")
    page.wait_text("#admin .pane h2", "plain")
    other = gateway.post("/v1/tenants", 201, name="other").json()
    assert gateway.get("/v1/tenants/plain")["quotas"] == other["quotas"] == page.eval(USUAL)


def test_the_operators_own_tenant_cannot_be_deleted_and_its_tokens_may_manage(admin, gateway):
    page = admin
    page.visit("admin/default")
    page.wait_text("#admin .pane", "the operator's own")
    assert "Delete" not in page.js("return [...document.querySelectorAll('#admin .pane button')].map((one) => one.textContent)")
    gateway.post("/v1/tenants", 201, name="team")
    page.visit("admin/team")
    page.wait_text("#admin .pane h2", "team")
    page.press_button("New token", "#admin .pane")
    able = "return [...document.querySelectorAll('dialog .boxes input')].filter((one) => !one.disabled).length"
    eventually(lambda: page.js(able) == 6, "the scopes of a tenant")
    page.fill("Tenant", "default")
    assert page.js(able) == 8
    page.press_button("Cancel", "dialog[open]")


# What is refused


@pytest.mark.parametrize(
    "label, value, pointer, words",
    [
        ("Name", "Team A", "/name", "lower-case letters"),
        ("Name", "default", "/name", "Another tenant has this name"),
        ("Sessions", "1,000", "/quotas/sessions", "Write it like 1000"),
        ("Sessions", "-1", "/quotas/sessions", "Write it like 1000"),
        ("Sessions", "9999999999999999", "/quotas/sessions", "1000000000000000"),
        ("Stored", "much", "/quotas/storedBytes", "Write it like 500 GiB"),
        ("Speed", "fast", "/quotas/bytesPerSecond", "Write it like 20 MiB/s"),
        ("Keep them for", "0.001", "/taskRetention", ""),
        ("Forbidden hosts", "*", "/egress/deniedHosts", "name of a host"),
        ("Forbidden addresses", "10.0.0.0/99", "/egress/deniedAddresses", "must be an address"),
    ])
def test_what_is_wrong_is_told_at_its_field_and_nothing_is_made(admin, gateway, label, value, pointer, words):
    page = admin
    fields = {"Name": "team"} | {label: value}
    create_tenant(page, fields.pop("Name"), **{key.replace(" ", "_"): one for key, one in fields.items()})
    place = f'dialog[open] [data-pointer="{pointer}"]'
    eventually(lambda: page.text(f"{place} .fault"), f"a fault at {pointer}", 20)
    assert words in page.text(f"{place} .fault")
    assert page.js("return document.activeElement.closest('[data-pointer]').dataset.pointer") == pointer
    page.press_button("Cancel", "dialog[open]")
    assert tenants(gateway) == []


def test_a_token_without_a_scope_or_that_has_ended_already_is_none(admin, gateway):
    page = admin
    page.visit("admin/_tokens")
    page.press_button("New token", "#admin .pane")
    for scope in ("Sessions", "Transfers", "Events"):
        page.js("[...document.querySelectorAll('dialog .boxes label')].find((one) => one.textContent === arguments[0]).control.click()", scope)
    page.press_button("Create", "dialog[open]")
    page.wait_text('dialog[open] [data-pointer="/scopes"] > .fault', "Choose at least one.")
    page.fill("It ends", "At a time of your choice")
    page.js("[...document.querySelectorAll('dialog .boxes input')][0].click()")
    page.press_button("Create", "dialog[open]")
    page.wait_text('dialog[open] [data-pointer="/expiresAt"] .fault', "Choose a day and a time.")
    page.js("document.querySelector('dialog input[type=datetime-local]').value = '2020-01-01T00:00'")
    page.press_button("Create", "dialog[open]")
    page.wait_text('dialog[open] [data-pointer="/expiresAt"] .fault', "must be in the future")
    page.press_button("Cancel", "dialog[open]")
    assert gateway.get("/v1/tokens")["tokens"] == []


def test_a_token_that_has_ended_is_marked(admin, gateway):
    page = admin
    soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=2)
    make_token(gateway, expiresAt=soon.isoformat(timespec="milliseconds").replace("+00:00", "Z"))

    def is_marked():
        page.visit("admin")
        page.visit("admin/default")
        page.wait_for("#admin .tokens tbody tr")
        return page.count("#admin .tokens .tag.warn") == 1

    eventually(is_marked, "the mark", 20)
    page.wait_text("#admin .tokens .tag.warn", "Expired")


def test_what_cannot_be_loaded_says_so_and_can_be_tried_again(admin, gateway):
    page = admin
    gateway.post("/v1/tenants", 201, name="team")
    page.visit("tasks")
    page.meddle(500, "GET", "^/v1/tenants")
    page.visit("admin")
    page.wait_text("#admin > .load-fault", "Told by the test")
    page.meddle("hold", "GET", "^/v1/tenants")
    page.press_button("Try again", "#admin")
    page.release()
    page.wait_none("#admin > .load-fault")
    page.meddle(500, "GET", "tenant=team", 2)
    page.visit("admin/team")
    page.wait_text("#admin .pane", "could not be loaded: Told by the test")
    page.press_button("Try again", "#admin .pane")
    page.wait_text("#admin .pane", "There are none yet.")
    page.wait_text("#admin .pane .quotas", "0 of 1,000")
    page.visit("admin/nobody")
    page.wait_text("#admin .pane", "There is no such tenant")


# Who sees it


def test_a_token_that_may_not_manage_sees_nothing_of_it_but_its_own_quotas(admin, gateway):
    gateway.post("/v1/tenants", 201, name="team", quotas={"sessions": 5})
    page = Page(admin.driver, gateway)
    for tenant, scopes in [("team", ["sessions", "tasks", "events", "decisions", "webhooks"]), ("default", ["read"])]:
        page.token = make_token(gateway, tenant, scopes)
        page.open("overview")
        page.wait_text("#overview", "Your token may not look at the gateway as a whole")
        page.wait_text("#overview .quotas", "0 of 5" if tenant == "team" else "no limit")
        assert not page.wait_for(NAV).is_displayed() and page.count("#admin *") == 0
        assert page.count("#overview .card:not([hidden])") == 3
        page.driver.get(f"{page.url}/#admin/team")
        page.driver.refresh()
        page.wait_for("#task-grid")
        eventually(lambda: page.js("return document.body.dataset.view === 'tasks'"), "the transfers in its place")
        eventually(lambda: "/v1/gateway" in page.requests(), "what may be done to be asked")
        assert page.count("#admin *") == 0 and "/page/admin-view.js" not in page.requests()
        assert not page.wait_for(NAV).is_displayed()


def test_a_token_that_manages_and_nothing_else_has_the_view(admin, gateway):
    page = Page(admin.driver, gateway)
    page.token = make_token(gateway, "default", ["admin"])
    page.open("tasks")
    eventually(lambda: page.wait_for(NAV).is_displayed(), "the view")
    page.visit("admin/default")
    page.wait_text("#admin .pane h2", "default")
    page.driver.refresh()
    page.wait_text("#admin .pane h2", "default")


def test_whoever_signs_in_next_sees_nothing_of_it(admin, gateway):
    page = admin
    gateway.post("/v1/tenants", 201, name="secret-team")
    page.visit("admin/secret-team")
    page.wait_text("#admin .pane h2", "secret-team")
    page.token = make_token(gateway)
    page.driver.delete_all_cookies()
    page.visit("admin/default")
    sign_in(page)
    eventually(lambda: page.count("#admin *") == 0, "the view to be empty", 20)
    assert not page.wait_for(NAV).is_displayed() and page.js("return document.body.dataset.view") == "tasks"
    assert "secret-team" not in page.js("return document.documentElement.outerHTML")


@pytest.mark.parametrize("place", ["admin/team", "admin"])
def test_another_tab_that_signs_in_with_less_closes_the_view(admin, gateway, place):
    page = admin
    gateway.post("/v1/tenants", 201, name="team")
    page.visit("admin/team")
    page.wait_text("#admin .pane .quotas", "0 of 1,000")
    trade = "await fetch('/v1/browser-session', {method: 'POST', headers: {Authorization: `Bearer ${given[0]}`}})"
    page.eval(trade, make_token(gateway, "team"))
    page.js("location.hash = arguments[0]", place)
    eventually(lambda: page.count("#admin *") == 0, "the view to be empty", 20)
    assert not page.wait_for(NAV).is_displayed() and page.js("return document.body.dataset.view") == "tasks"


def test_watching_leaves_few_lines_in_the_audit_log(driver, tmp_path):
    with Gateway("--audit-log", str(tmp_path / "audit")) as gateway:
        page = Page(driver, gateway)
        page.size(1280)
        page.open("tasks")
        eventually(lambda: page.wait_for(NAV).is_displayed(), "the view")
        page.visit("admin/default")
        page.wait_text("#admin .tokens", "There are none yet.")
        eventually(lambda: page.requests().count("/v1/usage") >= 4, "figures that are asked for again", 60)
        calls = [json.loads(line)["operation"] for line in (tmp_path / "audit").read_text().splitlines()]
        assert calls == ["GET /v1/tenants", "GET /v1/tokens", "GET /v1/usage"]


def test_what_a_tenant_does_not_have_is_not_there(admin, gateway):
    page = admin
    gateway.post("/v1/tenants", 201, name="plain")
    page.visit("admin/plain")
    page.wait_text("#admin .tokens", "There are none yet.")
    assert page.complaints() == []


def test_texts_of_others_are_text(admin, gateway):
    page = admin
    hostile = "<img src=x onerror='window.hurt = 1'><b>bold</b> \u202egnp.exe"
    gateway.post("/v1/tenants", 201, name="team", description=hostile)
    make_token(gateway, "team", ["events"], description=hostile)
    for place in ("admin/_tokens", "admin/team"):
        page.visit(place)
        page.wait_text("#admin .tokens", "<b>bold</b> gnp.exe")
    page.press_button("Change", "#admin .pane")
    page.wait_for("dialog[open] fieldset")
    page.press_button("Cancel", "dialog[open]")
    page.js("document.querySelector('#admin .tokens button.danger').click()")
    page.wait_text("dialog[open] h2", "<img src=x")
    page.press_button("Keep", "dialog[open]")
    assert page.count("#admin img, #admin b, dialog img") == 0 and page.js("return window.hurt") is None
    # Names that objects have anyway.
    gateway.post("/v1/tenants", 201, name="constructor")
    page.visit("admin/constructor")
    page.wait_text("#admin .pane .quotas", "0 of 1,000")
    page.visit("admin/__proto__")
    page.wait_text("#admin .pane", "There is no such tenant")


def test_a_tenant_that_somebody_else_has_deleted_leaves_the_list(admin, gateway):
    page = admin
    for deed in ("Change", "Delete"):
        gateway.post("/v1/tenants", 201, name="team")
        page.visit("tasks")
        page.visit("admin/team")
        page.wait_text("#admin .pane h2", "team")
        gateway.client.delete("/v1/tenants/team")
        eventually(lambda: not tenants(gateway), "the tenant to be gone", 20)
        # It may be noticed before this is pressed.
        page.js("[...document.querySelectorAll('#admin .pane button')].find((one) => one.textContent === arguments[0])?.click()", deed)
        page.said("The tenant team is gone.")
        page.wait_none("#admin a[data-tenant=team]")
        page.wait_text("#admin .pane", "A tenant is who uses the gateway")


# Many, keys, and looks


def test_hundreds_of_tenants_and_tokens_are_shown_page_by_page_and_found(driver):
    with Gateway() as gateway:
        for number in range(230):
            gateway.post("/v1/tenants", 201, name=f"team-{number:03}", description=f"number {number}")
        for number in range(120):
            make_token(gateway, "team-007", ["events"], description=f"token {number}")
        page = Page(driver, gateway)
        page.size(1280)
        page.open("tasks")
        eventually(lambda: page.wait_for(NAV).is_displayed(), "the view")
        page.js(f"document.querySelector(\"{NAV}\").click()")
        eventually(lambda: page.count("#admin a[data-tenant]") == 100, "the first hundred", 20)
        # Only what somebody sees is asked for what it uses.
        eventually(lambda: "0 of" in page.text("#admin a[data-tenant=team-000]"), "the figures of the first", 20)
        assert page.text("#admin a[data-tenant=team-090] span").startswith("…")
        page.press_button("Show 100 more of 131", "#admin .side")
        page.press_button("Show 31 more of 31", "#admin .side")
        assert page.count("#admin a[data-tenant]") == 231
        assert page.js("return document.activeElement.dataset.tenant") == "team-199"
        page.wait_for("#admin input[type=search]").send_keys("NUMBER 222")
        eventually(lambda: page.js("return [...document.querySelectorAll('#admin a[data-tenant]')].map((one) => one.dataset.tenant)") == ["team-222"], "the one")
        page.visit("admin/team-007")
        page.wait_text("#admin .pane .tokens tbody tr:first-child", "token 119")
        assert page.count("#admin .tokens tbody tr") == 100
        page.press_button("Show 20 more of 20", "#admin .pane")
        assert page.count("#admin .tokens tbody tr") == 120
        page.wait_for("#admin .pane input[type=search]").send_keys("token 11")
        eventually(lambda: page.count("#admin .tokens tbody tr") == 11, "those that are found")


def test_a_tenant_and_a_token_are_made_and_gone_by_keys_alone(admin, gateway):
    page = admin

    def go(words):
        """Moves the focus on until it is on what bears these words."""
        named = "return [document.activeElement.textContent.trim(), document.activeElement.getAttribute('aria-label')]"
        for _ in range(80):
            if words in page.js(named):
                return
            page.type(Keys.TAB)
        raise AssertionError(f"{words} is not reached by the key Tab")

    go("New tenant")
    page.type(Keys.ENTER)
    page.wait_for("dialog[open] fieldset")
    page.type("by-keys", Keys.ENTER)
    page.wait_text("#admin .pane h2", "by-keys")
    # Whoever chooses a tenant goes on with it, however many others there are.
    focused = "return document.activeElement.closest('.pane') !== null && document.activeElement.textContent"
    eventually(lambda: page.js(focused) == "by-keys", "the focus at the tenant")
    go("New token")
    page.type(Keys.ENTER)
    page.wait_for("dialog[open] fieldset")
    page.type("typed", Keys.ENTER)
    page.wait_text("dialog[open] .secret-text", "fry_")
    go("I have it")
    page.type(Keys.ENTER)
    page.wait_text("#admin .tokens", "typed")
    go("Revoke typed")
    page.type(Keys.ENTER)
    go("Revoke")
    page.type(Keys.ENTER)
    page.wait_text("#admin .tokens", "There are none yet.")
    go("Delete")
    page.type(Keys.ENTER)
    go("Delete all of it")
    page.type(Keys.ENTER)
    page.said("The tenant by-keys is gone.")
    assert tenants(gateway) == []


def test_the_head_has_room_for_the_view_at_every_width(admin):
    page = admin
    # As with many questions.
    page.js("const badge = document.querySelector('#nav .badge').cloneNode(); badge.hidden = false; badge.textContent = '888'; document.querySelector('#nav a').append(badge)")
    room = "const root = document.documentElement; return innerWidth - root.scrollWidth"
    page.visit("tasks")
    wide = {}
    for width in range(320, 1400, 30):
        page.size(width)
        if page.js(room) < 0:
            wide[width] = page.js(room)
    assert wide == {}


def furnish(gateway):
    """Tenants that are near their limits or beyond them, with long names and tokens."""
    long = "a-tenant-with-a-name-as-long-as-the-gateway-takes-it-63-letters"
    words = "a description that is longer than what there is room for in a list, and still goes on"
    quotas = {"sessions": 10, "webhooks": 0, "eventStreams": None}
    egress = {
        "allowedHosts": ["*.example.com", "a" * 60 + ".example.org"], "deniedHosts": ["internal.example.com"],
        "allowedAddresses": ["203.0.113.0/24:443"], "deniedAddresses": []}
    gateway.post("/v1/tenants", 201, name=long, description=words, quotas=quotas, egress=egress, taskRetention=5400)
    gateway.post("/v1/tenants", 201, name="full", quotas={"sessions": 2})
    for name, sessions in [(long, 9), ("full", 2)]:
        token = make_token(gateway, name, description=words)
        with httpx.Client(base_url=gateway.client.base_url, headers={"Authorization": f"Bearer {token}"}, trust_env=False) as user:
            for _ in range(sessions):
                assert user.post("/v1/sessions", json={"type": "default"}).status_code == 201
    gateway.client.patch("/v1/tenants/full", json={"quotas": {"sessions": 1}})
    make_token(gateway, long, ["read"], description="endless" * 146)
    make_token(gateway, long, ["sessions", "tasks", "events", "decisions", "webhooks", "read"], expiresAt="2096-12-24T18:00:00Z")
    return long


def test_every_part_fits_reads_well_and_names_its_controls(admin, gateway):
    page = admin
    long = furnish(gateway)
    page.visit("tasks")
    page.visit("admin")
    page.wait_text("#admin a[data-tenant=full]", "2 of 1")
    wrong = look(page, "administration")
    page.visit(f"admin/{long}")
    page.wait_text("#admin .pane .quotas", "90 % used")
    page.wait_for("#admin .tokens tbody tr")
    wrong |= look(page, "a tenant")
    page.press_button("Revoke " + "endless" * 146, "#admin .pane")
    wrong |= look(page, "before a token is revoked")
    page.size(390, 500)
    page.press_button("Keep", "dialog[open]")
    page.size(1280)
    page.press_button("Change", "#admin .pane")
    page.wait_for("dialog[open] fieldset")
    wrong |= look(page, "the form of a tenant")
    page.press_button("Cancel", "dialog[open]")
    page.press_button("Delete", "#admin .pane")
    page.wait_text("dialog[open]", "9 sessions")
    wrong |= look(page, "before a tenant is deleted")
    page.press_button("Keep", "dialog[open]")
    page.visit("admin/full")
    page.wait_text("#admin .pane .quotas", "over the limit")
    wrong |= look(page, "a tenant over its limit")
    page.visit("admin/_tokens")
    page.wait_for("#admin .tokens tbody tr")
    wrong |= look(page, "tokens")
    page.press_button("New token", "#admin .pane")
    page.wait_for("dialog[open] fieldset")
    wrong |= look(page, "the form of a token")
    page.press_button("Create", "dialog[open]")
    page.wait_for("dialog[open] .secret-text")
    wrong |= look(page, "a new token")
    page.press_button("I have it", "dialog[open]")
    assert wrong == {}

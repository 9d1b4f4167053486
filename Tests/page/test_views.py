"""Sessions, webhooks and the overview."""

import pytest
from selenium.webdriver.common.keys import Keys

from daemon import eventually
from origin import Answer
from test_transfers import start


@pytest.fixture
def session(page, gateway):
    """A session that was made on the page, with much of what can be said."""
    page.visit("sessions")
    page.press_button("New session", ".side")
    page.wait_for("dialog[open] fieldset")
    page.js("document.querySelector('dialog .options').open = true")
    page.fill("Description", "made by hand")
    page.fill("Limit of all its transfers", "3 MB/s")
    page.fill("Longest silence (s)", "15")
    page.fill("Headers of every request", "User-Agent: by-hand/1")
    page.fill("Cache: memory and disk", "1 MiB, 2 MiB")
    page.fill("Metadata", "team=web\njob=7")
    page.press_button("Create", "dialog[open]")
    page.wait_text("#sessions .pane h2", "made by hand")
    made = gateway.get(f"/v1/{page.js('return location.hash.slice(1)')}")
    yield made
    if gateway.get(f"/v1/sessions/{made['id']}")["state"] == "active":
        gateway.post(f"/v1/sessions/{made['id']}/invalidate", mode="cancelTasks")


def test_a_session_is_made_with_its_configuration_and_shown_whole(page, session):
    configuration = session["configuration"]
    assert configuration["timeoutIntervalForRequest"] == 15
    assert configuration["httpAdditionalHeaders"] == {"User-Agent": "by-hand/1"}
    assert configuration["urlCache"] == {"memoryCapacity": 1 << 20, "diskCapacity": 2 << 20}
    assert session["metadata"] == {"team": "web", "job": "7"}
    assert session["maximumBytesPerSecond"] == 3_000_000 and session["delegate"]["handles"] == ["challenge"]
    shown = page.js("return [...document.querySelectorAll('#sessions .pane dt[title]')].map((one) => one.title)")
    assert sorted(shown) == sorted(configuration)
    assert "no effect here" in page.text("#sessions .pane")


def test_description_and_metadata_of_a_session_are_changed(page, gateway, session):
    path = f"/v1/sessions/{session['id']}"
    pane = "#sessions .pane"
    page.fill("Metadata", "team=apps\nno value", pane)
    page.press_button("Save", pane)
    page.wait_text(f'{pane} [data-pointer="/metadata"] .fault', "“no value” is not “NAME=VALUE”.")
    page.fill("Metadata", "team=apps\nnew name=1", pane)
    page.press_button("Save", pane)
    page.wait_text(f'{pane} [data-pointer="/metadata"] .fault', "letters")
    page.fill("Metadata", "team=apps\nsince=2026", pane)
    page.fill("Description", "renamed by hand", pane)
    page.press_button("Save", pane)
    page.said("Saved.")
    page.wait_text(f"{pane} h2", "renamed by hand")
    assert gateway.get(path)["metadata"] == {"team": "apps", "since": "2026"}
    # What a program has put there stays as it is, unless somebody changes it.
    gateway.client.patch(path, json={"metadata": {"since": None, "lines": "one\ntwo"}})
    page.visit("sessions/shared")
    page.wait_text(f"{pane} h2", "Shared session")
    page.visit(f"sessions/{session['id']}")
    page.wait_text(f"{pane} h2", "renamed by hand")
    page.fill("Description", "once more", pane)
    page.press_button("Save", pane)
    page.wait_text(f"{pane} h2", "once more")
    assert gateway.get(path)["metadata"] == {"team": "apps", "lines": "one\ntwo"}


def test_a_change_of_a_session_leaves_alone_what_was_not_typed(page, gateway, session):
    path = f"/v1/sessions/{session['id']}"
    pane = "#sessions .pane"
    page.fill("Limit of all its transfers", "4 MB/s", pane)
    # Somebody else, after the form was drawn.
    gateway.client.patch(path, json={"description": "by somebody else"})
    page.press_button("Save", pane)
    page.said("Saved.")
    assert gateway.get(path)["description"] == "by somebody else"
    gateway.client.patch(path, json={"maximumBytesPerSecond": 7_000_000})
    page.fill("Description", "by hand", pane)
    page.press_button("Save", pane)
    page.wait_text(f"{pane} h2", "by hand")
    now = gateway.get(path)
    assert now["description"] == "by hand" and now["maximumBytesPerSecond"] == 7_000_000
    page.calls("")
    page.press_button("Save", pane)
    page.said("Saved.")
    assert page.calls("PATCH") == []


def test_a_refused_configuration_is_told_at_its_field(page):
    page.visit("sessions")
    page.press_button("New session", ".side")
    page.wait_for("dialog[open] fieldset")
    page.js("document.querySelector('dialog .options').open = true")
    page.fill("Connections a host", "0")
    page.press_button("Create", "dialog[open]")
    eventually(
        lambda: page.text('[data-pointer="/configuration/httpMaximumConnectionsPerHost"] .fault'), "a fault at the field", 20)
    page.press_button("Cancel", "dialog[open]")


def test_what_a_session_remembers_is_shown_changed_and_reset(page, gateway, origin, session):
    path = f"/v1/sessions/{session['id']}"
    page.press_button("Add a cookie", ".pane")
    page.fill("Name", "id")
    page.fill("Value", "17")
    page.fill("Domain", "com")
    page.press_button("Add", "dialog[open]")
    page.wait_text('dialog[open] [data-pointer="/domain"] .fault', "public suffix")
    page.fill("Domain", "example.com")
    page.press_button("Add", "dialog[open]")
    page.wait_text("#sessions .pane", "*.example.com/")
    assert [one["name"] for one in gateway.get(f"{path}/cookies")["cookies"]] == ["id"]
    page.press_button("Store a password", ".pane")
    page.fill("Site", "https://example.com")
    page.fill("Realm", "the cave")
    page.fill("User", "aladdin")
    page.fill("Password", "open sesame")
    page.press_button("Store", "dialog[open]")
    page.wait_text("#sessions .pane", "aladdin")
    assert "open sesame" not in page.text("#sessions")
    page.press_button("Forget aladdin for example.com", ".pane")
    page.wait_text("#sessions .pane", "None is stored.")
    page.press_button("Reset", ".pane")
    page.press_button("Reset", "dialog[open]")
    page.wait_text("#sessions .pane", "The jar is empty.")
    assert gateway.get(f"{path}/cookies")["cookies"] == []
    page.press_button("Flush", ".pane")
    page.said("Everything is on the disk.")
    page.press_button("Cancel and end", ".pane")
    page.press_button("End it", "dialog[open]")
    page.wait_text("#sessions .tag", "Ended")


def test_a_background_session_is_made_under_its_identifier(page, gateway):
    page.visit("sessions")
    page.press_button("New session", ".side")
    page.fill("Kind", "Background: goes on by itself")
    page.fill("Identifier", "by hand, nightly")
    page.press_button("Create", "dialog[open]")
    page.wait_text("#sessions .pane", "identifier “by hand, nightly”")
    page.wait_for("#sessions input[type=search]").send_keys("NIGHTLY")
    eventually(lambda: page.count("#sessions a.entry") == 1, "the one that is found")
    (made,) = gateway.get("/v1/sessions?identifier=by%20hand%2C%20nightly")["sessions"]
    assert made["type"] == "background"
    gateway.post(f"/v1/sessions/{made['id']}/invalidate", mode="cancelTasks")


def test_a_webhook_is_made_tried_and_its_deliveries_are_shown(page, gateway, origin):
    origin.on("/hook", Answer(b"thanks"))
    origin.on("/a.txt", Answer(b"a"))
    page.visit("webhooks")
    page.press_button("New webhook", ".side")
    page.fill("Address", origin.url("/hook"))
    page.fill("Description", "to the tests")
    page.press_button("Create", "dialog[open]")
    page.wait_text("dialog[open] pre", "whsec_")
    page.press_button("I have it", "dialog[open]")
    page.wait_text("#webhooks .pane h2", "to the tests")
    page.press_button("Test", "#webhooks .pane")
    page.said("The receiver answered 200")
    start(gateway, origin.url("/a.txt"))
    origin.wait("/hook", 2)
    page.press_button("Refresh", "#webhooks .pane")
    page.wait_text("#webhooks .list", "task.didComplete")
    page.press_button("Pause", "#webhooks .pane")
    page.wait_text("#webhooks .pane .tag", "Paused")
    page.press_button("Delete", "#webhooks .pane")
    page.press_button("Delete", "dialog[open]")
    page.wait_text("#webhooks .side", "None yet.")
    assert gateway.get("/v1/webhooks")["webhooks"] == []


def focus(page):
    """What has the keyboard's focus, by its words."""
    return page.js("""
        const { activeElement: active } = document;
        return active === document.body ? null : active.getAttribute("aria-label") || active.textContent.trim()""")


def test_the_focus_stays_where_it_is_while_lists_are_drawn_again(page, gateway, origin, session):
    origin.on("/hook", Answer(b"thanks"))
    hook = gateway.post("/v1/webhooks", 201, url=origin.url("/hook"), events=["*"], description="to the tests").json()
    page.visit("sessions")
    page.wait_text("#sessions .pane h2", "A session is what transfers share")
    entry = f'#sessions a.entry[href="#sessions/{session["id"]}"]'
    page.js("document.querySelector(arguments[0]).focus()", entry)
    # Another session comes into the list: it is drawn again.
    other = gateway.post("/v1/sessions", 201, type="default", description="another one").json()["id"]
    start(gateway, "http://10.1.2.3/", session=other)
    page.wait_for(f'#sessions a.entry[href="#sessions/{other}"]')
    assert focus(page).startswith("made by hand")
    # Whoever opens one goes on with it, also where the list is not seen any more, and comes back to its entry.
    page.size(390)
    page.type(Keys.ENTER)
    page.wait_text("#sessions .pane h2", "made by hand")
    eventually(lambda: focus(page) == "made by hand", "the focus at the session")
    page.press_button("All sessions", "#sessions .pane")
    eventually(lambda: (focus(page) or "").startswith("made by hand"), "the focus at the entry")
    assert page.js("return document.activeElement.className") == "entry"
    page.type(Keys.ENTER)
    eventually(lambda: focus(page) == "made by hand", "the focus at the session")
    page.js("[...document.querySelectorAll('#sessions .pane button')].find((one) => one.textContent === 'Reset').focus()")
    page.type(Keys.ENTER)
    page.press_button("Reset", "dialog[open]")
    page.said("The session remembers nothing now.")
    eventually(lambda: focus(page) == "Reset", "the focus at the button that was pressed")
    page.size(1280)
    page.visit("webhooks")
    page.wait_for("#webhooks a.entry").send_keys(Keys.ENTER)
    eventually(lambda: focus(page) == "to the tests", "the focus at the webhook")
    page.press_button("Pause", "#webhooks .pane")
    page.wait_text("#webhooks .pane .tag", "Paused")
    assert focus(page) == "to the tests"
    page.press_button("Delete", "#webhooks .pane")
    page.press_button("Delete", "dialog[open]")
    page.wait_text("#webhooks .side", "None yet.")
    eventually(lambda: focus(page) == "New webhook", "the focus at what is next")
    assert gateway.client.get(f"/v1/webhooks/{hook['id']}").status_code == 404
    gateway.post(f"/v1/sessions/{other}/invalidate", mode="cancelTasks")


def test_the_overview_shows_speed_and_numbers_and_sets_the_limit(page, gateway, origin, held):
    start(gateway, origin.url("/held.iso"))
    page.visit("overview")
    page.wait_text("#overview .figure-card:nth-child(2) strong", "1")
    held.step()
    eventually(lambda: page.count("#overview .graph-line"), "a line of speed", 20)
    field = page.wait_for('#overview input[aria-label^="Limit of the whole gateway"]')
    field.send_keys("20 MB/s\t")
    eventually(lambda: gateway.get("/v1/gateway")["maximumBytesPerSecond"] == 20_000_000, "the limit", 20)
    page.wait_text("#limit-now", "At most 20 MB/s")
    page.js("const slider = document.getElementById('limit'); slider.value = slider.max; slider.dispatchEvent(new Event('input')); slider.dispatchEvent(new Event('change'))")
    eventually(lambda: gateway.get("/v1/gateway")["maximumBytesPerSecond"] is None, "no limit", 20)
    assert page.text("#overview .facts").startswith("Version")

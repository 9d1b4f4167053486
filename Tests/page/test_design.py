"""How the page looks and reads: widths, colours, names, and what it costs to load."""

import pathlib

import pytest

from daemon import eventually
from origin import Answer
from test_transfers import start

CHECKS = pathlib.Path(__file__).with_name("design.js").read_text()
SIZES = [(390, 844), (1280, 800), (1920, 1080)]
TEXT = {"Content-Type": "text/plain; charset=utf-8"}


@pytest.fixture
def scene(page, gateway, origin, held, asking):
    """A transfer in every state."""
    origin.on("/notes.txt", Answer(b"some text\n" * 40, headers=TEXT))
    origin.on("/cave", Answer(b"", 401, {"WWW-Authenticate": 'Basic realm="the cave"'}))
    name = "a-very-long-file-name-without-any-place-where-it-could-be-broken-that-goes-on.tar.zst"
    start(gateway, origin.url("/held.iso"))
    start(gateway, origin.url("/notes.txt"), description="a description that is not short either")
    start(gateway, origin.url("/notes.txt"), fileName=name, resume=False)
    start(gateway, origin.url("/missing.zip"))
    start(gateway, "http://10.1.2.3/denied")
    start(gateway, origin.url("/cave"), asking)
    page.press_button("Close", "dialog.decision")
    page.wait_none("dialog.decision")
    page.wait_row("held.iso", kind="running")
    page.wait_row("notes.txt", kind="done")
    page.wait_row("missing.zip", kind="refused")
    page.wait_row("denied", kind="failed")
    return page


def look(page, where):
    """Nothing is wrong with what is in sight, in either scheme and at every width."""
    wrong = {}
    for width, height in SIZES:
        for dark in (False, True):
            page.size(width, height, dark)
            # Two frames later all of it is drawn at its new size.
            page.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(() => arguments[0]()))")
            found = {key: value for key, value in page.js(CHECKS).items() if value}
            if found:
                wrong[f"{where} at {width} px, {'dark' if dark else 'light'}"] = found
    page.size(1280)
    return wrong


def test_what_is_wrong_is_found(page):
    page.js("""
        const wrong = document.createElement('div');
        wrong.id = 'main';
        wrong.innerHTML = '<p>too faint</p><button></button>';
        wrong.style.cssText = 'position: absolute; width: 3000px; color: #999; background: #aaa';
        document.body.append(wrong);""")
    found = page.js(CHECKS)
    assert any("too faint" in one for one in found["faint"]) and len(found["nameless"]) == 1
    assert found["twice"] == ["main"] and found["wide"]


def test_every_view_fits_reads_well_and_names_its_controls(scene, gateway):
    page = scene
    wrong = look(page, "transfers")
    page.click(".rows .row input[type=checkbox]")
    wrong |= look(page, "with one selected")
    page.js("document.querySelector('.picked-bar button:last-child').click()")
    for name in ("notes.txt", "denied"):
        page.visit(f"tasks/{page.row(name)['id']}")
        page.wait_for("#detail .timeline li")
        wrong |= look(page, f"the details of {name}")
    page.visit("decisions")
    page.wait_for(".card.ask")
    wrong |= look(page, "decisions")
    page.visit("sessions/shared")
    page.wait_for("#sessions .facts")
    wrong |= look(page, "a session")
    page.visit("sessions")
    wrong |= look(page, "sessions")
    page.visit("webhooks")
    page.wait_for("#webhooks .note")
    wrong |= look(page, "webhooks")
    page.visit("overview")
    page.wait_for("#overview .graph")
    wrong |= look(page, "overview")
    assert wrong == {}


def test_every_dialog_fits_reads_well_and_names_its_controls(scene, gateway, secure, asking):
    page = scene
    page.press_button("New transfer", "#tools")
    page.wait_for("#new-urls")
    page.js("document.querySelector('.options').open = true")
    wrong = look(page, "new transfer")
    page.press_button("Cancel", "dialog[open]")
    page.drop("picture.png", "bytes", "image/png")
    page.wait_for("dialog[open] .files li")
    wrong |= look(page, "upload")
    page.press_button("Cancel", "dialog[open]")
    page.press_button("Keys and help", "#tools")
    page.wait_for("dialog[open] .keys")
    wrong |= look(page, "help")
    page.press_button("Close", "dialog[open] .dialog-foot")
    page.visit("sessions")
    page.press_button("New session", ".side")
    page.wait_for("dialog[open] fieldset")
    page.js("document.querySelector('dialog .options').open = true")
    wrong |= look(page, "new session")
    page.press_button("Cancel", "dialog[open]")
    page.visit("tasks")
    start(gateway, secure.url("/plans"), asking)
    page.wait_for("dialog.decision .chain")
    wrong |= look(page, "a certificate")
    page.press_button("Close", "dialog.decision")
    page.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
    page.js("location.hash = 'overview'")
    page.wait_for("dialog.sign-in")
    wrong |= look(page, "signing in again")
    assert wrong == {}


def test_there_are_landmarks_and_one_heading_for_each_view(page):
    for view in ("tasks", "decisions", "sessions", "webhooks", "overview", "admin"):
        page.visit(view)
        eventually(lambda: page.js(
            "return [...document.querySelectorAll('h1')].filter((one) => !one.closest('[hidden]')).length") == 1, f"one heading of {view}")
        assert page.js("return document.querySelector('#nav [aria-current]').hash") == f"#{view}"
    assert page.js("return ['header', 'nav', 'main'].every((one) => document.querySelectorAll(one).length >= 1)")
    assert page.js("return document.documentElement.lang") == "en"


def test_figures_that_move_shift_nothing(page, gateway, origin, held):
    start(gateway, origin.url("/held.iso"))
    page.wait_row("held.iso", kind="running", part="25 %")
    page.js("""
        window.shifts = 0;
        new PerformanceObserver((list) => { for (const one of list.getEntries()) window.shifts += one.value; })
          .observe({type: 'layout-shift', buffered: false});""")
    for part in ("50 %", "75 %"):
        held.step()
        page.wait_row("held.iso", part=part)
    assert page.js("return window.shifts") == 0


def test_the_first_load_is_small_and_the_second_costs_nothing(page, gateway):
    page.driver.execute_cdp_cmd("Network.clearBrowserCache", {})
    page.driver.get(page.url)
    page.wait_for("#task-grid")
    own = """
        const own = performance.getEntriesByType('resource').filter((one) => new URL(one.name).pathname.startsWith('/page/'));
        const all = [...own, performance.getEntriesByType('navigation')[0]];
        return {bytes: all.reduce((sum, one) => sum + one.transferSize, 0), bodies: all.reduce((sum, one) => sum + one.encodedBodySize, 0)};"""
    first = page.js(own)
    assert first["bodies"] > 50_000 and first["bytes"] <= 150 << 10, first
    page.driver.get(page.url)
    page.wait_for("#task-grid")
    # All of it was revalidated by its tag: heads of 304s, no bodies.
    assert page.js(own)["bytes"] < 15_000


def test_all_files_of_the_page_are_in_the_program_and_short(gateway):
    folder = pathlib.Path(__file__).parents[2] / "Sources/CAssets/page"
    for file in folder.iterdir():
        answer = gateway.client.get(f"/page/{file.name}")
        assert answer.status_code == 200 and answer.content == file.read_bytes(), f"{file.name} is not as in the folder"
        assert len(file.read_text().splitlines()) <= 300, file.name

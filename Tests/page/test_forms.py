"""What people type, press, drop and hold down; and texts of other people's on the page."""

import urllib.parse

import pytest
from selenium.webdriver.common.keys import Keys

from browser import Page
from daemon import eventually
from gateway import Gateway
from origin import Answer
from test_transfers import start, task

ENTER = 13


def test_sizes_mean_what_they_mean_on_the_command_line(page):
    read = page.eval("""
        const {parseSize} = await import('/page/format.js');
        return given[0].map(parseSize)""", ["5M", "5m", "5 MiB/s", "5 MB/s", "1.5k", "2 kB/s", "7", "7 bytes", "1,5 MB", "5 X", "", "i", "9" * 400])
    assert read == [5 << 20, 5 << 20, 5 << 20, 5_000_000, 1536, 2000, 7, 7, None, None, None, None, None]
    limits = [5 << 20, 20_000_000, 1536, 1_234_567, 999, 1 << 30, 3 << 19]
    shown = page.eval("""
        const {plainRate, limitWords, parseSize} = await import('/page/format.js');
        return given[0].map((one) => [plainRate(one), limitWords(one), parseSize(plainRate(one))])""", limits)
    assert [one for _, _, one in shown] == limits
    assert [one for one, _, _ in shown] == ["5 MiB/s", "20 MB/s", "1.5 KiB/s", "1234567 B/s", "999 B/s", "1 GiB/s", "1.5 MiB/s"]
    assert shown[0][1] == "At most 5 MiB/s" and shown[1][1] == "At most 20 MB/s (19.1 MiB/s)"


def test_a_limit_that_is_none_is_refused_in_words_wherever_it_is_typed(page, gateway, origin, held):
    id = start(gateway, origin.url("/held.iso"))
    page.wait_row("held.iso", kind="running")
    page.visit(f"tasks/{id}")
    page.wait_for('#detail input[aria-label^="Limit"]').send_keys("quick\t")
    page.wait_text("#detail #task-limit-fault", "Write it like 500 KiB/s")
    page.visit("overview")
    field = page.wait_for('#overview input[aria-label^="Limit of the whole gateway"]')
    field.send_keys("1,000 kB/s\t")
    page.wait_text("#limit-fault", "without a comma, such as 1000 kB/s")
    page.visit("sessions/shared")
    page.fill("Limit of all its transfers", "0", "#sessions .pane")
    page.press_button("Save", "#sessions .pane")
    page.wait_text('#sessions .pane [data-pointer="/maximumBytesPerSecond"] .fault', "at least one byte")
    page.press_button("New transfer", "#tools")
    page.wait_for("#new-urls").send_keys("example.com")
    page.js("document.querySelector('dialog .options').open = true")
    page.fill("Limit", "fast")
    page.fill("Retries", "1e")
    page.click("dialog[open] .dialog-foot .primary")
    page.wait_text('dialog[open] [data-pointer="/maximumBytesPerSecond"] .fault', "Write it like")
    page.fill("Limit", "5M")
    page.click("dialog[open] .dialog-foot .primary")
    page.wait_text('dialog[open] [data-pointer="/retry/attempts"] .fault', "This is no number.")
    page.press_button("Cancel", "dialog[open]")
    assert gateway.get("/v1/gateway")["maximumBytesPerSecond"] is None and task(gateway, id)["maximumBytesPerSecond"] is None


def test_headers_and_metadata_may_have_any_name(page, gateway, origin):
    origin.on("/a.bin", Answer(b"content"))
    page.press_button("New transfer", "#tools")
    page.wait_for("#new-urls").send_keys(origin.url("/a.bin"))
    page.js("document.querySelector('dialog .options').open = true")
    page.fill("Headers", "constructor: x\n__proto__: y\nX-Twice: 1\nX-Twice: 2")
    page.fill("Metadata", "project=apollo\nno value")
    page.click("dialog[open] .dialog-foot .primary")
    page.wait_text('dialog[open] [data-pointer="/metadata"] .fault', "“no value” is not “NAME=VALUE”.")
    page.fill("Metadata", "project=apollo\nconstructor=a=b\n")
    page.click("dialog[open] .dialog-foot .primary")
    page.wait_none("dialog[open]")
    row = page.wait_row("a.bin", kind="done")
    (request,) = origin.seen("/a.bin")
    assert request["constructor"] == "x" and request["__proto__"] == "y"
    assert task(gateway, row["id"])["metadata"] == {"project": "apollo", "constructor": "a=b"}
    page.visit(f"tasks/{row['id']}")
    page.wait_text("#detail .facts .facts", "apollo")


def test_what_was_typed_is_not_lost_by_one_key(page):
    page.type("n")
    page.wait_for("#new-urls").send_keys("https://example.com/typed")
    page.type(Keys.ESCAPE)
    page.wait_text("dialog[open]:not(:has(form)) h2", "Throw away what you have entered?")
    # Again and again: a browser would close it at the second time.
    for count in (1, 2, 1, 2):
        page.type(Keys.ESCAPE)
        eventually(lambda: page.count("dialog[open]") == count, "the question, or none", 20)
    page.type(Keys.ENTER)
    eventually(lambda: page.count("dialog[open]") == 1, "the question to go", 20)
    assert page.js("return document.getElementById('new-urls').value") == "https://example.com/typed"
    page.press_button("Close", "dialog:has(form.new)")
    page.press_button("Throw away", "dialog[open]:not(:has(form))")
    page.wait_none("dialog[open]")
    page.type("n")
    page.wait_for("#new-urls")
    page.type(Keys.ESCAPE)
    page.wait_none("dialog[open]")


def test_a_key_that_is_held_answers_no_question(page, gateway, origin):
    id = start(gateway, "http://10.1.2.3/", fileName="kept")
    page.wait_row("kept", kind="failed")
    page.js("document.querySelector('[aria-label=\"Delete kept\"]').focus()")
    page.hold_key("Enter", ENTER)
    page.wait_text("dialog[open] h2", "Delete “kept”?")
    assert page.js("return document.activeElement.textContent") == "Keep" and task(gateway, id)["state"] == "completed"
    # Let go and pressed anew it keeps, and the answer that is held does not ask again.
    page.hold_key("Enter", ENTER)
    page.wait_none("dialog[open]")
    assert page.count(".rows > .row:not([hidden])") == 1
    page.js("document.activeElement.blur()")
    page.hold_key("n", 78)
    assert page.wait_for("#new-urls").get_attribute("value") == ""
    page.press_button("Cancel", "dialog[open]")


def test_texts_that_are_dropped_on_fields_are_the_fields(page):
    assert not page.drop_text("#search", "text/uri-list", "https://example.com/1")
    assert not page.drop_text("#search", "text/plain", "https://example.com/1")
    assert not page.drop_text("#main", "text/plain", "some words")
    page.type("n")
    page.wait_for("#new-urls")
    assert not page.drop_text("#new-urls", "text/uri-list", "https://example.com/1")
    assert page.js("return document.getElementById('drop').hidden")
    page.type(Keys.ESCAPE)
    page.wait_none("dialog[open]")
    assert page.drop_text("#main", "text/uri-list", "https://example.com/1")
    page.wait_for("#new-urls")
    eventually(lambda: page.js("return document.getElementById('new-urls').value") == "https://example.com/1", "the link")
    page.press_button("Cancel", "dialog[open]")


def test_no_text_of_others_turns_round_what_stands_beside_it(page, gateway, origin):
    override, pop = "\u202e", "\u202c"
    path = "/" + urllib.parse.quote(f"photo{override}gpj.exe")
    id = start(gateway, origin.url(path), description=f"by {override}nna{pop}\u200b\u2066", metadata={"who": f"{override}eve"})
    row = page.wait_row("photogpj.exe", kind="refused")
    assert "by nna" in page.text(f"#row-{id} .under")
    page.visit(f"tasks/{row['id']}")
    page.wait_text("#detail", "eve")
    for sign in (override, pop, "\u200b", "\u2066"):
        assert sign not in page.js("return document.body.textContent + [...document.querySelectorAll('[title]')].map((one) => one.title).join()")
    # What joins letters stays.
    assert page.eval("return (await import('/page/format.js')).nameOf('https://example.com/%E2%80%8D%D9%86%E2%80%8C')") == "\u200d\u0646\u200c"
    names = page.eval("return ['https://example.com/%E2%80%AE', 'https://example.com/%00a%0Ab'].map((await import('/page/format.js')).nameOf)")
    assert names == ["example.com", "ab"]


def test_an_error_of_a_folder_is_told_with_what_helps(driver, origin, tmp_path):
    origin.on("/a.flac", Answer(b"music"))
    folder = tmp_path / "music"
    folder.mkdir()
    (folder / "a.flac").write_bytes(b"older")
    (folder / "link").symlink_to(tmp_path)
    with Gateway("--folder", f"music={folder}") as gateway:
        page = Page(driver, gateway)
        page.size(1280)
        page.open()

        def told(path, words):
            id = start(gateway, origin.url("/a.flac"), destination={"folder": "music", "path": path, "ifExists": "fail"}, resume=True)
            eventually(lambda: task(gateway, id)["state"] == "completed", "its end", 20)
            page.visit(f"tasks/{id}")
            page.wait_text("#detail .explain", words)

        told("a.flac", "Start it anew under another name")
        told("link/a.flac", "by way of a link")
        for file in (folder / "link", folder / "a.flac"):
            file.unlink()
        folder.rmdir()
        told("b.flac", "The gateway's operator has to make the folder")


def test_signing_in_again_cannot_be_closed(page):
    page.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
    page.js("location.hash = 'overview'")
    page.wait_for("dialog.sign-in")
    for _ in range(3):
        page.type(Keys.ESCAPE)
    page.js("document.querySelector('dialog.sign-in').close()")
    assert page.wait_for("dialog.sign-in[open]").is_displayed()


@pytest.fixture
def notes(page):
    """What a browser that permits it would have shown; the page is in the background."""
    page.js("""
        window.notes = [];
        window.asked = 0;
        window.Notification = class {
          static permission = 'default';
          static async requestPermission() { window.asked += 1; return this.permission = 'granted'; }
          constructor(title, {body}) { window.notes.push(`${title}: ${body}`); }
        };
        Object.defineProperty(document, 'hidden', {configurable: true, get: () => true});""")
    yield lambda: page.js("return window.notes")
    page.js("localStorage.clear()")


def test_who_has_asked_for_it_is_notified_of_ends_and_questions(page, gateway, origin, asking, notes):
    origin.on("/a", Answer(b"a"))
    origin.on("/from", Answer(b"", 302, {"Location": "/a"}))
    start(gateway, origin.url("/a"), fileName="untold")
    page.wait_row("untold", kind="done")
    page.wait_text("#spoken", "untold is done.")
    assert notes() == [] and page.js("return window.asked") == 0
    page.visit("overview")
    page.press_button("Notify me", "#overview")
    page.press_button("Do not notify me", "#overview")
    page.press_button("Notify me", "#overview")
    start(gateway, origin.url("/a"), fileName="told")
    eventually(lambda: notes() == [f"told: Done: 127.0.0.1:{origin.port}"], "the end", 20)
    start(gateway, origin.url("/from"), asking)
    eventually(lambda: notes()[1:] == ["Follow the redirect?: from"], "the question", 20)

"""The list of transfers, and what is done with them."""

import hashlib

import pytest
from selenium.webdriver.common.keys import Keys

from browser import Page
from daemon import eventually
from gateway import Gateway
from origin import Answer

TEXT = {"Content-Type": "text/plain; charset=utf-8"}


def start(gateway, url, session="shared", **members):
    """A download that somebody else has begun."""
    members = {"type": "download", "resume": True, "request": {"url": url}} | members
    return gateway.post(f"/v1/sessions/{session}/tasks", 201, **members).json()["id"]


def task(gateway, id):
    return gateway.get(f"/v1/tasks/{id}")


def test_a_download_is_added_watched_suspended_resumed_and_done(page, gateway, origin, held):
    page.wait_text("#tasks .note", "Nothing to move yet")
    page.add(origin.url("/held.iso"))
    row = page.wait_row("held.iso", kind="running", part="25 %")
    assert row["size"] == "977 KiB of 3.81 MiB"
    held.step()
    page.wait_row("held.iso", part="50 %")
    page.press_button("Suspend held.iso")
    page.wait_row("held.iso", kind="paused", state="Suspended")
    assert task(gateway, row["id"])["state"] == "suspended"
    page.press_button("Resume held.iso")
    page.wait_row("held.iso", kind="running")
    held.finish()
    row = page.wait_row("held.iso", kind="done", state="Done", part="100 %", size="3.81 MiB")
    link = page.wait_for(f"#row-{row['id']} a[download]")
    assert link.get_attribute("aria-label") == "Save held.iso"
    assert link.get_attribute("href") == f"{page.url}/v1/tasks/{row['id']}/content"
    page.wait_text("#spoken", "held.iso is done.")


def test_a_transfer_is_cancelled_and_started_again(page, gateway, origin, held):
    start(gateway, origin.url("/held.iso"))
    page.wait_row("held.iso", kind="running", part="25 %")
    page.press_button("Cancel held.iso")
    page.wait_row("held.iso", kind="cancelled", state="Cancelled")
    page.wait_text("#spoken", "held.iso was cancelled.")
    page.press_button("Cancelled1", ".tabs")
    eventually(lambda: [row["name"] for row in page.rows()] == ["held.iso"], "the cancelled one")
    page.press_button("Failed", ".tabs")
    eventually(lambda: page.rows() == [], "none that has failed")
    page.press_button("All1", ".tabs")
    held.finish()
    page.press_button("Start again", "#toasts")
    page.wait_row("held.iso", kind="done")
    assert len(page.rows()) == 2


def test_many_are_selected_and_treated_at_once(page, gateway, origin):
    origin.on("/a", Answer(b"a"))
    for number in range(12):
        start(gateway, origin.url("/a"), resume=False, fileName=f"file-{number}")
    eventually(lambda: len(page.rows()) == 12, "twelve lines")
    page.click(".head input[type=checkbox]")
    page.wait_text(".picked-bar", "12 selected")
    page.press_button("Resume", ".picked-bar")
    eventually(lambda: all(row["kind"] == "done" for row in page.rows()), "all of them done")
    page.press_button("Delete", ".picked-bar")
    page.press_button("Delete", "dialog[open]")
    page.wait_text("#tasks .note", "Nothing to move yet")
    assert gateway.get("/v1/tasks?state=all")["tasks"] == []


def test_options_are_sent_and_refusals_stand_at_their_field(page, gateway, origin):
    digest = hashlib.sha256(b"content").hexdigest()
    origin.on("/a.bin", Answer(b"content"))
    page.add(origin.url("/a.bin"), Checksum=digest, Limit="2 MB/s", File_name="name.bin", Headers="X-Test: yes")
    row = page.wait_row("name.bin", kind="done")
    made = task(gateway, row["id"])
    assert made["expectedDigest"].startswith("sha-256=:") and made["maximumBytesPerSecond"] == 2_000_000
    assert origin.seen("/a.bin")[0]["X-Test"] == "yes"
    page.add(origin.url("/a.bin"), Checksum="12")
    page.wait_text('dialog[open] [data-pointer="/expectedDigest"] .fault', "no SHA-256")
    page.fill("Checksum", digest)
    page.fill("Headers", "Host: elsewhere")
    page.click("dialog[open] .dialog-foot .primary")
    # What only the gateway knows comes back to the very field.
    eventually(lambda: page.text('dialog[open] [data-pointer="/request/headers"] .fault'), "a fault at the headers", 20)
    assert page.js("return document.activeElement.tagName") == "TEXTAREA"
    page.press_button("Cancel", "dialog[open]")
    page.wait_none("dialog[open]")


def test_downloads_are_saved_in_a_folder_of_the_gateways_machine(driver, origin, tmp_path):
    origin.on("/a.flac", Answer(b"music"))
    with Gateway("--folder", f"music={tmp_path}") as gateway:
        page = Page(driver, gateway)
        page.size(1280)
        page.open()
        page.press_button("New transfer", "#tools")
        page.wait_for("#new-urls").send_keys(origin.url("/a.flac"))
        page.js("document.querySelector('.options').open = true")
        page.wait_for("dialog option[value=music]")
        page.fill("Save in", "music")
        page.fill("As", "band/")
        page.click("dialog[open] .dialog-foot .primary")
        row = page.wait_row("a.flac", kind="done")
        assert (tmp_path / "band" / "a.flac").read_bytes() == b"music"
        page.visit(f"tasks/{row['id']}")
        page.wait_text("#detail", "music/band/a.flac")


def test_of_many_urls_those_that_are_wrong_stay_to_be_mended(page, origin):
    origin.on("/1", Answer(b"1"))
    page.add("magnet:?xt=urn:btih:0123")
    page.wait_text('[data-pointer="/request/url"] .fault', "BitTorrent")
    field = page.wait_for("#new-urls")
    field.clear()
    field.send_keys(f"{origin.url('/1')}\nhttp://user:secret@127.0.0.1/\n")
    page.click("dialog[open] .dialog-foot .primary")
    page.wait_text('[data-pointer="/request/url"] .fault', "Line 2: Leave user and password out")
    field.clear()
    field.send_keys(f"{origin.url('/1')}\n{origin.url('/1').removeprefix('http://')}?again\n# a comment")
    page.click("dialog[open] .dialog-foot .primary")
    page.wait_none("dialog[open]")
    eventually(lambda: [row["kind"] for row in page.rows()] == ["done", "done"], "both done")


def test_urls_without_a_scheme_mean_what_they_mean_on_the_command_line(page):
    typed = ["example.com/a", "localhost:8000/a", "my.localhost", "10.0.0.1/a", "[::1]:80/", "localhost.example.com", "1.example.com", "https://10.0.0.1/"]
    read = page.eval("""
        const {readURLs} = await import('/page/urls.js');
        return readURLs(given[0].join('\\n')).map(({url}) => url.slice(0, url.indexOf(':')))""", typed)
    assert read == ["https", "http", "http", "http", "http", "https", "https", "https"]


def test_a_dropped_file_is_uploaded_through_the_staging_area(page, gateway, origin):
    origin.on("/store/notes.bin", Answer(b"", 201))
    page.drop("notes.bin", "what a person has dropped")
    page.wait_text("dialog[open] .files", "notes.bin")
    page.fill("To this URL", origin.url("/store/"))
    page.press_button("Upload", "dialog[open] .dialog-foot")
    # What was sent is its size, and not the answer's.
    page.wait_row("notes.bin", kind="done", size="25 B")
    (request,) = origin.wait("/store/notes.bin", 1)
    assert request.method == "PUT" and request.body == b"what a person has dropped"


def test_a_dropped_list_fills_in_the_urls(page):
    page.drop("list.txt", "# mine\nhttps://example.com/1\nhttps://example.com/2\n", "text/plain")
    page.wait_for("#new-urls")
    eventually(lambda: "example.com/2" in page.js("return document.getElementById('new-urls').value"), "the list")
    page.wait_text("dialog[open] .dialog-foot .primary", "Start 2")
    page.press_button("Cancel", "dialog[open]")
    page.wait_none("dialog[open]")


def test_what_is_over_is_there_after_a_reload_and_is_searched_and_filtered(page, gateway, origin):
    origin.on("/apple.txt", Answer(b"a"))
    asked = gateway.post("/v1/sessions", 201, type="default", description="fruit").json()["id"]
    start(gateway, origin.url("/apple.txt"), asked)
    start(gateway, origin.url("/missing.txt"))
    start(gateway, origin.url("/apple.txt"), fileName="Banana", resume=False)
    page.wait_row("apple.txt", kind="done")
    page.wait_row("missing.txt", kind="refused", state="Answered 404")
    page.open()
    page.wait_row("apple.txt", kind="done")
    assert len(page.rows()) == 3
    page.type("/")
    page.type("bANA")
    eventually(lambda: [row["name"] for row in page.rows()] == ["Banana"], "the one found")
    page.js("document.getElementById('search').value = 'nowhere'; document.getElementById('search').dispatchEvent(new Event('input'))")
    page.wait_text("#tasks .note", "No transfer fits")
    page.press_button("Show all", ".note")
    page.press_button("Failed1", ".tabs")
    eventually(lambda: [row["name"] for row in page.rows()] == ["missing.txt"], "the one that failed")
    page.press_button("All3", ".tabs")
    page.js("const select = document.querySelector('.filters select'); select.value = arguments[0]; select.dispatchEvent(new Event('change'))", asked)
    eventually(lambda: [row["name"] for row in page.rows()] == ["apple.txt"], "the session's one")
    page.js("const select = document.querySelector('.filters select'); select.value = ''; select.dispatchEvent(new Event('change'))")
    page.press_button("Name", ".head")
    eventually(lambda: [row["name"] for row in page.rows()] == ["apple.txt", "Banana", "missing.txt"], "the order of names")
    assert page.js("return document.querySelector('.head .title').getAttribute('aria-sort')") == "ascending"


def test_the_details_tell_the_story_the_headers_the_time_and_the_content(page, gateway, origin):
    origin.on("/notes.txt", Answer("Grüße aus Köln\n".encode(), headers=TEXT | {"X-Told": "by the origin"}))
    id = start(gateway, origin.url("/notes.txt"))
    page.wait_row("notes.txt", kind="done")
    page.press_button("notes.txt", ".rows")
    page.wait_text("#detail .preview", "Grüße aus Köln")
    page.wait_text("#detail .timeline", "answered 200")
    events = page.js("return [...document.querySelectorAll('.timeline li')].map((one) => one.dataset.event)")
    assert events[0] == "task.didCreate" and events[-1] == "task.didComplete"
    assert "by the origin" in page.text("#detail")
    lanes = page.js("return [...document.querySelectorAll('.waterfall dt')].map((one) => one.textContent)")
    assert lanes[0] == "Connect" and lanes[-1] == "Body"
    assert page.js("return location.hash") == f"#tasks/{id}"
    page.type(Keys.ESCAPE)
    eventually(lambda: page.js("return document.getElementById('detail').hidden"), "the details to close")


@pytest.mark.parametrize(
    ("url", "name", "state", "advice"),
    [
        ("http://10.1.2.3/report.pdf", "report.pdf", "Not allowed", "--allow-destination"),
        ("http://127.0.0.1:1/x.bin", "x.bin", "No connection", "Nobody listens"),
    ],
)
def test_an_error_is_told_in_words_with_what_to_do(page, gateway, url, name, state, advice):
    start(gateway, url)
    row = page.wait_row(name, kind="failed", state=state)
    page.visit(f"tasks/{row['id']}")
    page.wait_text("#detail .explain", advice)


def test_the_timeline_has_every_event_once_and_in_order(page):
    story = page.eval("""
        const {Timeline} = await import('/page/timeline.js');
        const real = window.fetch;
        const change = (priority, at = '2026-01-01T00:00:00.000Z') => ({ task: 'tsk_1', at, changes: { priority } });
        const replayed = [[change(0.1), 1], [change(0.2), 2], [change(0.2), 3]];
        const text = replayed.map(([data, id]) => `id: 1.${id}\nevent: task.didChange\ndata: ${JSON.stringify(data)}\n\n`).join('');
        let answer;
        window.fetch = () => new Promise((resolve) => { answer = resolve; });
        const timeline = new Timeline('tsk_1');
        const read = timeline.load(new AbortController().signal);
        window.fetch = real;
        const hear = (data) => timeline.hear({ name: 'task.didChange', data });
        // The page's own stream has told of the last one and of a later one while the task's was still asked for.
        for (const data of [change(0.2), change(0.3)]) hear(data);
        answer(new Response(text, { headers: { 'Ferry-Last-Event-ID': '1.3' } }));
        await read;
        // Two that are the same in all but their number, within a millisecond.
        for (const data of [change(0.4), change(0.4), change(0.5)]) hear(data);
        return [...timeline.list.children].map((one) => one.querySelector('span').textContent);""")
    assert [float(words.removeprefix("Priority ")) for words in story] == [0.1, 0.2, 0.2, 0.3, 0.4, 0.4, 0.5]


def test_data_that_events_carry_moves_its_transfer(page, gateway, origin, held):
    session = gateway.post("/v1/sessions", 201, type="default", delegate={"handles": [], "data": "inline"}).json()["id"]
    start(gateway, origin.url("/held.iso"), session, type="data")
    page.wait_row("held.iso", kind="running", part="25 %")
    held.step()
    page.wait_row("held.iso", part="50 %")
    gateway.post(f"/v1/sessions/{session}/invalidate", mode="cancelTasks")


def test_another_viewers_changes_are_seen_at_once(page, gateway, origin, held):
    id = start(gateway, origin.url("/held.iso"))
    page.wait_row("held.iso", kind="running", part="25 %")
    gateway.client.post(f"/v1/tasks/{id}/suspend")
    page.wait_row("held.iso", kind="paused")
    gateway.client.patch(f"/v1/tasks/{id}", json={"description": "mine now"})
    page.wait_text(f"#row-{id} .under", "mine now")
    gateway.client.post(f"/v1/tasks/{id}/resume")
    page.wait_row("held.iso", kind="running")
    gateway.client.post(f"/v1/tasks/{id}/cancel")
    page.wait_row("held.iso", kind="cancelled")
    gateway.client.delete(f"/v1/tasks/{id}")
    page.wait_gone("held.iso")


def test_all_of_it_works_by_keys_alone(page, gateway, origin, held):
    origin.on("/other.txt", Answer(b"other", headers=TEXT))
    start(gateway, origin.url("/other.txt"))
    page.wait_row("other.txt", kind="done")
    page.type("n")
    page.wait_for("#new-urls")
    page.type(origin.url("/held.iso"))
    page.chord(Keys.CONTROL, Keys.ENTER)
    page.wait_none("dialog[open]")
    page.wait_row("held.iso", kind="running", part="25 %")
    page.type("j")
    page.wait_row("other.txt", current=True)
    page.type("k")
    page.wait_row("held.iso", current=True)
    page.type(" ")
    page.wait_row("held.iso", kind="paused")
    page.type(" ")
    page.wait_row("held.iso", kind="running")
    page.type(Keys.ENTER)
    eventually(lambda: page.text("#detail h2") == "held.iso", "the details")
    page.type(Keys.ESCAPE)
    eventually(lambda: page.js("return document.activeElement.id") == "task-grid", "the list to have the focus again")
    page.type("x")
    page.wait_row("held.iso", kind="cancelled")
    page.type("?")
    page.wait_text("dialog[open]", "Suspend or resume")
    page.type(Keys.ESCAPE)
    page.wait_none("dialog[open]")
    page.type("/")
    assert page.js("return document.activeElement.id") == "search"

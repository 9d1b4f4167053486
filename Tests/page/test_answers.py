"""Answers that are lost, late, cut or refusals: nothing is made twice, destroyed, or shown as it is not."""

import pytest

from browser import Page
from daemon import eventually, free_ports
from gateway import Gateway
from origin import Answer
from test_survival import sign_in
from test_transfers import start

TASKS = "^/v1/sessions/[^/]+/tasks$"
SUBMIT = "dialog[open] .dialog-foot .primary"


def created(gateway):
    return gateway.get("/v1/tasks?state=all&limit=500&fields=id")["tasks"]


def dropped(page, origin, name="notes.bin", content="what a person has dropped"):
    """The dialog with a file that was dropped and the place that it is for."""
    origin.on(f"/store/{name}", Answer(b"thanks", 201))
    page.drop(name, content)
    page.wait_text("dialog[open] .files", name)
    page.fill("To this URL", origin.url("/store/"))


@pytest.mark.parametrize("how", ["lose", "break off"])
def test_urls_whose_answer_is_lost_are_asked_for_again_and_fetched_once(page, gateway, origin, how):
    origin.on("/a", Answer(b"a"))
    page.meddle(how, "POST", TASKS)
    page.add(origin.url("/a?1"), origin.url("/a?2"))
    page.wait_none("dialog[open]")
    assert len(created(gateway)) == 2 and len(page.calls("POST /v1/sessions")) == 2
    # Two answers are lost: then it is for the person, whose second attempt is the same creation still.
    page.meddle(how, "POST", TASKS, 2)
    page.add(origin.url("/a?3"), origin.url("/a?4"))
    page.wait_text("dialog[open] form > .fault", "The gateway does not answer")
    page.click(SUBMIT)
    page.wait_none("dialog[open]")
    assert len(created(gateway)) == 4


def test_a_long_list_goes_on_behind_what_was_taken(page, gateway):
    page.press_button("New transfer", "#tools")
    page.wait_for("#new-urls")
    lines = [f"http://10.1.2.3/{number}" for number in range(510)]
    page.js("const field = document.getElementById('new-urls'); field.value = arguments[0]; field.dispatchEvent(new Event('input'))", "\n".join(lines))
    # The first five hundred pass; what becomes of the others is not known.
    page.meddle("lose", "POST", TASKS, 2, after=1)
    page.click(SUBMIT)
    page.wait_text("dialog[open] form > .fault", "The gateway does not answer")
    assert page.js("return document.getElementById('new-urls').value.split('\\n')") == lines[500:]
    page.click(SUBMIT)
    page.wait_none("dialog[open]")
    pages = [gateway.get("/v1/tasks?state=all&limit=500&fields=id")]
    pages += [gateway.get(f"/v1/tasks?state=all&limit=500&fields=id&cursor={pages[0]['nextCursor']}")]
    assert sum(len(one["tasks"]) for one in pages) == 510 and pages[1]["nextCursor"] is None


def test_what_is_typed_while_others_start_is_not_lost(page, gateway, origin):
    for path in "/a", "/b":
        origin.on(path, Answer(b"a"))
    page.meddle("hold", "POST", TASKS)
    page.add(origin.url("/a"), "# a comment")
    page.wait_for("#new-urls").send_keys("\n" + origin.url("/b"))
    page.release()
    page.said("Started.")
    assert page.js("return document.getElementById('new-urls').value.split('\\n')") == ["# a comment", origin.url("/b")]
    page.click(SUBMIT)
    page.wait_none("dialog[open]")
    page.wait_row("b", kind="done")


def test_refused_urls_are_told_by_the_lines_where_they_stand_now(page, gateway):
    page.meddle("hold", "POST", TASKS)
    page.add("http://127.0.0.1:0/a", "http://127.0.0.1:1/b")
    page.wait_for("#new-urls").send_keys("\nhttp://127.0.0.1:1/c")
    page.release()
    page.wait_text('dialog[open] [data-pointer="/request/url"] .fault', "Line 2:")
    left = page.js("return document.getElementById('new-urls').value.split('\\n')")
    assert left[0] == "http://127.0.0.1:1/c" and left[1] == "http://127.0.0.1:0/a" and len(left) == 2


def test_a_list_that_is_too_long_is_not_taken_for_whole(page):
    parts = page.eval("""
        const {load, tasks} = await import('/page/tasks.js');
        const real = window.fetch;
        const task = (number) => ({ id: `tsk_${number}`, session: 'shared', type: 'download', state: 'running', createdAt: '2026-01-01T00:00:00.000Z',
          originalRequest: { url: 'http://127.0.0.1/' }, metadata: {}, countOfBytesReceived: 0, countOfBytesExpectedToReceive: -1 });
        const seen = [];
        window.fetch = (path, options) => {
          const state = new URLSearchParams(path.split('?')[1]).get('state')?.split(',')[0];
          if (!state || !path.startsWith('/v1/tasks?')) return real(path, options);
          const all = state === 'suspended' ? { tasks: Array.from({ length: 100_000 }, (_, number) => task(number)), nextCursor: 'more' } : { tasks: [], nextCursor: null };
          seen.push(state);
          return Promise.resolve(new Response(JSON.stringify(all), { headers: { 'Content-Type': 'application/json' } }));
        };
        try { await load(); } finally { window.fetch = real; }
        return [seen, tasks.count, tasks.isWhole]""")
    assert parts == [["suspended", "completed"], 100_000, False]


def test_of_many_retries_those_that_were_made_are_not_made_again(page, gateway):
    specs = [{"type": "download", "resume": True, "request": {"url": f"http://10.1.2.3/{number}"}} for number in range(501)]
    for begin in (0, 500):
        gateway.client.post("/v1/sessions/shared/tasks", json=specs[begin:begin + 500])
    eventually(lambda: "501" in page.text(".tab[data-tab=failed]"), "all of them to fail", 20)
    page.click(".head input[type=checkbox]")
    page.wait_text(".picked-bar", "501 selected")
    page.meddle("lose", "POST", "^/v1/tasks/actions$", 2, after=1)
    page.press_button("Retry", ".picked-bar")
    page.said("500 transfers started again.")
    page.said("1 transfer: The gateway does not answer")
    page.wait_text(".picked-bar", "1 selected")
    page.press_button("Retry", ".picked-bar")
    eventually(lambda: page.js("return document.querySelector('.picked-bar').hidden"), "nothing to be selected", 20)
    eventually(lambda: gateway.get("/v1/gateway")["tasks"]["completed"] == 1002, "each of them twice", 20)


def test_a_retry_a_session_and_a_webhook_are_made_once(page, gateway, origin):
    origin.on("/a", Answer(b"a"))
    start(gateway, origin.url("/a"), fileName="first")
    page.wait_row("first", kind="done")
    page.meddle("lose", "POST", "^/v1/tasks/actions$", 2)
    page.press_button("Fetch again first")
    page.said("first: The gateway does not answer")
    page.press_button("Fetch again first")
    page.said("Started first again.")
    assert len(created(gateway)) == 2
    page.visit("sessions")
    page.meddle("lose", "POST", "^/v1/sessions$", 2)
    page.press_button("New session", ".side")
    page.fill("Description", "only one")
    page.click(SUBMIT)
    page.wait_text("dialog[open] form > .fault", "The gateway does not answer")
    page.click(SUBMIT)
    page.wait_text("#sessions .pane h2", "only one")
    (session,) = gateway.get("/v1/sessions?q=only%20one")["sessions"]
    gateway.post(f"/v1/sessions/{session['id']}/invalidate", mode="cancelTasks")
    page.visit("webhooks")
    page.meddle("lose", "POST", "^/v1/webhooks$", 2)
    page.press_button("New webhook", ".side")
    page.fill("Address", origin.url("/hook"))
    page.click(SUBMIT)
    page.wait_text("dialog[open] form > .fault", "The gateway does not answer")
    page.click(SUBMIT)
    page.wait_text("dialog[open] pre", "whsec_")
    (webhook,) = gateway.get("/v1/webhooks")["webhooks"]
    gateway.client.delete(f"/v1/webhooks/{webhook['id']}")
    page.press_button("I have it", "dialog[open]")


def test_an_upload_whose_task_may_exist_is_never_taken_back(page, gateway, origin):
    page.meddle("lose", "POST", TASKS, 2)
    page.meddle("lose", "POST", "^/v1/files$")
    dropped(page, origin)
    page.click(SUBMIT)
    page.wait_text("dialog[open] form > .fault", "The gateway does not answer")
    page.wait_row("notes.bin", kind="done")
    page.press_button("Cancel", "dialog[open]")
    page.wait_none("dialog[open]")
    assert page.calls("DELETE") == []
    dropped(page, origin, "more.bin")
    page.meddle("lose", "POST", TASKS, 2)
    page.click(SUBMIT)
    page.wait_text("dialog[open] form > .fault", "The gateway does not answer")
    page.click(SUBMIT)
    page.wait_none("dialog[open]")
    page.wait_row("more.bin", kind="done")
    assert len(created(gateway)) == 2 and origin.count("/store/more.bin") == 1


def test_what_was_uploaded_is_kept_over_a_mistake_in_the_form(page, gateway, origin):
    page.meddle("lose", "PATCH", "^/v1/files/")
    dropped(page, origin)
    page.js("document.querySelector('.options').open = true")
    page.fill("Headers", "Host: elsewhere")
    page.click(SUBMIT)
    eventually(lambda: page.text('dialog[open] [data-pointer="/request/headers"] .fault'), "a fault at the headers", 20)
    page.fill("Headers", "X-Test: yes")
    page.click(SUBMIT)
    page.wait_none("dialog[open]")
    page.wait_row("notes.bin", kind="done")
    assert origin.seen("/store/notes.bin")[0].body == b"what a person has dropped"
    assert len(page.calls("POST /v1/files")) == len(page.calls("PATCH /v1/files")) == 1


def test_a_file_that_has_changed_meanwhile_is_not_blamed_on_the_gateway(page, gateway, origin, tmp_path):
    file = tmp_path / "notes.bin"
    file.write_bytes(b"as it was chosen")
    page.type("n")
    page.wait_for("#new-files").send_keys(str(file))
    page.fill("To this URL", origin.url("/store/"))
    file.write_bytes(b"changed, and longer than it was")
    page.click(SUBMIT)
    page.wait_text("dialog[open] form > .fault", "notes.bin cannot be read")
    page.press_button("Cancel", "dialog[open]")


def test_an_upload_that_is_given_up_leaves_nothing_at_the_gateway(page, gateway, origin):
    before = gateway.get("/v1/files")["files"]
    page.meddle("stall", "PATCH", "^/v1/files/", 9)
    dropped(page, origin)
    page.click(SUBMIT)
    eventually(lambda: page.calls("PATCH /v1/files"), "the file on its way", 20)
    assert len(gateway.get("/v1/files")["files"]) == len(before) + 1
    page.press_button("Cancel", "dialog[open]")
    eventually(lambda: gateway.get("/v1/files")["files"] == before, "the staged file to go", 20)
    # The same where one file of several is taken off the list.
    dropped(page, origin, "first.bin")
    dropped(page, origin, "second.bin")
    page.click(SUBMIT)
    eventually(lambda: len(page.calls("PATCH /v1/files")) == 2, "the first on its way", 20)
    page.js("window.meddle.rules.length = 0")
    page.press_button("Do not upload first.bin", "dialog[open]")
    page.wait_row("second.bin", kind="done")
    page.wait_none("dialog[open]")
    assert origin.count("/store/first.bin") == 0


def test_an_older_answer_never_overwrites_what_events_have_told(page, gateway, origin, held):
    id = start(gateway, origin.url("/held.iso"))
    page.wait_row("held.iso", kind="running", part="25 %")
    page.meddle("hold", "POST", "/suspend$")
    page.press_button("Suspend held.iso")
    page.wait_row("held.iso", kind="paused")
    gateway.client.post(f"/v1/tasks/{id}/resume")
    page.wait_row("held.iso", kind="running")
    page.release()
    kind = "return (await import('/page/tasks.js')).tasks.row(given[0]).kind"
    assert page.eval(kind, id) == "running"
    page.meddle("hold", "PATCH", "^/v1/tasks/")
    page.visit(f"tasks/{id}")
    page.wait_for('#detail input[aria-label^="Limit"]').send_keys("5 MiB/s\t")
    page.js("window.meddle.rules.length = 0")
    held.finish()
    page.wait_row("held.iso", kind="done")
    page.release()
    assert page.eval(kind, id) == "done" and page.row("held.iso")["kind"] == "done"
    # What was deleted meanwhile does not come back either.
    page.visit("tasks")
    page.meddle("hold", "GET", f"^/v1/tasks/{id}$")
    page.visit(f"tasks/{id}")
    gateway.client.delete(f"/v1/tasks/{id}")
    page.wait_gone("held.iso")
    page.release()
    assert page.eval("return (await import('/page/tasks.js')).tasks.count") == 0


def test_what_the_gateway_has_forgotten_without_an_event_leaves_the_list(driver, origin, held):
    (port,) = free_ports(1)
    with Gateway("--port", str(port)) as gateway:
        page = Page(driver, gateway)
        page.size(1280)
        page.open()
        session = gateway.post("/v1/sessions", 201, type="ephemeral").json()["id"]
        start(gateway, origin.url("/held.iso"), session, fileName="fleeting")
        id = start(gateway, origin.url("/missing"), fileName="lasting")
        page.wait_row("fleeting", kind="running")
        page.wait_row("lasting", kind="refused")
        page.eval("const {sessions} = await import('/page/sessions.js'); return sessions.get(given[0]).id", session)
        gateway.kill9()
        gateway.restart()
        sign_in(page)
        page.wait_gone("fleeting")
        page.wait_row("lasting", kind="refused")
        eventually(lambda: page.eval("return !(await import('/page/sessions.js')).sessions.get(given[0])", session), "the session to go", 20)
        page.meddle(404, "GET", f"^/v1/tasks/{id}$")
        page.visit(f"tasks/{id}")
        page.wait_text("#detail", "This transfer is gone")
        page.wait_gone("lasting")


def test_now_and_then_the_list_is_compared_with_the_gateways(page, gateway):
    id = start(gateway, "http://10.1.2.3/", fileName="there")
    page.wait_row("there", kind="failed")
    # One that the gateway does not have, and no event has told of its end.
    page.eval("""
        const {taking} = await import('/page/tasks.js');
        const {get} = await import('/page/api.js');
        await taking(async () => ({...await get(`/v1/tasks/${given[0]}`), id: 'tsk_0', fileName: 'forgotten'}));""", id)
    page.wait_row("forgotten")
    page.js("const now = performance.now.bind(performance); performance.now = () => now() + 200_000;")
    page.wait_gone("forgotten")
    assert page.row("there")


def test_a_question_that_could_not_be_loaded_is_asked_all_the_same(page, gateway, origin, asking):
    origin.on("/from", Answer(b"", 302, {"Location": "/to"}))
    page.meddle(503, "GET", "^/v1/decisions", 2)
    start(gateway, origin.url("/from"), asking)
    page.wait_text("dialog.decision h2", "Follow the redirect?")


def test_an_action_on_what_is_gone_takes_it_out_of_the_list(page, gateway, origin):
    for name in ("one", "two", "three"):
        start(gateway, "http://10.1.2.3/", fileName=name)
        page.wait_row(name, kind="failed")
    page.meddle(404, "POST", "^/v1/tasks/actions$")
    page.press_button("Retry one")
    page.said("one is gone")
    page.wait_gone("one")
    assert len(page.rows()) == 2


def test_a_view_that_cannot_be_loaded_says_so_and_tries_again(page, gateway):
    page.meddle(503, "GET", "^/v1/webhooks")
    page.visit("webhooks")
    page.wait_text("#webhooks .load-fault", "This could not be loaded")
    page.press_button("Try again", "#webhooks .load-fault")
    page.wait_text("#webhooks", "Be told by a call")
    page.wait_none("#webhooks .load-fault")
    page.meddle(503, "GET", "^/v1/sessions")
    page.visit("sessions")
    page.wait_text("#sessions .load-fault", "This could not be loaded")
    page.press_button("Try again", "#sessions .load-fault")
    page.wait_text("#sessions", "A session is what transfers share")
    page.wait_none("#sessions .load-fault")
    page.meddle(503, "GET", "/cookies$")
    page.visit("sessions/shared")
    page.wait_text("#sessions .pane", "This could not be loaded: Told by the test")
    page.press_button("Try again", "#sessions .pane")
    page.wait_text("#sessions .pane", "The jar is empty.")


def test_a_session_that_an_event_names_is_asked_for_once(page, gateway, origin):
    origin.on("/a", Answer(b"a"))
    made = gateway.post("/v1/sessions", 201, type="default", description="made elsewhere").json()["id"]
    assert page.calls("GET") == []
    for number in range(3):
        start(gateway, origin.url("/a"), made, fileName=f"file-{number}")
        page.wait_row(f"file-{number}", kind="done")
    eventually(lambda: "made elsewhere" in page.text(".filters select"), "the session among the choices", 20)
    assert page.calls("GET /v1/sessions") == [f"GET /v1/sessions/{made}"]
    # The newest come first: of more than the page keeps, the oldest are left out.
    page.visit("sessions")
    eventually(lambda: any("order=-createdAt" in call for call in page.calls("GET /v1/sessions?")), "the list", 20)
    entries = "return [...document.querySelectorAll('#sessions a.entry strong')].slice(0, 2).map((one) => one.textContent)"
    eventually(lambda: page.js(entries) == ["Shared session", "made elsewhere"], "the list of sessions, in its order", 20)
    gateway.post(f"/v1/sessions/{made}/invalidate", mode="cancelTasks")

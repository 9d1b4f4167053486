"""Questions that transfers wait with, answered by a person."""

import base64

from daemon import eventually
from origin import Answer
from test_transfers import start, task

GOOD = "Basic " + base64.b64encode(b"aladdin:open sesame").decode()


def cave(request):
    if request["Authorization"] == GOOD:
        return Answer(b"treasure")
    return Answer(b"", 401, {"WWW-Authenticate": 'Basic realm="the cave"'})


def test_a_password_is_asked_for_until_it_is_right(page, gateway, origin, asking):
    origin.on("/cave", cave)
    id = start(gateway, origin.url("/cave"), asking)
    page.wait_text("dialog.decision h2", "wants a password")
    assert "the cave" in page.text("dialog.decision") and "left" in page.text("dialog.decision .deadline")
    eventually(lambda: page.driver.title.startswith("(1)"), "the badge in the title")
    assert page.text("#nav .badge") == "1"
    assert page.js("return document.activeElement.name") == "user"
    page.fill("User", "aladdin")
    page.fill("Password", "close sesame")
    page.press_button("Sign in: 127.0.0.1 wants a password")
    page.wait_text("dialog.decision", "The last user and password were refused.")
    page.fill("User", "aladdin")
    page.fill("Password", "open sesame")
    page.press_button("Sign in: 127.0.0.1 wants a password")
    page.wait_row("cave", kind="done")
    assert gateway.content(id) == "treasure"
    eventually(lambda: not page.driver.title.startswith("("), "the badge to go")


def test_a_user_may_be_empty(page, gateway, origin, asking):
    wanted = "Basic " + base64.b64encode(b":a token").decode()
    origin.on("/cave", lambda request: Answer(b"treasure") if request["Authorization"] == wanted else cave(request))
    id = start(gateway, origin.url("/cave"), asking)
    page.wait_text("dialog.decision h2", "wants a password")
    page.fill("Password", "a token")
    page.press_button("Sign in: 127.0.0.1 wants a password")
    page.wait_row("cave", kind="done")
    assert gateway.content(id) == "treasure"


def test_a_certificate_is_drawn_and_explained_and_trusted_at_ones_own_risk(page, gateway, secure, asking):
    secure.on("/plans.pdf", Answer(b"plans"))
    id = start(gateway, secure.url("/plans.pdf"), asking)
    page.wait_text("dialog.decision h2", "Is this really 127.0.0.1?")
    told = page.text("dialog.decision .chain")
    assert "The authority that issued it is not known" in told and "SHA-256" in told and "years left" in told
    # The safe answer is the one that stands out, and nothing that answers has the focus.
    assert page.text("dialog.decision .primary") == "Cancel the transfer"
    assert page.js("return document.activeElement.tagName") == "H2"
    page.press_button("Trust this certificate: Is this really 127.0.0.1?")
    page.wait_row("plans.pdf", kind="done")
    assert gateway.content(id) == "plans"


def test_a_client_certificate_is_given_by_its_file(page, gateway, demanding, authorities, asking, tmp_path):
    demanding.on("/club", Answer(b"members only"))
    file = tmp_path / "me.p12"
    file.write_bytes(authorities.client("ann").pkcs12("hush"))
    id = start(gateway, demanding.url("/club"), asking)
    page.press_button("Trust this certificate: Is this really 127.0.0.1?")
    page.wait_text("dialog.decision h2", "127.0.0.1 wants a client certificate")
    page.fill("Certificate", str(file))
    page.fill("Passphrase of a .p12 file", "wrong")
    page.press_button("Use it: 127.0.0.1 wants a client certificate")
    eventually(lambda: page.text("dialog.decision .question > .fault"), "what is wrong with it", 20)
    page.fill("Passphrase of a .p12 file", "hush")
    page.press_button("Use it: 127.0.0.1 wants a client certificate")
    page.wait_row("club", kind="done")
    assert gateway.content(id) == "members only"


def test_a_redirect_is_shown_from_and_to_and_followed(page, gateway, origin, asking):
    origin.on("/from", Answer(b"", 302, {"Location": "/to"}))
    origin.on("/to", Answer(b"there"))
    id = start(gateway, origin.url("/from"), asking)
    page.wait_text("dialog.decision .hop", origin.url("/to"))
    assert origin.url("/from") in page.text("dialog.decision .hop") and origin.count("/to") == 0
    page.press_button("Follow: Follow the redirect?")
    # It bears the name of where it came from in the end.
    page.wait_row("to", kind="done")
    assert gateway.content(id) == "there"


def test_an_answer_is_looked_at_and_saved_as_a_download(page, gateway, origin):
    handles = ["response"]
    session = gateway.post("/v1/sessions", 201, type="default", delegate={"handles": handles}).json()["id"]
    origin.on("/big.iso", Answer(b"disk image", headers={"Content-Type": "application/x-iso9660-image"}))
    id = start(gateway, origin.url("/big.iso"), session, type="data")
    page.wait_text("dialog.decision .facts", "application/x-iso9660-image")
    page.press_button("Save it as a download: What shall be done with the answer?")
    eventually(lambda: task(gateway, id)["becameTask"], "the data task to become a download")
    assert gateway.content(task(gateway, id)["becameTask"]) == "disk image"
    eventually(lambda: [row["kind"] for row in page.rows()] == ["done", "done"], "both to be done")
    gateway.post(f"/v1/sessions/{session}/invalidate", mode="cancelTasks")


def test_what_somebody_else_has_answered_goes_away_and_says_so(page, gateway, origin, asking):
    origin.on("/from", Answer(b"", 302, {"Location": "/to"}))
    origin.on("/to", Answer(b"there"))
    start(gateway, origin.url("/from"), asking)
    page.wait_for("dialog.decision[open]")
    (decision,) = gateway.get(f"/v1/sessions/{asking}/decisions")["decisions"]
    gateway.post(f"/v1/decisions/{decision['id']}", 204, disposition="follow")
    page.wait_none("dialog.decision[open]")
    page.said("answered by somebody else")
    # It bears the name of where it came from in the end.
    page.wait_row("to", kind="done")


def test_questions_that_were_put_aside_wait_in_a_view_of_their_own(page, gateway, origin, asking):
    origin.on("/cave", cave)
    start(gateway, origin.url("/cave"), asking)
    page.press_button("Close", "dialog.decision")
    page.wait_none("dialog.decision")
    page.visit("decisions")
    page.wait_text(".card.ask h2", "wants a password")
    page.press_button("Cancel the transfer: 127.0.0.1 wants a password", ".card")
    page.wait_none(".card.ask")
    assert "Nothing asks" in page.text("#decisions")
    page.visit("tasks")
    page.wait_row("cave", kind="cancelled")


def test_a_question_never_interrupts_somebody_who_types(page, gateway, origin, asking):
    origin.on("/from", Answer(b"", 302, {"Location": "/to"}))
    page.type("n")
    page.wait_for("#new-urls")
    start(gateway, origin.url("/from"), asking)
    eventually(lambda: page.text("#nav .badge") == "1", "the badge")
    page.type("https://example.com/")
    assert page.count("dialog.decision") == 0
    assert page.js("return document.getElementById('new-urls').value") == "https://example.com/"
    page.press_button("Cancel", "dialog[open]")
    page.wait_for("dialog.decision[open]")

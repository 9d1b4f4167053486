"""Basic and Digest of nginx, Apache and httpbin: what is asked, and where answers lead."""

import base64
import re

import pytest

import apache as apache_module
import canaries
import nginx as nginx_module
from delegate import CANCEL, DEFAULT, REJECT, WITHOUT, Delegate, script, use

ALICE = use(nginx_module.USER, nginx_module.PASSWORD)
BOB = use(apache_module.USER, apache_module.PASSWORD)
USER = use("user", "passwd")


def test_the_right_password_opens_at_the_first_question(gateway, nginx):
    """S-64, S-65, and the order of §5."""
    with Delegate(gateway, script(ALICE)) as delegate:
        result = delegate.fetch(nginx.url("basic", "/right"))
        (question,) = delegate.questions()
        assert (result.status, result.error, result.body) == (200, None, nginx_module.BODY)
        assert question.name == "task.didReceiveChallenge"
        failure = question.challenge.pop("failureResponse")
        assert failure["status"] == 401 and failure["url"] == nginx.url("basic", "/right")
        assert question.challenge == {
            "previousFailureCount": 0,
            "proposedCredential": None,
            "protectionSpace": {
                "host": "127.0.0.1",
                "port": nginx.ports["basic"],
                "protocol": "http",
                "realm": "Staff only",
                "authenticationMethod": "NSURLAuthenticationMethodHTTPBasic",
                "isProxy": False,
                "receivesCredentialSecurely": False,
                "distinguishedNames": [],
                "serverTrust": None,
            },
        }
        assert delegate.names(result.id) == [
            "task.didCreate",
            "task.didReceiveChallenge",
            "task.didReceiveResponse",
            "task.didReceiveData",
            "task.didFinishCollectingMetrics",
            "task.didComplete",
        ]
    statuses = [(each["status"], each["user"]) for each in nginx.log.wait("/right", 2)]
    assert statuses == [(401, ""), (200, nginx_module.USER)]


def test_three_wrong_passwords_are_counted_and_the_fourth_opens(gateway, nginx):
    """S-65"""
    wrong = [use(nginx_module.USER, f"guess {number}", "forSession") for number in range(3)]
    with Delegate(gateway, script(*wrong, ALICE)) as delegate:
        result = delegate.fetch(nginx.url("basic"))
        counts = [each.challenge["previousFailureCount"] for each in delegate.questions()]
        assert (result.status, counts) == (200, [0, 1, 2, 3])
        for question in delegate.questions():
            assert question.challenge["failureResponse"]["status"] == 401


@pytest.mark.parametrize("algorithm", ["MD5", "SHA-256"])
def test_digest_opens_by_either_algorithm(gateway, httpbin, algorithm):
    with Delegate(gateway, script(use("user", "wrong"), USER)) as delegate:
        result = delegate.fetch(f"{httpbin}/digest-auth/auth/user/passwd/{algorithm}")
        methods = [each.method for each in delegate.questions()]
        counts = [each.challenge["previousFailureCount"] for each in delegate.questions()]
        assert (result.status, methods, counts) == (200, ["HTTPDigest"] * 2, [0, 1])
        assert delegate.questions()[0].space["receivesCredentialSecurely"] is True


def test_apaches_digest_opens_and_no_password_goes_out(gateway, apache):
    with Delegate(gateway, script(BOB)) as delegate:
        result = delegate.fetch(apache.url("/digest"))
        assert (result.status, result.body) == (200, apache_module.BODY)
        assert delegate.questions()[0].space["realm"] == "Vault"
    accepted = apache.log.wait("/digest", 2)[-1]
    assert accepted["authorization"].startswith("Digest ") and accepted["status"] == 200


def test_a_stale_nonce_is_no_question(gateway, apache):
    """The nonce has gone by when it arrives: Apache says stale=true, which is no refusal."""
    with Delegate(gateway, script(BOB)) as delegate:
        result = delegate.fetch(apache.url("/stale?once"))
        assert (result.status, len(delegate.questions())) == (200, 1)
    statuses = [each["status"] for each in apache.log.wait("/stale?once", 3)]
    assert statuses == [401, 401, 200]


def test_spaces_are_offered_by_strength_until_none_is_left(gateway, apache):
    """S-66: several challenges, in one field and in many."""
    with Delegate(gateway, script(REJECT, REJECT, REJECT)) as delegate:
        result = delegate.fetch(apache.url("/several?rejected"))
        offered = [(each.method, each.space["realm"]) for each in delegate.questions()]
        assert offered == [("HTTPDigest", "A, B"), ("HTTPBasic", "Last resort"), ("Hawk", None)]
        assert result.status == 401 and result.error is None
        assert "Unauthorized" in result.body
    # All of it is about one answer of the server's.
    assert len(apache.log.wait("rejected", 1)) == 1


def test_what_is_behind_a_rejected_space_can_open(gateway, apache):
    with Delegate(gateway, script(REJECT, BOB)) as delegate:
        result = delegate.fetch(apache.url("/several?opened"))
        assert (result.status, result.body) == (200, apache_module.BODY)


def test_an_unknown_scheme_takes_no_password(gateway, apache):
    """S-64: it is offered as it is, and what cannot answer it leaves the question open."""
    answers = script(REJECT, REJECT, lambda _: None)
    with Delegate(gateway, answers) as delegate:
        task = delegate.start(apache.url("/several"))
        hawk = delegate.asked(task, 3)
        refusal = delegate.reply(hawk, BOB, 422)
        assert refusal.json()["code"] == "credential-not-usable"
        delegate.reply(hawk, WITHOUT)
        assert delegate.finish(task).status == 401


def test_cancelling_ends_the_task(gateway, nginx):
    """S-66"""
    with Delegate(gateway, script(CANCEL)) as delegate:
        result = delegate.fetch(nginx.url("basic"))
        assert (result.error, result.status) == (-999, None)


@pytest.mark.parametrize("answer", [DEFAULT, WITHOUT])
def test_without_a_credential_the_401_is_the_result(gateway, nginx, answer):
    with Delegate(gateway, script(answer)) as delegate:
        result = delegate.fetch(nginx.url("basic"))
        assert (result.status, result.error) == (401, None)
        assert "401 Authorization Required" in result.body


def test_a_download_is_asked_like_a_data_task(gateway, nginx):
    with Delegate(gateway, script(REJECT, ALICE)) as delegate:
        refused = delegate.fetch(nginx.url("basic"), type="download")
        assert refused.status == 401 and "401 Authorization Required" in refused.body
        result = delegate.fetch(nginx.url("basic"), type="download")
        assert (result.status, result.body) == (200, nginx_module.BODY)


def test_an_upload_is_sent_again_with_the_password(gateway, apache):
    """S-39: a body that is there is rewound without asking."""
    with Delegate(gateway, script(use(apache_module.USER, "wrong"), BOB)) as delegate:
        text = "the whole body " * 10_000
        result = delegate.fetch(
            apache.url("/upload"), type="upload", method="POST", body={"text": text}
        )
        assert (result.status, len(delegate.questions())) == (200, 2)
        assert result.body == text


def test_quotes_and_backslashes_in_a_realm(gateway, nginx):
    with Delegate(gateway, script(ALICE)) as delegate:
        assert delegate.fetch(nginx.url("basic", "/quoted")).status == 200
        assert delegate.questions()[0].space["realm"] == 'the "inner" circle, back\\slash'


def test_a_credential_for_the_session_is_proposed_where_it_was_not_accepted(gateway, nginx):
    """S-67: its name is shown, its secret never."""
    kept = use(nginx_module.USER, nginx_module.PASSWORD, "forSession")
    with Delegate(gateway, script(kept, DEFAULT)) as delegate:
        assert delegate.fetch(nginx.url("basic", "/here/deep")).status == 200
        assert delegate.fetch(nginx.url("basic", "/there")).status == 200
        (question,) = delegate.questions()[1:]
        proposed = question.challenge["proposedCredential"]
        assert proposed == {"user": nginx_module.USER, "persistence": "forSession"}


def test_a_credential_that_was_accepted_is_not_asked_for_again(gateway, nginx):
    """S-83: the second task is one request."""
    kept = use(nginx_module.USER, nginx_module.PASSWORD, "forSession")
    with Delegate(gateway, script(kept)) as delegate:
        for marker in ["/unasked?1", "/unasked?2", "/unasked/deeper?3"]:
            assert delegate.fetch(nginx.url("basic", marker)).status == 200
        assert len(delegate.questions()) == 1
    log = [each["user"] for each in nginx.log.wait("/unasked", 4)]
    assert log == ["", nginx_module.USER, nginx_module.USER, nginx_module.USER]


def test_apaches_digest_goes_on_with_the_nonce_that_it_has_named(gateway, apache):
    """S-83: the body of each later upload goes up once."""
    kept = use(apache_module.USER, apache_module.PASSWORD, "forSession")
    with Delegate(gateway, script(kept)) as delegate:
        for number in range(3):
            result = delegate.fetch(
                apache.url(f"/upload?unasked-{number}"),
                type="upload",
                method="POST",
                body={"text": "the whole body " * 10_000},
            )
            assert result.status == 200
        assert len(delegate.questions()) == 1
    proofs = [each["authorization"] for each in apache.log.wait("unasked-", 4)]
    assert proofs[0] == "-"
    counts = [re.search("nc=([0-9a-f]+)", each)[1] for each in proofs[1:]]
    assert counts == ["00000001", "00000002", "00000003"]


def test_a_credential_for_the_task_is_forgotten(gateway, nginx):
    with Delegate(gateway, script(ALICE, DEFAULT)) as delegate:
        assert delegate.fetch(nginx.url("basic")).status == 200
        assert delegate.fetch(nginx.url("basic")).status == 401
        assert delegate.questions()[1].challenge["proposedCredential"] is None


@pytest.mark.parametrize("handles", [None, ["redirect"], ["sessionChallenge"]])
def test_who_does_not_handle_it_is_not_asked(gateway, nginx, handles):
    """S-63, S-7: what belongs to tasks never arrives at session level."""
    with Delegate(gateway, handles=handles) as delegate:
        assert delegate.fetch(nginx.url("basic")).status == 401
        assert not [each for each in delegate.events if "hallenge" in each.name]


def test_the_clients_own_header_is_what_is_sent(gateway, httpbin):
    """httpbin hides that it would have wanted a password: 404, and nothing to be asked."""
    header = "Basic " + base64.b64encode(b"user:passwd").decode()
    with Delegate(gateway, script()) as delegate:
        url = f"{httpbin}/hidden-basic-auth/user/passwd"
        assert delegate.fetch(url).status == 404
        result = delegate.fetch(url, headers={"Authorization": header})
        assert result.status == 200
        assert result.task["originalRequest"]["headers"] == {"Authorization": "<redacted>"}


def test_a_redirect_to_another_origin_takes_nothing_along(gateway, nginx):
    """S-69"""
    headers = {"Cookie": f"taste={canaries.COOKIE}", "X-Api-Key": canaries.KEY}
    with Delegate(gateway, script(ALICE)) as delegate:
        request = dict(url=nginx.url("basic", "/leave?empty-handed"), headers=headers)
        request["sensitiveHeaders"] = ["X-Api-Key"]
        answer = gateway.post(
            f"{delegate.path}/tasks", 201, type="data", request=request, resume=True
        )
        result = delegate.finish(answer.json()["id"])
        assert (result.status, result.body) == (200, nginx_module.BODY)
        assert result.task["response"]["url"] == nginx.url("open", "/leave?empty-handed")
    inside = [each for each in nginx.log.requests("empty-handed") if each["user"]]
    assert [each["cookie"] for each in inside] == [f"taste={canaries.COOKIE}"]
    (outside,) = [
        each
        for each in nginx.log.wait("empty-handed", 3)
        if each["port"] == str(nginx.ports["open"])
    ]
    assert [outside["authorization"], outside["cookie"], outside["sensitive"]] == ["", "", ""]


def test_another_origin_asks_for_itself(gateway, httpbin, nginx):
    """S-69: the credential of the first origin is not tried at the second."""
    answers = script(use("user", "passwd", "forSession"), ALICE)
    with Delegate(gateway, answers) as delegate:
        assert delegate.fetch(f"{httpbin}/basic-auth/user/passwd").status == 200
        target = f"{httpbin}/redirect-to?url={nginx.url('basic', '/sent-on')}"
        assert delegate.fetch(target).status == 200
        ports = [each.space["port"] for each in delegate.questions()]
        assert ports[-1] == nginx.ports["basic"]
    users = [each["user"] for each in nginx.log.wait("/sent-on", 2)]
    assert users == ["", nginx_module.USER]

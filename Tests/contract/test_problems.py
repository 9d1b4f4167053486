"""What a problem says helps: its detail, and the page that its type leads to."""

import os
import pathlib

import httpx
import pytest
import yaml

DOCUMENT = yaml.safe_load((pathlib.Path(__file__).parents[2] / "openapi.yaml").read_text())
PROBLEMS = DOCUMENT["x-ferry-problems"]
BASE = os.environ["FERRY_URL"]


@pytest.fixture(scope="module")
def stranger():
    """A client without a token."""
    with httpx.Client(base_url=BASE, timeout=20) as client:
        yield client


@pytest.fixture(scope="module")
def client():
    headers = {"Authorization": "Bearer " + os.environ["FERRY_TOKEN"]}
    with httpx.Client(base_url=BASE, headers=headers, timeout=20) as client:
        yield client


def test_the_document_as_json_is_the_document(stranger):
    answer = stranger.get("/openapi.json")
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.json() == DOCUMENT


@pytest.mark.parametrize("code", PROBLEMS)
def test_the_type_of_a_problem_is_a_page_that_explains_it(stranger, code):
    page = stranger.get(f"/problems/{code}", headers={"Accept": "text/html"})
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert f"<code>{code}</code>" in page.text and "`" not in page.text
    text = stranger.get(f"/problems/{code}", headers={"Accept": "text/plain"})
    assert text.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert PROBLEMS[code]["meaning"].replace("`", "") in text.text
    assert "Accept" in text.headers.get_list("Vary", True) and "Accept" in page.headers.get_list("Vary", True)


def test_all_codes_are_listed(stranger):
    page = stranger.get("/problems", headers={"Accept": "text/html"}).text
    text = stranger.get("/problems").text
    for code in PROBLEMS:
        assert f'href="/problems/{code}"' in page and f"{code} (" in text


def test_a_code_that_there_is_not(stranger):
    for code in ("nothing", "%3Cscript%3E"):
        answer = stranger.get(f"/problems/{code}")
        assert answer.status_code == 404 and answer.json()["code"] == "not-found"
        assert "<" not in answer.text


def refusals(stranger, client):
    """An answer for each problem that newcomers meet first, and what its detail has to name."""
    wrong = {"Authorization": "Bearer fry_wrong"}
    yield stranger.get("/v1/tasks"), 401, "Authorization: Bearer"
    yield stranger.get("/v1/tasks", headers=wrong), 401, "data directory"
    yield client.get("/v1/task"), 404, "/openapi.yaml"
    yield client.put("/v1/tasks"), 405, "GET"
    yield client.request("QUERY", "/v1/tasks"), 405, "GET"
    yield client.post("/v1/sessions", content=b"{}"), 415, "application/json"
    yield client.get("/v1/tasks", headers={"Host": "ferry.lan:80"}), 421, "--allow-host ferry.lan"
    broken = {"Content-Type": "application/json"}
    yield client.post("/v1/sessions", content=b'{"type": }', headers=broken), 400, "byte 9"


def test_a_refusal_says_what_to_do_and_where_to_read_on(stranger, client):
    for answer, status, words in refusals(stranger, client):
        problem = answer.json()
        assert answer.status_code == problem["status"] == status
        assert words in problem["detail"], problem
        assert problem["type"] == f"/problems/{problem['code']}"
        assert stranger.get(problem["type"]).status_code == 200


def test_probes_answer_to_any_name(stranger):
    for path in ("/healthz", "/readyz"):
        assert stranger.get(path, headers={"Host": "10.1.2.3:8080"}).status_code == 200
    assert stranger.get("/healthz/", headers={"Host": "10.1.2.3"}).status_code == 421

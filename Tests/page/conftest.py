"""One gateway, one browser, and origins, for all tests of the page."""

import threading

import pytest

from browser import Page, launch
from certificates import Authorities
from gateway import Gateway
from origin import Answer, Origin
from secure import SecureOrigin


@pytest.fixture(scope="session")
def driver():
    driver = launch()
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def gateway():
    with Gateway() as gateway:
        yield gateway


@pytest.fixture(scope="session")
def authorities():
    return Authorities()


@pytest.fixture
def origin():
    with Origin() as origin:
        yield origin


@pytest.fixture
def secure(authorities):
    with SecureOrigin(authorities.unknown_authority()) as origin:
        yield origin


@pytest.fixture
def demanding(authorities):
    """Wants a client's certificate."""
    with SecureOrigin(authorities.unknown_authority(), clients=authorities.pem) as origin:
        yield origin


def empty(gateway):
    """Ends and deletes all tasks."""
    for task in gateway.get("/v1/tasks?limit=500")["tasks"]:
        gateway.client.post(f"/v1/tasks/{task['id']}/cancel")
        gateway.client.get(f"/v1/tasks/{task['id']}", headers={"Prefer": "wait=10"})
    while tasks := gateway.get("/v1/tasks?state=all&limit=500&fields=id")["tasks"]:
        gateway.post("/v1/tasks/actions", 200, action="delete", tasks=[task["id"] for task in tasks])


@pytest.fixture
def page(driver, gateway):
    """The page, signed in, at 1,280 px, with nothing that an earlier test has left."""
    empty(gateway)
    page = Page(driver, gateway)
    page.size(1280)
    page.open()
    driver.get_log("browser")
    yield page
    assert page.complaints() == []


class Held:
    """A body that comes as far as the test lets it."""

    def __init__(self, length=4_000_000):
        self.length = length
        self._steps = threading.Semaphore(0)
        self._is_over = False

    def step(self):
        """A quarter more."""
        self._steps.release()

    def finish(self):
        self._is_over = True
        for _ in range(8):
            self._steps.release()

    def __call__(self, request):
        """The answer, of four parts; the first comes at once. A range is served where one is asked for."""
        begin = int((request["Range"] or "bytes=0-").removeprefix("bytes=").split("-")[0])
        headers = {"ETag": '"held"', "Accept-Ranges": "bytes", "Content-Type": "application/octet-stream"}
        if begin:
            headers["Content-Range"] = f"bytes {begin}-{self.length - 1}/{self.length}"
        return Answer(
            pieces=self._pieces(begin), length=self.length - begin, headers=headers, status=206 if begin else 200)

    def _pieces(self, begin):
        quarter = self.length // 4
        for at in range(begin, self.length, quarter):
            if at != begin and not self._is_over:
                self._steps.acquire()
            yield b"x" * min(quarter, self.length - at)


@pytest.fixture
def held(origin):
    """A file at /held.iso that comes in steps; whatever is left comes at the end of the test."""
    held = Held()
    origin.on("/held.iso", held)
    yield held
    held.finish()


@pytest.fixture
def asking(gateway):
    """A session whose delegate is asked about challenges, redirects and responses."""
    handles = ["challenge", "redirect"]
    session = gateway.post(
        "/v1/sessions", 201, type="default", description="asking",
        delegate={"handles": handles, "decisionTimeout": 600}).json()
    yield session["id"]
    gateway.post(f"/v1/sessions/{session['id']}/invalidate", mode="cancelTasks")

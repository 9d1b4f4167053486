"""What the page costs with 10,000 transfers, or as many as are said, and under 1,000 progress events a second.

    Tests/page/run PATH_TO_FERRY --measure [TRANSFERS]

Prints figures and judges none: they depend on the machine.
"""

import sys
import time

from browser import Page, launch
from daemon import eventually
from gateway import Gateway
from origin import Answer, Origin

OLD = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
LIVE = 300
SECONDS = 10

WATCH = """
window.tasks = [];
new PerformanceObserver((list) => { for (const one of list.getEntries()) window.tasks.push(one.duration); })
  .observe({type: 'longtask', buffered: true});
window.frames = 0;
const count = () => { window.frames += 1; requestAnimationFrame(count); };
requestAnimationFrame(count);
"""


def trickle(request):
    """A body that grows for as long as anybody takes it."""

    def pieces():
        while True:
            time.sleep(0.25)
            yield b"x" * 2000

    return Answer(pieces=pieces(), length=1 << 40)


def create(gateway, url, count, **members):
    for begin in range(0, count, 500):
        specs = [
            {"type": "download", "request": {"url": f"{url}?{number}"}} | members
            for number in range(begin, min(begin + 500, count))
        ]
        answer = gateway.client.post("/v1/sessions/shared/tasks", json=specs, timeout=120)
        assert all(result["status"] == 201 for result in answer.json()["results"])


def paints(page):
    return page.js("return performance.getEntriesByType('paint').find((one) => one.name === 'first-contentful-paint')?.startTime")


def main():
    driver = launch()
    try:
        with Gateway() as gateway, Origin() as origin:
            page = Page(driver, gateway)
            page.size(1280)
            page.open()
            create(gateway, origin.url("/old.bin"), OLD)
            driver.get(page.url)
            began = time.monotonic()
            eventually(lambda: page.rows(), "the first lines", 60)
            print(f"{OLD:,} transfers: first paint after {paints(page):.0f} ms, first lines in sight"
                  f" {(time.monotonic() - began) * 1000:.0f} ms after the load")
            eventually(lambda: f"{OLD:,} transfers ·" in page.text(".list-foot"), "all lines", 300)
            print(f"all {OLD:,} known {time.monotonic() - began:.1f} s after the load")
            page.js(WATCH)
            page.js("""
                const scroller = document.querySelector('.scroller');
                let at = 0;
                const step = () => { at += 900; scroller.scrollTop = at; if (at < scroller.scrollHeight) requestAnimationFrame(step); else window.scrolled = true; };
                step();""")
            eventually(lambda: page.js("return window.scrolled"), "the end of the list", 120)
            print(f"scrolling through all of them: {page.js('return window.frames')} frames, long tasks: {lengths(page)}")
            session = gateway.post("/v1/sessions", 201, type="ephemeral", configuration={"httpMaximumConnectionsPerHost": LIVE}).json()["id"]
            origin.on("/live.bin", trickle)
            for begin in range(0, LIVE, 100):
                gateway.client.post(f"/v1/sessions/{session}/tasks", json=[
                    {"type": "download", "resume": True, "request": {"url": origin.url(f"/live.bin?{n}")}} for n in range(begin, begin + 100)])
            eventually(lambda: f"{LIVE} running" in page.text(".list-foot"), f"{LIVE} running", 60)
            page.js("window.tasks = []; window.frames = 0; document.querySelector('.scroller').scrollTop = 0")
            heard = events(gateway, SECONDS)
            print(f"{heard / SECONDS:.0f} progress events a second for {SECONDS} s:"
                  f" {page.js('return window.frames') / SECONDS:.0f} frames a second, long tasks: {lengths(page)}")
    finally:
        driver.quit()


def lengths(page):
    found = page.js("const found = window.tasks; window.tasks = []; return found")
    return f"{len(found)}, the longest {max(found):.0f} ms" if found else "none"


def events(gateway, seconds):
    """How many progress events there are in so many seconds."""
    count = 0
    end = time.monotonic() + seconds
    with gateway.connect() as own, own.stream("GET", "/v1/events") as stream:
        for line in stream.iter_lines():
            count += line == "event: download.didWriteData"
            if time.monotonic() > end:
                return count


if __name__ == "__main__":
    main()

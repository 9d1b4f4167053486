"""A headless Chromium that shows the page, and what a test sees and does in it."""

import json
import pathlib
import time

from selenium import webdriver
from selenium.common.exceptions import (
    ElementClickInterceptedException, ElementNotInteractableException, StaleElementReferenceException,
)
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

from daemon import eventually

# How a person at this machine would see it, and nothing that asks the network.
SWITCHES = [
    "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
    "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
    "--no-first-run", "--lang=en-GB", "--window-size=1280,800",
]

# The page has drawn the element anew, something lies over it, or it is still on its way.
HINDRANCES = (
    ElementClickInterceptedException, ElementNotInteractableException, StaleElementReferenceException,
)

MEDDLE = pathlib.Path(__file__).with_name("meddle.js").read_text()

SLIPS = """
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), slips = [];
while (texts.nextNode()) {
  if (/^(null|undefined|true|false|NaN|\\[object .*\\])$/.test(texts.currentNode.data.trim())
    && !texts.currentNode.parentElement.closest('script, pre, code, textarea')) slips.push(texts.currentNode.data);
}
return slips;
"""

ROWS = """
return [...document.querySelectorAll('.rows > .row:not([hidden])')].map((row) => ({
  id: row.dataset.task, kind: row.dataset.kind, name: row.querySelector('.name').textContent,
  state: row.querySelector('.state span').textContent, part: row.querySelector('.part').textContent,
  size: row.querySelector('.cell.size').textContent, speed: row.querySelector('.cell.speed').textContent,
  top: row.getBoundingClientRect().top, current: row.classList.contains('current'),
})).sort((a, b) => a.top - b.top);
"""


def launch():
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for switch in SWITCHES:
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService("/usr/bin/chromedriver")
    return webdriver.Chrome(options=options, service=service)


def persist(act):
    """Does what a person would try again, until nothing is in the way; what that gives."""
    deadline = time.monotonic() + 20
    while True:
        try:
            return act()
        except HINDRANCES:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


class Page:
    """A tab of the browser at one gateway."""

    def __init__(self, driver, gateway):
        self.driver = driver
        self.gateway = gateway
        self.url = str(gateway.client.base_url).rstrip("/")
        self.token = gateway.client.headers["Authorization"].removeprefix("Bearer ")

    def open(self, place="tasks", signed_in=True):
        """Loads the page anew; `signed_in` as `ferry open` does it."""
        self.driver.get("about:blank")
        if not signed_in:
            self.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
        self.driver.get(f"{self.url}/#token={self.token}" if signed_in else self.url)
        if signed_in:
            eventually(lambda: self.js("return document.querySelector('#task-grid') !== null"), "the list", 20)
            self.visit(place)
        return self

    def visit(self, place):
        self.js("location.hash = arguments[0]", place)
        view = place.split("/")[0]
        eventually(lambda: self.js("return !document.getElementById(arguments[0]).hidden", view), f"the view {view}", 20)

    def size(self, width, height=800, dark=False):
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def eval(self, script, *arguments):
        """What a script of the page's own kind gives, which may wait for something and load its modules."""
        whole = f"""
        const done = arguments[arguments.length - 1];
        (async (...given) => {{ {script} }})(...[...arguments].slice(0, -1)).then((value) => done([value]), (error) => done(String(error)))"""
        answer = self.driver.execute_async_script(whole, *arguments)
        assert isinstance(answer, list), answer
        return answer[0]

    # What comes in between

    def meddle(self, what, method, path, times=1, after=0):
        """Does this to calls of a path, a regular expression, `after` so many: "lose" or "hold" their answers, let these
        "break off", "stall" the requests, or answer with a status in the gateway's place."""
        self.js(MEDDLE)
        rule = {"what": what, "method": method, "path": path, "times": times, "after": after}
        self.js("window.meddle.rules.push(arguments[0])", rule)

    def release(self):
        """Lets the answer come that is held, as soon as there is one, and waits until the page has had it."""
        eventually(lambda: self.js("return Boolean(window.meddle.release)"), "an answer that is held", 20)
        self.eval("window.meddle.release(); window.meddle.release = null; await new Promise((resolve) => { setTimeout(resolve); });")

    def calls(self, beginning):
        """What the page has called since it was first meddled with."""
        self.js(MEDDLE)
        return [call for call in self.js("return window.meddle.calls") if call.startswith(beginning)]

    # What is seen

    def rows(self):
        return self.js(ROWS)

    def row(self, name, **wanted):
        """The line of a transfer; None unless all that is `wanted` of it is so."""
        for row in self.rows():
            if row["name"] == name and all(row[key] == value for key, value in wanted.items()):
                return row

    def wait_row(self, name, **wanted):
        try:
            return eventually(lambda: self.row(name, **wanted), f"{name} {wanted}", 20)
        except AssertionError as error:
            raise AssertionError(f"{error}; there are {self.rows()}") from None

    def wait_gone(self, name):
        eventually(lambda: not self.row(name), f"{name} to go", 20)

    def text(self, selector):
        """What stands there, in sight or not; empty where there is no such element."""
        return self.js("return document.querySelector(arguments[0])?.textContent ?? ''", selector)

    def wait_text(self, selector, words):
        try:
            eventually(lambda: words in self.text(selector), f"“{words}” in {selector}", 20)
        except AssertionError as error:
            raise AssertionError(f"{error}, not “{self.text(selector)}”") from None

    def count(self, selector):
        return self.js("return document.querySelectorAll(arguments[0]).length", selector)

    def wait_for(self, selector):
        eventually(lambda: self.count(selector), selector, 20)
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def wait_none(self, selector):
        eventually(lambda: not self.count(selector), f"no {selector}", 20)

    # What is done

    def click(self, selector):
        def act():
            element = self.wait_for(selector)
            eventually(lambda: element.is_displayed(), f"{selector} in sight", 20)
            element.click()

        persist(act)

    def press_button(self, words, within="body"):
        """The button, in sight, that bears these words, or has them as its label."""
        script = """
        return [...document.querySelectorAll(arguments[1] + ' :is(button, a)')].find((one) => !one.closest('[hidden], [aria-hidden]')
          && !one.disabled && one.checkVisibility() && (one.textContent.trim() === arguments[0] || one.getAttribute('aria-label') === arguments[0]))"""
        find = lambda: eventually(lambda: self.js(script, words, within), f"a button “{words}” within {within}", 20)
        persist(lambda: find().click())

    def fill(self, label, value, within="dialog[open]"):
        """Types into the field of a label."""
        script = """
        const label = [...document.querySelectorAll(arguments[1] + ' label')].find((one) => one.textContent.trim() === arguments[0]);
        return label ? label.control : null"""

        def act():
            element = eventually(lambda: self.js(script, label, within), f"a field “{label}”", 20)
            if element.tag_name != "select" and element.get_attribute("type") != "file":
                element.clear()
            element.send_keys(value)
            return element

        return persist(act)

    def type(self, *keys):
        """Presses keys wherever the focus is."""
        ActionChains(self.driver).send_keys(*keys).perform()

    def chord(self, modifier, key):
        ActionChains(self.driver).key_down(modifier).send_keys(key).key_up(modifier).perform()

    def hold_key(self, key, code, repeats=5):
        """A key that is held so long that it repeats itself, and let go."""
        event = {"key": key, "code": key, "windowsVirtualKeyCode": code, "text": "\r" if key == "Enter" else key}
        for count in range(repeats + 1):
            self.driver.execute_cdp_cmd("Input.dispatchKeyEvent", event | {"type": "keyDown", "autoRepeat": count > 0})
        self.driver.execute_cdp_cmd("Input.dispatchKeyEvent", event | {"type": "keyUp"})

    def add(self, *urls, **options):
        """A new transfer by the dialog, with options by their labels."""
        self.press_button("New transfer", "#tools")
        self.wait_for("#new-urls").send_keys("\n".join(urls))
        if options:
            self.js("document.querySelector('.options').open = true")
        for label, value in options.items():
            self.fill(label.replace("_", " "), value)
        self.click("dialog[open] .dialog-foot .primary")

    def said(self, words):
        self.wait_text("#toasts", words)

    def complaints(self):
        """What the browser's console holds against the page, but for answers of the gateway; and values of the
        language that stand there as words."""
        said = [
            entry["message"] for entry in self.driver.get_log("browser")
            if entry["level"] == "SEVERE" and "Failed to load resource" not in entry["message"]
        ]
        return said + self.js(SLIPS)

    def drop_text(self, selector, kind, text):
        """Drops a text on an element; whether the page has taken it."""
        return self.js(
            """
            const transfer = new DataTransfer();
            transfer.setData(arguments[1], arguments[2]);
            return ['dragenter', 'dragover', 'drop'].map((name) => document.querySelector(arguments[0])
              .dispatchEvent(new DragEvent(name, {dataTransfer: transfer, bubbles: true, cancelable: true}))).includes(false);
            """,
            selector, kind, text)

    def drop(self, name, content, kind="application/octet-stream"):
        """Drops a file on the page, as if it came from the desktop."""
        self.js(
            """
            const transfer = new DataTransfer();
            transfer.items.add(new File([arguments[1]], arguments[0], {type: arguments[2]}));
            for (const name of ['dragenter', 'dragover', 'drop'])
              document.getElementById('main').dispatchEvent(new DragEvent(name, {dataTransfer: transfer, bubbles: true, cancelable: true}));
            """,
            name, content, kind)

    def requests(self):
        """The paths that this document has asked for since it was loaded."""
        return json.loads(self.js(
            "return JSON.stringify(performance.getEntriesByType('resource').map((one) => new URL(one.name).pathname))"))

"""/metrics, as Prometheus and its promtool see it, and the examples for operators."""

import json
import pathlib
import re
import subprocess
import time

import pytest
import yaml

from daemon import eventually
from gateway import Gateway
from origin import FRESH, Answer
from session import Session
from test_tls import Folder

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = ROOT / "Examples"


def listed(name):
    """The types of metrics, by their names."""
    lines = (pathlib.Path(__file__).parent / name).read_text().splitlines()
    return dict(line.split() for line in lines)


NAMES = listed("metrics.txt")
# What nodes have beside.
NODE_NAMES = listed("metrics-nodes.txt")
KNOWN = NAMES | NODE_NAMES
SAMPLE = re.compile(r"^([a-z_]+)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')


@pytest.fixture(scope="module")
def busy(gateway_arguments, tmp_path_factory):
    """A gateway of its own, so that all that it counts is a test's."""
    path = tmp_path_factory.mktemp("metrics") / "token"
    made = Folder(path.parent / "tls", "127.0.0.1")
    arguments = [*gateway_arguments, *made.arguments, "--metrics-token-file", str(path)]
    with Gateway(*arguments, authority=made["authority.pem"]) as gateway:
        gateway.metrics_token = path
        yield gateway


def page(gateway):
    answer = gateway.client.get("/metrics")
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    return answer.text


def samples(text):
    """What each sample is, by its name and its labels."""
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, labels, value = SAMPLE.match(line).groups()
        key = (name, frozenset(LABEL.findall(labels or "")))
        assert key not in found, f"{line} comes twice"
        found[key] = float(value)
    return found


def value(gateway, name, **labels):
    return samples(page(gateway)).get((name, frozenset(labels.items())), 0)


def promtool(*arguments, **options):
    return subprocess.run(["promtool", *arguments], capture_output=True, text=True, **options)


def test_promtool_finds_nothing(busy, origin):
    origin.on("/a", Answer(b"a", headers=FRESH))
    session = Session(busy)
    for path in ["/a", "/a", "/gone"]:
        session.fetch(origin.url(path))
    check = promtool("check", "metrics", input=page(busy))
    assert (check.returncode, check.stdout, check.stderr) == (0, "", "")


def types_of(text):
    """The metrics of a page, each with the type and the help that it should have."""
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    helps = dict(re.findall(r"^# HELP (\S+) (\S.*)$", text, re.MULTILINE))
    assert helps.keys() == types.keys()
    assert all(words[0].isupper() and words.endswith(".") for words in helps.values())
    return types


def test_the_names_are_those_that_are_listed(busy):
    assert types_of(page(busy)) == NAMES


def test_no_label_has_a_url_a_host_or_an_identifier(busy, origin):
    Session(busy).fetch(origin.url("/secret-path"))
    busy.client.get("/no/such/path/secret-path")
    for name, labels in samples(page(busy)):
        for label, text in labels:
            assert not re.search(r"secret|127\.0\.0\.1|localhost|(ses|tsk|dec|whk|fil)_", text), name
            assert label in {
                "method", "route", "status", "le", "type", "state", "reason", "error", "outcome",
                "version", "commit",
            }


def test_what_happens_is_counted(busy, origin):
    before = samples(page(busy))

    def grown(name, **labels):
        key = (name, frozenset(labels.items()))
        return samples(page(busy)).get(key, 0) - before.get(key, 0)

    origin.on("/kept", Answer(b"k" * 1000, headers=FRESH))
    session = Session(busy)
    session.fetch(origin.url("/kept"))
    session.fetch(origin.url("/kept"))
    assert grown("ferry_tasks_created_total", type="data") == 2
    assert grown("ferry_tasks_completed_total", error="none") == 2
    assert grown("ferry_transfer_received_bytes_total") == 2000
    assert grown("ferry_cache_requests_total", outcome="hit") == 1
    assert grown("ferry_cache_requests_total", outcome="uri-miss") == 1
    assert grown("ferry_attempts_total") == 1
    assert grown("ferry_http_requests_total", method="POST", route="/v1/sessions", status="201") == 1

    session.fetch("http://10.1.2.3/")
    assert grown("ferry_tasks_completed_total", error="destinationDenied") == 1

    origin.on("/busy", Answer(b"", status=503))
    retry = {"attempts": 2, "backoff": {"initial": 0.01, "maximum": 0.01}}
    session.fetch(origin.url("/busy"), retry=retry)
    assert grown("ferry_retries_total") == 2 and grown("ferry_attempts_total") == 5

    body = session.start(origin.url("/put"), type="upload", method="PUT", body={"text": "x" * 500})
    session.finish(body)
    assert grown("ferry_transfer_sent_bytes_total") == 500

    busy.client.get("/nowhere")
    assert grown("ferry_http_requests_total", method="", route="none", status="404") == 1
    assert grown("ferry_store_commit_duration_seconds_count") > 0
    assert grown("ferry_store_commit_changes_sum") > 0
    assert grown("ferry_http_sent_bytes_total") > 5000
    assert grown("ferry_loop_turn_duration_seconds_count") > 10


def test_a_decision_is_counted_while_it_waits_and_when_it_does_not(busy, origin):
    def asks(answer):
        session = Session(busy, delegate={"handles": ["response"], "decisionTimeout": 20})
        task = session.start(origin.url("/asked"))
        eventually(lambda: value(busy, "ferry_decisions_pending") == 1, "a decision", 10)
        assert value(busy, "ferry_tasks_waiting", reason="decision") == 1
        about = busy.client.get("/v1/gateway").json()
        assert about["decisions"]["pending"] == 1 and about["waiting"]["decision"] == 1
        answer(session, task)
        session.finish(task)
        assert value(busy, "ferry_decisions_pending") == 0

    def allow(session, _):
        decisions = busy.client.get(f"{session.path}/decisions").json()["decisions"]
        busy.post(f"/v1/decisions/{decisions[0]['id']}", 204, disposition="allow")

    origin.on("/asked", Answer(b"a"))
    before = {
        outcome: value(busy, "ferry_decisions_total", outcome=outcome)
        for outcome in ["answered", "withdrawn"]
    }
    asks(allow)
    assert value(busy, "ferry_decisions_total", outcome="answered") == before["answered"] + 1
    asks(lambda _, task: busy.client.post(f"/v1/tasks/{task}/cancel"))
    assert value(busy, "ferry_decisions_total", outcome="withdrawn") == before["withdrawn"] + 1


def test_readers_of_events_are_counted(busy):
    assert value(busy, "ferry_event_readers") == 0
    with busy.connect() as reader, reader.stream("GET", "/v1/events") as stream:
        assert stream.status_code == 200
        eventually(lambda: value(busy, "ferry_event_readers") == 1, "the reader", 10)
        labels = dict(method="GET", route="/v1/events", status="200")
        assert value(busy, "ferry_http_requests_total", **labels) >= 1
    eventually(lambda: value(busy, "ferry_event_readers") == 0, "its end", 10)


def test_figures_of_the_process_are_the_kernels(busy):
    now = samples(page(busy))
    status = pathlib.Path(f"/proc/{busy.identifier}/status").read_text()
    resident = int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) * 1024
    got = now["process_resident_memory_bytes", frozenset()]
    assert abs(got - resident) < 64 << 20
    descriptors = len(list(pathlib.Path(f"/proc/{busy.identifier}/fd").iterdir()))
    assert abs(now["process_open_fds", frozenset()] - descriptors) <= 3
    assert 0 < time.time() - now["process_start_time_seconds", frozenset()] < 900
    assert now["process_cpu_seconds_total", frozenset()] > 0
    assert now["process_cpu_seconds_total", frozenset()] >= now["ferry_loop_cpu_seconds_total", frozenset()]
    wal = (busy.data / "ferry.sqlite-wal").stat().st_size
    assert now["ferry_store_wal_bytes", frozenset()] <= wal


def test_a_scraper_needs_only_the_token_for_metrics(busy):
    token = busy.metrics_token.read_text().strip()
    headers = {"Authorization": f"Bearer {token}"}
    assert busy.client.get("/metrics", headers=headers).status_code == 200
    assert busy.client.get("/v1/gateway", headers=headers).status_code == 403


def used(text):
    """The metrics that queries name."""
    for name in re.findall(r"\b(?:ferry|process)_[a-z0-9_]+", text):
        base = re.sub(r"_(bucket|sum|count)$", "", name)
        yield base if base in KNOWN else name


def test_the_alerts_are_rules_on_metrics_that_there_are():
    rules = EXAMPLES / "alerts.yaml"
    check = promtool("check", "rules", str(rules))
    assert check.returncode == 0 and "9 rules found" in check.stdout, check.stdout + check.stderr
    alerts = yaml.safe_load(rules.read_text())["groups"][0]["rules"]
    for alert in alerts:
        names = set(used(alert["expr"]))
        assert names and names <= KNOWN.keys(), alert["alert"]
        assert alert["annotations"].keys() == {"summary", "description"}


def test_the_alerts_fire_when_they_should(tmp_path):
    cases = tmp_path / "cases.yaml"
    text = (EXAMPLES / "alerts.yaml").read_text()
    (tmp_path / "alerts.yaml").write_text(text)
    series = {
        "FerryDiskFull": 'ferry_disk_full{job="ferry",instance="a"}',
        "FerryDecisionsWait": 'ferry_decisions_pending{job="ferry",instance="a"}',
        "FerryWebhookDisabled": 'ferry_webhooks{job="ferry",instance="a",state="disabled"}',
        "FerryCertificateExpires":
            'ferry_tls_certificate_expiry_time_seconds{job="ferry",instance="a"}',
        "FerryNodePaused": 'ferry_node_paused{job="ferry",instance="a"}',
        "FerryNodeLostAgain": 'ferry_node_losses_total{job="ferry",instance="a"}',
        "FerryNodeUnreachable":
            'ferry_passed_on_requests_total{job="ferry",instance="a",outcome="unreachable"}',
    }
    own = {
        # The tests of rules begin at 1970.
        "FerryCertificateExpires": [("1209600x60", True), ("1214400x60", False)],
        "FerryNodeLostAgain": [("0x10 1x10 2x10 3x30", True), ("0x10 1x10 2x40", False)],
        "FerryNodeUnreachable": [("0+2x60", True), ("7x60", False)],
    }
    tests = [
        {
            "interval": "1m",
            "input_series": [{"series": name, "values": values}],
            "alert_rule_test": [
                {"eval_time": "40m", "alertname": alert, "exp_alerts": expected(text, alert, fires)}
            ],
        }
        for alert, name in series.items()
        for values, fires in own.get(alert, [("1x60", True), ("0x60", False)])
    ]
    cases.write_text(json.dumps({"rule_files": ["alerts.yaml"], "tests": tests}))
    check = promtool("test", "rules", str(cases))
    assert check.returncode == 0, check.stdout + check.stderr


def expected(text, alert, fires):
    if not fires:
        return []
    rule = next(r for r in yaml.safe_load(text)["groups"][0]["rules"] if r["alert"] == alert)
    labels = rule["labels"] | {"job": "ferry", "instance": "a"}
    if "disabled" in rule["expr"]:
        labels |= {"state": "disabled"}
    words = {
        key: value.replace("{{ $labels.instance }}", "a").replace("{{ $value }}", "1")
        for key, value in rule["annotations"].items()
    }
    return [{"exp_labels": labels, "exp_annotations": words}]


def test_the_configuration_is_prometheus_own():
    check = promtool("check", "config", "--syntax-only", str(EXAMPLES / "prometheus.yml"))
    assert check.returncode == 0, check.stdout + check.stderr
    scrape = yaml.safe_load((EXAMPLES / "prometheus.yml").read_text())["scrape_configs"][0]
    assert scrape["metrics_path"] == "/metrics" and "credentials_file" in scrape["authorization"]


def test_the_dashboard_shows_metrics_that_there_are():
    dashboard = json.loads((EXAMPLES / "grafana-dashboard.json").read_text())
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    assert len(panels) >= 12
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids))
    for panel in panels:
        assert panel["title"] and panel["targets"]
        for target in panel["targets"]:
            names = set(used(target["expr"]))
            assert names and names <= KNOWN.keys(), f"{panel['title']}: {names - KNOWN.keys()}"
            place = panel["gridPos"]
            assert place["x"] + place["w"] <= 24


def test_prometheus_takes_every_query_of_the_dashboard(tmp_path):
    """As recording rules, which promtool reads by the same parser as the server."""
    dashboard = json.loads((EXAMPLES / "grafana-dashboard.json").read_text())
    rules = [
        {"record": f"query:{index}", "expr": query.replace("$__rate_interval", "5m")}
        for index, query in enumerate(
            target["expr"]
            for each in dashboard["panels"]
            for target in each.get("targets", [])
        )
    ]
    path = tmp_path / "queries.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    check = promtool("check", "rules", "--lint=none", str(path))
    assert check.returncode == 0, check.stdout + check.stderr

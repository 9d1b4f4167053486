"""The manifests of Examples: what HAProxy, the schemas of Kubernetes and the gateway's own options say of them."""

import os
import pathlib
import re
import subprocess

import kubernetes_validate
import pytest
import yaml

from daemon import PROGRAMS, run

EXAMPLES = pathlib.Path(__file__).parents[2] / "Examples"
FOLDERS = ["nodes", "two-gateways"]
# The oldest and the newest version of Kubernetes whose schemas the package has.
VERSIONS = ["1.25", "1.37"]


@pytest.fixture(scope="module")
def options():
    """The options of `ferry serve`."""
    return set(re.findall(r"--[a-z][a-z0-9-]*", run(os.environ["FERRY"], "serve", "--help")))


@pytest.mark.parametrize("folder", FOLDERS)
def test_haproxy_takes_its_configuration(folder):
    check = subprocess.run(
        ["haproxy", "-c", "-f", EXAMPLES / folder / "haproxy.cfg"], env={"PATH": PROGRAMS},
        capture_output=True, text=True, timeout=30,
    )
    assert check.returncode == 0, check.stderr
    # The names are those of containers.
    faults = [line for line in check.stderr.splitlines() if line.startswith(("[WARNING]", "[ALERT]"))]
    assert all("could not resolve address" in fault for fault in faults), faults


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("folder", FOLDERS)
def test_kubernetes_knows_every_member_of_its_manifests(folder, version):
    resources = manifests(folder)
    assert {"Service", "StatefulSet"} <= {each["kind"] for each in resources}
    for each in resources:
        kubernetes_validate.validate(each, version, strict=True)


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_kubernetes_starts_is_reached_by_name(folder):
    """Selectors, ports, volumes and secrets name what there is."""
    resources = manifests(folder)
    [stateful] = [each["spec"] for each in resources if each["kind"] == "StatefulSet"]
    services = {each["metadata"]["name"]: each["spec"] for each in resources if each["kind"] == "Service"}
    pod = stateful["template"]
    labels, [container] = pod["metadata"]["labels"], pod["spec"]["containers"]
    ports = {port["name"] for port in container["ports"]}
    assert stateful["serviceName"] in services and stateful["selector"]["matchLabels"] == labels
    for service in services.values():
        assert service["selector"] == labels
        assert {port["targetPort"] for port in service["ports"]} <= ports
    for probe in "readinessProbe", "livenessProbe":
        assert container[probe]["httpGet"]["port"] in ports
    volumes = {each["metadata"]["name"] for each in stateful["volumeClaimTemplates"]}
    assert {each["name"] for each in container["volumeMounts"]} == volumes


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_gateway_knows_the_options_that_it_is_started_with(folder, options):
    [stateful] = [each["spec"] for each in manifests(folder) if each["kind"] == "StatefulSet"]
    [container] = stateful["template"]["spec"]["containers"]
    variables = {each["name"] for each in container["env"]}
    assert_known(container["args"], variables, options)
    started = [each for each in compose(folder)["services"].values() if each["image"] == "ferry"]
    assert len(started) == 2
    for service in started:
        assert_known(service["command"], set(service["environment"]), options)


@pytest.mark.parametrize("folder", FOLDERS)
def test_compose_has_all_that_its_services_name(folder):
    """There is no schema of Compose here: only names are looked up."""
    whole = compose(folder)
    services = whole["services"]
    for service in services.values():
        assert set(service.get("depends_on", ())) <= services.keys()
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            is_there = (EXAMPLES / folder / source).exists() if source[0] == "." else source in whole["volumes"]
            assert is_there, volume
    # The balancer leads to all of them, and to nobody else.
    servers = re.findall(r"^ +server \w+ ([\w-]+):8080", (EXAMPLES / folder / "haproxy.cfg").read_text(), re.M)
    assert servers == [name for name, service in services.items() if service["image"] == "ferry"]


def assert_known(words, variables, options):
    """Each option can be given as a variable, too; a key and a token only so."""
    given = {word.split("=")[0] for word in words[1:]}
    own = {"FERRY_KEY", "FERRY_TOKEN", "POD_NAME", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}
    given |= {name.replace("FERRY_", "--", 1).replace("_", "-").lower() for name in variables - own}
    assert words[0] == "serve" and given <= options, given - options


def manifests(folder):
    return list(yaml.safe_load_all((EXAMPLES / folder / "kubernetes.yaml").read_text()))


def compose(folder):
    return yaml.safe_load((EXAMPLES / folder / "compose.yaml").read_text())

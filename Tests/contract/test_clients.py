"""Clients that generators make of openapi.yaml are whole, and work against the live gateway."""

import asyncio
import contextlib
import importlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import httpx
import pytest
import yaml

ROOT = pathlib.Path(__file__).parents[2]
DOCUMENT = yaml.safe_load((ROOT / "openapi.yaml").read_text())
METHODS = {"get", "put", "post", "delete", "head", "patch"}
OPERATIONS = {
    item[method]["operationId"] for item in DOCUMENT["paths"].values() for method in METHODS & item.keys()
}
BIN = pathlib.Path(sys.executable).parent
BASE, TOKEN = os.environ["FERRY_URL"], os.environ["FERRY_TOKEN"]
# What a generator makes up where the document gives no name: Body7, Type4, Links1.
MADE_UP = re.compile(r"(?<!PKCS)(?<!Version)\d+$|Type_?\d|AdditionalProperty")


def generate(*command):
    """Runs a generator; what it says."""
    path = f"{BIN}:{os.environ['PATH']}"
    done = subprocess.run(
        [BIN / command[0], *command[1:]], env={**os.environ, "PATH": path}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@contextlib.contextmanager
def importing(folder):
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


# openapi-python-client: a package with a function for every operation.


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("client")
    said = generate(
        "openapi-python-client", "generate", "--path", str(ROOT / "openapi.yaml"), "--meta", "none",
        "--output-path", str(folder / "ferry_client"), "--fail-on-warning",
    )
    assert "arning" not in said, said
    with importing(folder):
        yield importlib.import_module("ferry_client")


def module(client, name):
    return importlib.import_module(f"{client.__name__}.{name}")


def snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def test_the_client_has_every_operation_and_every_type(client):
    package = pathlib.Path(client.__file__).parent
    assert {path.stem for path in package.glob("api/*/*.py")} - {"__init__"} == set(map(snake, OPERATIONS))
    models = module(client, "models")
    assert [name for name in models.__all__ if MADE_UP.search(name)] == []
    for path in package.rglob("*.py"):
        importlib.import_module(".".join(path.relative_to(package.parent).with_suffix("").parts))


def test_the_client_takes_a_download_from_its_session_to_its_end(client, twelve_bytes):
    models = module(client, "models")
    types = module(client, "types")

    def call(operation, *arguments, **options):
        tag = next(
            item[method]["tags"][0] for item in DOCUMENT["paths"].values() for method in METHODS & item.keys()
            if item[method]["operationId"] == operation
        )
        answer = module(client, f"api.{tag}.{snake(operation)}").sync_detailed(
            *arguments, client=gateway, **options
        )
        assert answer.status_code < 300, answer
        return answer.parsed

    with client.AuthenticatedClient(BASE, TOKEN, raise_on_unexpected_status=True) as gateway:
        session = call(
            "createSession",
            body=models.SessionSpec(
                type_=models.NewSessionType.DEFAULT,
                configuration=models.Configuration(timeout_interval_for_request=20),
            ),
        )
        assert isinstance(session, models.Session)
        assert session.configuration.timeout_interval_for_request == 20
        task = call(
            "createTasks", session.id,
            body=models.TaskSpec(
                type_=models.TaskType.DOWNLOAD, resume=True, request=models.RequestSpec(url=twelve_bytes),
                compute_digest=True,
            ),
        )
        assert isinstance(task, models.Task)
        task = call("getTask", task.id, prefer="wait=20")
        assert task.state == models.TaskState.COMPLETED and task.error is None
        assert isinstance(task.content, models.Content)
        content = call("getTaskContent", task.id)
        assert isinstance(content, types.File) and content.payload.read() == b"twelve bytes"
        page = call("listSessionTasks", session.id, state="all")
        assert isinstance(page, models.TaskList) and page.tasks[0].id == task.id
        file = call("createFile", body=types.File(payload=b"up", file_name="up"))
        assert file.length == 2 and file.complete
        call("deleteFile", file.id)
        call("deleteTask", task.id)
        gone = module(client, "api.tasks.get_task").sync_detailed(task.id, client=gateway)
        assert isinstance(gone.parsed, models.Problem) and gone.parsed.code == models.ProblemCode.NOT_FOUND
        assert call("invalidateSession", session.id, body=models.Invalidation(models.InvalidationMode.CANCELTASKS))


# datamodel-code-generator: pydantic models of every schema.


@pytest.fixture(scope="module")
def types(tmp_path_factory):
    folder = tmp_path_factory.mktemp("types")
    said = generate(
        "datamodel-codegen", "--input", str(ROOT / "openapi.yaml"), "--input-file-type", "openapi",
        "--output", str(folder / "ferry_types.py"), "--output-model-type", "pydantic_v2.BaseModel",
        "--formatters", "builtin", "--disable-timestamp",
    )
    assert said == "", said
    with importing(folder):
        yield importlib.import_module("ferry_types")


def test_the_models_have_the_names_of_the_schemas(types):
    made = set(re.findall(r"^class (\w+)\(", pathlib.Path(types.__file__).read_text(), re.MULTILINE))
    named = set(DOCUMENT["components"]["schemas"])
    assert [name for name in made if MADE_UP.search(name) and name not in named] == []
    assert sorted(made - named) == []


def test_the_models_read_what_the_gateway_answers_and_streams(types, twelve_bytes):
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with httpx.Client(base_url=BASE, headers=headers, timeout=30) as http_client:

        def send(path, model):
            body = model.model_dump(mode="json", by_alias=True, exclude_unset=True)
            answer = http_client.post(path, json=body)
            assert answer.status_code in (201, 202), answer.text
            return answer.content

        session = types.Session.model_validate_json(
            send("/v1/sessions", types.SessionSpec(type=types.NewSessionType.ephemeral))
        )
        spec = types.TaskSpec(type="download", resume=True, request=types.RequestSpec(url=twelve_bytes))
        task = types.Task.model_validate_json(send(session.links.tasks, spec))
        done = http_client.get(task.links.self, headers={"Prefer": "wait=20"})
        task = types.Task.model_validate_json(done.content)
        assert task.state == types.TaskState.completed and task.error is None
        assert http_client.get(task.content.href).content == b"twelve bytes"
        story = [
            types.Event.model_validate_json(line.removeprefix("data: ")).root
            for line in http_client.get(f"{task.links.events}?replay=all").text.splitlines()
            if line.startswith("data: ")
        ]
        assert isinstance(story[0], types.TaskDidCreateEvent)
        assert isinstance(story[-1], types.TaskDidCompleteEvent) and story[-1].error is None
        assert types.DownloadDidFinishDownloadingEvent in map(type, story)
        assert http_client.delete(task.links.self).status_code == 204
        refused = http_client.get(task.links.self)
        problem = types.Problem.model_validate_json(refused.content)
        assert problem.code == types.ProblemCode.not_found
        send(f"{session.links.self}/invalidate", types.Invalidation(mode="cancelTasks"))

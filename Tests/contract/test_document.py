"""openapi.yaml keeps its own rules: its examples are valid, its lists are whole."""

import pathlib

import jsonschema
import pytest
import yaml
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

ROOT = pathlib.Path(__file__).parents[2]
DOCUMENT = yaml.safe_load((ROOT / "openapi.yaml").read_text())
METHODS = {"get", "put", "post", "delete", "head", "patch"}
SCOPES = {"sessions", "tasks", "events", "decisions", "webhooks", "admin", "any", "none"}
REGISTRY = Registry().with_resource("doc:", Resource(DOCUMENT, DRAFT202012))


def operations():
    for path, item in DOCUMENT["paths"].items():
        for method in METHODS & item.keys():
            yield pytest.param(item[method], id=f"{method.upper()} {path}")


def resolve(node):
    while isinstance(node, dict) and "$ref" in node:
        target = DOCUMENT
        for step in node["$ref"].removeprefix("#/").split("/"):
            target = target[step.replace("~1", "/").replace("~0", "~")]
        node = target
    return node


def media_types(node, place=""):
    """Every media type object below `node`, with its place."""
    if isinstance(node, dict):
        if "schema" in node and "name" not in node and node.keys() & {"example", "examples"}:
            yield pytest.param(node, id=place)
        for key, value in node.items():
            yield from media_types(value, f"{place}/{key}")


def validate(schema, value):
    # References in a schema are relative to the document.
    text = {"$schema": "https://json-schema.org/draft/2020-12/schema", **absolute(schema)}
    jsonschema.Draft202012Validator(
        text, registry=REGISTRY, format_checker=jsonschema.FormatChecker()
    ).validate(value)


def absolute(node):
    if isinstance(node, dict):
        return {
            key: "doc:" + value if key == "$ref" else absolute(value)
            for key, value in node.items()
        }
    return [absolute(item) for item in node] if isinstance(node, list) else node


@pytest.mark.parametrize("operation", list(operations()))
def test_an_operation_tells_name_place_scope_and_its_failures(operation):
    assert operation["operationId"] and operation["summary"]
    assert set(operation["tags"]) <= {tag["name"] for tag in DOCUMENT["tags"]}
    scope = operation["x-ferry-scope"]
    assert scope in SCOPES
    # what is open to everybody says so twice.
    assert (scope == "none") == (operation.get("security") == [])
    if scope != "none":
        assert {"401", "403", "429"} <= operation["responses"].keys()
    if "application/json" in operation.get("requestBody", {}).get("content", {}):
        assert {"400", "413", "415", "422"} <= operation["responses"].keys()


def test_operation_names_are_unique():
    names = [operation.values[0]["operationId"] for operation in operations()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("media", list(media_types(DOCUMENT)))
def test_examples_are_valid(media):
    examples = [resolve(entry)["value"] for entry in media.get("examples", {}).values()]
    if "example" in media:
        examples.append(media["example"])
    for example in examples:
        validate(media["schema"], example)


def test_every_problem_code_has_a_status_and_a_title():
    problems = DOCUMENT["x-ferry-problems"]
    assert list(problems) == DOCUMENT["components"]["schemas"]["ProblemCode"]["enum"]
    for code, problem in problems.items():
        assert 400 <= problem["status"] <= 599 and problem["title"], code


def test_a_session_shows_every_property_with_its_default():
    properties = DOCUMENT["components"]["schemas"]["Configuration"]["properties"]
    session = DOCUMENT["components"]["schemas"]["Session"]["properties"]["configuration"]
    assert session["required"] == list(properties)
    for name, schema in properties.items():
        if name == "urlCache":
            schema = {"default": {key: tier["default"] for key, tier in schema["properties"].items()}}
        validate(properties[name], schema["default"])

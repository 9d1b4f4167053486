"""openapi.yaml keeps its own rules: its examples are valid, its lists are whole."""

import pathlib
import re

import jsonschema
import pytest
import yaml
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

ROOT = pathlib.Path(__file__).parents[2]


class Loader(yaml.SafeLoader):
    """Refuses a name that is given twice, of which the last would count."""

    def construct_mapping(self, node, deep=False):
        names = [key.value for key, _ in node.value]
        assert len(names) == len(set(names)), f"{node.start_mark}: a name is given twice"
        return super().construct_mapping(node, deep)


DOCUMENT = yaml.load((ROOT / "openapi.yaml").read_text(), Loader)
METHODS = {"get", "put", "post", "delete", "head", "patch"}
SCOPES = {"sessions", "tasks", "events", "decisions", "webhooks", "metrics", "admin", "any", "none"}
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
        assert 400 <= problem["status"] <= 599 and problem["title"] and problem["meaning"], code


def test_a_session_shows_every_property():
    schemas = DOCUMENT["components"]["schemas"]
    properties = schemas["Configuration"]["properties"]
    assert schemas["SessionConfiguration"]["required"] == list(properties)
    # Generators of clients take no default that is an object: the text tells those.
    for name in properties.keys() - {"httpAdditionalHeaders", "urlCache"}:
        validate(properties[name], properties[name]["default"])


def test_the_fields_of_a_list_are_the_members_of_a_task():
    members = DOCUMENT["components"]["schemas"]["TaskMember"]["enum"]
    assert members == list(DOCUMENT["components"]["schemas"]["Task"]["properties"])
    assert set(members) == set(DOCUMENT["components"]["examples"]["Task"]["value"])
    # A whole task is not let through as a part of one.
    assert DOCUMENT["components"]["schemas"]["PartialTask"]["maxProperties"] == len(members) - 1


def is_described(schema):
    """Whether the text of a schema, or of the one it refers to, says what it is."""
    return "description" in schema or ("$ref" in schema and is_described(resolve(schema)))


def parts(schema, place):
    """The schemas inside a schema, with their places; the words of if, then and else are no types."""
    for name, part in schema.get("properties", {}).items():
        yield part, f"{place}.{name}"
    for word in ("oneOf", "anyOf", "allOf"):
        for index, part in enumerate(schema.get(word, [])):
            yield part, f"{place}/{word}/{index}"
    for word in ("items", "additionalProperties", "propertyNames"):
        if isinstance(schema.get(word), dict):
            yield schema[word], f"{place}/{word}"


def unnamed(schema, place):
    """Places where a generator of clients would have to make up the name of a type."""
    for part, inner in parts(schema, place):
        if not isinstance(part, dict):
            yield f"{inner} is {part}"
        elif part.keys() & {"enum", "properties"}:
            yield inner
        else:
            yield from unnamed(part, inner)


def bodies():
    """Every content of a request or an answer, with its place."""
    for name, answer in DOCUMENT["components"]["responses"].items():
        yield from ((name, kind, media) for kind, media in answer.get("content", {}).items())
    for path, item in DOCUMENT["paths"].items():
        for method in METHODS & item.keys():
            place = f"{method.upper()} {path}"
            for part in (item[method].get("requestBody", {}), *item[method]["responses"].values()):
                yield from ((place, kind, media) for kind, media in part.get("content", {}).items())


@pytest.mark.parametrize("name", DOCUMENT["components"]["schemas"])
def test_a_schema_and_its_properties_are_described(name):
    schema = DOCUMENT["components"]["schemas"][name]
    assert is_described(schema)
    bare = [key for key, part in schema.get("properties", {}).items() if not is_described(part)]
    assert bare == []


@pytest.mark.parametrize("name", DOCUMENT["components"]["schemas"])
def test_every_type_has_a_name(name):
    assert list(unnamed(DOCUMENT["components"]["schemas"][name], name)) == []


def test_bodies_and_parameters_refer_to_named_types():
    for place, kind, media in bodies():
        schema = media["schema"]
        assert "$ref" in schema or schema["type"] == "string", (place, kind)
        assert "enum" not in schema, (place, kind)
    for path, item in DOCUMENT["paths"].items():
        shared = item.get("parameters", [])
        for method in METHODS & item.keys():
            for parameter in map(resolve, shared + item[method].get("parameters", [])):
                assert parameter["description"], (method, path, parameter["name"])
                assert "enum" not in parameter["schema"], (method, path, parameter["name"])


def test_every_body_has_an_example():
    bare = [(place, kind) for place, kind, media in bodies() if not media.keys() & {"example", "examples"}]
    assert bare == []


def test_no_text_names_a_rule_by_its_number():
    text = (ROOT / "openapi.yaml").read_text()
    assert re.findall(r"\b[SXR]-(?:\d+|…)", text) == []


def test_an_event_is_a_schema_that_its_name_leads_to():
    schemas = DOCUMENT["components"]["schemas"]
    mapping = schemas["Event"]["discriminator"]["mapping"]
    assert list(mapping) == schemas["EventName"]["enum"]
    assert list(mapping.values()) == [part["$ref"] for part in schemas["Event"]["oneOf"]]
    for name, reference in mapping.items():
        event = resolve({"$ref": reference})
        assert event["properties"]["event"]["const"] == name
        validate({"$ref": "#/components/schemas/Event"}, event["example"])
        table = next(tag["description"] for tag in DOCUMENT["tags"] if tag["name"] == "events")
        assert f"`{name}`" in table, name

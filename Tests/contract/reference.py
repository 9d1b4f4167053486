"""The pages docs/events.md and docs/errors.md, made from openapi.yaml.

    python3 Tests/contract/reference.py       writes them (make reference)

`test_document.py` fails while they differ from what this makes.
"""

import json
import pathlib

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]


def line(text):
    """A text of the document in one line, as a cell of a table wants it."""
    return " ".join(str(text).split()).replace("|", "\\|")


def described(schema, schemas):
    """The description of a member; where it has none, that of the schema that it refers to."""
    while "description" not in schema and "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    return line(schema.get("description", ""))


def events(document):
    schemas = document["components"]["schemas"]
    names = schemas["Event"]["discriminator"]["mapping"]
    text = [
        "# Events",
        "",
        "Every event that a stream or a webhook can tell, with its members and an example. `id` is there in"
        " webhooks only; a stream has it in its `id:` line, and the name in its `event:` line.",
        "",
        "A stream may also send `reset`, when events that the reader has not seen are not kept any more: it carries the present state."
        " A webhook may also be posted `webhook.test`, which is in no stream: `POST /v1/webhooks/{webhook}/test` sends it.",
        "",
        "This page is made from [openapi.yaml](../openapi.yaml).",
        "",
    ]
    text += [f"- [`{name}`](#{name.lower().replace('.', '')})" for name in names]
    for name, place in names.items():
        schema = schemas[place.rpartition("/")[2]]
        text += ["", f"## {name}", "", schema["description"].strip(), "", "| member | |", "|---|---|"]
        for member, of in schema["properties"].items():
            if member in ("event", "id"):
                continue
            optional = "" if member in schema.get("required", []) else " (not always there)"
            text.append(f"| `{member}`{optional} | {described(of, schemas)} |")
        text += ["", "```json", json.dumps(schema["example"], indent=2, ensure_ascii=False), "```"]
    return "\n".join(text) + "\n"


def errors(document):
    text = [
        "# Errors",
        "",
        "There are two kinds. A **problem** is the answer to a call that was not served: `application/problem+json` (RFC 9457) with a"
        " stable `code`, and `pointer` where a member of the JSON is to blame. An **error** is what a task has failed with, in its member"
        " `error`; its names and numbers are those of Foundation's `NSURLError`.",
        "",
        "An answer of the server with a status of 400 or more is neither: the transfer has worked, and the task has a `response`.",
        "",
        "This page is made from [openapi.yaml](../openapi.yaml).",
        "",
        "## Errors of tasks",
        "",
        "| name | code | what it says, and what to do |",
        "|---|---|---|",
    ]
    for name, error in document["x-ferry-errors"].items():
        domain = "" if error["domain"] == "NSURLErrorDomain" else f" in `{error['domain']}`"
        text.append(f"| `{name}` | {error['code']}{domain} | {line(error['message'])} {line(error['meaning'])} |")
    text += ["", "## Problems of calls", "", "| status | code | what it says, and what to do |", "|---|---|---|"]
    problems = document["x-ferry-problems"].items()
    for code, problem in sorted(problems, key=lambda pair: pair[1]["status"]):
        text.append(f"| {problem['status']} | `{code}` | {line(problem['title'])}. {line(problem.get('meaning', ''))} |")
    return "\n".join(text) + "\n"


def pages():
    """What each page has to say, by its path."""
    document = yaml.safe_load((ROOT / "openapi.yaml").read_text())
    return {ROOT / "docs/events.md": events(document), ROOT / "docs/errors.md": errors(document)}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)

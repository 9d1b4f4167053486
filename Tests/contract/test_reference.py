"""The pages that are made from openapi.yaml are made from this one."""

import re
from pathlib import Path

import pytest
import reference
import yaml

SOURCES = Path(__file__).parents[2] / "Sources"
# Where codes are listed, and not what tasks fail with.
TABLES = {"URLErrorCode.swift", "RetryPolicy.swift", "Forwarding.swift"}


@pytest.mark.parametrize("path, text", reference.pages().items(), ids=lambda value: getattr(value, "name", ""))
def test_the_page_is_what_openapi_yaml_says(path, text):
    assert path.read_text() == text, "make reference"


def test_every_error_that_the_code_makes_is_told_of():
    codes = set(re.findall(r"^ +case (\w+) = -", (SOURCES / "Semantics/URLErrorCode.swift").read_text(), re.M))
    made = {
        name
        for path in SOURCES.rglob("*.swift")
        if path.name not in TABLES
        for name in re.findall(r"\.(\w+)\b", path.read_text())
        if name in codes
    }
    assert len(made) > 20
    assert made <= yaml.safe_load((SOURCES.parent / "openapi.yaml").read_text())["x-ferry-errors"].keys()

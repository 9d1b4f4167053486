"""The pages that are made from openapi.yaml are made from this one."""

import pytest
import reference


@pytest.mark.parametrize("path, text", reference.pages().items(), ids=lambda value: getattr(value, "name", ""))
def test_the_page_is_what_openapi_yaml_says(path, text):
    assert path.read_text() == text, "make reference"

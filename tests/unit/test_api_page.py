"""The examples in docs/api.md have the form that the contract demands."""

from __future__ import annotations

import jsonschema_rs
import pytest

from local import openapi
from local.api_page import example_of

DOCUMENT = openapi.document()


@pytest.mark.parametrize("name", openapi.forms())
def test_the_example_of_an_answer_has_its_form(name: str) -> None:
    form = {"$ref": f"#/components/schemas/{name}"}

    example = example_of(DOCUMENT, form)

    schema = {**form, "components": DOCUMENT["components"]}
    assert [str(error) for error in jsonschema_rs.iter_errors(schema, example)] == []


BODIES = {
    f"{method.upper()} {path}": operation["requestBody"]["content"][openapi.JSON]
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
    if "requestBody" in operation
}


@pytest.mark.parametrize("key", [key for key in BODIES if key.split("/")[-1] != "draws"])
def test_the_example_of_a_body_is_accepted(key: str) -> None:
    body, _ = openapi.types_of(openapi.operations()[key])

    body.model_validate(BODIES[key]["example"])

"""The contract from which the Python client is generated."""

import json
from typing import Any

from local import client_contract, places

CONTRACT = json.loads((places.ROOT / "openapi.json").read_text(encoding="utf-8"))
SCHEMAS = client_contract.loosened(CONTRACT)["components"]["schemas"]


def test_words_of_answers_and_events_are_open_and_those_of_requests_closed() -> None:
    names = [name for name in SCHEMAS if name in {"Claim", "Admission", "Record", "PaymentPaid"}]
    words = json.dumps([SCHEMAS[name] for name in names])

    assert len(names) == 4
    assert '"enum"' not in words
    assert '"const"' not in words
    assert SCHEMAS["Claim"]["properties"]["outcome"]["type"] == "string"
    assert SCHEMAS["PacketKind"] == CONTRACT["components"]["schemas"]["PacketKind"]


def test_each_refusal_is_the_same_problem() -> None:
    refusals: list[Any] = [
        response["content"]
        for response in client_contract.loosened(CONTRACT)["components"]["responses"].values()
    ]

    problem = {"$ref": "#/components/schemas/Problem"}
    assert refusals
    assert all(content == {"application/json": {"schema": problem}} for content in refusals)

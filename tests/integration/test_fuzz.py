"""Short fuzz of the API; `make fuzz` sends 10,000 requests or any other number."""

from local.openapi import operations
from local.stack import Stack

CASES = 150
SEED = 1


def test_every_answer_to_a_fuzzed_request_matches_the_contract(stack: Stack) -> None:
    from testing.platform.fuzz import Fuzz  # This slow import would delay collection.

    with Fuzz(stack, SEED) as fuzz:
        report = fuzz.run(CASES)

    assert report.case_count == CASES
    assert report.failure_count == 0, f"seed {SEED}\n{report}"


def test_the_fuzz_detects_an_answer_that_violates_the_contract(stack: Stack) -> None:
    from testing.platform.fuzz import Fuzz, the_contract

    contract = the_contract()
    del contract["paths"]["/me"]["get"]["responses"]["401"]
    contract["components"]["schemas"]["GatewayMessage"]["properties"]["message"] = {"const": "No"}

    # The first cases, one per route, have no token.
    with Fuzz(stack, SEED, contract) as fuzz:
        report = fuzz.run(len(operations()))

    assert "GET /me: Undocumented status code" in report.examples
    assert "GET /me/sent: Response violates schema" in report.examples
    assert report.failure_count == sum(not route.is_public for route in operations().values())


def test_the_fuzz_sends_texts_one_character_over_the_limit() -> None:
    from testing.platform.fuzz import coverage, loaded, the_contract

    operation = loaded(the_contract(), "http://127.0.0.1")["/me/profile"]["PUT"]

    bodies = [case.body for case in coverage(operation) if isinstance(case.body, dict)]
    assert 257 in {len(str(body.get("nickname"))) for body in bodies}

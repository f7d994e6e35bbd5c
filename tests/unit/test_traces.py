"""What X-Ray's daemon gets of a traced door, and that no trace is worth a request."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from aws_xray_sdk.core import AWSXRayRecorder, xray_recorder

from redpacket.adapters.aws.errors import AwsRefused
from redpacket.adapters.threads import in_threads
from redpacket.domain.errors import CampaignPaused
from redpacket.edge import traces
from redpacket.edge.api import Api, HttpAnswer
from redpacket.edge.request import HttpRequest
from redpacket.ports import runtime
from testing.xray_daemon import Document, XRayDaemon, an_xray_daemon

xray_recorder.emitter._socket.close()
"""The library opens one as it is imported, which nothing here uses."""

ROOT, PARENT = "1-6b033d0e-dd972f7a1de3b0b0ba955bf4", "8a671825983c03b5"
SAMPLED = f"Root={ROOT};Parent={PARENT};Sampled=1"
ROUTE = "POST /packets/{packet_id}/pay"


@pytest.fixture
def daemon() -> Iterator[XRayDaemon]:
    with an_xray_daemon() as running:
        yield running


@pytest.fixture
def recorder(daemon: XRayDaemon, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """X-Ray's own, as it finds itself on Lambda."""
    monkeypatch.setenv("LAMBDA_TASK_ROOT", "/var/task")
    monkeypatch.setenv("AWS_XRAY_DAEMON_ADDRESS", daemon.address)
    monkeypatch.setenv("_X_AMZN_TRACE_ID", SAMPLED)
    monkeypatch.setattr(runtime, "spans", runtime.spans)
    made = AWSXRayRecorder()
    yield made
    made.emitter._socket.close()


def _request(request_id: str = "a-request") -> dict[str, Any]:
    return {
        "routeKey": ROUTE,
        "pathParameters": {"packet_id": "a-packet"},
        "requestContext": {"requestId": request_id},
        "body": json.dumps({"greeting": "happy new year"}),
    }


def _door(does: Any) -> Api:
    door = Api()

    @door.route(ROUTE, refusals=(CampaignPaused,))
    def pay(request: HttpRequest) -> HttpAnswer[Any]:
        return HttpAnswer(does(request))

    return door


def _only(documents: list[Document], name: str) -> Document:
    (found,) = [one for one in documents if one["name"] == name]
    return found


def test_a_request_is_below_lambdas_segment_and_its_calls_are_below_it(
    recorder: Any, daemon: XRayDaemon
) -> None:
    def pay(_: HttpRequest) -> Mapping[str, Any]:
        with runtime.spans.aws("dynamodb", "GetItem", {"TableName": "packets", "Key": "zoe"}):
            pass
        with runtime.spans.remote("cache", "EVALSHA") as call:
            call.retry()
        return {"amount_fen": 88_888_888}

    traces.traced(_door(pay), recorder, "payment")(_request(), None)

    found = daemon.received()
    request = _only(found, "POST /packets/:packet_id/pay")
    assert (request["trace_id"], request["parent_id"]) == (ROOT, PARENT)
    assert request["annotations"] == {"route": ROUTE, "request_id": "a-request", "status": 200}
    table, cache = _only(found, "dynamodb"), _only(found, "cache")
    assert {table["parent_id"], cache["parent_id"]} == {request["id"]}
    assert table["namespace"] == "aws"
    assert table["aws"] == {"operation": "GetItem", "retries": 0, "table_name": "packets"}
    assert (cache["namespace"], cache["aws"]["retries"]) == ("remote", 1)
    for secret in ("zoe", "88888888", "happy", "a-packet"):
        assert secret not in json.dumps(found)


def test_a_call_shows_the_tables_of_a_transaction_and_a_batch_and_the_queue(
    recorder: Any, daemon: XRayDaemon
) -> None:
    writes: list[Any] = [{"Put": {"TableName": "packets"}}, {"Update": {"TableName": "accounts"}}]
    calls: dict[str, dict[str, Any]] = {
        "TransactWriteItems": {"TransactItems": [*writes, *writes]},
        "BatchGetItem": {"RequestItems": {"shares": {"Keys": []}}},
        "SendMessage": {"QueueUrl": "https://sqs.example/1/payouts", "MessageBody": "zoe"},
    }

    def settle(*_: Any) -> None:
        for operation, arguments in calls.items():
            with runtime.spans.aws("a service", operation, arguments):
                pass

    traces.traced(settle, recorder, "payout")({}, None)

    shown = {one["aws"]["operation"]: one["aws"] for one in daemon.received() if "aws" in one}
    assert shown["TransactWriteItems"]["table_name"] == "accounts,packets"
    assert shown["BatchGetItem"]["table_name"] == "shares"
    assert shown["SendMessage"]["queue_url"].endswith("/payouts")


def test_what_is_done_in_threads_is_below_who_began_it(recorder: Any, daemon: XRayDaemon) -> None:
    together = threading.Barrier(3, timeout=10)

    def settle(item: int) -> None:
        with runtime.spans.aws("dynamodb", "TransactWriteItems", {"TableName": f"table {item}"}):
            together.wait()

    traces.traced(lambda *_: in_threads(settle, [1, 2, 3]), recorder, "payout")(
        {"task": "sweep"}, None
    )

    found = daemon.received()
    job = _only(found, "sweep")
    assert job["parent_id"] == PARENT
    below = [one["aws"]["table_name"] for one in found if one["parent_id"] == job["id"]]
    assert sorted(below) == ["table 1", "table 2", "table 3"]


def test_a_trace_has_the_first_calls_of_many_and_all_are_made(
    recorder: Any, daemon: XRayDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces, "CALLS_MAX", 10)
    handler = traces.traced(lambda *_: [_noted(item) for item in range(15)], recorder, "night")

    for _ in range(2):
        made = handler({}, None)

        assert len(made) == 15
        assert len(daemon.received()) == 10 + 1


def test_a_refusal_is_told_by_its_code(recorder: Any, daemon: XRayDaemon) -> None:
    def pay(_: HttpRequest) -> Any:
        raise CampaignPaused

    traces.traced(_door(pay), recorder, "payment")(_request(), None)

    (request,) = daemon.received()
    assert request["annotations"]["code"] == "campaign_paused"
    assert request["error"] is True
    assert "fault" not in request


def test_an_error_is_told_by_its_kind_and_place_and_not_by_its_words(
    recorder: Any, daemon: XRayDaemon
) -> None:
    def pay(_: HttpRequest) -> Any:
        with runtime.spans.aws("dynamodb", "PutItem", {}):
            raise RuntimeError("of zoe's greeting")

    answer = traces.traced(_door(pay), recorder, "payment")(_request(), None)

    found = daemon.received()
    assert answer["statusCode"] == 500
    for one in (_only(found, "dynamodb"), _only(found, "POST /packets/:packet_id/pay")):
        (cause,) = one["cause"]["exceptions"]
        assert cause["type"] == "RuntimeError"
        assert cause["stack"][-1]["label"] == "pay"
        assert one["fault"] is True
    assert "zoe" not in json.dumps(found)


def test_a_condition_that_does_not_hold_is_an_answer_and_not_a_fault(
    recorder: Any, daemon: XRayDaemon
) -> None:
    def claim(*_: Any) -> None:
        code = "ConditionalCheckFailedException"
        with runtime.spans.aws("dynamodb", "UpdateItem", {}):
            raise AwsRefused("UpdateItem", code, 400, {"Item": "zoe"})

    with pytest.raises(AwsRefused):
        traces.traced(claim, recorder, "a job")({}, None)

    found = daemon.received()
    call = _only(found, "dynamodb")
    assert (call["error"], call["fault"]) == (True, False)
    assert call["cause"]["exceptions"][0]["type"] == "ConditionalCheckFailedException"
    assert _only(found, "a job")["cause"]["exceptions"]
    assert "zoe" not in json.dumps(found)


@pytest.mark.parametrize("fails", [False, True])
def test_each_message_of_a_batch_leads_to_the_request_that_sent_it(
    recorder: Any, daemon: XRayDaemon, *, fails: bool
) -> None:
    bodies = ['{"request_id": "one"}', '{"request_id": "two"}', "no JSON", '{"request_id": 3}']
    records = [{"messageId": f"m{n}", "body": body} for n, body in enumerate(bodies)]

    def settle(*_: Any) -> Any:
        if fails:
            raise TimeoutError
        return {"batchItemFailures": [{"itemIdentifier": "m1"}]}

    try:
        traces.traced(settle, recorder, "payout")({"Records": records}, None)
    except TimeoutError:
        assert fails

    found = daemon.received()
    batch = _only(found, "payout")
    messages = [one for one in found if one["name"] == "message"]
    assert {one["parent_id"] for one in messages} == {batch["id"]}
    assert {one["start_time"] for one in messages} == {batch["start_time"]}
    shown = [
        (one.get("annotations", {}).get("request_id"), one.get("fault", False)) for one in messages
    ]
    assert shown == [("one", fails), ("two", True), (None, fails), (None, fails)]


def test_records_of_a_stream_have_no_messages(recorder: Any, daemon: XRayDaemon) -> None:
    traces.traced(lambda *_: {}, recorder, "announce")({"Records": [{"dynamodb": {}}]}, None)

    (batch,) = daemon.received()
    assert batch["name"] == "announce"


@pytest.mark.parametrize(
    "header",
    ["", "garbage", "Root=;Parent=;Sampled=1", "Root", f"Root={ROOT};Parent={PARENT};Sampled=0"],
)
def test_without_a_sampled_trace_nothing_is_sent_and_nothing_is_different(
    recorder: Any, daemon: XRayDaemon, monkeypatch: pytest.MonkeyPatch, header: str
) -> None:
    def pay(_: HttpRequest) -> Mapping[str, Any]:
        return {"items": in_threads(_noted, [1, 2])}

    handler = traces.traced(_door(pay), recorder, "payment")
    handler(_request("before"), None)
    sampled = daemon.received()
    monkeypatch.setenv("_X_AMZN_TRACE_ID", header)

    answer = handler(_request(), None)

    assert len(sampled) == 3
    assert daemon.received() == []
    assert json.loads(answer["body"]) == {"items": [1, 2]}


def _noted(item: int) -> int:
    with runtime.spans.remote("cache", "GET"):
        return item


class _Broken:
    """A recorder of which nothing works."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


def test_what_x_ray_fails_at_fails_no_request(recorder: Any) -> None:
    def pay(_: HttpRequest) -> Mapping[str, Any]:
        runtime.spans.failed(ValueError())
        with runtime.spans.aws("dynamodb", "GetItem", {"TransactItems": 1}) as call:
            call.retry()
        return {"items": in_threads(_noted, [1, 2])}

    for each in (_Broken(), recorder):
        answer = traces.traced(_door(pay), each, "payment")(_request(), None)

        assert json.loads(answer["body"]) == {"items": [1, 2]}


def test_an_answer_that_is_not_ours_leaves_no_subsegment_open(
    recorder: Any, daemon: XRayDaemon
) -> None:
    handler = traces.traced(lambda *_: "not an answer", recorder, "payment")

    assert [handler(_request(), None) for _ in range(2)] == ["not an answer"] * 2
    assert {one["parent_id"] for one in daemon.received()} == {PARENT}

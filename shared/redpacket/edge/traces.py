"""Traces by X-Ray: a door within a subsegment, and a subsegment for each call outside.

Only `edge/traced_door.py` imports this page, and only where the template makes that the handler.
A trace has names: routes, services, tables, codes, request ids. It has nothing of a user, and no
words of an error, which may quote one.

No trace is worth a request: what fails here is dropped, and the door answers as it does without.
"""

from __future__ import annotations

import json
import logging
import re
from contextlib import suppress
from socket import inet_aton
from traceback import StackSummary, walk_tb
from typing import TYPE_CHECKING, Any

from redpacket.edge.telemetry import write_line
from redpacket.ports import runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import TracebackType
    from typing import Self

    Door = Callable[[Any, Any], Any]
    # X-Ray's recorder has no types.
    Recorder = Any

CALLS_MAX = 1_000
"""Of one invocation: X-Ray keeps no larger trace, and a night's reconciliation calls far more."""

_FRAMES_MAX = 10
_REQUEST_ID_LENGTH_MAX = 64
_REFUSED, _BROKEN = 400, 500


def recorder_of_lambda() -> tuple[Recorder, str] | None:
    """Return X-Ray's recorder and the function's name; None where it does not work."""
    # A daemon that is away would be a line for each subsegment.
    logging.getLogger("aws_xray_sdk").setLevel(logging.CRITICAL)
    try:
        from aws_lambda_powertools import Tracer

        # What it patches is not what calls here: adapters/aws/client.py.
        tracer = Tracer(auto_patch=False)
        recorder: Recorder = tracer.provider
        # A name would be resolved again for each subsegment.
        inet_aton(recorder.emitter.ip)
    except Exception as error:  # noqa: BLE001 - a library that is not ours, and a broken setting
        write_line("traces_failed", error=type(error).__name__)
        return None
    return None if tracer.disabled else (recorder, tracer.service)


def traced(door: Door, recorder: Recorder, service: str) -> Door:
    """Return *door* so that each call of it is traced; *service* is the function's name."""
    runtime.spans = spans = XRaySpans(recorder)

    def handler(event: Any, context: Any) -> Any:  # noqa: ANN401 - Lambda's form
        spans.begin()
        with Invocation(recorder, event, service) as invocation:
            answer = invocation.answer = door(event, context)
        return answer

    return handler


class XRaySpans(runtime.Spans):
    """Implements Spans."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._calls_left = 0

    def begin(self) -> None:
        """Note the calls of a new invocation, where Lambda has sampled it."""
        self._calls_left = 0
        with suppress(Exception):
            # Where Lambda names no trace, calls would be added to the one before.
            self._recorder.clear_trace_entities()
            if self._recorder.get_trace_entity().sampled:
                self._calls_left = CALLS_MAX

    def aws(self, service: str, operation: str, arguments: Mapping[str, Any]) -> runtime.Span:
        """Return a subsegment for a call to AWS."""
        return self._call(service, "aws", operation, arguments)

    def remote(self, name: str, operation: str) -> runtime.Span:
        """Return a subsegment for a call to the cache, or to a host."""
        return self._call(name, "remote", operation, {})

    def _call(
        self, name: str, namespace: str, operation: str, arguments: Mapping[str, Any]
    ) -> runtime.Span:
        if self._calls_left <= 0:
            return self._none
        # Threads may count some calls once.
        self._calls_left -= 1
        return Call(self._recorder, name, namespace, operation, arguments)

    def carried(self, do: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return *do* for another thread: the SDK keeps what is open by thread."""
        recorder, here = self._recorder, None
        with suppress(Exception):
            here = recorder.get_trace_entity()

        def run(item: Any) -> Any:  # noqa: ANN401 - whatever the flow does
            with suppress(Exception):
                recorder.set_trace_entity(here)
            return do(item)

        return run if here else do

    def failed(self, error: BaseException) -> None:
        """Note an error of the request, which its door answers."""
        with suppress(Exception):
            _blame(self._recorder.current_subsegment(), error)


class Subsegment(runtime.Span):
    """A subsegment of the one that is open; keeps nothing where X-Ray fails or does not sample."""

    def __init__(self, recorder: Recorder, name: str, namespace: str = "local") -> None:
        self._recorder, self._name, self._namespace = recorder, name, namespace
        self._open: Any = None

    def __enter__(self) -> Self:
        with suppress(Exception):
            self._open = self._recorder.begin_subsegment(self._name, self._namespace)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._open is None:
            return
        with suppress(Exception):
            if self._open.sampled:
                if error:
                    _blame(self._open, error)
                self._describe()
        with suppress(Exception):
            self._recorder.end_subsegment()

    def _describe(self) -> None:
        """Add what is known at the end."""


class Call(Subsegment):
    """A call outside."""

    def __init__(
        self,
        recorder: Recorder,
        name: str,
        namespace: str,
        operation: str,
        arguments: Mapping[str, Any],
    ) -> None:
        super().__init__(recorder, name, namespace)
        self._operation, self._arguments = operation, arguments
        self._retry_count = 0

    def retry(self) -> None:
        """Count."""
        self._retry_count += 1

    def _describe(self) -> None:
        about = {"operation": self._operation, "retries": self._retry_count}
        if tables := set(_tables(self._arguments)):
            about["table_name"] = ",".join(sorted(tables))
        if queue := self._arguments.get("QueueUrl"):
            about["queue_url"] = queue
        self._open.set_aws(about)


class Invocation(Subsegment):
    """A request, a turn of a schedule, or a batch, each of whose messages is a subsegment."""

    def __init__(self, recorder: Recorder, event: Mapping[str, Any], service: str) -> None:
        self.answer: Any = None
        self._event, self._route = event, event.get("routeKey", "")
        # X-Ray's names have no braces.
        name = re.sub(r"{(\w+)}", r":\1", self._route)
        super().__init__(recorder, name or event.get("task") or service)

    def _describe(self) -> None:
        if self._route:
            self._open.put_annotation("route", self._route)
            self._open.put_annotation("request_id", self._event["requestContext"]["requestId"])
            if self.answer:
                self._note_status()
        for record in self._event.get("Records", ()):
            if "messageId" in record:
                self._note_message(record)

    def _note_status(self) -> None:
        status = self.answer["statusCode"]
        self._open.put_annotation("status", status)
        self._open.put_http_meta("status", status)
        if status >= _REFUSED:
            self._open.put_annotation("code", json.loads(self.answer["body"])["code"])

    def _note_message(self, record: Mapping[str, Any]) -> None:
        """Show a message as long as its batch, whose messages are done together."""
        message = self._recorder.begin_subsegment("message")
        try:
            message.start_time = self._open.start_time
            if self.answer is None or record["messageId"] in _failed_in(self.answer):
                message.add_fault_flag()
            if request_id := _request_id_of(record):
                message.put_annotation("request_id", request_id)
        finally:
            self._recorder.end_subsegment()


def _failed_in(answer: Mapping[str, Any]) -> Iterator[str]:
    return (failure["itemIdentifier"] for failure in answer.get("batchItemFailures", ()))


def _request_id_of(record: Mapping[str, Any]) -> str:
    """Return the id of the request that sent a message; "" where it has none."""
    try:
        request_id = json.loads(record["body"])["request_id"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""
    return request_id[:_REQUEST_ID_LENGTH_MAX] if isinstance(request_id, str) else ""


def _tables(arguments: Mapping[str, Any]) -> Iterator[str]:
    if table := arguments.get("TableName"):
        yield table
    yield from arguments.get("RequestItems", ())
    for item in arguments.get("TransactItems", ()):
        yield from (action["TableName"] for action in item.values())


def _blame(subsegment: Any, error: BaseException) -> None:  # noqa: ANN401 - X-Ray has no types
    """Note what kind of error it was, and where; AWS' own refusals by their codes."""
    code, status = getattr(error, "code", None), getattr(error, "status", None)
    name = code if isinstance(code, str) else type(error).__name__
    frames = StackSummary.extract(walk_tb(error.__traceback__), lookup_lines=False)
    subsegment.add_exception(type(name, (Exception,), {})(), frames[-_FRAMES_MAX:])
    if isinstance(status, int) and status < _BROKEN:
        # A condition that does not hold is an answer, and no fault.
        subsegment.fault = False
        subsegment.apply_status_code(status)

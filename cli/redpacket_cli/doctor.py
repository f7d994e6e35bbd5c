"""Health checks of a stack, each with the operator's next step."""

import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

from redpacket_cli import lists
from redpacket_cli import show as shown
from redpacket_cli.cache import ask_cache, memory_of
from redpacket_cli.failures import Exit, Failure, of_aws
from redpacket_cli.operate import QUEUES
from redpacket_cli.rows import rows_of
from redpacket_cli.session import Session, session_of

queue = typer.Typer(help="Queues: numbers of messages.", no_args_is_help=True)

_COUNTS = {
    "waiting": "ApproximateNumberOfMessages",
    "in_flight": "ApproximateNumberOfMessagesNotVisible",
    "delayed": "ApproximateNumberOfMessagesDelayed",
}
_SOME = 100
_DOWN_AFTER_FAILURES = 5
"""Number of consecutive failures that pause a webhook."""
_WAITS_LONG_MS = 1_800_000
"""Age in ms from which a withdrawal without a result is reported."""

_LATELY_MS = 3_600_000
"""Time in ms for which a loss of the local cache's data is reported."""
_ASKED_MAX = 3
"""Maximum number of withdrawals per provider whose answers are read."""

Finding = tuple[str, str, str]
"""State (ok, warn, fail or unknown), subject, and the details with the next step."""


@queue.command("list")
def list_queues(context: typer.Context) -> None:
    """Show each queue's counts of waiting, in-flight, delayed and dead messages."""
    session = session_of(context)
    items = list(_queues(session))
    columns = ("queue", "waiting", "in flight", "delayed", "dead")
    rows = ([str(value) for value in item.values()] for item in items)
    session.screen.report({"items": items}, shown.table(columns, rows))


def doctor(
    context: typer.Context,
    is_strict: Annotated[
        bool, typer.Option("--strict", help="Also fail if a check warns or could not run.")
    ] = False,
) -> None:
    """Check the API, cache, alarms, switches, queues, providers, and operators' pending tasks."""
    session = session_of(context)
    findings = [finding for check in _CHECKS for finding in _made(check, session)]
    items = [dict(zip(("state", "check", "detail"), finding, strict=True)) for finding in findings]
    session.screen.report({"items": items}, shown.table(("", "check", "detail"), findings))
    states = {state for state, *_ in findings}
    if "fail" in states or (is_strict and states != {"ok"}):
        raise typer.Exit(Exit.FOUND)
    if states == {"unknown"}:
        raise typer.Exit(Exit.NO_TARGET)


def _made(check: Callable[[Session], Iterator[Finding]], session: Session) -> Iterator[Finding]:
    """Yield the findings of a check. A check that can't run does not stop the others."""
    subject = check.__name__.removeprefix("_").replace("_", " ")
    try:
        yield from check(session)
    except Exception as error:
        failure = error if isinstance(error, Failure) else of_aws(error)
        if failure is None:
            raise
        state = "fail" if failure.code is Exit.UNAVAILABLE else "unknown"
        yield state, subject, str(failure)


def _api(session: Session) -> Iterator[Finding]:
    health = session.target.passer_by.get("/health")
    yield "ok", "api", f"{session.target.address} has version {health['version']}"


def _alarms(session: Session) -> Iterator[Finding]:
    cloudwatch = session.target.aws("cloudwatch")
    query = {"StateValue": "ALARM", "AlarmNamePrefix": session.target.stack_name}
    alarms = cloudwatch.describe_alarms(**query)["MetricAlarms"]
    for alarm in alarms:
        # An update may keep the state, so prefer the transition's time, which the emulator lacks.
        at = alarm.get("StateTransitionedTimestamp", alarm["StateUpdatedTimestamp"])
        since = f"{alarm['AlarmName']} since {at}"
        yield "fail", "alarm", f"{since}. {alarm['AlarmDescription']}"
    if not alarms:
        yield "ok", "alarms", "none is active"


def _cache(session: Session) -> Iterator[Finding]:
    if session.target.local is not None:
        used, limit = memory_of(ask_cache(session.target, ["INFO", "memory"]))
        if limit and used >= limit:
            yield "fail", "cache", "it is full, so first grabs fail. See docs/runbook/cache-full.md"
        elif (lost_ms := session.target.local.get("cache_lost_at_ms", 0)) > _now_ms() - _LATELY_MS:
            lost_at = shown.moment(lost_ms)
            detail = f"it lost its data at {lost_at}. See docs/runbook/cache-lost.md"
            yield "warn", "cache", detail
        else:
            yield "ok", "cache", "it answers"
        return
    # Outside the VPC, only ElastiCache reports the state, and only of the stack's own cache.
    group = session.target.resource("Cache")
    described = session.target.aws("elasticache").describe_replication_groups(
        ReplicationGroupId=group
    )
    status = described["ReplicationGroups"][0]["Status"]
    state = "ok" if status == "available" else "fail"
    yield state, "cache", f"ElastiCache says {status}. See docs/runbook/cache-lost.md"


_FROM_SNAPSHOTS = ("SendFunction", "GrabFunction", "LotteryFunction")
"""Functions that may start from snapshots, which Lambda deletes after 14 days without a call."""


def _functions(session: Session) -> Iterator[Finding]:
    functions = session.target.aws("lambda")
    idle = []
    for name in _FROM_SNAPSHOTS:
        function = session.target.resource(name)
        found = functions.get_function_configuration(FunctionName=function, Qualifier="live")
        if found.get("State", "Active") != "Active":
            idle.append(name)
            detail = f"{found['State']}: it refuses calls. See docs/runbook/functions-throttled.md"
            yield "fail", f"function {name}", detail
    if not idle:
        yield "ok", "functions", "they are active"


def _switches(session: Session) -> Iterator[Finding]:
    items = session.target.operator.get("/admin/switches")["items"]
    for each in items:
        if not each["on"]:
            detail = f"off: {each['reason']}. Turn it on: redpacket switch on {each['name']}"
            yield "warn", f"switch {each['name']}", detail
    if all(each["on"] for each in items):
        yield "ok", "switches", "all are on"


def _reconciliation(session: Session) -> Iterator[Finding]:
    target = session.target
    runs = target.aws("stepfunctions").list_executions(
        stateMachineArn=target.resource("ReconcileMachine"), statusFilter="SUCCEEDED", maxResults=1
    )["executions"]
    if not runs:
        yield "ok", "reconciliation", "no run yet"
        return
    since = shown.moment(int(runs[0]["startDate"].timestamp() * 1000))
    run = target.operator.get(f"/admin/reconcile/{runs[0]['name']}")
    # The alarm clears after a minute, but the difference remains.
    if count := sum(check["differences"] for check in run["checks"]):
        detail = (
            f"{count} differences in the run of {since}. "
            "See docs/runbook/reconciliation-difference.md"
        )
        yield "warn", "reconciliation", detail
    else:
        yield "ok", "reconciliation", f"no difference in the run of {since}"


def _messages(session: Session) -> Iterator[Finding]:
    for each in _queues(session):
        name = each["queue"]
        if each["dead"]:
            detail = f"{each['dead']} given up. See redpacket dlq list {name}"
            yield "fail", f"queue {name}", detail
        else:
            waiting, busy, delayed = (each[count] for count in _COUNTS)
            detail = f"{waiting} waiting, {busy} in flight, {delayed} delayed, none given up"
            yield "ok", f"queue {name}", detail


def _approvals(session: Session) -> Iterator[Finding]:
    query = {"status": "awaiting"}
    yield _waiting(session, "approvals", "/admin/approvals", "redpacket approvals list", query)


def _returns(session: Session) -> Iterator[Finding]:
    yield _waiting(session, "returns", "/admin/payments/returns", "redpacket payments returns")


def _debts(session: Session) -> Iterator[Finding]:
    yield _waiting(session, "debts", "/admin/payments/debts", "redpacket payments debts")


def _withdrawals(session: Session) -> Iterator[Finding]:
    since_ms = _now_ms() - _WAITS_LONG_MS
    count = sum(each["created_at_ms"] < since_ms for each in _pending_withdrawals(session))
    if count:
        detail = f"{count} have no result after 30 minutes. See redpacket withdrawals list"
        yield "warn", "withdrawals", detail
    else:
        yield "ok", "withdrawals", "none waits longer than 30 minutes"


def _pending_withdrawals(session: Session) -> list[dict[str, Any]]:
    operator, path = session.target.operator, "/admin/withdrawals"
    lists_of = (
        lists.some(operator, path, {"status": status}, _SOME) for status in ("queued", "processing")
    )
    return [each for listed in lists_of for each in listed]


def _lacks_money(session: Session, provider: str, pending: list[dict[str, Any]]) -> bool:
    """Return whether a call for one of the first *pending* withdrawals last got `out_of_funds`."""
    asked = [each["withdrawal_id"] for each in pending if each["channel"] == provider]
    for withdrawal_id in asked[:_ASKED_MAX]:
        calls = session.target.operator.get(f"/admin/withdrawals/{withdrawal_id}")["calls"]
        last = max(calls, key=lambda call: int(call["at_ms"]), default={"answer": ""})
        if "out_of_funds" in last["answer"]:
            return True
    return False


def _providers(session: Session) -> Iterator[Finding]:
    from redpacket.ledger.provider_name import ProviderName

    configured = session.target.outputs["PaymentChannels"].split(",")
    pending = _pending_withdrawals(session)
    for name in ProviderName:
        if name not in configured:
            yield "ok", f"provider {name}", "not configured"
            continue
        rows = rows_of(session.target, "PaymentsTable", f"gateway#{name}")
        told: dict[str, Any] = next((row for row in rows if row["sk"] == "answers"), {})
        if _lacks_money(session, name, pending):
            detail = (
                "the merchant account is out of money: refill it. "
                "See docs/runbook/withdrawals-wait.md"
            )
            yield "fail", f"provider {name}", detail
        elif since_ms := told.get("silent_since_ms"):
            since = shown.moment(since_ms)
            detail = f"no answer since {since}. See docs/runbook/withdrawals-wait.md"
            yield "fail", f"provider {name}", detail
        elif answered_ms := told.get("answered_at_ms"):
            yield "ok", f"provider {name}", f"answering, last at {shown.moment(answered_ms)}"
        else:
            yield "ok", f"provider {name}", "not called yet"


def _webhooks(session: Session) -> Iterator[Finding]:
    webhooks = session.target.operator.get("/admin/webhooks")["items"]
    down = [
        each for each in webhooks if each["is_on"] and each["failure_count"] >= _DOWN_AFTER_FAILURES
    ]
    for each in down:
        name, count = each["name"], each["failure_count"]
        detail = f"{count} failures in a row. Test it: redpacket webhooks test {name}"
        yield "warn", f"webhook {name}", detail
    if not down:
        yield "ok", "webhooks", "none is paused"


_CHECKS = (
    *(_api, _functions, _cache, _alarms, _switches, _messages, _reconciliation),
    *(_approvals, _returns, _debts, _withdrawals, _providers, _webhooks),
)


def _now_ms() -> int:
    return int(time.time() * 1000)


def _waiting(
    session: Session, subject: str, path: str, step: str, query: dict[str, Any] | None = None
) -> Finding:
    count = len(lists.some(session.target.operator, path, query or {}, _SOME))
    if not count:
        return "ok", subject, "none waits"
    number = f"{_SOME} or more" if count == _SOME else str(count)
    return "warn", subject, f"{number} wait for an operator. See {step}"


def _queues(session: Session) -> Iterator[dict[str, Any]]:
    sqs, outputs = session.target.aws("sqs"), session.target.outputs
    for name, (dead, alive) in QUEUES.items():
        if alive not in outputs:
            continue  # a queue that this stack's options leave out
        counted = sqs.get_queue_attributes(
            QueueUrl=outputs[alive], AttributeNames=list(_COUNTS.values())
        )["Attributes"]
        given_up = sqs.get_queue_attributes(
            QueueUrl=outputs[dead], AttributeNames=[_COUNTS["waiting"]]
        )["Attributes"]
        counts = {key: int(counted.get(value, 0)) for key, value in _COUNTS.items()}
        yield {"queue": name, **counts, "dead": int(given_up[_COUNTS["waiting"]])}

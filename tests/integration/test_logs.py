"""Logs of the deployed functions, after a scenario, refusals and errors: they contain no host id,
nickname or passphrase.
"""

from typing import Any

from local.stack import Stack
from tests.integration.conftest import Eventually, MakeUser


def _logged(stack: Stack) -> str:
    """Return every line of every log group."""
    logs: Any = stack.aws("logs")
    groups = [
        group["logGroupName"]
        for page in logs.get_paginator("describe_log_groups").paginate()
        for group in page["logGroups"]
    ]
    return "\n".join(
        event["message"]
        for group in groups
        for page in logs.get_paginator("filter_log_events").paginate(logGroupName=group)
        for event in page["events"]
    )


def test_logs_contain_no_user_ids(
    stack: Stack, dynamodb: Any, a_user: MakeUser, eventually: Eventually
) -> None:
    sender = a_user("sub-of-the-sender@host.example", funds_fen=2000)
    claimer = a_user("sub-of-the-taker@host.example", nickname="名字-in-a-log")
    boss = a_user("sub-of-the-boss@host.example", scope="hongbao/admin")
    packet_id = sender.send(total_fen=100, count=2, passphrase="open sesame").json()["packet_id"]
    claimer.grab(packet_id, "something else")
    claimer.grab(packet_id, "open sesame")
    sender.send(total_fen=10**6)
    claimer.http.get("/admin/switches")
    boss.http.put("/admin/switches/withdraw", json={"on": False, "reason": claimer.host_id})
    boss.http.put("/admin/switches/withdraw", json={"on": True})
    for query in (f"packets?sender={sender.host_id}", f"packets?sender={claimer.host_id}&cursor=x"):
        boss.http.get(f"/admin/{query}")
    boss.http.get(f"/admin/packets/{packet_id}/claims")
    boss.post("/admin/deposits", {"user": claimer.host_id, "amount_fen": 10**9})
    # This packet's row cannot be parsed: reading it returns 500, and the log has the error's
    # causes.
    broken = sender.send(total_fen=100, count=1).json()["packet_id"]
    table = stack.outputs["PacketsTable"]
    key = {"pk": {"S": f"packet#{broken}"}, "sk": {"S": "packet"}}
    whole = dynamodb.get_item(TableName=table, Key=key)["Item"]
    dynamodb.put_item(TableName=table, Item={**whole, "terms": {"S": "nonsense"}})
    assert claimer.http.get(f"/packets/{broken}").status_code == 500
    dynamodb.put_item(TableName=table, Item=whole)

    logged = eventually(lambda: "unexpected_error" in (text := _logged(stack)) and text)

    assert "switch_changed" in logged
    for secret in ("sub-of-the-", "名字-in-a-log", "open sesame"):
        assert secret not in logged

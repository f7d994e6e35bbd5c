"""Host's mirror of balances and packets, built from events (docs/reference/webhooks.md)."""

from collections import defaultdict
from typing import Any

from local.stack import Stack
from testing.soak.crowd import Crowd, expect
from testing.soak.watch import client

WEBHOOK = "mirror"
EVENTS = [
    *(f"redpacket.packet.{word}" for word in ("sent", "claimed", "emptied", "closed")),
    "redpacket.claim.settled",
    *(f"redpacket.withdrawal.{word}" for word in ("paid", "failed", "cancelled")),
    "redpacket.payment.paid",
    "redpacket.payment.refunded",
]


class Mirror:
    """Webhook, and the events that its receiver got."""

    def __init__(self, stack: Stack, crowd: Crowd) -> None:
        self._stack, self._operator = stack, crowd.operator
        self._path = f"/admin/webhooks/{WEBHOOK}"

    def put(self) -> None:
        """Create the webhook, or save it again."""
        url = f"{self._stack.receiver}/events/{WEBHOOK}"
        body = {"url": url, "events": EVENTS, "is_on": True}
        told = expect(self._operator.ask("PUT", self._path, body))
        if secret := told.get("secret"):
            with client(self._stack.receiver) as receiver:
                receiver.put(f"/_fake/{WEBHOOK}", json={"secret": secret})

    def is_drained(self) -> bool:
        """Return whether no delivery is waiting."""
        return bool(expect(self._operator.ask("GET", self._path))["waiting_count"] == 0)

    def events(self) -> list[dict[str, Any]]:
        """Return the events without duplicates, in order of arrival."""
        with client(self._stack.receiver) as receiver:
            events: list[dict[str, Any]] = receiver.get(f"/_fake/{WEBHOOK}").json()["events"]
        return events


def balances(events: list[dict[str, Any]]) -> dict[str, int]:
    """Return the amount that each user gained or lost according to the events."""
    moved: dict[str, int] = defaultdict(int)
    debited: dict[str, int] = {}
    for event in events:
        data = event["data"]
        match event["type"].removeprefix("redpacket."):
            case "claim.settled" | "payment.paid":
                moved[data["user"]] += data["amount_fen"]
            case "packet.closed":
                moved[data["sender"]] += data["refunded_fen"]
            case "packet.sent":
                moved[data["sender"]] -= data["total_fen"]
            case "withdrawal.paid":
                moved[data["user"]] -= data["amount_fen"]
            case "payment.refunded":
                before = debited.get(data["payment_id"], 0)
                moved[data["user"]] -= max(0, data["debited_fen"] - before)
                debited[data["payment_id"]] = max(before, data["debited_fen"])
    return moved


def last_events(events: list[dict[str, Any]], *, is_naive: bool) -> dict[str, str]:
    """Return each packet's last event type, by sequence or, for a naive mirror, by arrival."""
    of_packets = [
        event for event in events if ".packet." in event["type"] or ".claim." in event["type"]
    ]
    ordered = (
        of_packets if is_naive else sorted(of_packets, key=lambda event: str(event["sequence"]))
    )
    return {event["data"]["packet_id"]: event["type"] for event in ordered}

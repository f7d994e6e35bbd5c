"""Faults on the running stack, to rehearse its alarms and runbook pages.

docs/runbook/rehearsal.md lists the alarm and the page for each drill.
"""

import json
import os
import signal
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import Any, Self

import httpx

from local import places
from local.client import NO_TLS, Client
from local.commands import say
from local.errors import StackError
from local.stack import client_of
from local.welcome import ADMIN_SCOPE
from redpacket.ledger.dynamodb import keys
from redpacket.platform.dynamodb.client import to_wire, values

PACKET: dict[str, Any] = {"kind": "lucky", "total_fen": 10_000, "count": 100}
FUNDS_FEN, TOO_MUCH_FEN = 100_000, 100
LIFE_S = 3
"""Seconds until a drill's packet expires."""
POISON = ("poison", "{}", "[]", "null")
WEBHOOK = "shop"
"""Webhook id in the runbook page's example."""
_CLAIM_TRIES = 20
DAY_MS = 86_400_000


class Scene:
    """Running stack, and the clients for one drill's users."""

    def __init__(self, stack: dict[str, Any]) -> None:
        self.stack, self.mark = stack, uuid.uuid4().hex[:8]
        self._api, self._count, self._clients = str(stack["api"]), 0, ExitStack()

    def __enter__(self) -> Self:
        """Return the scene."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections of all users."""
        self._clients.close()

    def user(self, *, funds_fen: int = 0, scope: str = "") -> Client:
        """Return a new user's client; deposit *funds_fen* if the amount is positive."""
        self._count += 1
        name = f"drill-{self.mark}-{self._count}"
        who = {"sub": name, **({"scope": scope} if scope else {})}
        with Client(self._api) as passer_by:
            token = passer_by.post("/dev/tokens", who)["token"]
        if funds_fen:
            deposit = {"user": name, "amount_fen": funds_fen}
            self.user(scope=ADMIN_SCOPE).post("/admin/deposits", deposit)
        return self._clients.enter_context(Client(self._api, token))

    def send(self, **more: int) -> str:
        """Send a packet and return its id."""
        sender = self.user(funds_fen=PACKET["total_fen"])
        return str(sender.post("/packets", {**PACKET, **more})["packet_id"])

    def grab(self, packet_id: str, user: Client | None = None) -> str:
        """Grab once as *user* or a new user; return the status, and the outcome or error code."""
        answer = (user or self.user()).try_post(f"/packets/{packet_id}/grab", {})
        told = answer.json()
        return f"{answer.status_code} {told.get('outcome') or told.get('code')}"

    def aws(self, service: str) -> Any:  # noqa: ANN401 - boto3 makes its clients at run time
        """Return a boto3 client for the stack's emulator."""
        return client_of(self.stack["emulator"], service)

    @contextmanager
    def frozen(self, program: str) -> Iterator[None]:
        """Freeze a program during the `with` block; its connections stay open."""
        pid = self.pid(program)
        os.kill(pid, signal.SIGSTOP)
        try:
            _note(f"The {program} does not answer. Ctrl-C ends it")
            yield
        finally:
            os.kill(pid, signal.SIGCONT)
            _note(f"The {program} answers again")

    def pid(self, program: str) -> int:
        """Return a program's process id. Raises StackError if the stack did not start it."""
        if (pid := self.stack["pids"].get(program)) is None:
            raise StackError(f"the stack did not start the {program}: stop your own by hand")
        return int(pid)


def wait(seconds: float, ask: Callable[[], str], pause_s: float = 1) -> None:
    """Call *ask* repeatedly, by default once a second, and print the count of each response."""
    ends_at, answers = time.monotonic() + seconds, Counter([ask()])
    try:
        while (left_s := ends_at - time.monotonic()) > 0:
            time.sleep(min(left_s, pause_s))
            answers[ask()] += 1
    finally:
        say("Users saw: " + ", ".join(f"{count} x {word}" for word, count in answers.items()))


# ---------------------------------------------------------------- the faults


def kill_cache(scene: Scene, seconds: float) -> None:
    """Kill the cache between the claims of one packet."""
    packet_id, first, pid = scene.send(), scene.user(), scene.pid("cache")
    for _ in range(_CLAIM_TRIES):
        if "claimed" in scene.grab(packet_id, first):
            break
        time.sleep(1)  # Functions stop calling an unresponsive cache for a while.
    os.kill(pid, signal.SIGKILL)
    _note(f"The cache lost packet {packet_id}, and starts again")
    wait(seconds, lambda: scene.grab(packet_id))
    say(f"A user with a share from before: {scene.grab(packet_id, first)}")


def freeze_cache(scene: Scene, seconds: float) -> None:
    """Freeze the cache while users grab."""
    packet_id = scene.send()
    with scene.frozen("cache"):
        wait(seconds, lambda: scene.grab(packet_id))


def leave_closing(scene: Scene, seconds: float) -> None:
    """Freeze the cache while a sweep closes a packet, which stays `closing`."""
    packet_id, user = scene.send(expires_in_s=LIFE_S), scene.user()
    say(f"A share of packet {packet_id}: {scene.grab(packet_id, user)}")
    time.sleep(LIFE_S)
    with scene.frozen("cache"):
        expire = scene.stack["outputs"]["ExpireFunction"]
        scene.aws("lambda").invoke(FunctionName=expire, Payload=b"{}")
        wait(seconds, lambda: str(user.get(f"/packets/{packet_id}")["status"]))


def freeze_gateway(scene: Scene, seconds: float) -> None:
    """Freeze WeChat Pay while a user starts a payment and withdraws."""
    customer = _customer(scene)
    with scene.frozen("gateway"):
        _pay(customer, "wechat")
        _withdraw(customer, "wechat", seconds)


def freeze_wallet(scene: Scene, seconds: float) -> None:
    """Freeze the host's wallet while a user starts a payment and withdraws."""
    customer = scene.user(funds_fen=FUNDS_FEN)
    with scene.frozen("wallet"):
        _pay(customer, "host")
        _withdraw(customer, "host", seconds)


def empty_merchant(scene: Scene, seconds: float) -> None:
    """Make WeChat Pay respond that the merchant's account lacks money."""
    customer = _customer(scene)
    with httpx.Client(base_url=scene.stack["gateway"], trust_env=False, verify=NO_TLS) as gateway:
        gateway.post("/_fake/mode", json={"mode": "refuses_calls"}).raise_for_status()
        try:
            _note("The merchant's account is empty. Ctrl-C ends it")
            _withdraw(customer, "wechat", seconds)
        finally:
            gateway.post("/_fake/mode", json={"mode": "ok"}).raise_for_status()
            _note("The merchant's account has money again")


def stop_receiver(scene: Scene, seconds: float) -> None:
    """Create the webhook if it is missing, freeze its receiver, and send events."""
    operator = scene.user(scope=ADMIN_SCOPE)
    if WEBHOOK not in {each["name"] for each in operator.get("/admin/webhooks")["items"]}:
        url, event = f"{scene.stack['receiver']}/events/{WEBHOOK}", "redpacket.packet.sent"
        hook = {"url": url, "events": [event], "is_on": True}
        operator.put(f"/admin/webhooks/{WEBHOOK}", hook)

    def send() -> str:
        scene.send()
        return "sent"

    with scene.frozen("receiver"):
        wait(seconds, send)


def poison_queue(scene: Scene, _: float) -> None:
    """Send unreadable messages to the payout queue."""
    queue = scene.stack["outputs"]["PayoutQueueUrl"]
    for body in POISON:
        scene.aws("sqs").send_message(QueueUrl=queue, MessageBody=body)
    _note(f"{len(POISON)} messages that nobody can read are in the payout queue")


def raise_balance(scene: Scene, _: float) -> None:
    """Add money to a balance without an entry, which no function does."""
    user = scene.user(funds_fen=FUNDS_FEN)
    account = f"user:{user.get('/me')['user_token']}"
    scene.aws("dynamodb").update_item(
        TableName=scene.stack["outputs"]["AccountsTable"],
        Key=to_wire(keys.account(account)),
        UpdateExpression="ADD balance_fen :more",
        ExpressionAttributeValues=values(more=TOO_MUCH_FEN),
    )
    _note(f"A balance is {TOO_MUCH_FEN} fen too high. Users saw: {user.get('/me')['balance_fen']}")


def widen_budget(scene: Scene, _: float) -> None:
    """Create a campaign with ten times the budget in its file, and send a packet from it."""
    operator = scene.user(funds_fen=FUNDS_FEN, scope=ADMIN_SCOPE)
    campaign_id, now_ms = f"drill-{scene.mark}", int(time.time() * 1000)
    plan = {"title": "Drill", "starts_at_ms": now_ms, "ends_at_ms": now_ms + DAY_MS, "status": "on"}
    operator.put(f"/admin/campaigns/{campaign_id}", {**plan, "budget_fen": 10 * FUNDS_FEN})
    operator.post("/admin/packets", {**PACKET, "campaign_id": campaign_id})
    file = places.LOCAL.relative_to(places.ROOT) / f"{campaign_id}.yaml"
    (places.ROOT / file).write_text(json.dumps({**plan, "budget_fen": FUNDS_FEN}))
    _note(f"Campaign {campaign_id} has ten times the budget of its file {file}")


def _customer(scene: Scene) -> Client:
    """Return the client of a user with money and a linked WeChat account."""
    customer = scene.user(funds_fen=FUNDS_FEN)
    customer.post("/me/wechat", {"code": f"code-{uuid.uuid4().hex[:8]}"})
    return customer


def _pay(customer: Client, provider: str) -> None:
    body = {"amount_fen": 100, "channel": provider, "method": "native"}
    code = customer.post("/me/payments", body)[provider]
    say(f"A payment {'with' if code else 'without'} a code")


def _withdraw(customer: Client, provider: str, seconds: float) -> None:
    body = {"amount_fen": 100, "channel": provider}
    withdrawal_id = customer.post("/me/withdrawals", body)["withdrawal_id"]
    say(f"Withdrawal {withdrawal_id}")
    wait(seconds, lambda: str(customer.get(f"/me/withdrawals/{withdrawal_id}")["status"]))


DRILLS: dict[tuple[str, str], tuple[Callable[[Scene, float], None], float]] = {
    ("CACHE", "kill"): (kill_cache, 10),
    ("CACHE", "freeze"): (freeze_cache, 60),
    ("PACKET", "closing"): (leave_closing, 1000),
    ("GATEWAY", "freeze"): (freeze_gateway, 300),
    ("GATEWAY", "empty"): (empty_merchant, 300),
    ("WALLET", "freeze"): (freeze_wallet, 300),
    ("WEBHOOK", "down"): (stop_receiver, 120),
    ("QUEUE", "poison"): (poison_queue, 0),
    ("BALANCE", "wrong"): (raise_balance, 0),
    ("BUDGET", "wrong"): (widen_budget, 0),
}
"""Faults and their durations in seconds, keyed by variable and value."""


def drill() -> None:
    """Cause the fault that an environment variable names; SECONDS overrides its duration."""
    names = dict.fromkeys(name for name, _ in DRILLS)
    wanted = [(name, os.environ[name]) for name in names if os.environ.get(name)]
    if len(wanted) != 1 or wanted[0] not in DRILLS:
        choices = ", ".join(f"{name}={value}" for name, value in DRILLS)
        raise StackError(f"name one fault: {choices}; SECONDS=60 ends it after a minute")
    make, seconds = DRILLS[wanted[0]]
    with Scene(places.running_stack()) as scene:
        make(scene, float(os.environ.get("SECONDS") or seconds))


def _note(text: str) -> None:
    say(f"{datetime.now().astimezone():%H:%M:%S} {text}.")

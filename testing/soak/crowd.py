"""Crowd of a soak: hundreds of users and two operators, who use every feature at random."""

import random
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from local.stack import Stack
from testing.soak.watch import Caller, Watch, client, code_of

WORKERS = 8
CAMPAIGN = "gala"
PHRASE = "恭喜发财"
FUNDS_FEN, OPERATORS_FEN, BUDGET_FEN = 20_000, 50_000_000, 20_000_000
ABOVE_APPROVAL_FEN = 100_000_100
REPEATS = 0.1
"""Fraction of successful requests that a user who is not naive repeats with the same key."""
CANCELS, WELL_SAID, LARGE = 0.3, 0.8, 0.2
HOUR_MS = 3_600_000
RAIN_EVERY_S = 60.0
"""Seconds between two rains: the API rejects more than 20 rounds within 15 minutes."""
PROVIDERS = ("wechat", "host")
LOTTERY: dict[str, dict[str, Any]] = {
    "cup": {"title": "杯子", "kind": "goods", "weight": 2, "total": 5_000},
    "cash": {"title": "现金", "kind": "packet", "weight": 3, "total": 2_000, "amount_fen": 70},
}
SPLITS: tuple[dict[str, Any], ...] = (
    {"kind": "equal", "total_fen": 600, "count": 3},
    {"split": "bell", "share_fen_min": 10, "share_fen_max": 900},
    {"split": "cut_points"},
    {"split": "base_double_mean"},
    {"split": "double_mean_live"},
)
OLD_RELEASE = (httpx.codes.NOT_FOUND, "Not Found")
"""API Gateway's answer for a route that the deployed release does not have."""
WRONG = {"internal_error", "invalid_request", "unauthorized", "packet_not_found", "no JSON"}
"""Problem codes that the crowd's requests must never get."""


@dataclass
class Packet:
    """Packet that the crowd knows, with the claims that the API confirmed."""

    packet_id: str
    sender: "Person | None"
    total_fen: int
    phrase: str = ""
    claims: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Share number and amount, keyed by the claimer's name."""


@dataclass(eq=False)
class Person:
    """User, and the facts that the API's responses told this user."""

    name: str
    token: str
    call: Caller
    busy: threading.Lock = field(default_factory=threading.Lock)
    user_token: str = ""
    nickname: str = ""
    deposited_fen: int = 0
    won_fen: int = 0
    is_bound: bool = False
    draws: dict[str, str] = field(default_factory=dict)
    """Outcomes, keyed by draw id."""
    sent: list[Packet] = field(default_factory=list)
    taken: dict[str, tuple[int, int]] = field(default_factory=dict)
    payments: dict[str, tuple[str, int]] = field(default_factory=dict)
    withdrawals: dict[str, tuple[str, int]] = field(default_factory=dict)


class Crowd:
    """Users of one stack, and the threads that act for them."""

    def __init__(self, stack: Stack, watch: Watch, seed: int, count: int, naive: int) -> None:
        self.stack, self.watch, self.seed = stack, watch, seed
        self.http = client(stack.api)
        self.providers = {"wechat": client(stack.gateway), "host": client(stack.wallet)}
        self.operator, self.treasurer = (
            self._caller(name, "hongbao/admin hongbao/treasury") for name in ("boss", "till")
        )
        self.people = [self._person(f"soak-{number:03}") for number in range(count)]
        self.naive = self.people[:naive]
        """Control: users who repeat requests under new keys, which must lead to wrong balances."""
        for person in self.naive:
            person.call.is_forgetful = True
        self.live: list[Packet] = []
        self.profiles, self.rains = threading.Lock(), threading.Lock()
        self.next_rain_at = 0.0
        self.waiting: dict[str, Person] = {}
        """Users who started a withdrawal or payment that an upgrade delayed, keyed by its page."""
        self._is_over = threading.Event()
        self._threads: list[threading.Thread] = []

    def _caller(self, name: str, scope: str | None = None) -> Caller:
        return Caller(self.http, self.watch, self.stack.token(name, scope=scope))

    def _person(self, name: str) -> Person:
        token = self.stack.token(name, nickname=name)
        return Person(name, token, Caller(self.http, self.watch, token), nickname=name)

    # ---------------------------------------------------------------- life

    def begin(self) -> None:
        """Give all users money, create the campaign and prizes, and start the threads."""
        for name in ("boss", "till"):
            giver = self.treasurer if name == "boss" else self.operator
            giver.ask("POST", "/admin/deposits", {"user": name, "amount_fen": OPERATORS_FEN}, name)
        self.edit_campaign(random.Random(self.seed))
        for prize_id, prize in LOTTERY.items():
            path = f"/admin/campaigns/{CAMPAIGN}/prizes/{prize_id}"
            expect(self.operator.ask("PUT", path, prize))
        for person in self.people:
            person.user_token = expect(person.call.ask("GET", "/me"))["user_token"]
            self.deposit(person, FUNDS_FEN)
        self._threads = [
            threading.Thread(target=self._act, args=(random.Random(f"{self.seed}/{number}"),))
            for number in range(WORKERS)
        ]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Stop each thread once its current action is complete."""
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _act(self, chance: random.Random) -> None:
        actions, weights = zip(*ACTIONS.items(), strict=True)
        while not self._is_over.is_set():
            person = chance.choice(self.people)
            if not person.busy.acquire(blocking=False):
                continue
            (action,) = chance.choices(actions, weights)
            try:
                action(self, person, chance)
            except Exception as error:  # noqa: BLE001 - a thread that ends silently proves nothing
                self.watch.violated(f"{action.__name__}: {error!r}")
            finally:
                person.busy.release()

    def once(
        self, person: Person, path: str, body: dict[str, Any], chance: random.Random, name: str
    ) -> dict[str, Any] | None:
        """Post, and sometimes repeat it; return the first result, or None for a refusal."""
        key = uuid.uuid4().hex
        answer = person.call.ask("POST", path, body, key)
        told = self.told(answer, path)
        if told and (person.call.is_forgetful or chance.random() < REPEATS):
            again = person.call.ask("POST", path, body, key)
            same = again.is_success and again.json()[name] == told[name]
            if not same and person not in self.naive:
                self.watch.violated(f"a repeat of {path} differs: {told} {again.text}")
            self.watch.did("repeat")
        return told

    def told(self, answer: httpx.Response, feature: str) -> dict[str, Any] | None:
        """Return a successful response's body and count *feature*, or return None for a refusal."""
        if answer.is_success:
            self.watch.did(feature)
            return dict(answer.json())
        code = code_of(answer)
        if answer.is_server_error or code in WRONG:
            text = f"{feature} refused: {answer.status_code} {answer.text[:300]}"
            self.watch.violated(text)
        elif (answer.status_code, code) != OLD_RELEASE:
            self.watch.did(f"refusal {code}")
        return None

    def bind(self, person: Person) -> None:
        """Link the user's WeChat account, once."""
        if not person.is_bound:
            expect(person.call.ask("POST", "/me/wechat", {"code": f"code-{person.name}"}))
            person.is_bound = True

    def outside(self, channel: str, control: str, body: dict[str, Any]) -> bool:
        """Act at a provider as its users do; return whether the provider accepted it."""
        try:
            return self.providers[channel].post(f"/_fake/{control}", json=body).is_success
        except httpx.TransportError:
            return False  # the provider is frozen

    # ---------------------------------------------------------------- operators

    def deposit(self, person: Person, amount_fen: int) -> None:
        """Put money into an account; a second operator approves a large sum."""
        body = {"user": person.name, "amount_fen": amount_fen}
        answer = self.treasurer.ask("POST", "/admin/deposits", body, uuid.uuid4().hex)
        if answer.status_code == httpx.codes.ACCEPTED:
            path = f"/admin/approvals/{answer.json()['approval_id']}/approve"
            answer = self.operator.ask("POST", path, {})
            self.watch.did("approval")
        expect(answer)
        person.deposited_fen += amount_fen
        self.watch.did("deposit")

    def edit_campaign(self, chance: random.Random) -> None:
        """Create the campaign, or edit its title, end and budget."""
        now_ms = time.time_ns() // 1_000_000
        body = {
            "title": f"晚会 {chance.randrange(100)}",
            "starts_at_ms": self.seed_ms,
            "ends_at_ms": now_ms + 6 * HOUR_MS + chance.randrange(HOUR_MS),
            "budget_fen": BUDGET_FEN,
            "passphrase": PHRASE,
            "miss_weight": 3,
            "rules": {"attempts_per_user_per_day": 1_000, "wins_per_user_per_day": 0},
            "status": "on",
        }
        self.told(self.operator.ask("PUT", f"/admin/campaigns/{CAMPAIGN}", body), "campaign edit")

    seed_ms = time.time_ns() // 1_000_000 - 1_000
    """Start of the campaign in milliseconds, which no edit changes."""


def expect(answer: httpx.Response) -> dict[str, Any]:
    """Return the body of a successful response. Raises RuntimeError."""
    if not answer.is_success:
        raise RuntimeError(f"{answer.request.url.path}: {answer.status_code} {answer.text}")
    content: dict[str, Any] = answer.json()
    return content


# ---------------------------------------------------------------- actions of a user


def send(crowd: Crowd, person: Person, chance: random.Random) -> None:
    """Send a packet of a random kind, funded from the balance or by a payment."""
    kind = chance.choice(("plain", "split", "two-step", "passphrase", "timed", "for few", "paid"))
    body: dict[str, Any] = {"kind": "lucky", "total_fen": chance.randrange(300, 900), "count": 3}
    starts_at = time.time() + 3 if kind == "timed" else 0.0
    body |= {"expires_in_s": chance.randrange(15, 60)}
    body |= {
        "split": chance.choice(SPLITS),
        "two-step": {"opening": "two_step"},
        "passphrase": {"passphrase": PHRASE},
        "timed": {"starts_at_ms": int(starts_at * 1000)},
        "for few": {"recipients": [each.user_token for each in chance.sample(crowd.people, 8)]},
        "paid": {"pay_with": chance.choice(PROVIDERS)},
    }.get(kind, {})
    if told := crowd.once(person, "/packets", body, chance, "packet_id"):
        packet = Packet(told["packet_id"], person, body["total_fen"], body.get("passphrase", ""))
        if kind == "paid":
            person.payments[told["payment_id"]] = (str(body["pay_with"]), packet.total_fen)
        person.sent.append(packet)
        crowd.live.append(packet)
        crowd.watch.did(f"packet {kind}")


def send_of_campaign(crowd: Crowd, _: Person, chance: random.Random) -> None:
    """Send a packet in the campaign as the operator."""
    body = {"kind": "lucky", "total_fen": 800, "count": 8, "campaign_id": CAMPAIGN}
    body["expires_in_s"] = chance.randrange(15, 60)
    answer = crowd.operator.ask("POST", "/admin/packets", body, uuid.uuid4().hex)
    if told := crowd.told(answer, "packet of a campaign"):
        crowd.live.append(Packet(told["packet_id"], None, 800))


def plan_rain(crowd: Crowd, person: Person, _: random.Random) -> None:
    """Plan a rain round as the operator; the crowd finds the packets before the round begins."""
    with crowd.rains:
        if time.time() < crowd.next_rain_at:
            return
        starts_at = time.time() + 20  # on a loaded machine, a repeated request is late
        crowd.next_rain_at = time.time() + RAIN_EVERY_S
    body = {"starts_at_ms": int(starts_at * 1000), "seconds": 20, "packets": 2}
    body |= {"total_fen": 2_000, "count": 20}
    path = f"/admin/campaigns/{CAMPAIGN}/rains"
    answer = crowd.operator.ask("POST", path, body, uuid.uuid4().hex)
    if answer.is_client_error and time.time() > starts_at:
        return  # the faults lasted until after the start, so the API rejected the plan
    if crowd.told(answer, "rain"):
        time.sleep(max(0.0, starts_at - 2 - time.time()))
        shown = expect(person.call.ask("GET", f"/campaigns/{CAMPAIGN}"))
        ids = {each for rain in shown["rains"] for each in rain["packets"] or ()}
        with crowd.rains:
            ids -= {packet.packet_id for packet in crowd.live}
            crowd.live.extend(Packet(each, None, 1_000) for each in ids)


def grab(crowd: Crowd, person: Person, chance: random.Random) -> None:
    """Grab a share of a recent packet, and open it if it is a two-step packet."""
    if not crowd.live:
        return
    packet = chance.choice(crowd.live[-60:])
    path = f"/packets/{packet.packet_id}"
    body = {"passphrase": packet.phrase} if packet.phrase and chance.random() < WELL_SAID else None
    answer = person.call.ask("POST", f"{path}/grab", body)
    if answer.is_success and "grab_token" in answer.json():
        ticket = {"grab_token": answer.json()["grab_token"]}
        answer = person.call.ask("POST", f"{path}/open", ticket)
    if told := crowd.told(answer, "claim"):
        claim = told["share_no"], told["amount_fen"]
        before = packet.claims.setdefault(person.name, claim)
        if before != claim:
            crowd.watch.violated(f"{person.name} was told {before} and {claim} of {packet}")
        person.taken[packet.packet_id] = claim


def thank(crowd: Crowd, person: Person, chance: random.Random) -> None:
    """Thank the sender of a share."""
    if person.taken:
        path = f"/packets/{chance.choice(list(person.taken))}/thanks"
        crowd.told(person.call.ask("POST", path, {"emoji": "🎉"}), "thanks")


def end_packet(crowd: Crowd, person: Person, chance: random.Random) -> None:
    """End one of the user's own packets early."""
    if person.sent:
        path = f"/packets/{chance.choice(person.sent[-3:]).packet_id}/end"
        crowd.told(person.call.ask("POST", path), "end")


def draw(crowd: Crowd, person: Person, chance: random.Random) -> None:
    """Draw once, unless the user is naive; a cash prize is credited like a claim."""
    if person in crowd.naive:
        return
    if told := crowd.once(person, f"/campaigns/{CAMPAIGN}/draws", {}, chance, "draw_id"):
        prize = told["prize"] or {}
        person.draws[told["draw_id"]] = told["outcome"]
        if prize.get("kind") == "packet":
            person.won_fen += prize["amount_fen"]
            crowd.watch.did("cash prize")
        crowd.watch.did("draw")


def help_friend(crowd: Crowd, person: Person, chance: random.Random) -> None:
    """Enter the campaign's passphrase for a friend."""
    friend = chance.choice([each for each in crowd.people if each is not person])
    body = {"inviter_token": friend.user_token, "transcript": PHRASE}
    crowd.told(person.call.ask("POST", f"/campaigns/{CAMPAIGN}/helps", body), "help")


def pay(crowd: Crowd, person: Person, chance: random.Random) -> None:
    """Begin a payment."""
    channel, amount_fen = chance.choice(PROVIDERS), chance.randrange(100, 900)
    body = {"amount_fen": amount_fen, "channel": channel, "method": "native"}
    if told := crowd.once(person, "/me/payments", body, chance, "payment_id"):
        person.payments[told["payment_id"]] = (channel, amount_fen)
        crowd.watch.did(f"payment by {channel}")


def pay_outside(crowd: Crowd, person: Person, chance: random.Random) -> None:
    """Pay an order at its provider."""
    if person.payments:
        payment_id, (channel, _) = chance.choice(list(person.payments.items()))
        if crowd.outside(channel, "pay", {"payment_id": payment_id, "payer": person.name}):
            crowd.watch.did(f"paid at {channel}")


def refund_outside(crowd: Crowd, person: Person, _: random.Random) -> None:
    """Refund part of the last credited payment through the provider's console.

    A payment that is refunded before it is credited would wait for an operator.
    """
    for payment_id, (channel, amount_fen) in reversed(list(person.payments.items())):
        told = person.call.ask("GET", f"/me/payments/{payment_id}")
        if told.is_success and told.json()["status"] == "paid":
            body = {"payment_id": payment_id, "payer": person.name, "amount_fen": amount_fen // 4}
            if crowd.outside(channel, "refund", body):
                crowd.watch.did("refund outside")
            return


def withdraw(crowd: Crowd, person: Person, chance: random.Random) -> None:
    """Withdraw money to a linked account."""
    channel, amount_fen = chance.choice(PROVIDERS), chance.randrange(100, 300)
    if channel == "wechat":
        crowd.bind(person)
    body = {"amount_fen": amount_fen, "channel": channel}
    if told := crowd.once(person, "/me/withdrawals", body, chance, "withdrawal_id"):
        person.withdrawals[told["withdrawal_id"]] = (channel, amount_fen)
        crowd.watch.did(f"withdrawal by {channel}")


def finish_withdrawal(crowd: Crowd, person: Person, chance: random.Random) -> None:
    """Confirm a withdrawal at the provider, or cancel it through the API."""
    if person.withdrawals:
        number, (channel, _) = chance.choice(list(person.withdrawals.items()))
        is_waiting = any(page.endswith(number) for page in crowd.waiting)
        if chance.random() < CANCELS and not is_waiting:
            crowd.told(person.call.ask("POST", f"/me/withdrawals/{number}/cancel"), "cancel")
        elif crowd.outside(channel, "confirm", {"withdrawal_id": number}):
            crowd.watch.did("confirmation")


def rename(crowd: Crowd, person: Person, chance: random.Random) -> None:
    """Change the nickname, unless a restoration of profiles is in progress."""
    if crowd.profiles.acquire(blocking=False):
        try:
            name = f"{person.name}-{chance.randrange(1_000)}"
            answer = person.call.ask("PUT", "/me/profile", {"nickname": name})
            if crowd.told(answer, "profile"):
                person.nickname = name
        finally:
            crowd.profiles.release()


def read(crowd: Crowd, person: Person, chance: random.Random) -> None:
    """Read one of the resources that the page reads."""
    paths = ["/me", "/me/sent", "/me/received", "/me/transfers", f"/campaigns/{CAMPAIGN}"]
    paths += [f"/packets/{packet_id}" for packet_id in list(person.taken)[-3:]]
    path = chance.choice([*paths, "/me/notices"])
    crowd.told(person.call.ask("GET", path), "notices" if "notices" in path else "page")


def deposit(crowd: Crowd, person: Person, chance: random.Random) -> None:
    """Deposit money for the user as an operator, sometimes a sum that needs approval."""
    is_large = chance.random() < LARGE
    crowd.deposit(person, ABOVE_APPROVAL_FEN if is_large else chance.randrange(100, 1_000))


def edit(crowd: Crowd, _: Person, chance: random.Random) -> None:
    """Edit the campaign as the operator."""
    crowd.edit_campaign(chance)


ACTIONS: dict[Callable[[Crowd, Person, random.Random], None], int] = {
    send: 12,
    send_of_campaign: 2,
    plan_rain: 1,
    grab: 40,
    thank: 4,
    end_packet: 2,
    draw: 5,
    help_friend: 1,
    pay: 4,
    pay_outside: 7,
    refund_outside: 5,
    withdraw: 4,
    finish_withdrawal: 7,
    rename: 2,
    read: 12,
    deposit: 2,
    edit: 1,
}
"""Actions of users and operators, with their relative frequencies."""

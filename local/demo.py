"""Demonstration for `make demo`: packets of many kinds, shown and verified on a new stack.

Thirty users race for ten shares of the first packet. Packets of other kinds follow: with other
splits, with two steps, for recipients only, with a passphrase, and in a campaign with a quota. A
lottery offers goods and cash. In a group chat, 200 members tap a card with a hundred shares. A user
claims one share of the next packet, and the sender gets the rest back at expiry. The last packet's
sender pays through a provider, and a claimer withdraws part of the share. At the end, each packet
that was sent must pass its audit, and the ledger must agree with the provider's books.
"""

import json
import os
import shutil
import sys
import time
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from local import places
from local.client import Client, until_answered
from local.commands import say
from local.errors import StackError
from local.gateways.setups import setups
from local.stack import Stack
from local.welcome import ADMIN_SCOPE, open_chats
from redpacket.platform.unit import Unit

money = Unit().text

RACERS = 30
SHARES = 10
DEPOSIT_FEN = 40_000
RACED: dict[str, Any] = {
    "kind": "lucky",
    "total_fen": 8_888,
    "count": SHARES,
    "greeting": "恭喜发财，大吉大利",
}
# The lifetime of five seconds is long enough for one grab on a warm stack.
EXPIRING: dict[str, Any] = {
    "kind": "equal",
    "total_fen": 500,
    "count": 5,
    "greeting": "手慢无",
    "expires_in_s": 5,
}
PROVIDER = next(name for name, each in setups().items() if each.program == "gateway")
PAID: dict[str, Any] = {
    "kind": "equal",
    "total_fen": 1_000,
    "count": 2,
    "greeting": "直接付款",
    "pay_with": PROVIDER,
}
WITHDRAWN: dict[str, Any] = {"amount_fen": 300, "channel": PROVIDER}
OUTSIDE_KINDS = {"payment", "payment_refunded", "withdrawal", "withdrawal_returned"}
CLAIMERS = 4
SPELL = "芝麻开门"
CAMPAIGN_ID = "new-year"
LOTTERY_ID = "lantern"
DRAWERS = 6
TAPPERS, TAPPED = 200, 100
PLATFORM = "telegram"
PRIZES: dict[str, dict[str, Any]] = {
    "phone": {"title": "手机", "kind": "goods", "weight": 1, "total": 1},
    "lantern": {"title": "灯笼", "kind": "goods", "weight": 4, "total": 3},
    "cash": {"title": "现金", "kind": "packet", "weight": 3, "total": 5, "amount_fen": 200},
}
# Maximum seconds to wait for a step. A settlement takes about one second.
WAIT_S_MAX = 60.0
# The demonstration sends EventBridge Scheduler's event itself, to avoid a wait of up to a minute.
SCHEDULE = {"source": "aws.scheduler", "detail-type": "Scheduled Event", "detail": {}}


@dataclass
class _Demo:
    """Running stack, and an API client for each user."""

    stack: Stack
    admin: Client
    sender: Client
    packet_ids: list[str] = field(default_factory=list)

    def user(self, number: int) -> Client:
        name = f"racer-{number:02}"
        return Client(self.stack.api, self.stack.token(name, nickname=f"抢手{number:02}"))

    def send(self, packet: dict[str, Any], sender: Client | None = None) -> str:
        packet_id: str = (sender or self.sender).post("/packets", packet)["packet_id"]
        self.packet_ids.append(packet_id)
        return packet_id

    def page(self, packet_id: str) -> dict[str, Any]:
        return self.sender.get(f"/packets/{packet_id}")


def demo() -> None:
    """Run the demonstration; print JSON as the last line, and fail if a check at the end fails."""
    state_dir = places.STATES / f"demo-{os.getpid()}"
    try:
        with Stack(state_dir, say=say) as stack:
            result = _show(stack)
    finally:
        shutil.rmtree(state_dir, ignore_errors=True)
    print(json.dumps(result))
    if not result["conserved"]:
        sys.exit(1)


def _show(stack: Stack) -> dict[str, Any]:
    admin = Client(stack.api, stack.token("operator", scope=ADMIN_SCOPE))
    sender = Client(stack.api, stack.token("lao-ban", nickname="老板"))
    with admin, sender:
        show = _Demo(stack, admin, sender)
        # Operators cannot credit themselves, so another operator makes the deposits.
        with Client(stack.api, stack.token("treasurer", scope=ADMIN_SCOPE)) as treasurer:
            for user in ("lao-ban", "operator"):
                treasurer.post("/admin/deposits", {"user": user, "amount_fen": DEPOSIT_FEN})
            open_chats(treasurer)
        _race(show)
        _show_kinds(show)
        _rain(show)
        _draw(show)
        with Client(stack.chat) as chat:
            tapped_id = _tap(chat)
        _expire(show)
        with Client(stack.gateway) as gateway:
            outside = _pay(show, gateway)
        return _check(show, outside, tapped_id)


def _race(show: _Demo) -> None:
    packet_id = show.send(RACED)
    say(f"\n{RACERS} users race for {SHARES} shares of {money(RACED['total_fen'])}")
    with ThreadPoolExecutor(RACERS) as crowd:
        outcomes = list(
            crowd.map(lambda number: _grab(show.user(number), packet_id), range(RACERS))
        )
    for outcome in sorted(set(outcomes)):
        say(f"  {outcomes.count(outcome):3} {outcome}")
    _wait_for("settlement", lambda: _is_settled(show.page(packet_id), SHARES))
    say(_table(show.page(packet_id)))


def _kinds(invited: list[str]) -> dict[str, dict[str, Any]]:
    """Return the packets to send, keyed by heading."""
    return {
        "in whole yuan, with small differences": {"split": "base_double_mean", "unit_fen": 100},
        "between 3 and 7 yuan, mostly near 5": {
            "split": "bell",
            "share_fen_min": 300,
            "share_fen_max": 700,
        },
        "cut at random points": {"split": "cut_points"},
        "computed when they are opened, in two steps": {
            "split": "double_mean_live",
            "opening": "two_step",
        },
        "for two recipients (专属红包)": {"recipients": invited},
        f"for users who say {SPELL} (口令红包)": {"passphrase": SPELL},
    }


def _show_kinds(show: _Demo) -> None:
    invited = [_user_token(show.user(number)) for number in range(2)]
    for words, kind in _kinds(invited).items():
        packet = {"kind": "lucky", "total_fen": 2_000, "count": CLAIMERS, "greeting": "万事如意"}
        packet_id = show.send({**packet, **kind})
        # Try the correct phrase, a homophone, a wrong phrase, and no phrase.
        passphrases = (
            (SPELL, "知麻开门", "开心", None) if "passphrase" in kind else (None,) * CLAIMERS
        )
        outcomes = [
            _grab(show.user(number), packet_id, passphrases[number]) for number in range(CLAIMERS)
        ]
        page = show.page(packet_id)
        amounts = " ".join(money(claim["amount_fen"]) for claim in page["claims"])
        say(f"\n{CLAIMERS} shares {words}: {', '.join(outcomes)}\n  {amounts}")


def _rain(show: _Demo) -> None:
    now_ms = int(time.time() * 1000)
    plan = {
        "title": "新年红包雨",
        "starts_at_ms": now_ms,
        "ends_at_ms": now_ms + 3_600_000,
        "budget_fen": 3_000,
        "quota_per_user": 2,
        "status": "on",
    }
    show.admin.put(f"/admin/campaigns/{CAMPAIGN_ID}", plan)
    packet = {"kind": "equal", "total_fen": 1_000, "count": 5, "campaign_id": CAMPAIGN_ID}
    packet_ids = [show.send(packet, show.admin) for _ in range(3)]
    outcomes = [_grab(show.user(0), packet_id) for packet_id in packet_ids]
    say(f"\nA campaign of three packets, two shares for each user: {', '.join(outcomes)}")


def _draw(show: _Demo) -> None:
    now_ms = int(time.time() * 1000)
    plan = {
        "title": "元宵抽奖",
        "starts_at_ms": now_ms,
        "ends_at_ms": now_ms + 3_600_000,
        "miss_weight": 4,
        "rules": {"attempts_per_user_per_day": 2},
        "passphrase": SPELL,
        "status": "on",
    }
    path = f"/admin/campaigns/{LOTTERY_ID}"
    show.admin.put(path, plan)
    for prize_id, prize in PRIZES.items():
        show.admin.put(f"{path}/prizes/{prize_id}", prize)
    say(f"\nA lottery: {DRAWERS} users draw twice, and one once more for a friend's help")
    for number in range(DRAWERS):
        with show.user(number) as user:
            titles = [_drawn(user) for _ in range(2)]
            if number == 0:
                token = user.get("/me")["user_token"]
                with show.user(1) as friend:
                    body = {"inviter_token": token, "transcript": SPELL}
                    friend.post(f"/campaigns/{LOTTERY_ID}/helps", body)
                titles.append(_drawn(user))
        say(f"  抢手{number:02} {', '.join(titles)}")
    won = [
        f"{prize['issued']}/{prize['total']} {prize['title']}"
        for prize in show.admin.get(path)["prizes"]
    ]
    say(f"  won: {', '.join(won)}")


def _drawn(user: Client) -> str:
    prize = user.post(f"/campaigns/{LOTTERY_ID}/draws", {})["prize"]
    return str(prize["title"]) if prize else "谢谢参与"


def _tap(chat: Client) -> str:
    """Tap a card in a group chat as many users, and return the packet's id."""
    say(f"\n{TAPPERS} members of a {PLATFORM} group tap a card with {TAPPED} shares")
    joined: Any = chat.post("/_fake/crowd", {"size": TAPPERS})
    command = {"platform": PLATFORM, "text": f"/hongbao 88.88 {TAPPED} 群里见"}
    chat.post("/_fake/write", {**command, "member": "ming"})

    def state() -> dict[str, Any]:
        room: dict[str, Any] = chat.get("/_fake/state")[PLATFORM]
        return room

    def cards() -> list[dict[str, Any]]:
        messages = state()["chats"]["group"]["messages"]
        return [message for message in messages if message["author"] == "bot"]

    _wait_for("the card", lambda: bool(cards()))
    (card,) = cards()
    for member in joined:
        tap = {"platform": PLATFORM, "member": member, "message": card["id"]}
        chat.post("/_fake/tap", tap)
    _wait_for("the last edit of the card", lambda: not cards()[0]["buttons"])
    told = [each["text"] for toasts in state()["toasts"].values() for each in toasts]
    amounts = sum("¥" in text for text in told)
    say(f"  {amounts} saw an amount, {len(told)} an answer: Telegram drops them after 20 s")
    say(f"  {cards()[0]['edits']} edits of the card: {cards()[0]['runs'][1][0].splitlines()[2]}")
    return str(card["buttons"][0]["callback_data"])


def _expire(show: _Demo) -> None:
    packet_id = show.send(EXPIRING)
    outcome = _grab(show.user(0), packet_id)
    say(f"\nA second packet lives for {EXPIRING['expires_in_s']} s; one user grabs: {outcome}")
    functions = show.stack.aws("lambda")

    def is_closed() -> bool:
        name = show.stack.outputs["ExpireFunction"]
        functions.invoke(FunctionName=name, Payload=json.dumps(SCHEDULE).encode())
        page = show.page(packet_id)
        return page["status"] == "closed" and _is_settled(page, 1)

    _wait_for("the refund", is_closed)
    say(_table(show.page(packet_id)))


def _pay(show: _Demo, gateway: Client) -> dict[str, int]:
    """Pay as a sender, withdraw as a claimer, and return both totals to compare."""
    say("\nA packet that its sender pays for at the gateway of this stack")
    with (
        Client(show.stack.api, show.stack.token("payer", nickname="付款人")) as payer,
        show.user(1) as claimer,
    ):
        sent = payer.post("/packets", PAID)
        packet_id, payment_id = sent["packet_id"], sent["payment_id"]
        show.packet_ids.append(packet_id)
        payment = f"/me/payments/{payment_id}"
        # If the provider does not answer within the send request, the payment gets its prompt
        # later.
        _wait_for("the prompt to pay", lambda: payer.get(payment)[PROVIDER] is not None)
        say(f"  {sent['status']}, pays {payer.get(payment)[PROVIDER]['code_url']}")
        say(f"  a grab before it is paid: {_grab(show.user(2), packet_id)}")
        gateway.post("/_fake/pay", {"payment_id": payment_id})
        _wait_for("the payment", lambda: payer.get(payment)["status"] == "paid")
        outcome = _grab(show.user(1), packet_id)
        say(f"  paid, and the packet is {show.page(packet_id)['status']}; a grab: {outcome}")
        _wait_for("settlement", lambda: _is_settled(show.page(packet_id), 1))
        claimer.post(f"/me/{PROVIDER}", {"code": "code-racer"})
        withdrawal = claimer.post("/me/withdrawals", WITHDRAWN)
        path = f"/me/withdrawals/{withdrawal['withdrawal_id']}"
        say(f"\nThe claimer withdraws {money(WITHDRAWN['amount_fen'])}: {withdrawal['status']}")
        name, task = show.stack.outputs["TransferFunction"], {"task": "dispatch"}
        functions = show.stack.aws("lambda")

        def is_called() -> bool:
            functions.invoke(FunctionName=name, Payload=json.dumps(task).encode())
            return bool(claimer.get(path)["status"] == "awaiting_confirmation")

        _wait_for("the gateway's call", is_called)
        say(f"  {claimer.get(path)['status']}: {claimer.get(path)[PROVIDER]['package']}")
        gateway.post("/_fake/confirm", {"withdrawal_id": withdrawal["withdrawal_id"]})
        _wait_for("the withdrawal", lambda: claimer.get(path)["status"] == "paid")
        say(f"  confirmed: {claimer.get(path)['status']}")
        transfers = [*payer.get("/me/transfers")["items"], *claimer.get("/me/transfers")["items"]]
    ledger_fen = sum(
        transfer["amount_fen"] for transfer in transfers if transfer["kind"] in OUTSIDE_KINDS
    )
    book = gateway.get("/_fake/book")
    outside_fen = sum(payment["paid_fen"] - payment["refunded_fen"] for payment in book["in"])
    outside_fen -= sum(
        transfer["amount_fen"] for transfer in book["out"] if transfer["state"] == "SUCCESS"
    )
    say(f"  left at the gateway {money(outside_fen)}, in the ledger {money(ledger_fen)}")
    return {"outside_fen": outside_fen, "ledger_fen": ledger_fen}


def _check(show: _Demo, outside: dict[str, int], tapped_id: str) -> dict[str, Any]:
    pages = [show.page(packet_id) for packet_id in show.packet_ids]
    ids = [*show.packet_ids, tapped_id]
    audits = [show.admin.get(f"/admin/packets/{packet_id}/audit") for packet_id in ids]
    for packet_id, audit in zip(ids, audits, strict=True):
        if not audit["ok"]:
            say(f"audit of {packet_id}: {json.dumps(audit, ensure_ascii=False)}")
    claims = [claim for page in pages for claim in page["claims"]]
    return {
        "packets": len(pages),
        "claims": len(claims),
        "settled": sum(claim["payout"] == "settled" for claim in claims),
        "refunded_fen": sum(page["refunded_fen"] for page in pages),
        **outside,
        "conserved": outside["outside_fen"] == outside["ledger_fen"]
        and all(audit["ok"] and not audit["differences"] for audit in audits),
    }


def _grab(user: Client, packet_id: str, passphrase: str | None = None) -> str:
    """Grab once, open if admitted, and return the outcome or the refusal's code."""
    with user:
        ask, path = {"passphrase": passphrase} if passphrase else {}, f"/packets/{packet_id}/grab"
        answer = until_answered(lambda: user.try_post(path, ask))
        if answer.is_success and "grab_token" in answer.json():
            ticket = {"grab_token": answer.json()["grab_token"]}
            path = f"/packets/{packet_id}/open"
            answer = until_answered(lambda: user.try_post(path, ticket))
    content = answer.json()
    return str(content["outcome"] if answer.is_success else content.get("code", answer.status_code))


def _user_token(user: Client) -> str:
    with user:
        return str(user.get("/me")["user_token"])


def _is_settled(page: dict[str, Any], count: int) -> bool:
    return [claim["payout"] for claim in page["claims"]] == ["settled"] * count


def _wait_for(what: str, is_done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S_MAX
    while not is_done():
        if time.monotonic() > deadline:
            raise StackError(
                f"{what} did not come within {WAIT_S_MAX:.0f} s: run `make demo` again"
            )
        time.sleep(0.25)


def _table(page: dict[str, Any]) -> str:
    """Return the record page as a plain-text table."""
    head = (
        f"\n{page['sender']['nickname']}: {page['greeting']}   {page['status']}, "
        f"{page['claimed_count']}/{page['count']} shares, "
        f"{money(page['claimed_fen'])} of {money(page['total_fen'])}, "
        f"{money(page['refunded_fen'])} refunded"
    )
    rows = [
        (
            claim["nickname"] or "",
            f"{money(claim['amount_fen']):>8}",
            f"+{(claim['claimed_at_ms'] - page['created_at_ms']) / 1000:.3f} s",
            claim["payout"],
            "手气最佳" if claim["is_luckiest"] else "",
        )
        for claim in page["claims"]
    ]
    return "\n".join(
        [head, *("  " + "  ".join(_pad(cell, 10) for cell in row).rstrip() for row in rows)]
    )


def _pad(text: str, width: int) -> str:
    """Pad *text* to *width* columns; a Chinese character takes two."""
    columns = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
    return text + " " * (width - columns)

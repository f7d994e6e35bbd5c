"""Host wallet in one file: it implements docs/reference/host-wallet.md, with its books in memory.

    .local/venv/app/bin/python examples/wallet/wallet.py
    make up HOST_WALLET_URL=http://127.0.0.1:18999/wallet

A real wallet must write each number and the movement of money in one database transaction. This
example has two of the controls that `make wallet-check` uses (the check describes the others):

    POST /_fake/pay      payer's tap: payment_id, payer; amount_fen overrides the amount,
                         "late": true pays an order that is closed or paid
    POST /_fake/advance  moves the clock forward by ms
"""

import argparse
import base64
import json
import secrets
import threading
import time
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from standardwebhooks import Webhook

Fields = dict[str, Any]
CHINA = timezone(timedelta(hours=8))
RETRY_S = (0, 1, 2, 5, 30, 120)


class Wallet:
    """The wallet's books, with one row per number. A repeated call changes nothing."""

    def __init__(self, report: Callable[[str, str, str], None]) -> None:
        """Store *report*, which sends the type, the number, and the wallet's own id of a result."""
        self._report, self._ahead_ms = report, 0
        self.orders: dict[str, Fields] = {}
        self.refunds: dict[str, Fields] = {}
        self.transfers: dict[str, Fields] = {}
        self.lines: list[Fields] = []
        self.calls: dict[str, Callable[[Fields], Fields]] = {
            "payment.order": self.order,
            "payment.query": self.query,
            "payment.find": lambda asked: {"transaction": self.transaction(asked)},
            "payment.close": self.close,
            "refund.order": self.refund,
            "refund.query": lambda asked: _found(self.refunds, "refund_no", asked),
            "transfer.order": self.transfer,
            "transfer.query": lambda asked: _found(self.transfers, "bill_no", asked),
            "transfer.cancel": lambda asked: _found(self.transfers, "bill_no", asked),
            "bill.read": self.statement,
        }

    def order(self, asked: Fields) -> Fields:
        """Create an order, once per number."""
        made = {"state": "unpaid", "transactions": [], "client": {"pay": asked["number"]}}
        _once(self.orders, "number", asked, made)
        return self.query(asked)

    def query(self, asked: Fields) -> Fields:
        """Return an order."""
        order = self.orders.get(asked["number"])
        if order is None:
            return {"number": asked["number"], "state": "not_found", "transactions": []}
        if order["state"] == "unpaid" and order["asked"]["expires_at_ms"] <= self._now_ms():
            order["state"] = "closed"
        return order

    def close(self, asked: Fields) -> Fields:
        """Close an unpaid order."""
        order = self.query(asked)
        if order["state"] == "unpaid":
            order["state"] = "closed"
        return order

    def pay(self, asked: Fields) -> Fields:
        """Pay an order as its payer."""
        order = self.query({"number": asked["payment_id"]})
        if order["state"] != "unpaid" and not asked.get("late"):
            raise ValueError(f"the order is {order['state']}")
        paid = {
            "transaction_id": f"P{secrets.token_hex(12)}",
            **{name: order["asked"][name] for name in ("number", "currency")},
            "amount_fen": asked.get("amount_fen", order["asked"]["amount_fen"]),
            "user": order["asked"]["user"] or asked.get("payer", "somebody"),
            "paid_at_ms": self._now_ms(),
            "refunded_fen": 0,
        }
        order["transactions"].append(paid)
        order["state"] = "paid"
        self._move("payment", paid["number"], paid["transaction_id"], paid["amount_fen"])
        return {"number": paid["number"], "transaction_id": paid["transaction_id"]}

    def advance(self, asked: Fields) -> Fields:
        """Move the clock forward."""
        self._ahead_ms += asked["ms"]
        return {"now_ms": self._now_ms()}

    def transaction(self, asked: Fields) -> Fields | None:
        """Return a payment by its transaction id."""
        paid = (each for order in self.orders.values() for each in order["transactions"])
        found = (each for each in paid if each["transaction_id"] == asked["transaction_id"])
        return next(found, None)

    def refund(self, asked: Fields) -> Fields:
        """Refund a payment, fully or in part, once per number."""
        made = {"state": "succeeded", "refunded_at_ms": self._now_ms()}
        shown = ("number", "transaction_id", "amount_fen")
        made |= {name: asked[name] for name in shown}
        refund, is_new = _once(self.refunds, "refund_no", asked, made)
        paid = self.transaction(asked)
        if is_new and (
            paid is None or paid["refunded_fen"] + asked["amount_fen"] > paid["amount_fen"]
        ):
            refund["state"] = "failed"
        elif is_new and paid is not None:
            paid["refunded_fen"] += asked["amount_fen"]
            number, own = asked["refund_no"], f"R{asked['refund_no']}"
            self._move("refund", number, own, asked["amount_fen"], of_number=asked["number"])
        return refund

    def transfer(self, asked: Fields) -> Fields:
        """Pay a user, once per number."""
        made = {name: asked[name] for name in ("amount_fen", "user")}
        made |= {"state": "succeeded", "outside_no": f"T{asked['bill_no']}", "reason": ""}
        made |= {"decided_at_ms": self._now_ms(), "confirmation": ""}
        transfer, is_new = _once(self.transfers, "bill_no", asked, made)
        if is_new:
            self._move("transfer", asked["bill_no"], made["outside_no"], asked["amount_fen"])
        return transfer

    def statement(self, asked: Fields) -> Fields:
        """Return a day's movements of a kind, or null before the day is over in China."""
        if asked["day"] >= _day(self._now_ms()):
            return {"lines": None}
        kinds = {"payment", "refund"} if asked["kind"] == "in" else {"transfer"}
        of_day = [line for line in self.lines if _day(line["moved_at_ms"]) == asked["day"]]
        return {"lines": [line for line in of_day if line["kind"] in kinds]}

    def _now_ms(self) -> int:
        return time.time_ns() // 1_000_000 + self._ahead_ms

    def _move(self, kind: str, number: str, own: str, amount_fen: int, **more: str) -> None:
        """Record a movement of money, and report it."""
        line = {"kind": kind, "number": number, "outside_no": own, "amount_fen": amount_fen}
        self.lines.append({**line, "moved_at_ms": self._now_ms(), **more})
        self._report(f"{kind}.{'paid' if kind == 'payment' else 'succeeded'}", number, own)


def _once(book: dict[str, Fields], name: str, asked: Fields, made: Fields) -> tuple[Fields, bool]:
    """Return a number's row, and whether it is new. Raises ValueError if the data differ."""
    number = asked[name]
    is_new = number not in book
    row = book.setdefault(number, {name: number, "asked": asked, **made})
    if row["asked"] != asked:
        raise ValueError(f"{number} has other data")
    return row, is_new


def _found(book: dict[str, Fields], name: str, asked: Fields) -> Fields:
    return book.get(asked[name], {name: asked[name], "state": "not_found"})


def _day(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1_000, CHINA).date().isoformat()


def _secrets(file: Path) -> tuple[Webhook, Webhook]:
    """Return the keys of calls and results. If the secrets' file is missing, create it."""
    names = ("call_secret", "result_secret")
    if not file.exists():
        made = {
            name: f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}" for name in names
        }
        file.touch(mode=0o600)
        file.write_text(json.dumps(made))
    known = json.loads(file.read_text())
    return Webhook(known["call_secret"]), Webhook(known["result_secret"])


def _signed(results: Webhook, message_id: str, told: Fields) -> tuple[bytes, dict[str, str]]:
    body, now = json.dumps(told), datetime.now(UTC)
    return body.encode(), {
        "content-type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": results.sign(message_id, now, body),
    }


def _deliver(results: Webhook, url: str, kind: str, number: str, own: str) -> None:
    """Send a result in the background until the API accepts it."""

    def run() -> None:
        told = {"type": kind, "data": {"number": number, "outside_no": own}}
        for wait_s in chain(RETRY_S, repeat(RETRY_S[-1])):
            time.sleep(wait_s)
            body, headers = _signed(results, f"msg_{kind}_{own}", told)
            try:
                urllib.request.urlopen(
                    urllib.request.Request(url, body, headers), timeout=10
                ).close()
            except OSError:
                continue
            return

    threading.Thread(target=run, daemon=True).start()


def serve(port: int, secret: Path, callback: str) -> ThreadingHTTPServer:
    """Return the wallet's server, without starting it."""
    calls, results = _secrets(secret)
    wallet = Wallet(lambda *of: _deliver(results, callback, *of))
    controls = {
        "/_fake/pay": (wallet.pay, {"payment_id", "payer", "late", "amount_fen"}),
        "/_fake/advance": (wallet.advance, {"ms"}),
    }
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            try:
                with lock:
                    status, answer, headers = self._answer(body)
            except Exception as error:  # send no signed answer, so that the caller retries
                status, answer, headers = 409, json.dumps({"error": repr(error)}).encode(), {}
            self.send_response(status)
            for name, value in {**headers, "content-length": str(len(answer))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer)

        def _answer(self, body: bytes) -> tuple[int, bytes, dict[str, str]]:
            if control := controls.get(self.path):
                do, fields = control
                asked = json.loads(body)
                if set(asked) - fields:
                    return 422, b"", {}
                return 200, json.dumps(do(asked)).encode(), {}
            if self.path != "/wallet":
                return 404, b"", {}
            try:
                told = calls.verify(body, dict(self.headers))
            except Exception:  # an invalid signature or time, or no JSON
                return 401, b"", {}
            answer = wallet.calls[told["type"]](told["data"])
            shown = {name: value for name, value in answer.items() if name != "asked"}
            told = {"type": f"{told['type']}.answer", "data": shown}
            return 200, *_signed(results, self.headers["webhook-id"], told)

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def main() -> None:
    """Serve the wallet."""
    as_written = argparse.RawDescriptionHelpFormatter
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=as_written)
    arguments.add_argument("--port", type=int, default=18999)
    arguments.add_argument(
        "--secret", type=Path, default=Path(".local/wallet.json"), help="made if it is missing"
    )
    arguments.add_argument(
        "--callback",
        default="http://127.0.0.1:8080/gateway/host/callback",
        help="address for results, which `make up` prints",
    )
    given = arguments.parse_args()
    print(f"http://127.0.0.1:{given.port}/wallet signs with {given.secret}", flush=True)
    serve(given.port, given.secret, given.callback).serve_forever()


if __name__ == "__main__":
    main()

"""Final comparison of a soak: responses, pages, ledger, books, mirror and reports must agree."""

import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import urlencode

from local.seed_keys import seed_keys_of
from redpacket.platform.aws.client import AwsClient
from redpacket.platform.aws.signature import Keys
from redpacket.platform.difference import Difference
from redpacket.platform.user import UserIds
from testing.reconciliation.checks import Told
from testing.reconciliation.ledger_state import lasting, read_ledger_state
from testing.soak import mirror as mirrored
from testing.soak.crowd import CAMPAIGN, PROVIDERS, Crowd, Packet, Person, expect
from testing.soak.troubles import Troubles
from testing.soak.watch import Caller

TABLES = ("Accounts", "Packets", "Shares", "Campaigns", "Draws", "Quotas", "Payments", "Journal")
REST_S = 480
"""Maximum seconds until all work ends; a message may be in flight for 360 of them."""
PLACES = "", "Delayed", "NotVisible"
"""Suffixes of the queue attributes that count messages."""
FINAL = {"paid", "failed", "cancelled"}
"""Final states of withdrawals."""
FUNDED = {"closed", "emptied"}
"""States of a packet whose shares are all claimed or refunded."""
MUST_SEE = (
    "check_conservation",
    "check_entries",
    "check_once",
    "check_told",
    "check_postings",
    "check_lottery",
    "check_payments",
    "check_windows",
    "check_lines",
)


class Agreement:
    """Checks of a stack after the crowd has stopped."""

    def __init__(self, crowd: Crowd, troubles: Troubles) -> None:
        self.crowd, self.troubles, self.watch = crowd, troubles, crowd.watch
        self.seen: Counter[str] = Counter()
        self.naive: Counter[str] = Counter()
        """Number of differences that each naive control caused, as it must."""
        self._pages: dict[str, dict[str, Any]] = {}

    def check(self) -> None:
        """End all work, wait for it, and compare all sources."""
        self._rest()
        self._read_packets()
        books = self._check_providers()
        expected = {person.name: self._expected_fen(person, books) for person in self.crowd.people}
        shown = {person.name: self._shown_fen(person) for person in self.crowd.people}
        for person in self.crowd.people:
            if shown[person.name] != expected[person.name]:
                text = f"{person.name} has {shown[person.name]}, expected {expected[person.name]}"
                self._note(text, is_naive=person in self.crowd.naive, control="forgets keys")
        self._check_mirror(shown)
        self._check_ledger()
        self._check_reports()

    def _note(self, text: str, *, is_naive: bool, control: str) -> None:
        if is_naive:
            self.naive[control] += 1
        else:
            self.watch.violated(text)

    # ---------------------------------------------------------------- rest

    def _rest(self) -> None:
        """End all packets and withdrawals, and wait until nothing is in progress."""
        for name in PROVIDERS:
            self.crowd.outside(name, "mode", {"mode": "ok"})
        books = [http.get("/_fake/book").json() for http in self.crowd.providers.values()]
        paid = {order["number"] for book in books for order in book["in"] if order["paid_fen"]}
        waiting: dict[str, Callable[[], bool]] = {
            f"withdrawal {number} of {person.name}": partial(self._ends_withdrawal, person, number)
            for person in self.crowd.people
            for number in person.withdrawals
        }
        waiting |= {
            f"payment {number} of {person.name}": partial(self._ends_payment, person, number)
            for person in self.crowd.people
            for number in person.payments
            if number in paid
        }
        for packet in self.crowd.live:
            waiting[f"packet {packet.packet_id}"] = partial(self._ends_packet, packet)
        waiting["what waited over an upgrade"] = self.troubles.plays_waiting
        ends_at, before = time.monotonic() + REST_S, -1
        while time.monotonic() < ends_at:
            for function, task in (
                ("ExpireFunction", ""),
                ("TransferFunction", "dispatch"),
                ("TransferFunction", "sweep"),
                ("DeliverFunction", "retry"),
            ):
                self.troubles.run(function, task)
            waiting = {name: is_over for name, is_over in waiting.items() if not is_over()}
            count, queued = len(self.troubles.mirror.events()), self._queued()
            if not waiting and not queued and count == before and self.troubles.mirror.is_drained():
                return
            before = count
            time.sleep(1)
        for name in [*waiting, f"queues: {queued}, and the mirror after {count} events"]:
            self.watch.violated(f"not ended: {name}")

    def _queued(self) -> dict[str, int]:
        """Return the number of messages in each queue or DLQ, delayed and in flight included."""
        sqs, queued = self.crowd.stack.aws("sqs"), Counter[str]()
        for name, url in self.crowd.stack.outputs.items():
            if name.endswith(("QueueUrl", "DlqUrl")):
                told = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
                queued[name] = sum(int(told[f"ApproximateNumberOfMessages{at}"]) for at in PLACES)
        return dict(+queued)

    def _ends_withdrawal(self, person: Person, number: str) -> bool:
        """Confirm a withdrawal that awaits confirmation; return whether it has ended."""
        status = expect(person.call.ask("GET", f"/me/withdrawals/{number}"))["status"]
        if status == "awaiting_confirmation":
            channel, _ = person.withdrawals[number]
            self.crowd.outside(channel, "confirm", {"withdrawal_id": number})
        return status in FINAL

    def _ends_payment(self, person: Person, number: str) -> bool:
        """Return whether a payment has arrived; if not, make the provider notify us again."""
        status = expect(person.call.ask("GET", f"/me/payments/{number}"))["status"]
        if status in {"paid", "refunded"}:
            return True
        self.crowd.outside(person.payments[number][0], "notify", {"number": number})
        return False

    def _ends_packet(self, packet: Packet) -> bool:
        """End a user's packet; return whether it has ended, which makes the proof available."""
        page, caller = f"/packets/{packet.packet_id}", self._reader(packet)
        status = expect(caller.ask("GET", page))["status"]
        if status in {"open", "unpaid"} and packet.sender:
            caller.ask("POST", f"{page}/end")
        return status == "cancelled" or caller.ask("GET", f"{page}/proof").is_success

    def _reader(self, packet: Packet) -> Caller:
        return packet.sender.call if packet.sender else self.crowd.operator

    # ---------------------------------------------------------------- users' pages

    def _read_packets(self) -> None:
        """Compare the record page of every packet with the API's answers to the claimers."""
        for packet in self.crowd.live:
            page = expect(self._reader(packet).ask("GET", f"/packets/{packet.packet_id}"))
            self._pages[packet.packet_id] = page
            told = sorted(amount_fen for _, amount_fen in packet.claims.values())
            told_fen, shown = sum(told), (page["claimed_count"], page["claimed_fen"])
            self.seen["packet pages"] += 1
            if shown != (len(told), told_fen):
                self.watch.violated(f"{packet.packet_id} shows {shown}, told {told}")
            if (
                page["status"] in FUNDED
                and page["claimed_fen"] + page["refunded_fen"] != packet.total_fen
            ):
                self.watch.violated(f"{packet.packet_id} has another sum than {packet.total_fen}")

    def _expected_fen(self, person: Person, books: dict[str, int]) -> int:
        """Return the balance that the API's answers and the providers' books imply."""
        packets = [packet for packet in person.sent if self._is_funded(packet)]
        spent_fen = sum(sum(fen for _, fen in packet.claims.values()) for packet in packets)
        moved_fen = sum(books.get(number, 0) for number in [*person.payments, *person.withdrawals])
        taken_fen = sum(fen for _, fen in person.taken.values())
        return person.deposited_fen + person.won_fen + taken_fen - spent_fen + moved_fen

    def _is_funded(self, packet: Packet) -> bool:
        return self._pages[packet.packet_id]["status"] in FUNDED

    def _shown_fen(self, person: Person) -> int:
        """Return the balance on the user's page, which must be the sum of the user's transfers."""
        me = expect(person.call.ask("GET", "/me"))
        if me["nickname"] != person.nickname:
            self.watch.violated(f"{person.name} is called {me['nickname']}, not {person.nickname}")
        total_fen, path = 0, "/me/transfers?limit=100"
        while path:
            page = expect(person.call.ask("GET", path))
            total_fen += sum(item["amount_fen"] for item in page["items"])
            following = urlencode({"limit": 100, "cursor": page["next"]})
            path = f"/me/transfers?{following}" if page["next"] else ""
        self.seen["balances"] += 1
        if total_fen != me["balance_fen"]:
            self.watch.violated(f"{person.name} has {me['balance_fen']}, transfers of {total_fen}")
        return int(me["balance_fen"])

    # ---------------------------------------------------------------- outside

    def _check_providers(self) -> dict[str, int]:
        """Compare pages with the providers' books; return the amount that each number moved."""
        books: dict[str, int] = {}
        for http in self.crowd.providers.values():
            book = http.get("/_fake/book").json()
            for order in book["in"]:
                books[order["number"]] = order["paid_fen"] - order["refunded_fen"]
            for transfer in book["out"]:
                if transfer["state"] in {"SUCCESS", "succeeded"}:
                    number = transfer["number"][:-2]  # without the attempt
                    books[number] = books.get(number, 0) - transfer["amount_fen"]
        for person in self.crowd.people:
            for number in person.payments:
                # If the packet ended before the payment began, there is no payment.
                told = person.call.ask("GET", f"/me/payments/{number}").json()
                self._same(
                    f"payment {number}",
                    told["status"] == "paid",
                    number in books and books[number] > 0,
                )
            for number in person.withdrawals:
                told = expect(person.call.ask("GET", f"/me/withdrawals/{number}"))
                self._same(f"withdrawal {number}", told["status"] == "paid", number in books)
        return books

    def _same(self, name: str, ours: object, theirs: object) -> None:
        self.seen[name.partition(" ")[0]] += 1
        if ours != theirs:
            self.watch.violated(f"{name}: {ours} here, {theirs} outside")

    def _check_mirror(self, shown: dict[str, int]) -> None:
        """Compare the mirror with the pages; a mirror that ignores sequences must differ."""
        events = self.troubles.mirror.events()
        self.seen["events"] = len(events)
        moved = mirrored.balances(events)
        # Skip naive users: their retries made withdrawals that the crowd does not know, and no
        # event reports money that is held for withdrawals.
        for person in self.crowd.people[len(self.crowd.naive) :]:
            self._same(
                f"mirror {person.name}",
                shown[person.name],
                person.deposited_fen + moved[person.name],
            )
        for is_naive in (False, True):
            last = mirrored.last_events(events, is_naive=is_naive)
            for packet_id, page in self._pages.items():
                if page["status"] in FUNDED and last.get(packet_id) != "redpacket.packet.closed":
                    text = f"the mirror's last event of {packet_id} is {last.get(packet_id)}"
                    self._note(text, is_naive=is_naive, control="no sequence")

    # ---------------------------------------------------------------- ledger and reports

    def _check_ledger(self) -> None:
        stack = self.crowd.stack
        emulator = stack.description()["emulator"]
        dynamodb = AwsClient(
            *("dynamodb", "us-east-1", emulator),
            keys=lambda: Keys("test", "test", ""),
            ca_bundle="",
            connect_timeout_s=10,
            read_timeout_s=30,
        )
        tables = [stack.outputs[f"{name}Table"] for name in TABLES]
        grab = stack.aws("lambda").get_function_configuration(
            FunctionName=stack.outputs["GrabFunction"]
        )
        user_ids = UserIds(grab["Environment"]["Variables"]["USER_ID_KEY"])
        told = [
            Told(packet.packet_id, user_ids.id_of(name), number, amount_fen)
            for packet in self.crowd.live
            for name, (number, amount_fen) in packet.claims.items()
        ]

        def find() -> list[Difference]:
            state = read_ledger_state(dynamodb, *tables, seeds=seed_keys_of(stack))
            drawn = {draw.draw_id: draw for facts in state.lotteries for draw in facts.draws}
            return state.differences(told, seen=self.seen) + [
                Difference("I5", draw_id, f"told to {person.name}", outcome, str(stored))
                for person in self.crowd.people
                for draw_id, outcome in person.draws.items()
                if (stored := drawn.get(draw_id)) is None
                or outcome != ("won" if stored.prize else "missed")
            ]

        for difference in lasting(find):
            self.watch.violated(str(difference))

    def _check_reports(self) -> None:
        """Run a reconciliation, and compare the reports with the API's answers to users."""
        told = self.troubles.cli("reconcile")
        if told["differences"]:
            self.watch.violated(f"reconciliation: {told['differences']}")
        self.seen["reconciliation"] += 1
        rows = [row for row in self._report("spend") if row["campaign_id"] == CAMPAIGN]
        mine = [packet for packet in self.crowd.live if packet.sender is None]
        won_fen = sum(person.won_fen for person in self.crowd.people)
        claimed_fen = sum(fen for packet in mine for _, fen in packet.claims.values()) + won_fen
        reported_fen = sum(int(row["claimed_fen"]) for row in rows)
        self._same("report of spending", reported_fen, claimed_fen)
        reported = {row["draw_id"] for row in self._report("winners")}
        won = {
            draw_id
            for person in self.crowd.people
            for draw_id, outcome in person.draws.items()
            if outcome == "won"
        }
        self._same("report of winners", sorted(reported - won), sorted(won - reported))

    def _report(self, name: str) -> list[dict[str, str]]:
        items: list[dict[str, str]] = self.troubles.cli("report", name)["items"]
        return items

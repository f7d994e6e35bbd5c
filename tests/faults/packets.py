"""Schedules of packets: users send and grab, operators edit, the cache fails, sweeps run late."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Any

from redpacket.campaigns.dynamodb.keys import WINDOW_PREFIX
from redpacket.campaigns.model import WINDOW_AGE_MAX_MS, Campaign, CampaignStatus
from redpacket.campaigns.ports import CampaignRepository
from redpacket.campaigns.use_cases.cached_campaigns import CachedCampaigns
from redpacket.ledger.errors import InsufficientFunds
from redpacket.operations.model.switches import Switch
from redpacket.packets.errors import PacketEmptied
from redpacket.packets.model.claim import (
    EMPTIED_KEPT_MS,
    Admission,
    Claim,
    Share,
    ShareRef,
    ShareStatus,
)
from redpacket.packets.model.packet import (
    Opening,
    Packet,
    PacketStatus,
    Rules,
    is_sharded,
    shard_count,
    shard_id,
    share_no_of,
)
from redpacket.packets.split import share_amount_fen
from redpacket.packets.use_cases.send_packet import SendOrder
from redpacket.platform import errors
from redpacket.platform.difference import Difference
from redpacket.platform.user import User
from testing.builders import NOW_MS, a_campaign, list_shares
from testing.fakes import FakeClock, Item
from testing.in_memory_system import LIFE_MS, an_order
from testing.platform.fake_tables import FakeStream, Key
from testing.reconciliation.checks import Told
from tests.faults.process import SKEW_MAX_MS, Process
from tests.faults.refusals import BOUND_MS, PASSES, Known, is_wrong, read_facts
from tests.faults.schedule import Schedule, names

CAMPAIGN_ID = "rain"
PHRASE = "恭喜发财"
CHAT_ID, CHAT_RATE = "telegram:-1", 0.15
SENDER_FEN = 2_000
SHORT_MS = 4_000
"""Lifetime in milliseconds of a packet that ends during a rush of claims."""

_ENDED = {PacketStatus.CLOSING, PacketStatus.CLOSED}

Asker = tuple[str, str]
"""A packet's id and a user."""


@dataclass
class PacketSchedule(Schedule):
    """One run of packets from one seed."""

    MUST_SEE = Schedule.MUST_SEE | names(
        "check_claim_counts, check_own_ends, check_told, check_windows, claims by a passphrase, "
        "claims in a chat, claims of the invited, claims under a quota, early ends, "
        "edited windows, forged messages, numbers of emptied packets, "
        "pages of wrongly refused owners, wrong packet_emptied"
    )

    orders: list[SendOrder] = field(default_factory=list)
    packets: list[Packet] = field(default_factory=list)

    def prepare(self) -> None:
        """Fund senders; some packets exist from the start, and some are sent under faults."""
        pick = self.random.choice
        # Window rows contain the time of the edit's transaction, so the check allows only for clock
        # skew and the age of a cached window.
        self.system.dynamo.stream = _EditTimes(self.system.clock, self.seen)
        self.system.window_slack_ms = WINDOW_AGE_MAX_MS + SKEW_MAX_MS
        self._snapshots = [self.system.memory.snapshot()]
        self._knew_phrase: set[Asker] = set()
        self._quota_max = 0
        self._told_ends: dict[str, int] = {}
        self._doubtful_ends: set[str] = set()
        # Milliseconds by which the clock is fast in the sweep that overlaps the last claims.
        self._fast_ms = self.random.randint(0, SKEW_MAX_MS)
        count = self.random.randint(8, 16)
        self.users = [f"user-{number}" for number in range(count)]
        # A separate generator keeps the other choices of a seed unchanged.
        self._chat_random = Random(f"chat {self.seed}")
        self._members = {*self._chat_random.sample(self.users, count // 2)}
        for number in range(self.random.randint(1, 2)):
            self.system.deposit(f"sender-{number}", SENDER_FEN)
            order = an_order(
                f"sender-{number}",
                key="the key",
                total_fen=self.random.randint(10, 1000),
                count=self.random.randint(2, 10),
                # Some packets end in the middle of the rush, some after it.
                life_ms=pick((SHORT_MS, LIFE_MS, 10 * LIFE_MS)),
                **({} if self.is_naive else self._rules()),
            )
            self.orders.append(order)
            if self.random.random() < 0.9:
                self.packets.append(self.system.send_order(order))

    def tasks(self) -> list[Callable[[], None]]:
        """Return the interleaved parts; some users tap on two devices at once."""
        users = self.users + self.random.sample(self.users, 2)
        steps = [self._sender(order) for order in self.orders]
        steps += [self._claimer(user) for user in users]
        steps += [self.payout_worker, self.payout_worker, self._chaos]
        steps += [self.sweeper(group) for group in (*range(self.groups), 0)]
        if not self.is_naive:
            steps += [self._operator, self._operator, self._sweep_at_the_end, self._ender]
        return steps

    def heal(self) -> None:
        """Finish the sends, and let everything end; judge refusals before and afterwards."""
        if self.is_naive:
            self.end_all()
            self.system.pass_time(BOUND_MS)
            return
        if campaign := self.system.campaigns.find_campaign(CAMPAIGN_ID):
            self.system.edit_campaign(replace(campaign.plan, status=CampaignStatus.ON))
        for order in self.orders:
            self._send(self.process(), order)
        self._fail_over_a_last_time()
        self._judge(self.users)
        self.end_all()
        self._fail_over_a_last_time()
        self._judge(sorted({answer.user_id for answer in self.system.told}))
        self._check_rules()
        self.system.pass_time(BOUND_MS)

    def run(self) -> list[Difference]:
        """Run the schedule; ignore claims after early ends that the cache may have lost."""
        return [found for found in super().run() if not self._is_of_a_doubtful_end(found)]

    # People

    def _rules(self) -> dict[str, Any]:
        """Return a packet's random options: its rules and, about half of the time, a campaign."""
        pick, chance = self.random.choice, self.random.random
        rules = Rules(opening=pick((Opening.ONE_STEP, Opening.ONE_STEP, Opening.TWO_STEP)))
        if chance() < 0.25:
            rules = replace(rules, passphrase=PHRASE)
        if chance() < 0.25:
            invited = self.random.sample(self.users, len(self.users) // 2)
            rules = replace(rules, recipients=frozenset(invited))
        if self._chat_random.random() < CHAT_RATE:
            rules = replace(rules, chat_id=CHAT_ID)
        if chance() < 0.5:
            return {"rules": rules}
        # The campaign's packets are split into shards, but never into more shards than shares.
        self.system.shard_share_count = pick((1, 2, 4))
        campaign = self.system.campaigns.find_campaign(CAMPAIGN_ID)
        if campaign is None:
            # At first, the budget pays for all packets, and the quota is one share per user.
            campaign = a_campaign(
                campaign_id=CAMPAIGN_ID, quota_per_user=1, ends_at_ms=NOW_MS + 2 * LIFE_MS
            )
            self._quota_max = campaign.quota_per_user
            self.system.campaigns.create(campaign)
        return {"rules": replace(rules, campaign_id=CAMPAIGN_ID), "campaign": campaign}

    def _sender(self, order: SendOrder) -> Callable[[], None]:
        return self.trying(lambda process: self._send(process, order), times=5)

    def _send(self, process: Process, order: SendOrder) -> None:
        """Send with the order's key; complain about refusals that cannot be right."""
        process.switches.require_on(Switch.SEND)
        was_sent = self._is_sent(order)
        if order.campaign:
            # Each request reads the campaign, whose window may have been edited.
            order = replace(order, campaign=process.campaigns.find_campaign(CAMPAIGN_ID))
        try:
            packet = process.send_order(order)
        except errors.Rejected as refusal:
            self.seen["refused sends"] += 1
            # Senders have enough money, which nobody else spends. Only a budget can be too small.
            is_short = isinstance(refusal, InsufficientFunds) and not order.campaign
            if was_sent or is_short:
                self._complain("I10", order.sender.user_id, "a packet", refusal.code)
            return
        if packet.packet_id not in [each.packet_id for each in self.packets]:
            self.packets.append(packet)

    def _is_sent(self, order: SendOrder) -> bool:
        return any(packet.sender == order.sender for packet in self.packets)

    def _claimer(self, user_id: str) -> Callable[[], None]:
        grab = self._grab_naively if self.is_naive else self._grab
        began = False

        def take(process: Process) -> None:
            nonlocal began
            if not began:
                began = True
                self.sleep_ms(self._first_wait_ms())
            for packet in self.random.sample(self.packets, len(self.packets)):
                try:
                    grab(process, packet, user_id)
                except errors.Rejected as refusal:
                    self.trace.append(f"{user_id} is told {refusal.code}")

        return self.trying(take, times=self.random.randint(3, 8))

    def _sweep_at_the_end(self) -> None:
        """Sweep at the end of a short packet while its claims are in progress. The sweep's clock is
        fast and its calls succeed, because otherwise few sweeps would be in time.
        """
        for ends_at_ms in sorted(self._short_ends_ms()):
            self.sleep_ms(max(0, ends_at_ms - self._fast_ms - self.system.clock.now_ms()))
            with suppress(errors.RedPacketError):
                self.process(wires=self.good_wires, skew_ms=self._fast_ms).sweep(50_000)

    def _first_wait_ms(self) -> int:
        """Return the ms until a user arrives: at most 500, or until about a short packet's end."""
        ends_ms = [] if self.is_naive else self._short_ends_ms()
        if ends_ms and self.random.random() < 0.7:
            comes_at_ms = (
                self.random.choice(ends_ms) - self._fast_ms + self.random.randint(-300, 200)
            )
            return max(0, comes_at_ms - self.system.clock.now_ms())
        return self.random.randint(0, 500)

    def _short_ends_ms(self) -> list[int]:
        return [
            packet.expires_at_ms
            for packet in self.packets
            if packet.expires_at_ms - packet.created_at_ms == SHORT_MS
        ]

    def _chat_of(self, user_id: str) -> str | None:
        return CHAT_ID if user_id in self._members else None

    def _grab(self, process: Process, packet: Packet, user_id: str) -> Claim:
        """Grab, and open a two-step packet; judge refusals."""
        spoken = self._words(packet, user_id)
        process.switches.require_on(Switch.GRAB)
        before = self._known(packet, user_id)
        step, chat_id = "grab", self._chat_of(user_id)
        try:
            claim = process.grab_or_enter(packet, user_id, spoken, chat_id)
            if isinstance(claim, Admission):
                step, ends_at_ms = "open", claim.expires_at_ms
                before = replace(self._known(packet, user_id), token_ends_at_ms=ends_at_ms)
                claim = process.open(packet, user_id, claim.grab_token, chat_id)
        except errors.Rejected as refusal:
            self.seen["refusals"] += 1
            after = self._known(packet, user_id)
            if is_wrong(refusal, packet, User(user_id, chat_id=chat_id), spoken, before, after):
                self.seen[f"wrong {refusal.code}"] += 1
                if not isinstance(refusal, PASSES):
                    self._complain(step, user_id, "no such refusal", refusal.code)
                raise _Wrong(refusal, is_owner=before.owns) from refusal
            raise
        knew = packet.rules.passphrase is None or (packet.packet_id, user_id) in self._knew_phrase
        self.seen["claims by a passphrase"] += packet.rules.passphrase is not None
        if not knew:
            self._complain("rules", user_id, "the right words first", str(claim.share.ref))
        self.trace.append(f"{user_id} was told share {claim.share.share_no}")
        return claim

    def _words(self, packet: Packet, user_id: str) -> str | None:
        """Return a user's phrase, which is usually the passphrase."""
        if packet.rules.passphrase is None:
            return None
        if self._is_over or self.random.random() < 0.8:
            self._knew_phrase.add((packet.packet_id, user_id))
            return packet.rules.passphrase
        return self.random.choice((None, "身体健康"))

    def _known(self, packet: Packet, user_id: str) -> Known:
        return read_facts(self.system.dynamo, packet, user_id, self.system.clock.now_ms())

    def _grab_naively(self, process: Process, packet: Packet, user_id: str) -> None:
        """Answer when the cache does; the ledger is written later, unless the worker crashes."""
        system = self.system
        if any(packet.packet_id == t.packet_id and user_id == t.user_id for t in system.told):
            return  # A user with an amount does not retry.
        outcome = process.claim_cache.grab(packet.packet_id, user_id)
        if outcome.share_no is None:
            process.load_packet(packet.packet_id)
            return
        amount_fen = share_amount_fen(packet.terms, outcome.share_no)
        system.told.append(Told(packet.packet_id, user_id, outcome.share_no, amount_fen))
        share = Share(
            packet.packet_id,
            outcome.share_no,
            ShareStatus.CLAIMED,
            amount_fen,
            system.clock.now_ms(),
            User(user_id),
        )
        process.recorder.record_claim(share)
        process.payouts.put([share.ref])

    # Early ends

    def _ender(self) -> None:
        """End up to two packets at random moments, with two calls each."""
        for _ in range(self.random.randint(0, 2)):
            self.sleep_ms(self.random.randint(0, 2_500))
            if self.packets:
                packet = self.random.choice(self.packets)
                self.trying(partial(self._end, packet=packet), times=2)()

    def _end(self, process: Process, packet: Packet) -> None:
        """End a packet as its sender or an operator; a retry must get the same answer."""
        packet_id, began_at_ms = packet.packet_id, self.system.clock.now_ms()
        reason = "a test" if packet.rules.campaign_id or self.random.random() < 0.5 else ""
        self.trace.append(f"{packet_id} is ended")
        failed_before = self._failed_closes()
        try:
            ended = process.end_packet(packet, reason)
        except BaseException:
            self._doubtful_ends.add(packet_id)
            raise
        took_ms = self.system.clock.now_ms() - began_at_ms
        if took_ms > SKEW_MAX_MS or self._failed_closes() > failed_before:
            self._doubtful_ends.add(packet_id)
        is_doubtful = packet_id in self._doubtful_ends
        # Once a sweep has closed the packet, the cache may be open: the ledger refuses claims.
        is_closing = self.system.stored(packet).status is PacketStatus.CLOSING
        is_known = not is_closing or self._is_closed_in_cache(packet_id, began_at_ms)
        if not is_doubtful and not is_known:
            self._complain("end", packet_id, "a closed cache", "an open one")
        self.seen["early ends"] += not is_doubtful
        first_ms = self._told_ends.setdefault(packet_id, ended.expires_at_ms)
        if (first_ms, ended.status in _ENDED) != (ended.expires_at_ms, True):
            self._complain("end", packet_id, f"the end at {first_ms}", str(ended))

    def _failed_closes(self) -> int:
        return sum(name == "cache_not_closed" for name, _ in self.system.logger.errors)

    def _is_closed_in_cache(self, packet_id: str, began_at_ms: int) -> bool:
        """Return whether all shards are closed or emptied, or reopen because a number was returned
        after *began_at_ms*.
        """
        caches = self.system.memory.caches
        reopens_at_ms = began_at_ms + EMPTIED_KEPT_MS
        ids = [packet_id]
        if is_sharded(packet_id):
            ids = [shard_id(packet_id, shard) for shard in range(shard_count(packet_id))]
        return all(
            cache.get("letter") in {"C", "E"} or cache.get("reopens_at_ms", 0) >= reopens_at_ms
            for cache in (caches.get(each, {}) for each in ids)
        )

    def _doubt_ends(self) -> None:
        """Allow late claims of packets that have ended and are not refunded yet: a failing cache
        loses the end until the next sweep, and a jump of the clock delays claims in progress.
        """
        stored = map(self.system.stored, self.packets)
        self._doubtful_ends |= {
            each.packet_id for each in stored if each.status is PacketStatus.CLOSING
        }

    def _is_of_a_doubtful_end(self, found: Difference) -> bool:
        is_late = (found.rule, found.actual) == ("I-window", "after it")
        return is_late and found.subject in self._doubtful_ends

    # Operators

    def _operator(self) -> None:
        edits = [self._edit_campaign, self._preheat, self.reconcile, self.turn_some_switch]
        self.operate(edits, 100)

    def _edit_campaign(self, process: Process) -> None:
        campaign = process.campaigns.find_campaign(CAMPAIGN_ID)
        if campaign is None:
            return
        pick, now_ms = self.random.choice, self.system.clock.now_ms()
        budget_fen = None
        match pick(("window", "window", "window", "status", "quota", "budget")):
            case "window":
                starts_at_ms = now_ms + pick((-LIFE_MS, -LIFE_MS, 0, 2_000, LIFE_MS))
                ends_at_ms = max(now_ms, starts_at_ms) + pick((1, 5_000, LIFE_MS))
                changes: dict[str, Any] = {"starts_at_ms": starts_at_ms, "ends_at_ms": ends_at_ms}
            case "status":
                changes = {"status": pick(list(CampaignStatus))}
            case "quota":
                changes = {"quota_per_user": pick((1, 2, 3))}
                self._quota_max = max(self._quota_max, changes["quota_per_user"])
            case _:
                changes = {}
                budget_fen = campaign.budget_fen + pick((-5_000, -500, 500))
        self.trace.append(f"an operator edits {changes} {budget_fen}")
        process.edit_campaign(replace(campaign.plan, **changes), budget_fen)

    def _preheat(self, process: Process) -> None:
        if process.campaigns.find_campaign(CAMPAIGN_ID):
            process.preheat(CAMPAIGN_ID)

    # The cache

    def _chaos(self) -> None:
        for _ in range(self.random.randint(3, 10)):
            memory = self.system.memory
            for _ in range(self.random.randint(1, 30)):
                self.wait()
                if self.random.random() < 0.04:
                    self._snapshots.append(memory.snapshot())
            self._doubt_ends()
            kinds = ("rollback", "rollback", "rollback", "flush", "clock")
            # The control's packets are not sharded, so it has no nodes that could fail alone.
            match self.random.choice(kinds if self.is_naive else (*kinds, "node", "forged")):
                case "rollback":
                    self.trace.append("the cache fails over to an older replica")
                    memory.fail_over(self._snapshots[-1])
                    self._snapshots.append(memory.snapshot())
                case "node":
                    self.trace.append("a node of the cache fails over, or is flushed")
                    lost = [cache_id for cache_id in memory.caches if self.random.random() < 0.4]
                    memory.fail_over(self.random.choice((self._snapshots[-1], {})), lost)
                    self._snapshots.append(memory.snapshot())
                case "flush":
                    self.trace.append("the cache is flushed")
                    memory.caches.clear()
                    self.system.reserved.forget()
                case "forged":
                    if self.packets:
                        ref = ShareRef(self.random.choice(self.packets).packet_id, 1_000)
                        self.sqs.forge(ref)
                case _:
                    self.system.pass_time(self.random.randint(1, LIFE_MS // 3))

    def _fail_over_a_last_time(self) -> None:
        """In most schedules, roll the cache or one of its nodes back once more."""
        memory = self.system.memory
        self._doubt_ends()
        match self.random.choice(("rollback", "node", "nothing")):
            case "rollback":
                self.trace.append("the cache fails over to an older replica in the end")
                memory.fail_over(self.random.choice(self._snapshots))
            case "node":
                self.trace.append("a node of the cache fails over in the end")
                lost = [cache_id for cache_id in memory.caches if self.random.random() < 0.4]
                memory.fail_over(self.random.choice(self._snapshots), lost)

    # Judging

    def _judge(self, users: Iterable[str]) -> None:
        """Let all users grab, and grab again after the bound, when every refusal must be right."""
        self._ask_all(users)
        self.system.pass_time(BOUND_MS)
        wrongly_refused = self._ask_all(users)
        for packet in self.packets:
            self._check_numbers(packet)
        for packet, user_id, wrong in wrongly_refused:
            rule = "I5" if wrong.is_owner else "refusal"
            self._complain(rule, user_id, f"the truth of {packet.packet_id}", wrong.refusal.code)

    def _check_numbers(self, packet: Packet) -> None:
        """Check that each share of an emptied packet has an outcome or a claim in progress."""
        try:
            self._grab(self.process(), packet, "somebody else")
        except PacketEmptied:
            pass
        except errors.RedPacketError:
            return  # Another rule judges this case.
        else:
            return
        outcomes = {share.share_no for share in list_shares(self.system.packets, packet.packet_id)}
        held = self._held_numbers(packet.packet_id)
        self.seen["numbers of emptied packets"] += packet.terms.count
        if lost := set(range(1, packet.terms.count + 1)) - outcomes - held:
            self._complain("lost", packet.packet_id, "an outcome or a holder", str(sorted(lost)))

    def _held_numbers(self, packet_id: str) -> set[int]:
        """Return the shares that the cache has given to users, in any shard."""
        if not is_sharded(packet_id):
            return set(self.system.memory.holders(packet_id).values())
        return {
            share_no_of(packet_id, part, number) if number > 0 else -number
            for part in range(shard_count(packet_id))
            for number in self.system.memory.holders(shard_id(packet_id, part)).values()
        }

    def _ask_all(self, users: Iterable[str]) -> list[tuple[Packet, str, _Wrong]]:
        """Let all users ask; return the wrong refusals. The page must still show refused owners
        their shares.
        """
        answers = []
        for packet in self.packets:
            for user_id in users:
                process = self.a_lambda()
                try:
                    self._ask(process, packet, user_id)
                except _Wrong as wrong:
                    answers.append((packet, user_id, wrong))
                    if wrong.is_owner:
                        self.seen["pages of wrongly refused owners"] += 1
                        chat_id = self._chat_of(user_id)
                        if process.read_record(packet, user_id, chat_id).mine is None:
                            self._complain("I5", user_id, "their share on the page", "none")
                except errors.Rejected as refusal:
                    self.trace.append(f"{user_id} is told {refusal.code} in the end")
        return answers

    def _ask(self, process: Process, packet: Packet, user_id: str) -> None:
        """Retry until an answer arrives, which is soon without faults."""
        for _ in range(8):
            try:
                self._grab(process, packet, user_id)
            except errors.RateLimited as too_fast:
                self.system.pass_time(1_000 * (too_fast.retry_after_s or 1))
            except (errors.Unavailable, errors.SwitchedOff, errors.Busy) as busy:
                self.trace.append(f"{user_id} meets {busy} in the end")
                self.system.pass_time(1_000 * (busy.retry_after_s or 1))
            else:
                return
        self._complain("I8", user_id, f"an answer of {packet.packet_id}", "none")

    def _check_rules(self) -> None:
        """Check that recipients, chats and quotas decided who got a share."""
        ledger_state = self.system.ledger_state()
        for facts in ledger_state.packets:
            rules = facts.packet.rules
            for share in facts.shares:
                if not share.claimer:
                    continue
                user_id = share.claimer.user_id
                if rules.chat_id:
                    self.seen["claims in a chat"] += 1
                    if user_id not in self._members:
                        self._complain("rules", user_id, "not in the chat", str(share.ref))
                if rules.recipients:
                    self.seen["claims of the invited"] += 1
                    if user_id not in rules.recipients:
                        self._complain("rules", user_id, "not invited", str(share.ref))
        for (campaign_id, user_id), count in ledger_state.claim_counts.items():
            self.seen["claims under a quota"] += count
            if count > self._quota_max:
                self._complain("I9", f"{campaign_id} {user_id}", str(self._quota_max), str(count))

    def _complain(self, rule: str, subject: str, expected: str, actual: str) -> None:
        self.differences.append(Difference(rule, subject, "answer", expected, actual))


class _Wrong(errors.Rejected):
    """Refusal that the ledger contradicts."""

    code = "wrong"

    def __init__(self, refusal: errors.Rejected, *, is_owner: bool) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal
        self.is_owner = is_owner


class _EditTimes(FakeStream):
    """Stream that sets the time in each window's row to the time of the transaction. A Lambda may
    freeze between reading its clock and the transaction for longer than the check tolerates.
    """

    def __init__(self, clock: FakeClock, seen: Counter[str]) -> None:
        super().__init__()
        self._clock, self._seen = clock, seen

    def note(self, table: str, key: Key, row: Item | None) -> None:
        if row and key[1].startswith(WINDOW_PREFIX):
            self._seen["edited windows"] += int(key[1].removeprefix(WINDOW_PREFIX)) > 1
            row["set_at_ms"] = {"N": str(self._clock.now_ms())}


class CopiedWindows(PacketSchedule):
    """Control that keeps the campaign's first window, like packets with a copy of it."""

    def _rules(self) -> dict[str, Any]:
        while "campaign" not in (rules := super()._rules()):
            pass
        return rules

    def process(self, *arguments: Any, **named: Any) -> Process:
        process = super().process(*arguments, **named)
        process.recall_campaigns = lambda: CachedCampaigns(
            _FirstWindows(process.campaigns), clock=process.clock, logger=process.logger
        )
        return process


class _FirstWindows:
    """Campaign repository that always returns a campaign's first window."""

    def __init__(self, campaigns: CampaignRepository) -> None:
        self._campaigns = campaigns

    def __getattr__(self, name: str) -> Any:
        return getattr(self._campaigns, name)

    def find_campaign(self, campaign_id: str) -> Campaign | None:
        campaign = self._campaigns.find_campaign(campaign_id)
        first = a_campaign(ends_at_ms=NOW_MS + 2 * LIFE_MS)
        if campaign is None:
            return None
        return replace(campaign, starts_at_ms=first.starts_at_ms, ends_at_ms=first.ends_at_ms)

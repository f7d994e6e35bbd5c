"""In-memory system: the real use cases and adapters over fakes of Redis, DynamoDB and SQS."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from local.packet_ids import PUBLISHED_IDS
from local.seed_keys import PUBLISHED_SEED_KEYS, PUBLISHED_SEEDS
from local.user_ids import PUBLISHED_KEY, PUBLISHED_USER_IDS
from local.warehouse import Duck, Rows, export, export_changes
from redpacket.approvals.model import DepositAsked
from redpacket.campaigns.dynamodb.audiences import DynamoAudiences
from redpacket.campaigns.model import WINDOW_AGE_MAX_MS, Campaign, CampaignPlan
from redpacket.campaigns.use_cases.cached_campaigns import CachedCampaigns
from redpacket.ledger.dynamodb.deposits import DynamoDeposits
from redpacket.lottery.dynamodb.draws import DynamoDraws
from redpacket.lottery.dynamodb.edited_campaigns import DynamoEditedCampaigns
from redpacket.lottery.dynamodb.prizes import DynamoPrizes
from redpacket.lottery.model.lottery import Draw, Prize, draw_id_of
from redpacket.lottery.ports import DrawCache
from redpacket.lottery.use_cases.cached_lotteries import CachedLotteries
from redpacket.lottery.use_cases.cached_snapshots import CachedSnapshots
from redpacket.lottery.use_cases.draw_prize import DrawResult
from redpacket.lottery.use_cases.edit_campaign import CampaignPorts, edit_campaign
from redpacket.lottery.use_cases.edit_prize import PrizePorts, change_stock, put_prize
from redpacket.lottery.use_cases.help_inviter import Helped
from redpacket.lottery.use_cases.load_campaign import load_campaign
from redpacket.lottery.use_cases.preheat_campaign import Preheated
from redpacket.operations.dynamodb.audit_log import DynamoActions
from redpacket.operations.dynamodb.verdicts import DynamoVerdicts
from redpacket.operations.model.allowances import ApprovalNeededError
from redpacket.operations.model.limits import GRABS
from redpacket.operations.model.operators import Duty, Operator
from redpacket.operations.model.switches import Switch, SwitchState
from redpacket.operations.ports import Limits, SwitchStore
from redpacket.operations.use_cases.cached_switches import CachedSwitches
from redpacket.operations.use_cases.limit_rate import UserLimit
from redpacket.packets.dynamodb.claims import DynamoClaims
from redpacket.packets.dynamodb.ledger import DynamoLedger
from redpacket.packets.dynamodb.packets import DynamoPackets
from redpacket.packets.dynamodb.pages import DynamoPages
from redpacket.packets.dynamodb.work_lists import DynamoWorkLists
from redpacket.packets.model.claim import Admission, Claim, Share, ShareRef
from redpacket.packets.model.packet import Kind, Opening, Packet, Rules, shard_count
from redpacket.packets.ports import (
    ClaimCache,
    DeadLetters,
    Funding,
    LoadTurns,
    PayoutQueue,
    Quotas,
)
from redpacket.packets.split import Split
from redpacket.packets.use_cases.cached_emptied import CachedEmptied
from redpacket.packets.use_cases.expire_packets import ExpireReport, SweepPorts, expire_packets
from redpacket.packets.use_cases.read_records import Record, read_record
from redpacket.packets.use_cases.repair import load_packets, requeue_claims
from redpacket.packets.use_cases.send_packet import SendOrder
from redpacket.packets.use_cases.sharded_claims import ShardedClaims
from redpacket.packets.use_cases.sweep import RESERVE_MS, SweepReport
from redpacket.platform.difference import Difference
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.idempotency import Request
from redpacket.platform.runtime import InParallel
from redpacket.platform.settings import Settings
from redpacket.platform.user import User
from redpacket.reconciliation.use_cases.reconcile import Reconciliation, reconcile
from redpacket.reconciliation.use_cases.runs import plan_export
from redpacket.reconciliation.use_cases.statements import MOVING_MS, Run, tables
from redpacket.users.ports import ProfileRepository
from testing.builders import NOW_MS, a_campaign, a_prize
from testing.fakes import (
    FakeAudiences,
    FakeClock,
    FakeDeadLetters,
    FakeDrawCache,
    FakeDynamo,
    FakeLimits,
    FakeLogger,
    FakeOutcomes,
    FakePictures,
    FakeQueue,
    FakeQuotas,
    FakeShards,
    FakeSwitchStore,
    Item,
)
from testing.lottery.prizes import write_prize
from testing.platform.fake_tables import TABLE_NAMES
from testing.platform.process import Process
from testing.reconciliation.checks import Told, check_moved_ends, check_settled_in_time
from testing.reconciliation.ledger_state import LedgerState, read_ledger_state, scan_rows

GRACE_MS = 5_000
LIFE_MS = 60_000
DAY_MS = 24 * 3_600_000
SHARD_SHARE_COUNT = 20_000
OPEN_PACKETS_MAX = 1000
ADMISSION_FACTOR = 2
DEPOSIT_FEN_MAX = 10**10

TABLES = " ".join(f"{name}={name}" for name in TABLE_NAMES)
"""Value of the environment variable that names the tables."""

VARIABLES = {
    "USER_ID_KEY": PUBLISHED_KEY,
    "SEED_KEYS": PUBLISHED_SEED_KEYS,
    "TABLES": TABLES,
    "APPROVAL_FEN": f"{10**15},{10**18},{10**18}",
    "RISK_VERDICTS": "true",
    "OPEN_PACKETS_MAX": str(OPEN_PACKETS_MAX),
    "DEPOSIT_FEN_MAX": str(DEPOSIT_FEN_MAX),
    "CLOSE_GRACE_S": str(GRACE_MS // 1000),
    "PICTURES_BUCKET": "pictures",
    "ORDER_FUNCTION": "order",
    "POWERTOOLS_METRICS_NAMESPACE": "redpacket",
}
"""Environment variables of a function in this system."""


_EXPORTS_KEPT = 4
"""Number of newest exports that are kept, because a later export may start from them."""


class InMemorySystem:
    """System with users; *told* stores every successful claim's answer, for I5."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.logger = FakeLogger()
        self.dynamo = FakeDynamo()
        self.queue = FakeQueue()
        self.memory = FakeShards(self.clock)
        # Cache that the use cases call; a test may replace it.
        self.claim_cache: ClaimCache = ShardedClaims(self.memory, clock=self.clock)
        self.turns: LoadTurns = self.memory
        self.payouts: PayoutQueue = self.queue
        self.stand_on(self.dynamo)
        stored = process_on(_at_once(lambda: self.dynamo), new_seed=self._new_seed)
        self.pages: DynamoPages = stored.pages
        self.campaigns: DynamoEditedCampaigns = stored.edited_campaigns
        self.audiences = FakeAudiences()
        self.reserved = FakeQuotas(self.audiences)
        self.quotas: Quotas = self.reserved
        self.limits: Limits = FakeLimits(self.clock)
        self.grab_limit = GRABS
        self.pictures = FakePictures()
        self.outcomes = FakeOutcomes()
        self.lots = FakeDrawCache(self.clock)
        self.draw_cache: DrawCache = self.lots
        self.profiles: ProfileRepository = stored.profiles
        self.moving_ms = MOVING_MS
        self.window_slack_ms = WINDOW_AGE_MAX_MS
        self.last_run: dict[str, Any] = {}
        self.duck: Duck | None = None
        self._exports: dict[str, dict[str, Rows]] = {}
        # Each grab gets a new process unless a test keeps one.
        self.read_emptied: Callable[[], CachedEmptied] = lambda: CachedEmptied(
            self.claim_cache, clock=self.clock
        )
        # The same applies to the process's cache of campaigns.
        self.recall_campaigns: Callable[[], CachedCampaigns] = lambda: CachedCampaigns(
            self.campaigns, clock=self.clock, logger=self.logger
        )
        self.told: list[Told] = []
        self.told_draws: list[Draw] = []
        self.shard_share_count = SHARD_SHARE_COUNT
        self.share_fen_max = 20_000
        self.approval_fen = 10**15
        self.operator_fen = self.everyone_fen = 10**18
        self.in_parallel: InParallel = one_by_one
        self.switch_store: SwitchStore = FakeSwitchStore()
        self.switches = CachedSwitches(
            store=self.switch_store, copy=None, clock=self.clock, logger=self.logger
        )
        self._ids = itertools.count(1)

    def stand_on(self, client: Any) -> None:
        """Use *client* for packets, claims, money and draws from now on."""
        self.reached = client
        stored = process_on(_at_once(lambda: client), clock=self.clock)
        packets, ledger = stored.packets, stored.ledger
        assert isinstance(packets, DynamoPackets)
        assert isinstance(ledger, DynamoLedger)
        self.packets, self.ledger = packets, ledger
        self.deposits: DynamoDeposits = stored.deposits
        self.actions: DynamoActions = stored.actions
        self.funding: Funding = stored.packet_funding
        self.recorder: DynamoClaims = stored.recorder
        self.audience_rows: DynamoAudiences = stored.audience_rows
        self.verdicts: DynamoVerdicts = stored.verdicts
        self.work: DynamoWorkLists = stored.work_lists(0, 1)
        self.draws: DynamoDraws = DynamoDraws(_at_once(lambda: client), asks_verdicts=True)
        self.prizes: DynamoPrizes = self.prize_adapter(client)

    @staticmethod
    def prize_adapter(client: Any) -> DynamoPrizes:
        return DynamoPrizes(_at_once(lambda: client), PUBLISHED_SEEDS)

    def branched(self) -> InMemorySystem:
        """Return another system with the same rows and time, and empty caches."""
        other = InMemorySystem()
        other.clock.at_ms = self.clock.at_ms
        other.dynamo.hold(self.dynamo.rows())
        first_id = next(self._ids)
        self._ids, other._ids = itertools.count(first_id), itertools.count(first_id)
        return other

    def process(self, **given: Any) -> Process:
        """Return a new process on the system's current services. It has a function's containers;
        *given* replaces members of them.
        """
        variables = {
            **VARIABLES,
            "SHARE_FEN_MAX": str(self.share_fen_max),
            "APPROVAL_FEN": f"{self.approval_fen},{self.operator_fen},{self.everyone_fen}",
        }
        stands_on = {
            "settings": Settings(variables),
            "admission_factor": ADMISSION_FACTOR,
            "shard_share_count": self.shard_share_count,
            "clock": self.clock,
            "logger": self.logger,
            "dynamo": _at_once(lambda: self.reached),
            "user_ids": PlainIds,
            "new_packet_id": self._new_id,
            "new_seed": self._new_seed,
            "in_parallel": self.in_parallel,
            "payouts_in_parallel": self.in_parallel,
            "log_in_parallel": self.in_parallel,
            "limits": self.limits,
            "switches": self.switches,
            "stored_switches": self.switches,
            "grab_costs": UserLimit(
                lambda: self.grab_limit, limits=self.limits, clock=self.clock, logger=self.logger
            ),
            "ledger": self.ledger,
            "deposits": self.deposits,
            "packet_funding": self.funding,
            "profiles": self.profiles,
            "packets": self.packets,
            "recorder": self.recorder,
            "work_lists": lambda _group, _groups: self.work,
            "packet_rows": self.packets,
            "pages": self.pages,
            "campaigns": self.campaigns,
            "edited_campaigns": self.campaigns,
            "claim_cache": self.claim_cache,
            "shard_cache": self.turns,
            "payouts": self.payouts,
            "quotas": self.quotas,
            "audience_cache": self.audiences,
            "audience_rows": self.audience_rows,
            "verdicts": self.verdicts,
            "emptied": self.read_emptied(),
            "cached_campaigns": self.recall_campaigns(),
            "draws": self.draws,
            "recorded_draws": self.draws,
            "prizes": self.prizes,
            "prize_rows": self.prizes,
            "draw_cache": self.draw_cache,
            "pictures": self.pictures,
            "outcome_counts": self.outcomes,
        }
        return Process(**{**stands_on, **given})

    def before_each_transaction(self, do: Callable[[list[Any]], object]) -> None:
        """Call *do* with the operations of every transaction before it is committed."""
        client = _Interposed(self.dynamo, do)
        self.stand_on(client)

    def before_first_transaction(self, do: Callable[[list[Any]], object]) -> None:
        """Call *do* once, before the first transaction."""
        pending = [do]

        def once(operations: list[Any]) -> None:
            if pending:
                pending.pop()(operations)

        self.before_each_transaction(once)

    def deposit(self, user_id: str, amount_fen: int, key: str | None = None) -> None:
        request = Request("treasurer", key or f"deposit-{next(self._ids)}", str(amount_fen))
        self.process().deposit(a_person(user_id), amount_fen, request)

    def deposit_for_campaigns(self, user_id: str, amount_fen: int, request: Request) -> None:
        """Deposit campaign money, with a second operator's approval."""
        process, payee = self.process(), a_person(user_id)
        try:
            process.deposit(payee, amount_fen, request, is_for_campaigns=True)
        except ApprovalNeededError as needed:
            hashes = request.key_hash, request.body_hash
            change = DepositAsked(user_id, amount_fen, *hashes, is_for_campaigns=True)
            asking = an_operator(request.user_id)
            asked = process.ask_approval(needed, asking, lambda _: change, payee=payee)
            process.approve(asked.approval_id, an_operator("second"))

    def send(self, sender: str = "sender", **changes: Any) -> Packet:
        """Deposit exactly the cost of a packet, and send it."""
        order = an_order(sender, key=f"send-{next(self._ids)}", **changes)
        self.deposit(sender, order.total_fen)
        return self.send_order(order)

    def send_in_shards(self, shards: int, count: int, total_fen: int = 6000) -> Packet:
        """Send a campaign's packet with *shards* shards."""
        self.shard_share_count = -(-count // shards)
        now_ms = self.clock.now_ms()
        campaign = a_campaign(
            starts_at_ms=now_ms, ends_at_ms=now_ms + LIFE_MS, budget_left_fen=total_fen
        )
        assert self.campaigns.create(campaign)
        rules = Rules(campaign_id=campaign.campaign_id)
        packet = self.send(rules=rules, campaign=campaign, total_fen=total_fen, count=count)
        assert shard_count(packet.packet_id) == shards
        return packet

    def send_order(self, order: SendOrder) -> Packet:
        return self.process().send_packet(order)

    def grab(self, packet: Packet, user_id: str, passphrase: str | None = None) -> Claim:
        """Grab a share of a packet in one step."""
        claim = self.grab_or_enter(packet, user_id, passphrase)
        assert isinstance(claim, Claim)
        return claim

    def grab_or_enter(
        self,
        packet: Packet,
        user_id: str,
        passphrase: str | None = None,
        chat_id: str | None = None,
    ) -> Claim | Admission:
        claimer = replace(a_person(user_id), chat_id=chat_id)
        answer = self.process().grab_packet(packet.packet_id, claimer, passphrase)
        return self._remember(answer, user_id) if isinstance(answer, Claim) else answer

    def grab_all(self, packet: Packet, *users: str) -> list[Share]:
        """Grab as each of *users* in order, and return their shares."""
        return [self.grab(packet, user).share for user in users]

    def crowd(self, packet: Packet, count: int) -> list[Share]:
        """Grab as *count* users, user-0 first; return their shares."""
        return self.grab_all(packet, *(f"user-{number}" for number in range(count)))

    def open(
        self, packet: Packet, user_id: str, grab_token: str, chat_id: str | None = None
    ) -> Claim:
        claimer = replace(a_person(user_id), chat_id=chat_id)
        claim = self.process().open_packet(packet.packet_id, claimer, grab_token)
        return self._remember(claim, user_id)

    def _remember(self, claim: Claim, user_id: str) -> Claim:
        share = claim.share
        self.told.append(Told(share.packet_id, user_id, share.share_no, share.amount_fen))
        return claim

    def end_packet(self, packet: Packet, reason: str = "", **given: Any) -> Packet:
        """End a packet early as its sender, or with a *reason* as an operator."""
        process, packet_id = self.process(), packet.packet_id
        ended: Packet = (
            process.end_any_packet(packet_id, an_operator(), reason, may_end_all=True, **given)
            if reason
            else process.end_own_packet(packet_id, packet.sender.user_id, **given)
        )
        return ended

    def put_prize(self, plan: Prize) -> Prize:
        """Create or edit a prize; the operator pays for cash."""
        return put_prize(plan, None, an_operator(), ports=self.prize_ports())[0]

    def change_stock(self, prize: Prize, delta: int, key: str | None = None) -> Prize:
        """Change the stock; calls with the same key are retries."""
        request = Request("operator", key or f"stock-{next(self._ids)}", str(delta))
        return change_stock(
            prize.campaign_id,
            prize.prize_id,
            delta,
            None,
            an_operator(),
            request,
            ports=self.prize_ports(),
        )

    def rain(self, **changes: Any) -> Campaign:
        """Create a campaign that begins now and lasts an hour."""
        now_ms = self.clock.now_ms()
        window = {"starts_at_ms": now_ms, "ends_at_ms": now_ms + 3_600_000}
        campaign = a_campaign(**{**window, **changes})
        assert self.campaigns.create(campaign)
        return campaign

    def send_of(self, campaign: Campaign, sender: str = "sender", **changes: Any) -> Packet:
        """Send a packet from a campaign."""
        opening = changes.pop("opening", Opening.ONE_STEP)
        rules = Rules(campaign_id=campaign.campaign_id, opening=opening)
        return self.send(sender, rules=rules, campaign=campaign, **changes)

    def lottery(self, *prizes: Prize, **changes: Any) -> Campaign:
        """Create the three-day campaign "gala" with prizes, without loading the cache."""
        plan = {"campaign_id": "gala", "ends_at_ms": NOW_MS + 3 * DAY_MS, **changes}
        campaign = a_campaign(**plan)
        assert self.campaigns.create(campaign)
        for prize in prizes or (a_prize("gala"),):
            write_prize(self.prizes, prize)
        return campaign

    def draw_each(self, count: int, name: str = "user") -> list[Draw]:
        """Draw once in the campaign "gala" as each of *count* users, number 0 first."""
        return [self.draw("gala", f"{name}-{number}", "key").draw for number in range(count)]

    def load_campaign(self, campaign_id: str) -> None:
        load_campaign(campaign_id, prizes=self.prizes, draw_cache=self.draw_cache, clock=self.clock)

    def prize_ports(self) -> PrizePorts:
        return self.process().prize_ports

    def draw(
        self, campaign_id: str, user_id: str, key: str, snapshots: CachedSnapshots | None = None
    ) -> DrawResult:
        """Draw once; *snapshots* is a process's cache, empty by default."""
        process = self.process(**({"snapshots": snapshots} if snapshots else {}))
        result: DrawResult = process.draw_prize(campaign_id, a_person(user_id), key)
        self.told_draws.append(result.draw)
        draw = result.draw
        assert draw.draw_id == draw_id_of(campaign_id, user_id, draw.day, draw.draw_no)
        return result

    def help(self, campaign_id: str, helper: str, inviter: str, phrase: str = "恭喜发财") -> Helped:
        return self.process().help_inviter(campaign_id, helper, inviter, phrase)

    def lotteries(self) -> CachedLotteries:
        """Return the lottery cache of a new process."""
        return self.process().lotteries

    def snapshots(self) -> CachedSnapshots:
        """Return the snapshot cache of a new process."""
        return self.process().snapshots

    def _new_id(self, shards: int) -> str:
        return PUBLISHED_IDS.sign(f"packet-{next(self._ids):015d}", shards)

    def _new_seed(self, size: int) -> bytes:
        return f"{next(self._ids):0{size}d}".encode()

    def settle(self, refs: list[ShareRef] | None = None) -> set[ShareRef]:
        """Deliver *refs*, or all queued claims, to the payout."""
        refs = self.queue.take_all() if refs is None else refs
        process = self.process()
        settled: set[ShareRef] = process.settle_or_delay(refs, is_on=process.stored_switches.is_on)
        return settled

    def expire(
        self, stop_in_ms: int = 50_000, should_continue: Callable[[], bool] = lambda: True
    ) -> ExpireReport:
        stop_at_ms = self.clock.now_ms() + stop_in_ms
        return expire_packets(stop_at_ms, ports=self.sweep_ports(), should_continue=should_continue)

    def repair(self, stop_in_ms: int = 50_000) -> tuple[int, int]:
        """Run the remaining steps of the sweep; return the numbers of requeued claims and loaded
        packets.
        """
        stop_at_ms, ports = self.clock.now_ms() + stop_in_ms, self.sweep_ports()
        requeued = requeue_claims(stop_at_ms, ports=ports)
        return len(requeued.results), len(load_packets(stop_at_ms, ports=ports).results)

    def sweep_ports(self) -> SweepPorts:
        """Return the ports of a sweep."""
        ports: SweepPorts = self.process().sweep_ports(0, 1)
        return ports

    def load_packet(self, packet_id: str) -> None:
        """Load all of a packet's shards into the claim cache from the ledger."""
        packet = self.packets.find_packet(packet_id)
        assert packet
        for shard in range(shard_count(packet_id)):
            shares = self.packets.list_shard_shares(packet_id, shard)
            self.claim_cache.load(packet, shares, shard)

    def read_record(self, packet: Packet, viewer: str, chat_id: str | None = None) -> Record:
        """Read a packet's page as a user, or as a member of a chat."""
        return read_record(
            packet.packet_id,
            User(viewer, chat_id=chat_id),
            after_no=0,
            limit=100,
            packets=self.packets,
            pages=self.pages,
        )

    def edit_campaign(self, plan: CampaignPlan, budget_fen: int | None = None) -> Campaign:
        """Edit a campaign regardless of its version."""
        ports = self.campaign_ports()
        return edit_campaign(plan, budget_fen, None, an_operator(), ports=ports)[0]

    def campaign_ports(self) -> CampaignPorts:
        """Return the ports for editing a campaign."""
        return CampaignPorts(
            campaigns=self.campaigns,
            prizes=self.prizes,
            packets=self.packets,
            clock=self.clock,
            approval_policy=self.process().approval_policy,
            load=self.process().load_ports,
        )

    def preheat(self, campaign_id: str, cursor: str | None = None) -> Preheated:
        """Load a campaign's packets."""
        return self.process().preheat_campaign(campaign_id, cursor, self.clock.now_ms() + 20_000)

    def sweep(self, stop_in_ms: int = 47_000) -> SweepReport:
        """Sweep once, as the one-minute schedule does."""
        process = self.process()
        swept: SweepReport = process.sweep(
            stop_in_ms + RESERVE_MS, ports=process.sweep_ports(0, 1), is_on=process.switches.is_on
        )
        return swept

    def reconcile(self, dead_count: int = 0) -> Reconciliation:
        """Compare all tables, and report the differences."""
        result = self.compare(FakeDeadLetters(dead_count))
        result.report(self.logger)
        self.last_run = result.stored
        return result

    def compare(
        self, dead_letters: DeadLetters, first: Reconciliation | None = None
    ) -> Reconciliation:
        """Export all tables, and compare them in DuckDB as Athena does; *first* is a result to
        confirm.
        """
        audits = self.process(dead_letters=dead_letters).audits
        now_ms = self.clock.now_ms()
        has_receipts = self.ledger.list_receipts([]) is not None
        before = first.stored if first else self.last_run
        planned = plan_export(now_ms, before, window_min_ms=0, is_second=bool(first))
        number = next(self._ids)
        run_id = f"{number % 256:02x}"
        limit_fen = min(self.everyone_fen, 10**17)
        run = Run(run_id, now_ms, self.moving_ms, has_receipts, planned["base"], limit_fen)
        engine = self._exported(run, f"look_{number}")
        result = reconcile(
            run,
            engine.counts(run),
            engine=engine,
            audits=audits,
            before=self.last_run,
            stop_at_ms=now_ms + 600_000,
            first=first.stored if first else None,
        )
        result.export = planned
        return result

    def _exported(self, run: Run, database: str) -> Duck:
        """Return DuckDB with an export of all tables, or of the changes since the export's base."""
        kept = {run.base, self.last_run.get("database"), self.duck and self.duck.database}
        # A run's first result may be the base of that run's second export.
        kept |= {*list(self._exports)[-_EXPORTS_KEPT:]}
        for old in self._exports.keys() - kept:
            del self._exports[old]
            assert self.duck
            self.duck.rows(f"DROP SCHEMA {old} CASCADE")
        all_rows: dict[str, Rows] = {
            table: deepcopy(dict(self.dynamo.tables.get(table, {}))) for table in tables()
        }
        self._exports[database] = all_rows
        with TemporaryDirectory() as folder:
            for table, rows in all_rows.items():
                if run.base:
                    export_changes(Path(folder, table), self._exports[run.base][table], rows)
                else:
                    export(Path(folder, table), rows.values())
            self.duck = Duck(Path(folder), run, database, self.duck).type_rows(run)
        return self.duck

    def turn_off(self, switch: Switch) -> None:
        """Turn a switch off for every process at once."""
        store = FakeSwitchStore()
        store.put(SwitchState(switch, is_on=False))
        self.switches = CachedSwitches(store=store, copy=None, clock=self.clock, logger=self.logger)

    def pass_time(self, duration_ms: int) -> None:
        self.clock.at_ms += duration_ms

    def end(self) -> ExpireReport:
        """Pass the default lifetime of packets, and sweep."""
        self.pass_time(LIFE_MS + 1_000)
        return self.expire()

    def stored(self, packet: Packet) -> Packet:
        """Return the packet as it is stored now."""
        stored = self.packets.find_packet(packet.packet_id)
        assert stored
        return stored

    def row(self, table: str, key: Mapping[str, str]) -> Item:
        """Return the stored row itself, for tests that forge it."""
        row: Item = self.dynamo.tables[table][key["pk"], key["sk"]]
        return row

    def forge(self, table: str, key: Mapping[str, str], **changes: Any) -> None:
        """Change a row's attributes, and so its positions in the indexes."""
        self.dynamo.tables[table][key["pk"], key["sk"]] = {**self.row(table, key), **changes}

    def ledger_state(self) -> LedgerState:
        state = read_ledger_state(
            self.dynamo,
            *("accounts", "packets", "shares", "campaigns", "draws", "quotas", "payments"),
            journal_table="journal",
        )
        return replace(state, window_slack_ms=self.window_slack_ms)

    def differences(
        self, bound_ms: int | None = None, seen: Counter[str] | None = None
    ) -> list[Difference]:
        """Run the checks without a provider's book; with *bound_ms*, also check for late work."""
        ledger_state, seen = self.ledger_state(), Counter() if seen is None else seen
        differences = ledger_state.differences(self.told, self.told_draws, seen)
        seen["check_settled_in_time"] += 0 if bound_ms is None else len(ledger_state.packets)
        for facts in ledger_state.packets if bound_ms is not None else []:
            differences += check_settled_in_time(facts, self.clock.now_ms(), bound_ms or 0)
            differences += check_moved_ends(facts.packet, ledger_state.windows_of(facts.packet))
        return differences + self._lost_people()

    def host_ids(self) -> dict[str, str]:
        """Return the users' host ids, keyed by user id."""
        rows = scan_rows(self.dynamo, "profiles")
        return {row["pk"]: row["host_id"] for row in rows if "host_id" in row}

    def _lost_people(self) -> list[Difference]:
        """Return winners whose host id is no longer available (docs/adr/0019)."""
        host_ids = self.host_ids()
        winners = {draw.user_id for draw in self.told_draws if draw.prize}
        return [
            Difference("profile", user_id, "host_id", host_id, host_ids.get(user_id, ""))
            for user_id in sorted(winners)
            if host_ids.get(user_id) != (host_id := a_person(user_id).host_id or "")
        ]

    def balance_fen(self, user_id: str) -> int:
        return self.ledger_state().balances_fen.get(f"user:{user_id}", 0)


def _at_once(connect: Callable[[], Any]) -> Dynamo:
    """Return a client that does not wait between retries, because no time passes."""
    return Dynamo(connect, TABLE_NAMES, pause_s=lambda _: None)


def process_on(dynamo: Dynamo, **given: Any) -> Process:
    """Return a process of a function that calls only DynamoDB."""
    return Process(settings=Settings(VARIABLES), dynamo=dynamo, user_ids=PlainIds, **given)


def one_by_one(do: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Call *do* for each item in order: `in_parallel` without threads."""
    return [do(item) for item in items]


class _Interposed:
    """DynamoDB client that runs a callback before each transaction."""

    def __init__(self, dynamo: FakeDynamo, do: Callable[[list[Any]], object]) -> None:
        self._dynamo = dynamo
        self._do = do

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dynamo, name)

    def transact_write_items(self, *, TransactItems: list[Any], **token: str) -> None:  # noqa: N803
        self._do(TransactItems)
        self._dynamo.transact_write_items(TransactItems=TransactItems, **token)


def a_person(user_id: str) -> User:
    """Return a user as the HTTP layer does, but with a plain id instead of a hash."""
    return User(user_id, host_id=f"{user_id}@host")


class PlainIds:
    """UserIds with plain ids for users from a_person, and with hashes for other host ids."""

    @staticmethod
    def id_of(host_id: str) -> str:
        plain, is_plain, _ = host_id.partition("@host")
        return plain if is_plain else PUBLISHED_USER_IDS.id_of(host_id)


def an_operator(user_id: str = "operator", *duties: Duty) -> Operator:
    """Return an operator with the given duties, or with all duties."""
    return Operator(a_person(user_id), frozenset(duties or Duty))


def an_order(sender: str = "sender", key: str = "key", **changes: Any) -> SendOrder:
    order = SendOrder(
        sender=a_person(sender),
        request=Request(sender, key, "body"),
        kind=Kind.LUCKY,
        split=Split.DOUBLE_MEAN,
        rules=Rules(),
        total_fen=1000,
        count=4,
        share_fen_min=1,
        share_fen_max=20_000,
        unit_fen=1,
        greeting="恭喜发财",
        life_ms=LIFE_MS,
    )
    return replace(order, **changes)

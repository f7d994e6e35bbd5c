"""The composition root: builds each adapter once per cold start, and binds the flows to them.

Nothing connects at import time, and nothing is built before a flow needs it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from redpacket.adapters.dynamo.client import Dynamo
from redpacket.adapters.dynamo.packets import DynamoPackets
from redpacket.adapters.keys import WORK_SHARDS
from redpacket.domain.switches import Switch, SwitchState
from redpacket.edge import settings
from redpacket.edge.packet_ids import new_packet_id
from redpacket.edge.telemetry import journal

if TYPE_CHECKING:
    from redpacket.adapters.aws.client import AwsClient
    from redpacket.adapters.aws.lambda_deliveries import LambdaDeliveries
    from redpacket.adapters.aws.sqs_payouts import SqsDeadLetters, SqsPayouts
    from redpacket.adapters.dynamo.campaigns import DynamoCampaigns
    from redpacket.adapters.dynamo.draws import DynamoDraws
    from redpacket.adapters.dynamo.ledger import DynamoLedger
    from redpacket.adapters.dynamo.pages import DynamoPages
    from redpacket.adapters.dynamo.profiles import DynamoProfiles
    from redpacket.adapters.dynamo.switches import DynamoSwitches
    from redpacket.adapters.pinyin import PinyinPhrases
    from redpacket.adapters.redis.client import Client
    from redpacket.adapters.redis.connect import Options
    from redpacket.adapters.redis.draws import RedisDraws
    from redpacket.adapters.redis.limits import RedisLimits
    from redpacket.adapters.redis.parted_claims import PartedClaims
    from redpacket.domain.campaign import Campaign, CampaignPlan
    from redpacket.domain.checks.facts import Difference
    from redpacket.domain.claim import Admission, Claim, ShareRef
    from redpacket.domain.lottery import Prize, PrizeStock
    from redpacket.domain.packet import Packet, Person
    from redpacket.flows.accounts.cached_profiles import CachedProfiles
    from redpacket.flows.campaigns.cached_lotteries import CachedLotteries, Lottery
    from redpacket.flows.campaigns.cached_snapshots import CachedSnapshots
    from redpacket.flows.campaigns.draw_prize import Drawn
    from redpacket.flows.campaigns.edit_prize import PrizePorts
    from redpacket.flows.campaigns.help_inviter import Helped
    from redpacket.flows.campaigns.preheat_campaign import Preheated
    from redpacket.flows.campaigns.read_draws import DrawPage, DrawProof, WatchedLottery
    from redpacket.flows.guards.cached_switches import CachedSwitches
    from redpacket.flows.guards.limit_rate import UserLimit
    from redpacket.flows.packets.claim_ports import ClaimPorts
    from redpacket.flows.packets.send_packet import SendOrder
    from redpacket.flows.reconciliation.reconcile import Reconciliation
    from redpacket.ports.accounts import Profile, Request

_CACHE_TIMEOUT_S = 0.5
_AWS_CONNECT_TIMEOUT_S = 1
_AWS_READ_TIMEOUT_S = 2
_AWS_TRIES = 2
"""A grab in the worst case: the cache 2 x 0.5 s, ledger and queue 2 x 3 s each, so that a user gets
a 503 before the Lambda's 15 s are over, and not a 502. Where the cache has no copy of the switches
either, the ledger is asked for them first: 2 x 3 s more, but then it does not get to the queue."""

_LIGHT_SERVICES = {"dynamodb", "sqs", "secretsmanager"}
"""What `adapters/aws/client.py` speaks to; botocore does all else, and where keys aren't given."""

_SWEEP_RESERVE_MS = 8_000
"""The last chunk must end before the Lambda does."""


class SystemClock:
    """Implements Clock."""

    def now_ms(self) -> int:
        """Return the time since the epoch."""
        return time.time_ns() // 1_000_000

    def sleep_ms(self, duration_ms: int) -> None:
        """Wait."""
        time.sleep(duration_ms / 1000)


clock = SystemClock()


@cache
def _aws_session() -> Any:  # noqa: ANN401 - see _aws
    import botocore.session

    # Only botocore: boto3 would add its import. One session, since it caches the data of AWS that
    # both clients need.
    return botocore.session.get_session()


def _aws(service: str) -> Any:  # noqa: ANN401 - boto3's clients have no type at run time
    if service in _LIGHT_SERVICES and settings.has_aws_keys():
        return _light(service)
    from botocore.config import Config

    return _aws_session().create_client(
        service,
        config=Config(
            connect_timeout=_AWS_CONNECT_TIMEOUT_S,
            read_timeout=_AWS_READ_TIMEOUT_S,
            retries={"mode": "standard", "total_max_attempts": _AWS_TRIES},
            tcp_keepalive=True,
        ),
    )


def _light(service: str) -> AwsClient:
    from redpacket.adapters.aws.client import AwsClient
    from redpacket.adapters.aws.signature import Keys

    return AwsClient(
        service,
        settings.aws_region(),
        settings.aws_endpoint(service),
        keys=lambda: Keys(*settings.aws_keys()),
        ca_bundle=settings.aws_ca_bundle(),
        connect_timeout_s=_AWS_CONNECT_TIMEOUT_S,
        read_timeout_s=_AWS_READ_TIMEOUT_S,
    )


@cache
def _dynamo() -> Dynamo:
    return Dynamo(lambda: _aws("dynamodb"))


@cache
def packets() -> DynamoPackets:
    """Return the packets of PacketsTable and the shares of SharesTable."""
    return DynamoPackets(_dynamo(), settings.packets_table(), settings.shares_table())


@cache
def pages() -> DynamoPages:
    """Return what record pages read, in PacketsTable."""
    from redpacket.adapters.dynamo.pages import DynamoPages

    return DynamoPages(_dynamo(), settings.packets_table())


@cache
def ledger() -> DynamoLedger:
    """Return the ledger of AccountsTable."""
    return _ledger()


@cache
def funding_ledger() -> DynamoLedger:
    """Return the ledger that also notes in ProfilesTable whom the host means."""
    return _ledger(profiles_table=settings.profiles_table())


@cache
def campaign_ledger() -> DynamoLedger:
    """Return the ledger that also takes from the budgets of CampaignsTable, and notes senders."""
    return _ledger(
        settings.campaigns_table(),
        settings.profiles_table(),
        open_packets_max=settings.open_packets_max(),
    )


def _ledger(
    campaigns_table: str | None = None,
    profiles_table: str | None = None,
    *,
    open_packets_max: int | None = None,
) -> DynamoLedger:
    from redpacket.adapters.dynamo.ledger import DynamoLedger

    return DynamoLedger(
        _dynamo(),
        settings.accounts_table(),
        settings.packets_table(),
        settings.shares_table(),
        campaigns_table,
        profiles_table,
        has_receipts=settings.has_receipts(),
        open_packets_max=open_packets_max,
    )


@cache
def campaigns() -> DynamoCampaigns:
    """Return the campaigns of CampaignsTable."""
    from redpacket.adapters.dynamo.campaigns import DynamoCampaigns

    return DynamoCampaigns(_dynamo(), settings.campaigns_table())


@cache
def draws() -> DynamoDraws:
    """Return the lotteries of CampaignsTable; cash prizes are shares of PacketsTable."""
    from redpacket.adapters.dynamo.draws import DynamoDraws

    return DynamoDraws(
        _dynamo(),
        settings.campaigns_table(),
        settings.shares_table(),
        settings.draws_table(),
    )


@cache
def _recorded_draws() -> DynamoDraws:
    """Return the lotteries where users draw, which notes who wins."""
    from redpacket.adapters.dynamo.draws import DynamoDraws

    return DynamoDraws(
        _dynamo(),
        settings.campaigns_table(),
        settings.shares_table(),
        settings.draws_table(),
        profiles_table=settings.profiles_table(),
    )


@cache
def draw_cache() -> RedisDraws:
    """Return the draw claim cache on the cache."""
    from redpacket.adapters.redis.draws import RedisDraws

    return RedisDraws(_cache_client())


@cache
def _tables() -> CachedSnapshots:
    from redpacket.flows.campaigns.cached_snapshots import CachedSnapshots

    return CachedSnapshots(draws(), clock=clock, journal=journal)


@cache
def _lotteries() -> CachedLotteries:
    from redpacket.flows.campaigns.cached_lotteries import CachedLotteries

    return CachedLotteries(draws(), draw_cache(), clock=clock, journal=journal)


@cache
def profiles() -> DynamoProfiles:
    """Return the profiles of ProfilesTable."""
    from redpacket.adapters.dynamo.profiles import DynamoProfiles

    return DynamoProfiles(_dynamo(), settings.profiles_table())


@cache
def shown_profiles() -> CachedProfiles:
    """Return the profiles as this process remembers them, for pages that many people look at."""
    from redpacket.flows.accounts.cached_profiles import CachedProfiles

    return CachedProfiles(profiles(), clock=clock)


@cache
def _cache_client() -> Client:
    from redpacket.adapters.redis.connect import connect

    host, port = settings.cache_address()
    options: Options = {
        "has_tls": settings.cache_has_tls(),
        "username": settings.cache_user(),
        "password": _cache_password(),
        "timeout_s": _CACHE_TIMEOUT_S,
        "ca_bundle": settings.cache_ca_bundle(),
    }
    if settings.cache_is_cluster():
        from redpacket.adapters.redis.cluster import connect_cluster

        return connect_cluster(host, port, **options)
    return connect(host, port, **options)


def _cache_password() -> str | Callable[[], str]:
    if resource := settings.cache_iam_resource():
        from redpacket.adapters.aws.signature import Keys
        from redpacket.adapters.redis.token import cache_token

        user_id, region = settings.cache_user(), settings.aws_region()
        return lambda: cache_token(resource, user_id, region, Keys(*settings.aws_keys()))
    if secret_arn := settings.cache_password_secret_arn():
        from redpacket.adapters.redis.secret import CacheSecret

        return CacheSecret(lambda: _aws("secretsmanager"), secret_arn)
    return ""


@cache
def claim_cache() -> PartedClaims:
    """Return the claim claim cache on the cache."""
    from redpacket.adapters.redis.claims import RedisClaims
    from redpacket.adapters.redis.parted_claims import PartedClaims

    return PartedClaims(RedisClaims(_cache_client()), clock=clock)


@cache
def limits() -> RedisLimits:
    """Return the rate limits on the cache.

    `domain/limits.py` says what the subject of each limit is.
    """
    from redpacket.adapters.redis.limits import RedisLimits

    return RedisLimits(_cache_client())


@cache
def switch_store() -> DynamoSwitches:
    """Return the switches of SwitchesTable."""
    from redpacket.adapters.dynamo.switches import DynamoSwitches

    return DynamoSwitches(_dynamo(), settings.switches_table())


@cache
def switches() -> CachedSwitches:
    """Return the switches as this process knows them, by way of the cache."""
    from redpacket.adapters.redis.switches import RedisSwitches
    from redpacket.flows.guards.cached_switches import CachedSwitches

    return CachedSwitches(
        store=switch_store(), copy=RedisSwitches(_cache_client()), clock=clock, journal=journal
    )


@cache
def _payout_switches() -> CachedSwitches:
    from redpacket.flows.guards.cached_switches import CachedSwitches

    # Payouts know no cache.
    return CachedSwitches(store=switch_store(), copy=None, clock=clock, journal=journal)


@cache
def deliveries() -> LambdaDeliveries:
    """Return what hands the payout queue's messages to the payout function."""
    from redpacket.adapters.aws.lambda_deliveries import LambdaDeliveries

    return LambdaDeliveries(lambda: _aws("lambda"), settings.payout_mapping_id())


@cache
def payouts() -> SqsPayouts:
    """Return the payout queue."""
    from redpacket.adapters.aws.sqs_payouts import SqsPayouts

    return SqsPayouts(lambda: _aws("sqs"), settings.payout_queue_url(), clock.now_ms)


@cache
def dead_letters() -> SqsDeadLetters:
    """Return the payout queue's dead letters."""
    from redpacket.adapters.aws.sqs_payouts import SqsDeadLetters

    return SqsDeadLetters(lambda: _aws("sqs"), settings.payout_dlq_url())


def require_on(switch: Switch) -> None:
    """Raise SwitchedOff where an operator has turned *switch* off; ask it before anything else."""
    switches().require_on(switch)


def limit_sends(user_id: str) -> None:
    """Bind flows/guards/limit_rate to a user's sends."""
    from redpacket.domain.limits import daily_send_limit, send_limit
    from redpacket.flows.guards.limit_rate import limit_rate

    for limit in (
        send_limit(settings.sends_per_minute(), settings.send_burst()),
        daily_send_limit(settings.sends_per_day()),
    ):
        limit_rate(limit, user_id, limits=limits(), journal=journal)


def limit_draws(user_id: str) -> None:
    """Bind flows/guards/limit_rate to a user's draws."""
    from redpacket.domain.limits import draw_limit
    from redpacket.flows.guards.limit_rate import limit_rate

    limit = draw_limit(settings.draws_per_minute(), settings.draw_burst())
    limit_rate(limit, user_id, limits=limits(), journal=journal)


@cache
def _reads() -> UserLimit:
    from redpacket.domain.limits import read_limit
    from redpacket.flows.guards.limit_rate import UserLimit

    limit = read_limit(settings.reads_per_minute(), settings.read_burst())
    return UserLimit(limit, limits=limits(), clock=clock, journal=journal)


def limit_reads(user_id: str) -> None:
    """Count one more read of a user. Raises RateLimited."""
    _reads().count(user_id)


def turn_switch(switch: Switch, *, is_on: bool, reason: str, operator_id: str) -> SwitchState:
    """Bind flows/guards/turn_switch."""
    from redpacket.flows.guards.turn_switch import turn_switch as flow

    return flow(
        switch,
        is_on=is_on,
        reason=reason,
        operator_id=operator_id,
        switches=switch_store(),
        deliveries=deliveries(),
        clock=clock,
        journal=journal,
    )


def send_packet(order: SendOrder) -> Packet:
    """Bind flows/packets/send_packet."""
    from redpacket.flows.packets.send_packet import send_packet as flow

    return flow(
        order,
        ledger=campaign_ledger(),
        packets=packets(),
        claim_cache=claim_cache(),
        clock=clock,
        journal=journal,
        new_id=new_packet_id,
        new_seed=secrets.token_bytes,
        part_share_count=settings.part_share_count(),
    )


@cache
def phrases() -> PinyinPhrases:
    """Return what compares passphrases; its libraries are in the grab function's second layer."""
    from redpacket.adapters.pinyin import PinyinPhrases

    return PinyinPhrases()


@cache
def _claim_ports() -> ClaimPorts:
    from redpacket.adapters.redis.quotas import RedisQuotas
    from redpacket.domain.limits import grab_limit
    from redpacket.flows.guards.limit_rate import UserLimit
    from redpacket.flows.packets.cached_campaigns import CachedCampaigns
    from redpacket.flows.packets.cached_emptied import CachedEmptied
    from redpacket.flows.packets.claim_ports import ClaimPorts

    limit = grab_limit(settings.grabs_per_minute(), settings.grab_burst())
    return ClaimPorts(
        claim_cache=claim_cache(),
        emptied=CachedEmptied(claim_cache(), clock=clock),
        packets=DynamoPackets(
            _dynamo(),
            settings.packets_table(),
            settings.shares_table(),
            settings.quotas_table(),
        ),
        payouts=payouts(),
        costs=UserLimit(limit, limits=limits(), clock=clock, journal=journal),
        phrases=phrases(),
        limits=limits(),
        campaigns=CachedCampaigns(campaigns(), clock=clock, journal=journal),
        quotas=RedisQuotas(_cache_client()),
        admission_factor=settings.admission_factor(),
        clock=clock,
        journal=journal,
    )


def grab_packet(packet_id: str, taker: Person, said: str | None) -> Claim | Admission:
    """Bind flows/packets/grab_packet."""
    from redpacket.flows.packets.grab_packet import grab_packet as flow

    return flow(packet_id, taker, said, ports=_claim_ports())


def open_packet(packet_id: str, taker: Person, grab_token: str) -> Claim:
    """Bind flows/packets/open_packet."""
    from redpacket.flows.packets.open_packet import open_packet as flow

    return flow(packet_id, taker, grab_token, ports=_claim_ports())


def settle_claims(refs: Iterable[ShareRef]) -> set[ShareRef]:
    """Bind settle_claims and note_people; while payouts are off, delay_claims."""
    refs = list(refs)
    if not _payout_switches().is_on(Switch.PAYOUT):
        from redpacket.flows.packets.delay_claims import delay_claims

        return delay_claims(refs, payouts=payouts(), journal=journal)
    from redpacket.adapters.threads import in_threads
    from redpacket.flows.accounts.note_people import note_people
    from redpacket.flows.packets.settle_claims import settle_claims as flow

    unpaid = flow(
        refs,
        ledger=ledger(),
        packets=packets(),
        pages=pages(),
        payouts=payouts(),
        clock=clock,
        journal=journal,
        in_parallel=in_threads,
    )
    # Money first; a message that is repeated for a name's sake finds its claim paid.
    return unpaid | note_people(refs, profiles=profiles(), journal=journal, in_parallel=in_threads)


def sweep(time_left_ms: int, group: int, groups: int) -> dict[str, int]:
    """Bind flows/packets/sweep, and tell what was done.

    This sweep is the *group*-th, from 0, of *groups* that share the work.
    """
    from dataclasses import asdict

    from redpacket.adapters.threads import in_threads
    from redpacket.flows.packets.sweep import sweep as flow

    shards = range(group, WORK_SHARDS, groups)
    packets = DynamoPackets(
        _dynamo(), settings.packets_table(), settings.shares_table(), work_shards=shards
    )
    report = flow(
        packets=packets,
        pages=pages(),
        claim_cache=claim_cache(),
        ledger=ledger(),
        payouts=payouts(),
        clock=clock,
        journal=journal,
        grace_ms=settings.close_grace_ms(),
        stop_at_ms=clock.now_ms() + time_left_ms - _SWEEP_RESERVE_MS,
        in_parallel=in_threads,
        may_refund=lambda: switches().is_on(Switch.REFUND),
        may_pay=lambda: switches().is_on(Switch.PAYOUT),
    )
    return asdict(report)


def deposit(payee: Person, amount_fen: int, request: Request) -> tuple[str, int]:
    """Bind flows/accounts/deposit."""
    from redpacket.flows.accounts.deposit import deposit as flow

    return flow(
        payee,
        amount_fen,
        request,
        amount_fen_max=settings.deposit_fen_max(),
        ledger=funding_ledger(),
        clock=clock,
    )


def audit_packet(packet_id: str) -> list[Difference]:
    """Bind flows/reconciliation/audit_packet."""
    from redpacket.flows.reconciliation.audit_packet import audit_packet as flow

    return flow(packet_id, packets=packets(), ledger=ledger(), clock=clock)


def reconcile(time_left_ms: int, *, may_begin: bool = True) -> Reconciliation:
    """Bind flows/reconciliation/reconcile."""
    from redpacket.adapters.dynamo.runs import DynamoRuns
    from redpacket.adapters.dynamo.tables import DynamoTables
    from redpacket.flows.reconciliation.compare_rows import ReconcilePorts
    from redpacket.flows.reconciliation.reconcile import reconcile as flow
    from redpacket.ports.reconciliation import Table

    names = {
        Table.ACCOUNTS: settings.accounts_table(),
        Table.PACKETS: settings.packets_table(),
        Table.SHARES: settings.shares_table(),
        Table.QUOTAS: settings.quotas_table(),
        Table.CAMPAIGNS: settings.campaigns_table(),
        Table.DRAWS: settings.draws_table(),
    }
    return flow(
        ports=ReconcilePorts(
            tables=DynamoTables(_dynamo(), names),
            packets=packets(),
            ledger=ledger(),
            draws=draws(),
            claim_cache=claim_cache(),
            clock=clock,
            journal=journal,
        ),
        runs=DynamoRuns(_dynamo(), settings.reconciliation_table()),
        dead_letters=dead_letters(),
        holder=secrets.token_hex(8),
        new_key=lambda: secrets.token_hex(16),
        may_begin=may_begin,
        stop_at_ms=clock.now_ms() + time_left_ms,
    )


def balance_fen(user_id: str) -> int:
    """Return what a user has."""
    from redpacket.domain.ledger import user_account

    return ledger().balance_fen(user_account(user_id))


def keep_profile(user_id: str, nickname: str, avatar_url: str | None) -> dict[str, Profile]:
    """Bind flows/accounts/edit_profile; return the profile as `list_profiles` would."""
    from redpacket.adapters.skeletons import skeleton_of
    from redpacket.flows.accounts.edit_profile import edit_profile
    from redpacket.ports.accounts import Profile

    profile = Profile(user_id, nickname, avatar_url)
    edit_profile(
        profile,
        profiles=profiles(),
        skeleton_of=skeleton_of,
        avatar_hosts=settings.avatar_hosts(),
    )
    return {user_id: profile}


def get_campaign(campaign_id: str) -> Campaign:
    """Bind flows/campaigns/edit_campaign."""
    from redpacket.flows.campaigns.edit_campaign import get_campaign as flow

    return flow(campaign_id, campaigns=campaigns())


def read_lottery(campaign_id: str) -> Lottery:
    """Bind flows/campaigns/cached_lotteries: a campaign as users see it."""
    return _lotteries().recall(campaign_id)


def watch_lottery(campaign_id: str) -> WatchedLottery:
    """Bind flows/campaigns/read_draws to a campaign as it is now, with its stock."""
    from redpacket.flows.campaigns.read_draws import watch_lottery as flow

    return flow(
        campaign_id,
        campaigns=campaigns(),
        draws=draws(),
        clock=clock,
    )


def load_lottery(campaign_id: str) -> None:
    """Bind load_campaign: after an edit the ledger is right, and the cache learns of it."""
    from redpacket.domain.errors import Unavailable
    from redpacket.flows.campaigns.load_campaign import load_campaign

    try:
        load_campaign(campaign_id, draws=draws(), claim_cache=draw_cache(), clock=clock)
    except Unavailable as error:
        journal.failure("campaign_not_loaded", error, campaign_id=campaign_id)


def _prize_ports() -> PrizePorts:
    from redpacket.adapters.dynamo.draws import DynamoDraws
    from redpacket.flows.campaigns.edit_prize import PrizePorts

    return PrizePorts(
        draws=DynamoDraws(
            _dynamo(),
            settings.campaigns_table(),
            settings.shares_table(),
            settings.draws_table(),
            settings.packets_table(),
        ),
        ledger=funding_ledger(),
        packets=packets(),
        clock=clock,
        new_id=new_packet_id,
        new_seed=secrets.token_bytes,
        share_fen_max=settings.share_fen_max(),
    )


def put_prize(plan: Prize, version: int | None, operator: Person) -> tuple[Prize, PrizeStock, bool]:
    """Bind flows/campaigns/edit_prize; draws go by the edit from then on."""
    from redpacket.flows.campaigns.edit_prize import put_prize as flow

    prize, is_new = flow(plan, version, operator, ports=_prize_ports())
    return prize, _load_prize(prize), is_new


def change_stock(
    campaign_id: str,
    prize_id: str,
    delta: int,
    version: int | None,
    operator: Person,
    request: Request,
) -> tuple[Prize, PrizeStock]:
    """Bind flows/campaigns/edit_prize; draws go by the edit from then on."""
    from redpacket.flows.campaigns.edit_prize import change_stock as flow

    ports = _prize_ports()
    prize = flow(campaign_id, prize_id, delta, version, operator, request, ports=ports)
    return prize, _load_prize(prize)


def _load_prize(prize: Prize) -> PrizeStock:
    """Tell the cache of an edit that the ledger has, and return what is left of the prize."""
    load_lottery(prize.campaign_id)
    return watch_lottery(prize.campaign_id).stock[prize.prize_id]


def draw_prize(campaign_id: str, drawer: Person, key_hash: str) -> Drawn:
    """Bind flows/campaigns/draw_prize."""
    from redpacket.flows.campaigns.draw_prize import DrawPorts
    from redpacket.flows.campaigns.draw_prize import draw_prize as flow

    ports = DrawPorts(
        claim_cache=draw_cache(),
        draws=_recorded_draws(),
        tables=_tables(),
        payouts=payouts(),
        clock=clock,
        journal=journal,
    )
    return flow(campaign_id, drawer, key_hash, ports=ports)


def help_inviter(campaign_id: str, helper_id: str, inviter_id: str, said: str) -> Helped:
    """Bind flows/campaigns/help_inviter."""
    from redpacket.flows.campaigns.help_inviter import HelpPorts
    from redpacket.flows.campaigns.help_inviter import help_inviter as flow

    ports = HelpPorts(
        claim_cache=draw_cache(),
        draws=draws(),
        tables=_tables(),
        phrases=phrases(),
        limits=limits(),
        clock=clock,
        journal=journal,
    )
    return flow(campaign_id, helper_id, inviter_id, said, ports=ports)


def list_draws(campaign_id: str, user_id: str, cursor: str | None) -> DrawPage:
    """Bind flows/campaigns/read_draws to a user's own."""
    from redpacket.flows.campaigns.read_draws import list_draws as flow

    return flow(campaign_id, user_id, cursor, draws=draws(), tables=_tables())


def read_draw_proof(campaign_id: str, day: str) -> DrawProof:
    """Bind flows/campaigns/read_draws to the proof of a day."""
    from redpacket.flows.campaigns.read_draws import read_draw_proof as flow

    return flow(campaign_id, day, tables=_tables(), clock=clock)


def edit_campaign(
    plan: CampaignPlan, budget_fen: int | None, version: int | None
) -> tuple[WatchedLottery, bool]:
    """Bind flows/campaigns/edit_campaign; a lottery's draws go by the edit from then on."""
    from dataclasses import replace

    from redpacket.flows.campaigns.edit_campaign import edit_campaign as flow

    campaign, is_new = flow(
        plan, budget_fen, version, campaigns=campaigns(), draws=draws(), packets=packets()
    )
    found = watch_lottery(plan.campaign_id)
    if found.lottery.table.prizes:
        load_lottery(plan.campaign_id)
    return replace(found, campaign=campaign), is_new


def preheat_campaign(campaign_id: str, cursor: str | None, time_left_ms: int) -> Preheated:
    """Bind flows/campaigns/preheat_campaign."""
    from redpacket.flows.campaigns.preheat_campaign import preheat_campaign as flow

    return flow(
        campaign_id,
        cursor,
        campaigns=campaigns(),
        packets=packets(),
        claim_cache=claim_cache(),
        clock=clock,
        journal=journal,
        stop_at_ms=clock.now_ms() + time_left_ms,
    )

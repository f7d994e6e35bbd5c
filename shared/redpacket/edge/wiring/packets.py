"""Wiring of packets: send, grab, open, settle, sweep."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from redpacket.edge.telemetry import asked
from redpacket.edge.wiring.accounts import Accounts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from redpacket.domain.claim import Admission, Claim, ShareFate, ShareRef
    from redpacket.domain.packet import Packet, Person
    from redpacket.flows.guards.ask_risk import RiskCheck
    from redpacket.flows.packets.cached_campaigns import CachedCampaigns
    from redpacket.flows.packets.cached_emptied import CachedEmptied
    from redpacket.flows.packets.claim_ports import ClaimPorts
    from redpacket.flows.packets.sweep import SweepReport
    from redpacket.ports.audiences import AudienceCache, AudienceRows
    from redpacket.ports.campaigns import Campaigns
    from redpacket.ports.packets import (
        ClaimCache,
        ClaimRecorder,
        Packets,
        Pages,
        PayoutQueue,
        Phrases,
        Quotas,
    )
    from redpacket.ports.work_lists import WorkLists


_ORDER_TIMEOUT_S = 8
"""Seconds for a cold start and a gateway's answer; the sender can poll the payment afterwards."""


class PacketRoom(Accounts):
    """Wiring of flows/packets."""

    admission_factor = 5
    """Users for each share that may be admitted at one time."""

    part_share_count = 20_000
    """Shares above which a campaign's packet is sharded, and the approximate size of a shard."""

    @cached_property
    def packets(self) -> Packets:
        from redpacket.adapters.dynamo.packets import DynamoPackets

        return DynamoPackets(
            self.dynamo, self.settings.packets_table, self.settings.shares_table, seeds=self.seeds
        )

    @cached_property
    def packet_rows(self) -> Packets:
        """Repository without the keys of amounts."""
        from redpacket.adapters.dynamo.packets import DynamoPackets

        return DynamoPackets(self.dynamo, self.settings.packets_table, self.settings.shares_table)

    @cached_property
    def claims(self) -> ClaimRecorder:
        from redpacket.adapters.dynamo.claims import DynamoClaims

        return DynamoClaims(
            self.dynamo,
            self.settings.shares_table,
            self.settings.quotas_table,
            self.settings.audience_table,
            asks_verdicts=self.settings.has_verdicts,
        )

    def work_lists(self, group: int, groups: int) -> WorkLists:
        """Return the work lists of sweep number *group* out of *groups*."""
        from redpacket.adapters.dynamo.keys import work_shards
        from redpacket.adapters.dynamo.work_lists import DynamoWorkLists

        return DynamoWorkLists(
            self.dynamo,
            self.settings.packets_table,
            self.settings.shares_table,
            work_shards(group, groups),
        )

    @cached_property
    def pages(self) -> Pages:
        from redpacket.adapters.dynamo.pages import DynamoPages

        return DynamoPages(self.dynamo, self.settings.packets_table, self.seeds)

    @cached_property
    def campaigns(self) -> Campaigns:
        from redpacket.adapters.dynamo.campaigns import DynamoCampaigns

        return DynamoCampaigns(
            self.dynamo, self.settings.campaigns_table, self.new_seed, self.seeds
        )

    @cached_property
    def campaign_rows(self) -> Campaigns:
        """Repository without the keys of seeds."""
        from redpacket.adapters.dynamo.campaigns import DynamoCampaigns

        return DynamoCampaigns(self.dynamo, self.settings.campaigns_table, self.new_seed)

    @cached_property
    def claim_cache(self) -> ClaimCache:
        from redpacket.adapters.redis.claims import RedisClaims
        from redpacket.adapters.redis.parted_claims import PartedClaims

        return PartedClaims(RedisClaims(self.cache_client, self.seed_keys), clock=self.clock)

    @cached_property
    def payouts(self) -> PayoutQueue:
        from redpacket.adapters.aws.sqs_payouts import SqsPayouts

        return SqsPayouts(
            lambda: self.aws("sqs"),
            self.settings.payout_queue_url,
            self.clock.now_ms,
            lambda: asked.request_id,
        )

    @cached_property
    def phrases(self) -> Phrases:
        """Comparison of passphrases, whose libraries only the grab function's second layer has."""
        from redpacket.adapters.pinyin import PinyinPhrases

        return PinyinPhrases()

    @cached_property
    def quotas(self) -> Quotas:
        from redpacket.adapters.redis.quotas import RedisQuotas

        return RedisQuotas(self.cache_client)

    @cached_property
    def audience_rows(self) -> AudienceRows:
        from redpacket.adapters.dynamo.audiences import DynamoAudiences

        return DynamoAudiences(
            self.dynamo, self.settings.audience_table, self.settings.campaigns_table
        )

    @cached_property
    def audience_cache(self) -> AudienceCache:
        from redpacket.adapters.redis.audiences import RedisAudiences

        return RedisAudiences(self.cache_client)

    @cached_property
    def risk(self) -> RiskCheck | None:
        """Host's risk control, or None if none is configured."""
        if not self.settings.risk_url:
            return None
        from redpacket.adapters.payments.outgoing import Outgoing
        from redpacket.adapters.redis.asked_verdicts import RedisAskedVerdicts
        from redpacket.adapters.risk_hook import CALL_MS_MAX, RiskHook
        from redpacket.flows.guards.ask_risk import RiskCheck

        outgoing = Outgoing(
            self.settings.risk_url,
            call_ms_max=CALL_MS_MAX,
            allows_private=bool(self.settings.simulator_url),
        )
        return RiskCheck(
            RiskHook(outgoing, self.settings.risk_secret),
            RedisAskedVerdicts(self.cache_client),
            is_open=self.settings.risk_is_open,
            clock=self.clock,
            journal=self.journal,
        )

    def load_audience(self, campaign_id: str, bucket: int) -> None:
        from redpacket.flows.packets.load_audience import load_audience

        load_audience(campaign_id, bucket, rows=self.audience_rows, cache=self.audience_cache)

    @cached_property
    def emptied(self) -> CachedEmptied:
        from redpacket.flows.packets.cached_emptied import CachedEmptied

        return CachedEmptied(self.claim_cache, clock=self.clock)

    @cached_property
    def cached_campaigns(self) -> CachedCampaigns:
        from redpacket.flows.packets.cached_campaigns import CachedCampaigns

        return CachedCampaigns(self.campaigns, clock=self.clock, journal=self.journal)

    @cached_property
    def claim_ports(self) -> ClaimPorts:
        from redpacket.flows.packets.claim_ports import ClaimPorts

        return ClaimPorts(
            claim_cache=self.claim_cache,
            emptied=self.emptied,
            packets=self.packets,
            claims=self.claims,
            payouts=self.payouts,
            costs=self.grab_costs,
            phrases=self.phrases,
            limits=self.limits,
            campaigns=self.cached_campaigns,
            quotas=self.quotas,
            load_audience=self.load_audience,
            risk=self.risk,
            seeds=self.seed_keys,
            admission_factor=self.admission_factor,
            clock=self.clock,
            journal=self.journal,
        )

    @cached_property
    def send_packet(self) -> partial[Packet]:
        from redpacket.flows.packets.send_packet import send_packet

        return partial(
            send_packet,
            funding=self.packet_funding,
            packets=self.packets,
            claim_cache=self.claim_cache,
            clock=self.clock,
            journal=self.journal,
            new_id=self.new_packet_id,
            new_seed=self.new_seed,
            seeds=self.seed_keys,
            part_share_count=self.part_share_count,
        )

    def order_payment(self, packet: Packet, sender: Person) -> Mapping[str, Any] | None:
        """Order a packet's payment; None if the gateway does not answer now."""
        from redpacket.adapters.aws.lambda_payments import LambdaPayments
        from redpacket.flows.packets.order_payment import order_payment

        payments = LambdaPayments(
            lambda: self.aws("lambda", read_timeout_s=_ORDER_TIMEOUT_S, tries=1),
            self.settings.order_function,
        )
        return order_payment(packet, sender, payments=payments, journal=self.journal)

    @cached_property
    def grab_packet(self) -> partial[Claim | Admission]:
        from redpacket.flows.packets.grab_packet import grab_packet

        return partial(grab_packet, ports=self.claim_ports)

    @cached_property
    def open_packet(self) -> partial[Claim]:
        from redpacket.flows.packets.open_packet import open_packet

        return partial(open_packet, ports=self.claim_ports)

    @cached_property
    def settle_claims(self) -> partial[set[ShareRef]]:
        from redpacket.flows.packets.settle_claims import SettlePorts
        from redpacket.flows.packets.settle_or_delay import settle_or_delay

        ports = SettlePorts(
            ledger=self.ledger,
            packets=self.packets,
            pages=self.pages,
            payouts=self.payouts,
            clock=self.clock,
            journal=self.journal,
            in_parallel=self.payouts_in_parallel,
            announce=self.announce_claims,
        )
        is_on, profiles = self.stored_switches.is_on, self.profiles
        return partial(settle_or_delay, is_on=is_on, profiles=profiles, ports=ports)

    def payouts_in_parallel(self, do: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Run as many at once as operators allow."""
        from redpacket.adapters.threads import in_threads
        from redpacket.domain.limits import LimitName

        threads = self.stored_switches.limit(LimitName.PAYOUTS_AT_ONCE)
        return in_threads(do, items, threads=threads)

    @cached_property
    def announce_claims(self) -> Callable[[Sequence[ShareFate]], None] | None:
        """Callback with paid claims, or None if there is no subscriber."""
        return None

    def sweep(self, time_left_ms: int, group: int, groups: int) -> SweepReport:
        from redpacket.flows.packets.sweep import sweep
        from redpacket.flows.packets.sweep_ports import SweepPorts

        ports = SweepPorts(
            work=self.work_lists(group, groups),
            packets=self.packets,
            pages=self.pages,
            claim_cache=self.claim_cache,
            ledger=self.ledger,
            payouts=self.payouts,
            clock=self.clock,
            journal=self.journal,
            grace_ms=self.settings.close_grace_ms,
            in_parallel=self.in_parallel,
        )
        return sweep(time_left_ms, ports=ports, is_on=self.switches.is_on)

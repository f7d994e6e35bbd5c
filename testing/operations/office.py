"""Operators who edit a campaign and its prizes, concurrently or with interruptions."""

import copy
import itertools
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self, TypeVar

from botocore.exceptions import ReadTimeoutError

from redpacket.campaigns.model import Campaign, CampaignPlan
from redpacket.lottery.model.lottery import Prize, PrizeKind
from redpacket.lottery.use_cases.edit_campaign import edit_campaign
from redpacket.lottery.use_cases.edit_prize import change_stock, put_prize
from redpacket.packets.model.packet import Packet, PacketStatus
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.errors import RedPacketError
from redpacket.platform.idempotency import Request
from testing.builders import a_prize
from testing.fakes import FakeDynamo
from testing.in_memory_system import InMemorySystem, an_operator, process_on
from testing.platform.fake_tables import TABLE_NAMES

IO_MAX = 60
_numbers = itertools.count(1)

AnOffice = TypeVar("AnOffice", bound="Office")


class Office:
    """Operators who edit *campaign* over a client that may interrupt them."""

    def __init__(self, system: InMemorySystem, campaign: Campaign) -> None:
        self.system = system
        self.campaign = campaign
        self.client = CutDynamo(system.dynamo)
        client: Any = self.client
        # The operators' process shares everything with the system except the DynamoDB client.
        self.process = copy.copy(system)
        self.process.stand_on(client)
        self.process.campaigns = process_on(Dynamo(lambda: client, TABLE_NAMES)).edited_campaigns

    def edit(
        self, plan: CampaignPlan, budget_fen: int | None = None, version: int | None = None
    ) -> tuple[Campaign, bool]:
        ports = self.process.campaign_ports()
        return edit_campaign(plan, budget_fen, version, an_operator(), ports=ports)

    def plan(self, prize_id: str = "cup", **changes: Any) -> Prize:
        return a_prize(self.campaign.campaign_id, prize_id, **changes)

    def cash(self, total: int = 5, prize_id: str = "cash", **changes: Any) -> Prize:
        changes = {"kind": PrizeKind.PACKET, "amount_fen": 100, "total": total, **changes}
        return self.plan(prize_id, **changes)

    def put(
        self, plan: Prize, version: int | None = None, operator: str = "operator"
    ) -> tuple[Prize, bool]:
        return put_prize(plan, version, an_operator(operator), ports=self.process.prize_ports())

    def stock(
        self,
        prize: Prize,
        delta: int,
        version: int | None = None,
        key: str | None = None,
        operator: str = "operator",
    ) -> Prize:
        request = Request(operator, key or f"key-{next(_numbers)}", f"body {delta} {version}")
        return change_stock(
            self.campaign.campaign_id,
            prize.prize_id,
            delta,
            version,
            an_operator(operator),
            request,
            ports=self.process.prize_ports(),
        )

    def stored(self) -> Campaign:
        campaign = self.system.campaigns.find_campaign(self.campaign.campaign_id)
        assert campaign
        return campaign

    def prizes(self) -> dict[str, Prize]:
        prizes = self.system.prizes.list_prizes(self.campaign.campaign_id)
        return {prize.prize_id: prize for prize in prizes}

    def packets_of(self, prize: Prize) -> list[Packet]:
        packets = [self.system.packets.find_packet(packet_id) for packet_id, _ in prize.packets]
        return [packet for packet in packets if packet]

    def ends_ms(self) -> set[int]:
        """Return the times at which the open packets of prizes end."""
        packets = [packet for prize in self.prizes().values() for packet in self.packets_of(prize)]
        return {packet.expires_at_ms for packet in packets if packet.status is PacketStatus.OPEN}

    def meet(self, do: Callable[[], object], where: str = "SET prizes", times: int = 1) -> None:
        """Call *do* just before each of the next *times* transactions with *where* in an update."""
        self.client.meetings, self.client.where = [do] * times, where

    def cut(
        self,
        at: int,
        how: str,
        act: Callable[[Self], object],
        between: Callable[[Self], object] = lambda _: None,
    ) -> bool:
        """Run *act*, and interrupt it at its I/O number *at*; return whether *act* got that far.

        *how* says what happens there: the call times out before its effect ("lost") or after it
        ("in doubt"), the function crashes after the call ("killed"), or the callback *between*
        runs before the call ("between").
        """
        self.client.count, self.client.cut_at, self.client.how = 0, at, how
        self.client.between = lambda: between(self)
        with suppress(RedPacketError, Killed):
            act(self)
        self.client.cut_at = 0
        return self.client.count >= at


class Killed(BaseException):
    """Crash of the Lambda at this point."""


class CutDynamo:
    """Client that fails one call, before or after its effect, or runs a callback before it."""

    def __init__(self, dynamo: FakeDynamo) -> None:
        self._dynamo = dynamo
        self.count = 0
        self.cut_at = 0
        self.how = ""
        self.between: Callable[[], object] = list
        self.meetings: list[Callable[[], object]] = []
        self.where = ""

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._dynamo, name)
        if not callable(attribute) or name == "exceptions":
            return attribute

        def call(**arguments: Any) -> Any:
            self.count += 1
            self._let_in(arguments.get("TransactItems", []))
            if self.count != self.cut_at:
                return attribute(**arguments)
            if self.how == "between":
                self.between()
            elif self.how == "lost":
                raise ReadTimeoutError(endpoint_url="dynamodb")
            answer = attribute(**arguments)
            if self.how == "in doubt":
                raise ReadTimeoutError(endpoint_url="dynamodb")
            if self.how == "killed":
                raise Killed
            return answer

        return call

    def _let_in(self, operations: list[Any]) -> None:
        updates = [each.get("Update", {}).get("UpdateExpression", "") for each in operations]
        if self.meetings and any(self.where in update for update in updates):
            self.meetings.pop()()


def each_cut(
    an_office: Callable[[], AnOffice],
    act: Callable[[AnOffice], object],
    check: Callable[[AnOffice], object],
) -> None:
    """Interrupt *act* at each of its I/Os in three ways, with a new office; then call *check*."""
    for how in ("lost", "in doubt", "killed"):
        for at in range(1, IO_MAX):
            office = an_office()
            if not office.cut(at, how, act):
                assert at > 3
                break
            try:
                check(office)
            except AssertionError as error:
                error.add_note(f"{how} at I/O {at}")
                raise
        else:
            raise AssertionError("it never came to its end")


def each_meeting(
    an_office: Callable[[], AnOffice],
    act: Callable[[AnOffice], object],
    other: Callable[[AnOffice], object],
    check: Callable[[AnOffice], object],
) -> None:
    """Run *other* before each I/O of *act*, each time with a new office; then call *check*."""
    for at in range(1, IO_MAX):
        office = an_office()
        if not office.cut(at, "between", act, other):
            assert at > 3
            return
        try:
            check(office)
        except AssertionError as error:
            error.add_note(f"at I/O {at}")
            raise
    raise AssertionError("it never came to its end")

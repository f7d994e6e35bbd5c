"""Everything the flows need from outside, on one page.

Every method may raise Unavailable; then nothing is known of its effect, and calling it again is
harmless.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    # Each flow and adapter imports this page; none needs the words of all the others.
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from redpacket.domain.campaign import Campaign, DrawRules
    from redpacket.domain.checks import Unit
    from redpacket.domain.claim import (
        AdmitOutcome,
        GrabOutcome,
        Quota,
        QuotaStatus,
        RecordStatus,
        ShareFate,
        ShareRef,
        Taker,
    )
    from redpacket.domain.ledger import Entry, Receipt, Transfer, YearSums
    from redpacket.domain.limits import Limit
    from redpacket.domain.lottery import (
        Draw,
        DrawAsk,
        DrawDay,
        DrawOutcome,
        DrawTable,
        HelpStatus,
        PageNote,
        Player,
        Prize,
        PrizeStock,
        RecordDrawStatus,
    )
    from redpacket.domain.packet import Packet, PacketEnd, Person, Rules
    from redpacket.domain.scanned import Member, Scanned, UnitWon
    from redpacket.domain.switches import Switch, SwitchState


class ClaimBoard(Protocol):
    """The cache that keeps the crowd away from the ledger; it never decides about money."""

    def grab(self, packet_id: str, user_id: str) -> GrabOutcome:
        """Hand a share number to the user, the same one whenever they ask.

        A packet with rules answers PACKET_GATED, and hands out nothing.
        """

    def take(self, packet_id: str, user_id: str, terms: str) -> GrabOutcome:
        """Hand out a share number of a packet with rules; *terms* are what `grab` answered."""

    def admit(
        self, packet_id: str, user_id: str, *, life_ms: int, admitted_max: int
    ) -> AdmitOutcome:
        """Let a user open within *life_ms*, unless *admitted_max* others may at this moment."""

    def load(self, packet: Packet, shares: Sequence[ShareFate], part: int | None = None) -> None:
        """Bring the cache up to what the ledger knows; never takes anything back.

        *shares* are those of one *part*. Without it they are the whole packet's; if that is cut,
        nobody can claim from it at this moment.
        """

    def load_sent(self, packet: Packet) -> None:
        """Load a packet whose id has not been told to anybody: the cache will see every claim."""

    def knows_takers(self, packet_id: str, user_id: str) -> bool:
        """Tell whether the cache has lost nothing of a packet: a refusal is certain then.

        False where it can't tell. What is true stays so for a second in the memory of a process.
        """

    def begin_look(self, packet_id: str, part: int, life_ms: int) -> bool:
        """Give one of many callers its turn to look for owners whom the cache may have lost."""

    def begin_load(self, packet_id: str, part: int, life_ms: int) -> bool:
        """Give one of many callers its turn to load a part, for *life_ms*; the others wait."""

    def hold_load(self, packet_id: str, part: int, life_ms: int) -> None:
        """Change how long a turn still lasts; 0 ends it."""

    def is_loaded(self, packet_id: str, part: int) -> bool:
        """Tell whether the cache has a part, and not only notes of some of its users."""

    def disown(self, packet_id: str, user_id: str, share_no: int) -> None:
        """Take a number from a user who turned out not to own it: it is somebody else's."""

    def give_back(self, packet_id: str, user_id: str, share_no: int, *, owned_no: int) -> None:
        """Swap a number for the one that the user owned all along, and offer it again."""

    def free(self, packet_id: str, user_id: str, share_no: int) -> None:
        """Take a number from a user who may not have it, and offer it again."""

    def close(self, packet_id: str) -> None:
        """Answer "expired" from now on, except to those who have a share."""

    def held_numbers(self, packet_id: str, owned: Mapping[str, int]) -> dict[str, int] | None:
        """Return the share numbers that the cache has of those users, of some or all of them.

        *owned* are the shares that they own. None where the cache doesn't have the packet.
        """

    def emptied_by(self, packet_id: str) -> frozenset[str] | None:
        """Return all users of a small packet that is emptied, in one read; None if it isn't."""


class PartBoard(ClaimBoard, Protocol):
    """A board to which a part is like a packet, under the id that `domain/packet.part_id` gives it.

    It hands out the part's own numbers, from 1 on. A number below 0 is what `note` brought.
    """

    def load_part(
        self, packet: Packet, part: int, shares: Sequence[ShareFate], *, is_whole: bool
    ) -> None:
        """Bring a part up to *shares*, which have its own numbers.

        Not *is_whole*: notes may be missing. No refusal is certain then, for as long as it lives.
        """

    def load_sent_part(self, packet: Packet, part: int) -> None:
        """Load a part of a packet whose id has not been told to anybody."""

    def note(self, board_id: str, numbers: Mapping[str, int]) -> None:
        """Note numbers of users who have none here, also where the part isn't loaded yet."""


class Quotas(Protocol):
    """The cache's memory of who takes how much of a campaign; the ledger decides.

    It spares the ledger those who have had enough. What it forgets or keeps by mistake costs
    nobody a share: a user who is FULL here is let through where the ledger knows of fewer claims.
    """

    def reserve(
        self, quota: Quota, user_id: str, packet_id: str, *, claimed_count: int | None = None
    ) -> QuotaStatus:
        """Reserve one of the user's shares for this packet; *claimed_count* is the ledger's."""

    def release(self, quota: Quota, user_id: str, packet_id: str) -> None:
        """Give a reservation back that came to nothing."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A row of the table of shares that no function of ours writes."""

    pk: str
    sk: str

    @property
    def key(self) -> str:
        """The key in one line, for a message."""
        return f"{self.pk} {self.sk}"


@dataclass(frozen=True, slots=True)
class SentItem:
    """A line of what a user sent."""

    packet_id: str
    total_fen: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class ReceivedItem:
    """A line of what a user was paid: a share of a packet, and when it was claimed."""

    packet_id: str
    share_no: int
    amount_fen: int
    at_ms: int


class Packets(Protocol):
    """Packet rows and share fates: which share is whose, for ever."""

    def find_packet(self, packet_id: str) -> Packet | None:
        """Return the packet, read strongly."""

    def find_known(self, packet_id: str) -> Packet | None:
        """Return the packet as it was at some time: what never changes of it is right."""

    def find_rules(self, packet_id: str) -> Rules | None:
        """Return the packet's rules; they never change, and may be remembered."""

    def list_packets(self, packet_ids: Sequence[str]) -> list[Packet]:
        """Return those of at most 100 packets that exist, read strongly, in no order."""

    def list_shares(self, packet_id: str) -> list[ShareFate]:
        """Return every share that has a fate, by number, read strongly."""

    def list_part_shares(self, packet_id: str, part: int) -> list[ShareFate]:
        """Return the shares of one part that have a fate, by number, read strongly."""

    def scan_part_shares(self, packet_id: str, part: int, after_no: int = 0) -> Iterator[ShareFate]:
        """Yield the shares of one part that have a fate and a number above *after_no*.

        Read strongly, page by page while they are taken; not sorted where a part has partitions.
        """

    def find_share_of(self, packet_id: str, user_id: str) -> ShareFate | None:
        """Return the share that a user durably owns, read strongly."""

    def find_taker(self, packet_id: str, user_id: str) -> Taker | None:
        """Return the note of a user's share, as it is or was a moment ago."""

    def list_refs(self, refs: Sequence[ShareRef]) -> list[ShareFate]:
        """Return the fates of at most 100 shares that have one, read strongly, in no order."""

    def record_claim(self, share: ShareFate, quota: Quota | None = None) -> RecordStatus:
        """Make a claim durable, unless its share or its user already has a fate here.

        With a *quota* only if the user has claimed fewer shares of the campaign, all in one move.
        """

    def count_claims(self, campaign_id: str, user_id: str) -> int:
        """Return how many shares of a campaign's packets a user owns, read strongly."""

    def mark_loaded(self, packet: Packet) -> None:
        """Take the packet from the sweep's list of packets to load."""

    def mark_requeued(self, share: ShareFate, again_at_ms: int) -> None:
        """Hide a claim that waits for settlement, or for its packet's end, until *again_at_ms*."""

    def mark_done(self, share: ShareFate) -> None:
        """Take a settled claim, the last one of its packet, from the sweep's list."""

    def begin_close(self, packet: Packet, now_ms: int) -> Packet:
        """Turn a packet that has expired to CLOSING unless it is CLOSED; return it as it is then.

        It goes to the end of the sweep's list, so that one that can't be closed holds up no other.
        """

    def mark_step(self, packet: Packet) -> None:
        """Note on the row of a packet that is CLOSING how far it is on its way to CLOSED."""

    def put_off(self, packet_id: str, until_ms: int) -> None:
        """Let a packet that waits in one of the sweep's lists be found again from *until_ms* on."""

    def put_part_end(self, packet_id: str, part: int, end: PacketEnd) -> None:
        """Write the final sums of a part; repeating it changes nothing."""

    def list_part_ends(self, packet_id: str) -> list[PacketEnd]:
        """Return the final sums of the parts that have them, read strongly."""

    def reschedule(
        self, packet_id: str, expires_at_ms: int, table_version: int, *, only_later: bool = False
    ) -> None:
        """Let an open packet of a prize expire when its campaign ends by this table.

        Any other packet stays as it is, and so does one whose end a newer table has set, and with
        *only_later* one that does not end earlier.
        """

    def list_unloaded(self, until_ms: int, limit: int) -> list[str]:
        """Return ids of packets sent before *until_ms* whose load is not known to have worked."""

    def list_due(self, until_ms: int, limit: int) -> list[str]:
        """Return ids of packets that expired before *until_ms* and are not closed."""

    def list_unsettled(self, until_ms: int, limit: int) -> list[ShareRef | Unreadable]:
        """Return claims that wait since before *until_ms* for settlement, or for a packet's end.

        The longest waiting come first; a row of no share that somebody put there is among them.
        """

    def set_aside(self, found: ShareRef | Unreadable, until_ms: int) -> None:
        """Let a row that `list_unsettled` returned be found again from *until_ms* on."""

    def list_takers(self, packet_id: str, user_ids: Sequence[str]) -> list[Taker]:
        """Return the takers' rows of those users who have one, read strongly, in no order."""

    def list_winners(self, packet_id: str, user_ids: Sequence[str]) -> list[Taker]:
        """Return the takers' rows of a prize's packet, of which a user may win several shares."""

    def list_some_shares(
        self, packet_id: str, after_no: int, limit: int
    ) -> tuple[list[ShareFate], int | None]:
        """Return a page of fates, not read strongly, and where the next one begins.

        They come by number; those of a packet in parts by partition, and by number within it.
        *after_no* 0 is the beginning, and a number below 0 is one that this method returned. A page
        may be short, or empty, and not be the last.
        """

    def list_sent(
        self, user_id: str, year: int | None, cursor: str | None, limit: int
    ) -> tuple[list[SentItem], str | None]:
        """Return a page of what a user sent, newest first, and the next page's cursor.

        *year* is a UTC year. Raises InvalidRequest where *cursor* is not one of this list.
        """


@dataclass(frozen=True, slots=True)
class Settled:
    """How many claims of a packet are settled, and what they sum up to."""

    count: int
    fen: int


class Pages(Protocol):
    """What record pages read: never all fates of a packet, and no row strongly without need."""

    def find_seen(self, packet_id: str) -> Packet | None:
        """Return the packet as it is, or was a moment ago."""

    def list_seen(self, packet_ids: Sequence[str]) -> list[Packet]:
        """Return those of at most 100 packets that exist, as they are or were, in no order."""

    def put_final(self, packet_id: str, shares: Sequence[ShareFate]) -> None:
        """Write pages of the claims among *shares*, all fates of a part, by number."""

    def list_final(
        self, packet_id: str, after_no: int, limit: int
    ) -> tuple[list[ShareFate], int | None]:
        """Return a page of a closed packet's claims, and where the next one begins.

        In the order and with the numbers of `Packets.list_some_shares`.
        """

    def add_settled(self, packet_id: str, settled: Settled) -> None:
        """Add to the sums of a large packet, for its page alone.

        What is cut off before is missing until the packet's end, and a lost answer may add twice.
        """

    def find_settled(self, packet_id: str) -> Settled:
        """Return the sums of a large packet, perhaps as they were a moment ago."""


class Campaigns(Protocol):
    """Campaigns and what they may still spend; a packet is put into one by Ledger.fund."""

    def find_campaign(self, campaign_id: str) -> Campaign | None:
        """Return the campaign, read strongly."""

    def create(self, campaign: Campaign) -> bool:
        """Put a campaign; False, without effect, if there is one of this id."""

    def edit(self, campaign: Campaign, before: Campaign) -> bool:
        """Replace *before*, and change what is left by what the budget changes.

        False, without effect, if it has another version by now, or less left than is taken away.
        """

    def list_packet_ids(self, campaign_id: str, after: str | None, limit: int) -> list[str]:
        """Return ids of the campaign's packets that come after the id *after*, read strongly."""


class DrawBoard(Protocol):
    """The cache's side of a lottery: chooses, counts and remembers; it never decides for good."""

    def draw(self, ask: DrawAsk) -> DrawOutcome:
        """Decide one attempt, the same way whenever it is asked on its day."""

    def load(self, table: DrawTable, day: DrawDay, stock: Sequence[PrizeStock]) -> None:
        """Bring the cache up to the ledger: an older table and lower counts change nothing."""

    def undo(self, ask: DrawAsk, *, is_unit_free: bool) -> None:
        """Forget an attempt that did not become durable, and what it counted.

        Its unit's numbers are offered again where *is_unit_free*, else they stay taken: somebody
        else has the unit. Forgetting what is not known changes nothing.
        """

    def set_player(self, ask: DrawAsk, player: Player) -> None:
        """Bring a user's counts of the day to what the ledger knows."""

    def mark_winner(self, ask: DrawAsk, prize_id: str) -> None:
        """Note that the user has won a prize that nobody wins twice."""

    def begin_load(self, campaign_id: str, life_ms: int) -> bool:
        """Tell one of many callers to load a campaign that the cache has lost; the others wait."""

    def count_issued(self, campaign_id: str, prize_ids: Sequence[str]) -> dict[str, int] | None:
        """Return how many units of each prize are in somebody's hands; None if nothing is loaded.

        A prize that the cache has not heard of is left out.
        """


class Draws(Protocol):
    """Prizes, their units, draws, players and helps: durable, and none of them ever undone."""

    def list_prizes(self, campaign_id: str) -> tuple[Prize, ...]:
        """Return every prize of a campaign by id, on or off, read strongly."""

    def find_table(self, campaign_id: str) -> DrawTable | None:
        """Return the campaign with its prizes and the version of both, read strongly."""

    def find_page(self, campaign_id: str) -> tuple[DrawTable, PageNote] | None:
        """Return the table as it is now or was a moment ago, with what is noted beside it."""

    def note_page(self, campaign_id: str, note: PageNote) -> None:
        """Keep *note* beside a campaign's table, whose version stays."""

    def put_prize(
        self, prize: Prize, before: Prize | None, request: Request | None = None
    ) -> Prize | None:
        """Create or replace a prize, and raise its campaign's table version, all in one move.

        Packets that *before* has not got last until the campaign's end from then on. None, without
        effect, if there is another version than *before* by now, or if such a packet is not open.
        With a *request* once: returns what it put, now or the first time. Raises
        IdempotencyKeyReused, Busy.
        """

    def find_put(self, request: Request) -> Prize | None:
        """Return the prize as this request put it, read strongly; None where it did not yet.

        Raises IdempotencyKeyReused.
        """

    def list_stock(self, prizes: Sequence[Prize], day: str) -> list[PrizeStock]:
        """Return what the units' rows say, read strongly.

        Of more units than one call may read: Unavailable, and each call gets further.
        """

    def find_draw(self, campaign_id: str, user_id: str, draw_id: str) -> Draw | None:
        """Return a draw, read strongly."""

    def record_draw(
        self, draw: Draw, rules: DrawRules, drawer: Person | None = None
    ) -> RecordDrawStatus:
        """Make a draw durable with all that it uses up, or nothing of it; note who wins.

        A cash prize's unit is a share of one of its packets: claimed by the user, to be settled.
        """

    def find_player(self, campaign_id: str, user_id: str, day: str) -> Player:
        """Return what a user did on a day, read strongly."""

    def list_draws(self, campaign_id: str, user_id: str) -> list[Draw]:
        """Return a user's draws, newest first."""

    def day_seed(self, campaign_id: str, day: str) -> bytes:
        """Return the day's secret seed, made of the campaign's, which never changes."""

    def record_help(
        self,
        campaign_id: str,
        inviter_id: str,
        helper_id: str,
        day: str,
        helps_max: int,
        at_ms: int,
    ) -> HelpStatus:
        """Give the inviter one more attempt on *day*, once per pair for ever."""


@dataclass(frozen=True, slots=True)
class Request:
    """An idempotent request: who asked, and hashes of their key and of what they asked."""

    user_id: str
    key_hash: str
    body_hash: str


class Ledger(Protocol):
    """Accounts and entries; each method is one transaction, or a few that can be resumed."""

    def fund(self, packet: Packet, transfer: Transfer, request: Request) -> str:
        """Take the total from the sender and put the packet, once per request.

        A packet of a campaign takes its total from the budget, too. Returns the id of the packet
        that this request made, now or the first time. Raises CampaignPaused, CampaignEnded,
        InsufficientFunds, IdempotencyKeyReused, Busy.
        """

    def find_sent(self, request: Request) -> str | None:
        """Return the id of the packet that this request made before, read strongly.

        Raises IdempotencyKeyReused.
        """

    def find_deposited(self, request: Request) -> str | None:
        """Return the id of the transfer that this request made before, as `find_sent`."""

    def deposit(self, transfer: Transfer, request: Request, payee: Person | None = None) -> None:
        """Post a deposit, once per request, and note who *payee* is to the host.

        Raises IdempotencyKeyReused, Busy.
        """

    def settle(
        self, settlements: Sequence[tuple[ShareFate, Transfer]], now_ms: int
    ) -> set[ShareRef]:
        """Credit claims in one transaction; return those that stood in its way, if any.

        Then none is credited: they have changed, or others hold a row of theirs all the time.
        """

    def refund(self, refunds: Sequence[tuple[Sequence[ShareFate], Transfer]], now_ms: int) -> bool:
        """Give shares the fate "refunded" and their sums to their sender, in one transaction.

        Each sum is of one packet. False, without effect, if one of the shares has a fate by now.
        """

    def close(self, packet: Packet, end: PacketEnd, now_ms: int) -> bool:
        """Turn a packet to CLOSED with its final sums; False, without effect, if it was before."""

    def balance_fen(self, account: str) -> int:
        """Return an account's balance, read strongly; 0 for one that never moved."""

    def year_sums(self, user_id: str, year: int | None) -> YearSums:
        """Return what a user sent and received in a UTC year, or ever, read strongly."""

    def list_received(
        self, user_id: str, year: int | None, cursor: str | None, limit: int
    ) -> tuple[list[ReceivedItem], str | None]:
        """Return a page of what a user was paid, newest first, and the next page's cursor.

        Raises InvalidRequest where *cursor* is not one of the user's book.
        """

    def list_postings(self, wanted: Sequence[Entry]) -> list[Entry]:
        """Return the entries that stand where these should, read strongly."""

    def list_receipts(self, refs: Sequence[ShareRef]) -> list[Receipt] | None:
        """Return the receipts of shares, read strongly; None where none are kept."""

    def list_entries(
        self, account: str, cursor: str | None, limit: int
    ) -> tuple[list[Entry], str | None]:
        """Return a page of an account's book, newest first, and the next page's cursor.

        Raises InvalidRequest where *cursor* is not one that this method returned.
        """


class Table(StrEnum):
    """The tables that reconciliation compares."""

    ACCOUNTS = "accounts"
    PACKETS = "packets"
    SHARES = "shares"
    QUOTAS = "quotas"
    CAMPAIGNS = "campaigns"
    DRAWS = "draws"


class Tables(Protocol):
    """Whole tables, page by page, and what is looked at again by its name; all read strongly."""

    def read(self, table: Table, place: str | None) -> tuple[list[Scanned], str | None]:
        """Return a page of rows, and the place of the next page.

        Rows of one partition follow each other. A page may be empty, and not be the last.
        """

    def partition(self, table: Table, owner: tuple[str, ...]) -> Iterator[Scanned]:
        """Yield the rows of one partition: of an account, a user, a campaign, a campaign's user."""

    def list_members(self, names: Sequence[tuple[str, str]]) -> list[Member]:
        """Return what budgets paid for, by campaign and packet, in no order."""

    def count_claims(self, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
        """Return the counts of users of campaigns, of those who have one."""

    def list_draws(self, names: Sequence[tuple[str, str, str]]) -> list[Draw]:
        """Return those draws that exist, by campaign, user and id, in no order."""

    def list_units(self, campaign_id: str, units: Sequence[Unit]) -> list[UnitWon]:
        """Return those units that were won, in no order."""


@dataclass(frozen=True, slots=True)
class SavedRun:
    """How far a reconciliation has come: *state* is JSON, *sums* are its sums by name."""

    state: str = "{}"
    sums: Mapping[str, bytes] = field(default_factory=dict)


class Runs(Protocol):
    """The one row of reconciliation: how far it is, and who is at it."""

    def take(self, holder: str, now_ms: int, until_ms: int) -> SavedRun | None:
        """Hold the row until *until_ms* and return what is saved; None while another holds it."""

    def find(self) -> SavedRun:
        """Return what was saved last, also while another holds the row."""

    def hold(self, holder: str, until_ms: int) -> bool:
        """Hold the row until *until_ms*; False, without effect, if another has taken it."""

    def save(self, holder: str, run: SavedRun, until_ms: int) -> bool:
        """Save, and hold the row until *until_ms*; False, without effect, if another has it."""


class PayoutQueue(Protocol):
    """Carries the names of claims to the payout function, at least once."""

    def put(self, refs: Iterable[ShareRef], *, delay_s: int = 0) -> None:
        """Queue claims for settlement, to be delivered after *delay_s* seconds, 900 at most."""


class DeadLetters(Protocol):
    """Messages that were given up after all their receives."""

    def count(self) -> int:
        """Return about how many there are."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What a user shows to others."""

    user_id: str
    nickname: str | None = None
    avatar_url: str | None = None


class Profiles(Protocol):
    """Nicknames and avatars, and the way back to the host's own ids."""

    def list_profiles(self, user_ids: Sequence[str]) -> dict[str, Profile]:
        """Return the profiles that exist, by user id."""

    def put(self, profile: Profile) -> None:
        """Keep a profile, in place of the one before; what tokens said stays."""

    def list_unnoted(self, people: Sequence[Person]) -> list[Person]:
        """Return those, each once, of whom something else is kept than what their token says."""

    def note(self, person: Person) -> None:
        """Keep what a token says of its user; what they chose stays."""


class Phrases(Protocol):
    """Compares what was said with what should have been."""

    def similarity(self, said: str, phrase: str) -> int:
        """Return from 0 to 100 how alike two normalised phrases are, to the eye or to the ear."""


class Limits(Protocol):
    """Counts what subjects do; forgets it all where the cache does."""

    def take(self, limit: Limit, subject: str) -> int:
        """Let *subject* do one more and return 0, or return in how many ms they may."""

    def take_within(
        self, limit: Limit, subject: str, group_limit: Limit, group: str, *, is_spent: bool
    ) -> int:
        """As `take`, of a member of *group*, which must have one left of its own limit, too.

        That one is used up where *is_spent*. Both limits have one name.
        """


class SwitchStore(Protocol):
    """How the switches stand, durably."""

    def list_states(self) -> list[SwitchState]:
        """Return every switch, read strongly."""

    def put(self, state: SwitchState) -> None:
        """Set one switch."""


@dataclass(frozen=True, slots=True)
class SwitchesSeen:
    """What somebody read of the store a moment ago; not *is_known*: it did not answer them."""

    off: frozenset[Switch]
    is_known: bool = True


class SwitchCopy(Protocol):
    """What was read of the store last, where it is cheap to ask; gone after some seconds."""

    def find(self) -> SwitchesSeen | None:
        """Return what somebody read, if it is not too old."""

    def keep(self, seen: SwitchesSeen, for_ms: int) -> None:
        """Tell the others for a while."""


class Deliveries(Protocol):
    """Whether the payout queue hands its messages to the payout function."""

    def turn(self, *, is_on: bool) -> None:
        """Let messages through, or let them wait; it takes effect some time later."""


class InParallel(Protocol):
    """Runs a function on items side by side; returns the results in order, or raises an error."""

    def __call__(self, do: Callable[[Any], Any], items: Sequence[Any], /) -> list[Any]:
        """Return `do(item)` of every item."""


class Clock(Protocol):
    """Time, as a parameter."""

    def now_ms(self) -> int:
        """Return the time since the epoch."""

    def sleep_ms(self, duration_ms: int) -> None:
        """Wait."""


class Journal(Protocol):
    """Tells operators what happened; never fails a flow."""

    def event(self, name: str, **details: str | int) -> None:
        """Note something that ran as designed but not as usual, and count it."""

    def failure(self, name: str, error: Exception, **details: str | int) -> None:
        """Note an error that was survived here and is repaired later."""

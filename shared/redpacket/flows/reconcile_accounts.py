"""Compare balances with their entries, as a scan brings both in any order."""

from __future__ import annotations

from collections import defaultdict

from redpacket.domain.checks import Difference, check_bounds, check_entries
from redpacket.domain.ledger import Entry, packet_of
from redpacket.flows.audit_packet import read_account
from redpacket.ports import Balance, Ledger


class Accounts:
    """What a scan has brought of all accounts: a number for each, and transfers of one side."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._balances_fen: dict[str, int] = {}
        self._booked_fen: dict[str, int] = defaultdict(int)
        self._half_posted: dict[str, list[Entry]] = {}

    @property
    def count(self) -> int:
        """How many accounts have a balance."""
        return len(self._balances_fen)

    def add(self, row: Balance | Entry) -> list[Difference]:
        """Take a row of the scan; return what is wrong with it by itself."""
        if not isinstance(row, Entry):
            self._balances_fen[row.account] = row.balance_fen
            return []
        self._booked_fen[row.account] += row.amount_fen
        if packet_of(row.counterparty) is None:
            # Only transfers of which one side was seen are kept.
            sides = [*self._half_posted.pop(row.transfer_id, []), row]
            if sum(side.amount_fen for side in sides):
                self._half_posted[row.transfer_id] = sides
        return check_bounds({}, [row])

    def confirm(self) -> list[Difference]:
        """Return what is still wrong when it is read again."""
        balances, booked = self._balances_fen, self._booked_fen
        found = [
            difference
            for account in sorted(balances.keys() | booked.keys())
            if balances.get(account, 0) != booked.get(account, 0)
            for difference in self._drift(account)
        ]
        found += [
            difference for sides in self._half_posted.values() for difference in self._half(sides)
        ]
        return found + check_bounds(balances, [])

    def _drift(self, account: str) -> list[Difference]:
        balance_fen, book = read_account(account, ledger=self._ledger)
        if balance_fen != self._ledger.balance_fen(account):
            return []  # it moves right now; the next run looks again
        found = check_entries({account: balance_fen}, book)
        return [difference for difference in found if difference.subject == account]

    def _half(self, sides: list[Entry]) -> list[Difference]:
        """Read both books again: a side may have been written after its page was scanned."""
        transfer_id = sides[0].transfer_id
        accounts = {account for side in sides for account in (side.account, side.counterparty)}
        total_fen = sum(
            entry.amount_fen
            for account in accounts
            for entry in read_account(account, ledger=self._ledger)[1]
            if entry.transfer_id == transfer_id
        )
        return (
            [Difference("I1", transfer_id, "entries of a transfer", 0, total_fen)]
            if total_fen
            else []
        )

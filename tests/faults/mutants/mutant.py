"""A mutant, and the files that mutants change."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

USER_IDS = "shared/redpacket/domain/user_id.py"
LEDGER = "shared/redpacket/adapters/dynamo/ledger.py"
PACKETS = "shared/redpacket/adapters/dynamo/packets.py"
SHARES = "shared/redpacket/adapters/dynamo/shares.py"
PAGES = "shared/redpacket/adapters/dynamo/pages.py"
GRAB = "shared/redpacket/flows/packets/claim_share.py"
GATE = "shared/redpacket/flows/packets/grab_packet.py"
SETTLE = "shared/redpacket/flows/packets/settle_claims.py"
CLOSE = "shared/redpacket/flows/packets/close_packet.py"
CLOSING = "shared/redpacket/domain/closing.py"
EXPIRE = "shared/redpacket/flows/packets/expire_packets.py"
IMPATIENT = "shared/redpacket/flows/guards/circuit_breaker.py"
REFUND = "shared/redpacket/flows/packets/refund_packet.py"
PROOF = "shared/redpacket/flows/packets/read_proof.py"
PRESPLIT = "shared/redpacket/domain/split/presplit.py"
SWEEP = "shared/redpacket/flows/packets/sweep.py"
REPAIR = "shared/redpacket/flows/packets/repair.py"
CAMPAIGNS = "shared/redpacket/adapters/dynamo/campaigns.py"
BOARD = "shared/redpacket/adapters/redis/claims.py"
CLIENT = "shared/redpacket/adapters/redis/client.py"
CLUSTER = "shared/redpacket/adapters/redis/cluster.py"
CACHE = "shared/redpacket/adapters/redis/connect.py"
AWS = "shared/redpacket/adapters/aws/errors.py"
AWS_CLIENT = "shared/redpacket/adapters/aws/client.py"
TLS = "shared/redpacket/adapters/tls.py"
DYNAMO = "shared/redpacket/adapters/dynamo/client.py"
REQUESTS = "shared/redpacket/adapters/dynamo/requests.py"
SEND = "shared/redpacket/flows/packets/send_packet.py"
RECONCILE = "shared/redpacket/flows/reconciliation/reconcile.py"
COMPARE = "shared/redpacket/flows/reconciliation/compare_rows.py"
COMPARE_DRAWS = "shared/redpacket/flows/reconciliation/compare_draws.py"
CONFIRM = "shared/redpacket/flows/reconciliation/confirm_rows.py"
LINES = "shared/redpacket/domain/lines.py"
TABLES = "shared/redpacket/adapters/dynamo/tables.py"
RUNS = "shared/redpacket/adapters/dynamo/runs.py"
AUDIT = "shared/redpacket/flows/reconciliation/audit_packet.py"
DRAWS = "shared/redpacket/adapters/dynamo/draws.py"
STOCK = "shared/redpacket/adapters/dynamo/unit_stock.py"
DRAW = "shared/redpacket/flows/campaigns/draw_prize.py"
HELP = "shared/redpacket/flows/campaigns/help_inviter.py"
PRIZE = "shared/redpacket/flows/campaigns/edit_prize.py"
EDIT = "shared/redpacket/flows/campaigns/edit_campaign.py"
RECALLED = "shared/redpacket/flows/campaigns/cached_lotteries.py"
DRAWN = "shared/redpacket/flows/campaigns/read_draws.py"
PARTS = "shared/redpacket/adapters/redis/parted_claims.py"
IDS = "shared/redpacket/domain/packet_id.py"
QUEUE = "shared/redpacket/edge/queue.py"
QUOTA = "shared/redpacket/flows/packets/campaign_quota.py"
RECALL_CAMPAIGN = "shared/redpacket/flows/packets/cached_campaigns.py"
RECALL_EMPTIED = "shared/redpacket/flows/packets/cached_emptied.py"
SQS = "shared/redpacket/adapters/aws/sqs_payouts.py"
SWITCHES = "shared/redpacket/flows/guards/cached_switches.py"
LOAD = "shared/redpacket/flows/packets/load_packet.py"


@dataclass(frozen=True, slots=True)
class Mutant:
    """One safety condition less: *old* becomes *new*, everywhere or *within* one function."""

    name: str
    file: str
    old: str
    new: str
    of: str = "packets"
    """The schedules that it plays."""
    within: str = ""

    def changed(self, text: str) -> str:
        """Return what a file's *text* becomes. Raises LookupError where nothing is found."""
        first, last = _lines_of(self.within, text) if self.within else (0, len(text))
        if self.old not in text[first:last]:
            raise LookupError(f"{self.name}: {self.file} has not {self.old!r} {self.within}")
        return text[:first] + text[first:last].replace(self.old, self.new) + text[last:]


def _lines_of(name: str, text: str) -> tuple[int, int]:
    """Return where a function begins and ends; *name* is dotted where it is in a class."""
    scope: ast.AST = ast.parse(text)
    for part in name.split("."):
        scope = next(
            node
            for node in ast.walk(scope)
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == part
        )
    assert isinstance(scope, ast.FunctionDef)
    assert scope.end_lineno
    lines = text.splitlines(keepends=True)
    begin = sum(map(len, lines[: scope.lineno - 1]))
    return begin, begin + sum(map(len, lines[scope.lineno - 1 : scope.end_lineno]))


def of_draws(name: str, file: str, old: str, new: str) -> Mutant:
    return Mutant(name, file, old, new, of="draws")


ANYTHING = 'condition="attribute_not_exists(nothing)"'


def overwritten(name: str, row: str) -> Mutant:
    """Put a row of a draw whatever is there."""
    return of_draws(name, DRAWS, f"{row})", f"{row}, {ANYTHING})")


def recreated(name: str, file: str, operation: str, of: str = "packets") -> Mutant:
    """Create a row whatever is there."""
    condition = 'ConditionExpression="attribute_not_exists(nothing)"'
    return Mutant(
        name, file, operation, f'dict(Update=dict({operation}["Update"], {condition}))', of
    )

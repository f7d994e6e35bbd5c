"""A mutant, and the files that mutants change."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

USER_IDS = "shared/redpacket/domain/user_id.py"
LEDGER = "shared/redpacket/adapters/dynamo_ledger.py"
PACKETS = "shared/redpacket/adapters/dynamo_packets.py"
SHARES = "shared/redpacket/adapters/dynamo_shares.py"
PAGES = "shared/redpacket/adapters/dynamo_pages.py"
GRAB = "shared/redpacket/flows/claim_share.py"
GATE = "shared/redpacket/flows/grab_packet.py"
SETTLE = "shared/redpacket/flows/settle_claims.py"
CLOSE = "shared/redpacket/flows/close_packet.py"
CLOSING = "shared/redpacket/domain/closing.py"
EXPIRE = "shared/redpacket/flows/expire_packets.py"
IMPATIENT = "shared/redpacket/flows/impatient_cache.py"
REFUND = "shared/redpacket/flows/refund_packet.py"
PROOF = "shared/redpacket/flows/read_proof.py"
PRESPLIT = "shared/redpacket/domain/split/presplit.py"
SWEEP = "shared/redpacket/flows/sweep.py"
REPAIR = "shared/redpacket/flows/repair.py"
CAMPAIGNS = "shared/redpacket/adapters/dynamo_campaigns.py"
BOARD = "shared/redpacket/adapters/redis_claims.py"
CLIENT = "shared/redpacket/adapters/redis_client.py"
CLUSTER = "shared/redpacket/adapters/redis_cluster.py"
CACHE = "shared/redpacket/adapters/redis_cache.py"
AWS = "shared/redpacket/adapters/aws_errors.py"
AWS_CLIENT = "shared/redpacket/adapters/aws_client.py"
TLS = "shared/redpacket/adapters/tls.py"
DYNAMO = "shared/redpacket/adapters/dynamo.py"
REQUESTS = "shared/redpacket/adapters/requests.py"
SEND = "shared/redpacket/flows/send_packet.py"
RECONCILE = "shared/redpacket/flows/reconcile.py"
COMPARE = "shared/redpacket/flows/compare_rows.py"
COMPARE_DRAWS = "shared/redpacket/flows/compare_draws.py"
CONFIRM = "shared/redpacket/flows/confirm_rows.py"
LINES = "shared/redpacket/domain/lines.py"
TABLES = "shared/redpacket/adapters/dynamo_tables.py"
RUNS = "shared/redpacket/adapters/dynamo_runs.py"
AUDIT = "shared/redpacket/flows/audit_packet.py"
DRAWS = "shared/redpacket/adapters/dynamo_draws.py"
STOCK = "shared/redpacket/adapters/unit_stock.py"
DRAW = "shared/redpacket/flows/draw_prize.py"
HELP = "shared/redpacket/flows/help_inviter.py"
PRIZE = "shared/redpacket/flows/edit_prize.py"
EDIT = "shared/redpacket/flows/edit_campaign.py"
RECALLED = "shared/redpacket/flows/recall_lottery.py"
DRAWN = "shared/redpacket/flows/read_draws.py"
PARTS = "shared/redpacket/flows/try_parts.py"
IDS = "shared/redpacket/domain/packet_id.py"
QUEUE = "shared/redpacket/edge/queue.py"
QUOTA = "shared/redpacket/flows/campaign_quota.py"
RECALL_CAMPAIGN = "shared/redpacket/flows/recall_campaign.py"
RECALL_EMPTIED = "shared/redpacket/flows/recall_emptied.py"
SQS = "shared/redpacket/adapters/sqs_payouts.py"
SWITCHES = "shared/redpacket/flows/read_switches.py"
LOAD = "shared/redpacket/flows/load_packet.py"


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

"""Beacon rounds in TransparencyTable, and the campaigns that draw by them."""

from __future__ import annotations

from contextlib import suppress

from redpacket.fairness.beacon_ports import Drawing
from redpacket.fairness.dynamodb import keys as log_keys
from redpacket.fairness.model.beacon import BeaconRound, CampaignBeacon
from redpacket.platform.dynamodb.client import Dynamo, put, values


class DynamoRounds:
    """DynamoDB implementation of Rounds."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._table = dynamo.tables.transparency

    def find(self, chain_hash: str, round_no: int) -> BeaconRound | None:
        row = self._dynamo.get(self._table, log_keys.beacon_round(chain_hash, round_no))
        if row is None:
            return None
        return BeaconRound(round_no, bytes.fromhex(str(row["signature"])))

    def find_newest_no(self, chain_hash: str) -> int:
        rows = self._dynamo.query_some(
            self._table,
            1,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues=values(pk=log_keys.beacon_round(chain_hash, 0)["pk"]),
            ScanIndexForward=False,
            ConsistentRead=True,
        )
        return int(str(rows[0]["sk"])) if rows else 0

    def keep(self, chain_hash: str, beacon_round: BeaconRound) -> None:
        row = log_keys.beacon_round(chain_hash, beacon_round.round_no)
        self._dynamo.write(put(self._table, {**row, "signature": beacon_round.signature.hex()}))

    def list_drawing(self, now_ms: int) -> list[Drawing]:
        rows = self._dynamo.query(
            self._table,
            KeyConditionExpression="pk = :pk AND sk BETWEEN :now AND :last",
            ExpressionAttributeValues=values(
                pk=log_keys.DRAWING, now=f"{now_ms:013d}", last=log_keys.DRAWING_LAST
            ),
        )
        drawings = []
        for row in rows:
            # A beacon of an unknown form fails each draw of its campaign, and no other campaign's.
            with suppress(ValueError):
                beacon = CampaignBeacon.parse(str(row["beacon"]))
                ends_at_ms = int(str(row["sk"]).partition("#")[0])
                drawings.append(Drawing(beacon, int(row["starts_at_ms"]), ends_at_ms))
        return drawings

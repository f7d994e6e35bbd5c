"""Writes openapi.json: the HTTP contract, generated from the code that keeps it.

Routes and their summaries come from the doors, request bodies from edge/schemas.py, problems from
edge/problems.py. What the code says nowhere else is in two tables here: OPERATIONS has a row per
route, ANSWERS the form of every success. `make openapi` writes the file, and
tests/unit/test_openapi.py holds it to the code.
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import Any, TypeAlias

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

import redpacket
from local import places
from local.field_notes import FIELD_EXAMPLES, MEANINGS
from redpacket.adapters.dynamo.books import ENTRY_CURSOR
from redpacket.adapters.dynamo.packets import SENT_CURSOR
from redpacket.domain.campaign import CAMPAIGN_ID, CampaignStatus, WhenSoldOut
from redpacket.domain.ledger import FEN_MAX, TransferKind
from redpacket.domain.lottery import (
    POINT_BITS,
    PRIZE_ID,
    PRIZES_MAX,
    SEED_BYTES,
    UNITS_MAX,
    PrizeKind,
)
from redpacket.domain.packet import Kind, Opening, PacketStatus
from redpacket.domain.packet_id import PACKET_ID
from redpacket.domain.split import UNIT_FEN_MAX, Split
from redpacket.domain.switches import Switch
from redpacket.edge import pages, schemas
from redpacket.edge.api import ADMIN_SCOPE, BODY_BYTES_MAX, DAY, KEY_LENGTH_MAX, Api
from redpacket.edge.problems import RETRIED, STATUS_BY_CODE
from redpacket.flows.campaigns.preheat_campaign import CURSOR as PREHEAT_CURSOR
from redpacket.flows.campaigns.read_draws import PAGE_SIZE as DRAWS_PAGE_SIZE
from redpacket.ports.reconciliation import Table

Schema: TypeAlias = dict[str, Any]

OPENAPI = places.ROOT / "openapi.json"
JSON = "application/json"
PROBLEM_JSON = "application/problem+json"

# ---------------------------------------------------------------- forms


def an_object(properties: Schema, **more: Any) -> Schema:  # noqa: ANN401 - any JSON schema
    """Return the form of an object that has exactly *properties*, all of them."""
    required = list(properties)
    fixed = {"properties": properties, "required": required, "additionalProperties": False}
    return {"type": "object", **fixed, **more}


def or_null(form: Schema) -> Schema:
    """Return a form that may also be null."""
    return {"anyOf": [form, {"type": "null"}]}


def a_list(form: Schema, **bounds: int) -> Schema:
    """Return the form of a list."""
    return {"type": "array", "items": form, **bounds}


def an_integer(low: int, high: int, **more: Any) -> Schema:  # noqa: ANN401 - any JSON schema
    """Return the form of an integer from *low* to *high*."""
    return {"type": "integer", "minimum": low, "maximum": high, **more}


def words(*enums: type[StrEnum]) -> Schema:
    """Return the form of a word of *enums*."""
    return {"type": "string", "enum": [word.value for enum in enums for word in enum]}


def ref(name: str, kind: str = "schemas") -> Schema:
    """Return a reference to a component."""
    return {"$ref": f"#/components/{kind}/{name}"}


TEXT: Schema = {"type": "string"}
WORD: Schema = {"type": "string", "minLength": 1}
YES_OR_NO: Schema = {"type": "boolean"}
FEN = an_integer(0, FEN_MAX)
SHARE_FEN = an_integer(1, FEN_MAX)
# Sums over packets and deposits have no cap of their own.
SUM_FEN: Schema = {"type": "integer", "minimum": 0}
COUNT: Schema = {"type": "integer", "minimum": 0}
SHARE_NO = an_integer(1, schemas.COUNT_MAX)
SHARE_COUNT = an_integer(0, schemas.COUNT_MAX)
AT_MS: Schema = {"type": "integer", "minimum": 0, "description": "Milliseconds since 1970."}
DURATION_MS: Schema = {"type": "integer", "minimum": 0}
PER_USER = an_integer(0, schemas.PER_USER_MAX)
CAMPAIGN_ID_TEXT: Schema = {"type": "string", "pattern": f"^{CAMPAIGN_ID.pattern}$"}
PRIZE_ID_TEXT: Schema = {"type": "string", "pattern": f"^{PRIZE_ID.pattern}$"}
DAY_TEXT: Schema = {"type": "string", "pattern": f"^{DAY.pattern}$"}
DRAW_ID_TEXT: Schema = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
COMMITMENT: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
UNITS = an_integer(0, UNITS_MAX)
WEIGHT = an_integer(0, schemas.WEIGHT_MAX)
VERSION = an_integer(1, 2**53)
PACKET_ID_TEXT: Schema = {"type": "string", "pattern": f"^{PACKET_ID.pattern}$"}
PAYOUT: Schema = {"type": "string", "enum": ["queued", "settled"]}
CURSOR: Schema = {**or_null(WORD), "description": "The next page's `cursor`; null on the last."}
PERSON: Schema = {
    "user_token": {"type": "string", "pattern": "^[A-Za-z0-9_-]{24}$"},
    "nickname": WORD,
    "avatar_url": or_null({"type": "string", "pattern": "^https://"}),
}
PUBLIC_PERSON: Schema = {name: PERSON[name] for name in ("nickname", "avatar_url")}
SHOWN_CLAIM = an_object(
    {
        **PERSON,
        "amount_fen": SHARE_FEN,
        "share_no": SHARE_NO,
        "claimed_at_ms": AT_MS,
        "is_luckiest": YES_OR_NO,
        "payout": PAYOUT,
    },
    description="A claim as everybody may see it.",
)
AUDIT: Schema = {"ok": YES_OR_NO, "differences": a_list(ref("Difference"))}


def _page_of_packets(amount: str, form: Schema) -> Schema:
    item = {
        "packet_id": PACKET_ID_TEXT,
        amount: form,
        "at_ms": AT_MS,
        "status": words(PacketStatus),
    }
    return an_object(
        {
            "items": a_list(an_object(item)),
            "total_fen": SUM_FEN,
            "count": COUNT,
            "luckiest_count": COUNT,
            "next": CURSOR,
        }
    )


CAMPAIGN: Schema = {
    "campaign_id": CAMPAIGN_ID_TEXT,
    "title": WORD,
    "description": TEXT,
    "starts_at_ms": AT_MS,
    "ends_at_ms": AT_MS,
    "timezone": WORD,
    "rules": an_object(
        {
            "attempts_per_user_per_day": PER_USER,
            "wins_per_user_per_day": PER_USER,
            "guaranteed_after_misses": PER_USER,
            "helps_per_user_per_day": PER_USER,
        }
    ),
    "when_sold_out": words(WhenSoldOut),
    "quota_per_user": PER_USER,
    "status": words(CampaignStatus),
    "prizes": a_list(ref("Prize"), maxItems=PRIZES_MAX),
    "day": {**DAY_TEXT, "description": "Today in the campaign's time zone."},
    "commitment": {
        **or_null(COMMITMENT),
        "description": "The hash of `day`'s secret seed; null without prizes.",
    },
}
WON_PRIZE: Schema = {
    "prize_id": PRIZE_ID_TEXT,
    "title": WORD,
    "kind": words(PrizeKind),
    "amount_fen": or_null(SHARE_FEN),
    "image_url": or_null({"type": "string", "pattern": "^https://"}),
}
PRIZE: Schema = {
    **WON_PRIZE,
    "description": TEXT,
    "attributes": {
        "type": "object",
        "patternProperties": {
            schemas.ATTRIBUTE_NAME: {"type": ["string", "integer", "boolean"]},
        },
        "additionalProperties": False,
    },
    "once_per_user": YES_OR_NO,
    "status": words(CampaignStatus),
    "weight": {**or_null(WEIGHT), "description": "Null for a prize that is off."},
    "is_sold_out": YES_OR_NO,
}
DRAWN: Schema = {
    "draw_id": DRAW_ID_TEXT,
    "outcome": {"type": "string", "enum": ["won", "missed"]},
    "prize": or_null(an_object(WON_PRIZE)),
    "drawn_at_ms": AT_MS,
}
ATTEMPTS_LEFT: Schema = {
    **or_null(PER_USER),
    "description": "Of today; null without a limit.",
}

ANSWERS: dict[str, Schema] = {
    "Claim": an_object(
        {
            "outcome": {"type": "string", "enum": ["claimed", "already_claimed"]},
            "packet_id": PACKET_ID_TEXT,
            "share_no": SHARE_NO,
            "amount_fen": SHARE_FEN,
            "claimed_at_ms": AT_MS,
            "payout": PAYOUT,
        },
        description="A taker's claim; the amount is durable.",
    ),
    "Admission": an_object(
        {
            "outcome": {"const": "admitted"},
            "grab_token": {"type": "string", "pattern": "^[A-Za-z0-9_-]+$"},
            "expires_at_ms": AT_MS,
        },
        description="Step one of two: the token opens a share, if one is left by then.",
    ),
    "Grabbed": {"oneOf": [ref("Claim"), ref("Admission")]},
    "SentPacket": an_object(
        {
            "packet_id": PACKET_ID_TEXT,
            "status": {"const": PacketStatus.OPEN.value},
            "kind": words(Kind),
            "split": words(Split),
            "opening": words(Opening),
            "total_fen": SHARE_FEN,
            "count": SHARE_NO,
            "greeting": TEXT,
            "created_at_ms": AT_MS,
            "starts_at_ms": AT_MS,
            "expires_at_ms": AT_MS,
            "campaign_id": or_null(CAMPAIGN_ID_TEXT),
            "commitment": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "share_url": {"type": "string", "pattern": "^https?://"},
        },
        description="A packet as it was sent: a repeat reads the same.",
    ),
    "Record": an_object(
        {
            "packet_id": PACKET_ID_TEXT,
            "sender": an_object(PERSON),
            "kind": words(Kind),
            "split": words(Split),
            "opening": words(Opening),
            "is_exclusive": YES_OR_NO,
            "needs_passphrase": YES_OR_NO,
            "greeting": TEXT,
            "status": words(PacketStatus),
            "total_fen": SHARE_FEN,
            "count": SHARE_NO,
            "claimed_count": {
                **SHARE_COUNT,
                "description": "While a packet of more than 100 shares is open, only what is "
                "settled; so are `claimed_fen` and `remaining_count`.",
            },
            "claimed_fen": FEN,
            "remaining_count": SHARE_COUNT,
            "refunded_fen": FEN,
            "refunded_at_ms": or_null(AT_MS),
            "created_at_ms": AT_MS,
            "starts_at_ms": AT_MS,
            "expires_at_ms": AT_MS,
            "campaign_id": or_null(CAMPAIGN_ID_TEXT),
            "emptied_in_ms": or_null(DURATION_MS),
            "closed_at_ms": or_null(AT_MS),
            "luckiest": or_null(ref("ShownClaim")),
            "claims": a_list(ref("ShownClaim"), maxItems=pages.LIMIT_MAX),
            "next": CURSOR,
            "commitment": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "mine": or_null(ref("ShownClaim")),
        },
        description="A packet with a page of its claims, by share number; of a packet in parts "
        "by part. A page may have fewer claims than `limit`, and not be the last.",
    ),
    "Feed": an_object(
        {
            "packet_id": PACKET_ID_TEXT,
            "status": words(PacketStatus),
            "kind": words(Kind),
            "greeting": TEXT,
            "sender": an_object(PUBLIC_PERSON),
            "count": SHARE_NO,
            "claimed_count": SHARE_COUNT,
            "remaining_count": SHARE_COUNT,
            "total_fen": SHARE_FEN,
            "claimed_fen": FEN,
            "claims": a_list(
                an_object(
                    {
                        **PUBLIC_PERSON,
                        "amount_fen": SHARE_FEN,
                        "claimed_at_ms": AT_MS,
                        "is_luckiest": YES_OR_NO,
                    }
                ),
                maxItems=pages.LIMIT_MAX,
            ),
            "emptied_in_ms": or_null(DURATION_MS),
            "next": CURSOR,
        },
        description="A packet as everybody who has its id may see it.",
    ),
    "Proof": an_object(
        {
            "commitment": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "seed": {"type": "string", "pattern": "^[A-Za-z0-9_-]{22}$"},
            "algorithm": words(Split),
            "total_fen": SHARE_FEN,
            "count": SHARE_NO,
            "share_fen_min": SHARE_FEN,
            "share_fen_max": SHARE_FEN,
            "unit_fen": an_integer(1, UNIT_FEN_MAX),
            "first_share_no": an_integer(1, pages.CURSOR_MAX + 1),
            "amounts_fen": a_list(SHARE_FEN, maxItems=pages.PROOF_LIMIT_MAX),
            "next": CURSOR,
        },
        description="What the commitment was made of, and a page of the amounts that follow.",
    ),
    "Me": an_object({**PERSON, "balance_fen": SUM_FEN}),
    "Sent": _page_of_packets("total_fen", SHARE_FEN),
    "Received": _page_of_packets("amount_fen", SHARE_FEN),
    "Transfers": an_object(
        {
            "items": a_list(ref("Transfer"), maxItems=pages.LIMIT_MAX),
            "next": CURSOR,
        }
    ),
    "Campaign": an_object(CAMPAIGN, description="A campaign as its users may see it."),
    "CampaignAdmin": an_object(
        {
            **CAMPAIGN,
            "prizes": a_list(ref("PrizeAdmin"), maxItems=PRIZES_MAX),
            "miss_weight": WEIGHT,
            "passphrase": or_null(WORD),
            "budget_fen": FEN,
            "budget_left_fen": FEN,
            "version": VERSION,
            "table_version": VERSION,
        },
        description="A campaign as operators see it, with its money.",
    ),
    "PrizeAdmin": an_object(
        {
            **PRIZE,
            "weight": WEIGHT,
            "total": UNITS,
            "per_day": UNITS,
            "per_hour": UNITS,
            "issued": UNITS,
            "issued_today": {
                **or_null(UNITS),
                "description": "Null for a prize without a limit per day.",
            },
            "version": VERSION,
        },
        description="A prize as operators see it; `issued` is what was won of `total`.",
    ),
    "Drawn": an_object(
        {**DRAWN, "attempts_left": ATTEMPTS_LEFT},
        description="What became of an attempt; it is durable. `prize` is null for a miss.",
    ),
    "Draws": an_object(
        {
            "items": a_list(
                an_object(
                    {
                        **DRAWN,
                        "day": DAY_TEXT,
                        "point": an_integer(0, 2**POINT_BITS - 1),
                        "odds": WORD,
                        "table_version": VERSION,
                    }
                ),
                maxItems=DRAWS_PAGE_SIZE,
            ),
            "next": CURSOR,
        },
        description="The caller's draws, newest first, with what decided them.",
    ),
    "DrawProof": an_object(
        {
            "campaign_id": CAMPAIGN_ID_TEXT,
            "day": DAY_TEXT,
            "commitment": COMMITMENT,
            "seed": {"type": "string", "pattern": f"^[0-9a-f]{{{2 * SEED_BYTES}}}$"},
        },
        description="What the day's commitment was made of.",
    ),
    "Helped": an_object(
        {
            "outcome": {"type": "string", "enum": ["helped", "already_helped"]},
            "attempts_left_of_inviter": ATTEMPTS_LEFT,
        }
    ),
    "Preheated": an_object(
        {"packet_count": COUNT, "loaded_count": COUNT, "next": CURSOR},
        description="How many packets were found and loaded; closed ones are not counted.",
    ),
    "Deposit": an_object({"transfer_id": WORD, "balance_fen": SUM_FEN}),
    "Audit": an_object(AUDIT),
    "Reconciliation": an_object(
        {
            **AUDIT,
            "ok": or_null(YES_OR_NO),
            "is_complete": YES_OR_NO,
            "account_count": COUNT,
            "entry_count": COUNT,
            "packet_count": COUNT,
            "difference_count": COUNT,
            "moving_count": COUNT,
            "held_fen": {"type": "integer"},
            "started_at_ms": AT_MS,
            "until_ms": AT_MS,
            "progress": or_null(ref("ReconcileProgress")),
        },
        description="`ok` is null while nothing is wrong and not all has been compared.",
    ),
    "ReconcileProgress": an_object(
        {"table": or_null(words(Table)), "row_count": COUNT},
        description="How far a comparison is that is not over; null where it is.",
    ),
    "Switches": an_object({"items": a_list(ref("Switch"), maxItems=len(Switch))}),
    "Switch": an_object(
        {
            "name": words(Switch),
            "on": YES_OR_NO,
            "reason": TEXT,
            "changed_at_ms": or_null(AT_MS),
        },
        description="How a switch stands; `changed_at_ms` is null for one that was never changed.",
    ),
    "Health": an_object({"status": {"const": "ok"}, "version": WORD}),
}

_PARTS: dict[str, Schema] = {
    "ShownClaim": SHOWN_CLAIM,
    "Prize": an_object(PRIZE, description="A prize as users see it."),
    "Transfer": an_object(
        {
            "transfer_id": WORD,
            "kind": words(TransferKind),
            "amount_fen": {
                **an_integer(-FEN_MAX, FEN_MAX),
                "description": "Positive where it came in, negative where it went out.",
            },
            "counterparty": WORD,
            "at_ms": AT_MS,
        }
    ),
    "Difference": an_object(
        {
            "rule": {**WORD, "description": "The invariant's number, or where it was found."},
            "subject": WORD,
            "what": WORD,
            "expected": {"type": ["integer", "string"]},
            "actual": {"type": ["integer", "string"]},
        }
    ),
    "GatewayMessage": {
        "type": "object",
        "description": "The gateway's own answer, which an API on API Gateway can't shape.",
        "properties": {"message": {"type": ["string", "null"]}},
        "required": ["message"],
        "additionalProperties": False,
    },
}

# ---------------------------------------------------------------- parameters

PARAMETERS: dict[str, Schema] = {
    "PacketId": {"name": "packet_id", "in": "path", "required": True, "schema": PACKET_ID_TEXT},
    "SwitchName": {"name": "name", "in": "path", "required": True, "schema": words(Switch)},
    "CampaignId": {
        "name": "campaign_id",
        "in": "path",
        "required": True,
        "schema": CAMPAIGN_ID_TEXT,
    },
    "PrizeId": {"name": "prize_id", "in": "path", "required": True, "schema": PRIZE_ID_TEXT},
    "Day": {
        "name": "day",
        "in": "query",
        "required": True,
        "description": "A day of the campaign, as its draws name it.",
        "schema": DAY_TEXT,
    },
    "DrawCursor": {
        "name": "cursor",
        "in": "query",
        "description": "`next` of the page before; any other shows the first page.",
        "schema": TEXT,
    },
    "PreheatCursor": {
        "name": "cursor",
        "in": "query",
        "description": "`next` of the preheat before, which ran out of time.",
        "schema": {"type": "string", "pattern": f"^{PREHEAT_CURSOR.pattern}$"},
    },
    "IdempotencyKey": {
        "name": "Idempotency-Key",
        "in": "header",
        "required": True,
        "description": "Of the client's making. A repeat with the same key and body has no second "
        "effect and the same answer.",
        "schema": {"type": "string", "minLength": 1, "maxLength": KEY_LENGTH_MAX},
    },
    "IfNoneMatch": {
        "name": "If-None-Match",
        "in": "header",
        "description": "The `ETag` of the page that the client has.",
        "schema": TEXT,
    },
    "ClaimCursor": {
        "name": "cursor",
        "in": "query",
        "description": "`next` of the page before.",
        "schema": {"type": "string", "pattern": pages.CLAIM_CURSOR},
    },
    "ProofCursor": {
        "name": "cursor",
        "in": "query",
        "description": "`next` of the page before.",
        "schema": an_integer(0, pages.CURSOR_MAX),
    },
    "SentCursor": {
        "name": "cursor",
        "in": "query",
        "description": "`next` of the page before.",
        "schema": {"type": "string", "pattern": f"^{SENT_CURSOR.pattern}$"},
    },
    "TransferCursor": {
        "name": "cursor",
        "in": "query",
        "description": "`next` of the page before.",
        "schema": {"type": "string", "pattern": f"^{ENTRY_CURSOR.pattern}$"},
    },
    "Limit": {
        "name": "limit",
        "in": "query",
        "schema": an_integer(1, pages.LIMIT_MAX, default=pages.LIMIT_DEFAULT),
    },
    "ProofLimit": {
        "name": "limit",
        "in": "query",
        "schema": an_integer(1, pages.PROOF_LIMIT_MAX, default=pages.PROOF_LIMIT_DEFAULT),
    },
    "Year": {
        "name": "year",
        "in": "query",
        "description": "All years where it is missing.",
        "schema": an_integer(pages.YEAR_FIRST, pages.YEAR_LAST),
    },
}

# ---------------------------------------------------------------- routes


@dataclass(frozen=True, slots=True)
class Operation:
    """What the code of a route doesn't say by itself.

    *refusals* are the route's own; those that every route has are added. *is_cached* is for pages
    with an entity tag, *scope* for operators, *also* another success of the same form, *example* a
    body that works.
    """

    name: str
    answer: str
    status: int = 200
    also: HTTPStatus | None = None
    body: type[BaseModel] | None = None
    needs_body: bool = True
    parameters: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()
    example: Schema | None = None
    is_cached: bool = False
    scope: str | None = None
    is_public: bool = False


_WRITE = (
    "idempotency_key_missing",
    "idempotency_key_in_use",
    "idempotency_key_reused",
    "invalid_request",
    "unavailable",
)
_READ = ("rate_limited", "unavailable")
_LIST = ("invalid_request", *_READ)
_PRIZE = (
    "campaign_not_found",
    "campaign_ended",
    "version_conflict",
    "idempotency_key_in_use",
    "insufficient_funds",
    "invalid_request",
    "unavailable",
)
_DRAW = (
    "campaign_not_found",
    "campaign_not_started",
    "campaign_ended",
    "campaign_paused",
    "rate_limited",
    "switched_off",
    "invalid_request",
    "unavailable",
)
_CLAIM = (
    "campaign_paused",
    "packet_not_found",
    "packet_not_started",
    "packet_emptied",
    "packet_expired",
    "quota_exhausted",
    "rate_limited",
    "invalid_request",
    "switched_off",
    "unavailable",
)

OPERATIONS: dict[str, Operation] = {
    "POST /packets": Operation(
        name="sendPacket",
        answer="SentPacket",
        status=201,
        body=schemas.SendBody,
        example={"kind": "lucky", "total_fen": 8888, "count": 10, "greeting": "恭喜发财"},
        parameters=("IdempotencyKey",),
        refusals=(
            *_WRITE,
            "insufficient_funds",
            "split_impossible",
            "rate_limited",
            "switched_off",
            "campaign_not_found",
            "campaign_ended",
            "campaign_paused",
        ),
    ),
    "POST /packets/{packet_id}/grab": Operation(
        name="grabPacket",
        answer="Grabbed",
        body=schemas.GrabBody,
        example={"passphrase": "恭喜发财"},
        needs_body=False,
        parameters=("PacketId",),
        refusals=(
            *_CLAIM,
            "not_invited",
            "passphrase_mismatch",
        ),
    ),
    "POST /packets/{packet_id}/open": Operation(
        name="openShare",
        answer="Claim",
        body=schemas.OpenBody,
        example={"grab_token": FIELD_EXAMPLES["grab_token"]},
        parameters=("PacketId",),
        refusals=(*_CLAIM, "grab_token_invalid"),
    ),
    "GET /packets/{packet_id}": Operation(
        name="readPacket",
        answer="Record",
        parameters=("PacketId", "ClaimCursor", "Limit", "IfNoneMatch"),
        refusals=("packet_not_found", *_LIST),
        is_cached=True,
    ),
    "GET /packets/{packet_id}/feed": Operation(
        name="readFeed",
        answer="Feed",
        parameters=("PacketId", "ClaimCursor", "Limit", "IfNoneMatch"),
        refusals=("packet_not_found", *_LIST),
        is_cached=True,
        is_public=True,
    ),
    "GET /packets/{packet_id}/proof": Operation(
        name="readProof",
        answer="Proof",
        parameters=("PacketId", "ProofCursor", "ProofLimit"),
        refusals=("packet_not_found", "proof_not_ready", *_LIST),
    ),
    "GET /me": Operation(name="readMe", answer="Me", refusals=_READ),
    "PUT /me/profile": Operation(
        name="editProfile",
        answer="Me",
        body=schemas.ProfileBody,
        example={"nickname": "Alice", "avatar_url": None},
        refusals=_LIST,
    ),
    "GET /me/sent": Operation(
        name="readSent", answer="Sent", parameters=("Year", "SentCursor"), refusals=_LIST
    ),
    "GET /me/received": Operation(
        name="readReceived",
        answer="Received",
        parameters=("Year", "TransferCursor"),
        refusals=_LIST,
    ),
    "GET /me/transfers": Operation(
        name="readTransfers",
        answer="Transfers",
        parameters=("TransferCursor", "Limit"),
        refusals=_LIST,
    ),
    "GET /campaigns/{campaign_id}": Operation(
        name="readCampaign",
        answer="Campaign",
        parameters=("CampaignId",),
        refusals=("campaign_not_found", *_READ),
    ),
    "GET /admin/campaigns/{campaign_id}": Operation(
        name="watchCampaign",
        answer="CampaignAdmin",
        parameters=("CampaignId",),
        refusals=("campaign_not_found", "unavailable"),
        scope=ADMIN_SCOPE,
    ),
    "PUT /admin/campaigns/{campaign_id}": Operation(
        name="editCampaign",
        answer="CampaignAdmin",
        also=HTTPStatus.CREATED,
        body=schemas.CampaignBody,
        example={
            "title": "New Year",
            "starts_at_ms": 1_800_000_000_000,
            "ends_at_ms": 1_800_086_400_000,
            "timezone": "Asia/Shanghai",
            "miss_weight": 90,
            "rules": {"attempts_per_user_per_day": 3, "wins_per_user_per_day": 1},
            "budget_fen": 1_000_000,
            "quota_per_user": 1,
            "status": "on",
        },
        parameters=("CampaignId",),
        refusals=("campaign_not_found", "version_conflict", "invalid_request", "unavailable"),
        scope=ADMIN_SCOPE,
    ),
    "POST /admin/campaigns/{campaign_id}/preheat": Operation(
        name="preheatCampaign",
        answer="Preheated",
        status=202,
        parameters=("CampaignId", "PreheatCursor"),
        refusals=("packet_not_found", "campaign_not_found", "invalid_request", "unavailable"),
        scope=ADMIN_SCOPE,
    ),
    "PUT /admin/campaigns/{campaign_id}/prizes/{prize_id}": Operation(
        name="putPrize",
        answer="PrizeAdmin",
        also=HTTPStatus.CREATED,
        body=schemas.PrizeBody,
        example={
            "title": "8.88 yuan",
            "kind": "packet",
            "weight": 10,
            "total": 100,
            "amount_fen": 888,
        },
        parameters=("CampaignId", "PrizeId"),
        refusals=_PRIZE,
        scope=ADMIN_SCOPE,
    ),
    "POST /admin/campaigns/{campaign_id}/prizes/{prize_id}/stock": Operation(
        name="changeStock",
        answer="PrizeAdmin",
        body=schemas.StockBody,
        example={"delta": 50},
        parameters=("CampaignId", "PrizeId", "IdempotencyKey"),
        refusals=("idempotency_key_missing", "idempotency_key_reused", *_PRIZE),
        scope=ADMIN_SCOPE,
    ),
    "POST /campaigns/{campaign_id}/draws": Operation(
        name="draw",
        answer="Drawn",
        body=schemas.DrawBody,
        needs_body=False,
        parameters=("CampaignId", "IdempotencyKey"),
        refusals=(*_DRAW, "idempotency_key_missing", "attempts_exhausted"),
    ),
    "GET /campaigns/{campaign_id}/draws": Operation(
        name="readDraws",
        answer="Draws",
        parameters=("CampaignId", "DrawCursor"),
        refusals=("campaign_not_found", *_READ),
    ),
    "POST /campaigns/{campaign_id}/helps": Operation(
        name="helpFriend",
        answer="Helped",
        body=schemas.HelpBody,
        example={"inviter_token": FIELD_EXAMPLES["user_token"], "transcript": "恭喜发财"},
        parameters=("CampaignId",),
        refusals=(*_DRAW, "passphrase_mismatch", "help_quota_exhausted", "self_help"),
    ),
    "GET /campaigns/{campaign_id}/proof": Operation(
        name="readDrawProof",
        answer="DrawProof",
        parameters=("CampaignId", "Day"),
        refusals=("campaign_not_found", "proof_not_ready", *_LIST),
    ),
    "POST /admin/deposits": Operation(
        name="deposit",
        answer="Deposit",
        status=201,
        body=schemas.DepositBody,
        example={"user": "alice", "amount_fen": 100_000},
        parameters=("IdempotencyKey",),
        refusals=_WRITE,
        scope=ADMIN_SCOPE,
    ),
    "GET /admin/packets/{packet_id}/audit": Operation(
        name="auditPacket",
        answer="Audit",
        parameters=("PacketId",),
        refusals=("packet_not_found", "unavailable"),
        scope=ADMIN_SCOPE,
    ),
    "GET /admin/switches": Operation(
        name="readSwitches", answer="Switches", refusals=("unavailable",), scope=ADMIN_SCOPE
    ),
    "PUT /admin/switches/{name}": Operation(
        name="turnSwitch",
        answer="Switch",
        body=schemas.SwitchBody,
        example={"on": False, "reason": "payouts are being checked"},
        parameters=("SwitchName",),
        refusals=("switch_not_found", "invalid_request", "unavailable"),
        scope=ADMIN_SCOPE,
    ),
    "POST /admin/reconcile": Operation(
        name="reconcile", answer="Reconciliation", refusals=("unavailable",), scope=ADMIN_SCOPE
    ),
    "GET /health": Operation(name="readHealth", answer="Health", is_public=True),
}

EVERYWHERE = ("payload_too_large", "internal_error")
_OF_USERS = ("forbidden",)

TAGS = {
    "Packets": "Send a packet, take a share, and look at what became of it.",
    "Me": "What belongs to the caller: profile, balance, lists and transfers.",
    "Campaigns": "A campaign's lottery: draws, help from friends, and proofs.",
    "Operators": "Money in, campaigns, prizes, switches and checks.",
    "Service": "The service itself.",
}
_TAG_BY_PATH = {
    "packets": "Packets",
    "me": "Me",
    "campaigns": "Campaigns",
    "admin": "Operators",
    "health": "Service",
}

_GATEWAY_ANSWERS = {
    HTTPStatus.UNAUTHORIZED: "No token, or none that is valid here and now.",
    HTTPStatus.NOT_FOUND: "A path parameter that makes another path: with a slash, or empty.",
    HTTPStatus.TOO_MANY_REQUESTS: "More requests than the stage's throttle lets through.",
}

# ---------------------------------------------------------------- the document

_DESCRIPTION = f"""\
Money is in fen and time in milliseconds, both integers: `1.0` is rejected. Bodies are at most
{BODY_BYTES_MAX} bytes. Clients switch on a problem's `code`.

Text of the format `visible-text` holds no control, bidi, zero-width, blank, private or unassigned
character; a greeting has at most {schemas.GREETING_GRAPHEMES_MAX} graphemes, a nickname
{schemas.NICKNAME_GRAPHEMES_MAX}. The split `equal` goes with the kind `equal`, the others with
`lucky`.

A deployment may set lower bounds for `count` and `share_fen_max` than are written here.
"""


def doors() -> dict[str, Api]:
    """Return the doors that answer HTTP, by their routes; loaded by path, as Lambda does."""
    found: dict[str, Api] = {}
    for file in sorted((places.ROOT / "functions").glob("*/app.py")):
        spec = importlib.util.spec_from_file_location(f"door_{file.parent.name}", file)
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        if isinstance(module.handler, Api):
            found |= dict.fromkeys(module.handler.route_keys, module.handler)
    return found


def document() -> Schema:
    """Return the whole contract."""
    paths: Schema = {}
    handlers = doors()
    for key, operation in OPERATIONS.items():
        method, path = key.split()
        summary = handlers[key].summary_of(key)
        tag = _TAG_BY_PATH[path.split("/")[1]]
        paths.setdefault(path, {})[method.lower()] = _operation(operation, summary, tag)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "redpacket",
            "version": redpacket.__version__,
            "summary": "Red packets (红包) whose every share has one durable fate.",
            "description": _DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"user": []}],
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": {**_explained({**ANSWERS, **_PARTS, **_bodies()}), **_problems()},
            "parameters": PARAMETERS,
            "securitySchemes": {
                "user": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
            },
        },
    }


def forms() -> list[str]:
    """Return the names of the components that answers and bodies are made of, without problems."""
    nested = [name for name in _bodies() if name not in _request_bodies()]
    return [*ANSWERS, *_PARTS, *nested]


def text() -> str:
    """Return the document as the file holds it."""
    return json.dumps(document(), ensure_ascii=False, indent=2) + "\n"


def problem_name(code: str) -> str:
    """Return the name of a problem's schema: packet_not_found's is PacketNotFoundProblem."""
    return "".join(word.capitalize() for word in code.split("_")) + "Problem"


def _explained(schemas: dict[str, Schema]) -> dict[str, Schema]:
    """Return *schemas* with a meaning at each field that has none of its own."""
    return {
        name: {
            **schema,
            "properties": {
                field: {**form, "description": form.get("description", MEANINGS.get(field, ""))}
                if field in MEANINGS
                else form
                for field, form in schema["properties"].items()
            },
        }
        if "properties" in schema
        else schema
        for name, schema in schemas.items()
    }


class _Untitled(GenerateJsonSchema):
    """Leaves out titles that only repeat a field's name."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401, ARG002 - pydantic's form
        return False


def _request_bodies() -> set[str]:
    return {row.body.__name__ for row in OPERATIONS.values() if row.body}


def _bodies() -> Schema:
    models = [row.body for row in OPERATIONS.values() if row.body]
    _, found = models_json_schema(
        [(model, "validation") for model in models],
        ref_template="#/components/schemas/{model}",
        schema_generator=_Untitled,
    )
    bodies: Schema = found["$defs"]
    for body in bodies.values():
        body.pop("title", None)
    return bodies


def _problems() -> Schema:
    errors = a_list(an_object({"field": WORD, "message": WORD}), minItems=1)
    return {
        problem_name(code): an_object(
            {
                "type": {"const": f"/problems/{code.replace('_', '-')}"},
                "title": {"const": code.replace("_", " ").capitalize()},
                "status": {"const": status},
                "detail": TEXT,
                "code": {"const": code},
                "instance": {**WORD, "description": "The request's id, for the operator."},
                **({"errors": errors} if code == "invalid_request" else {}),
            }
        )
        for code, status in STATUS_BY_CODE.items()
    }


def _operation(operation: Operation, summary: str, tag: str) -> Schema:
    described: Schema = {"operationId": operation.name, "tags": [tag], "summary": summary}
    if operation.is_public:
        described["security"] = []
    elif operation.scope:
        described["security"] = [{"user": [operation.scope]}]
        described["description"] = f"For tokens with the scope `{operation.scope}`."
    if operation.parameters:
        described["parameters"] = [ref(name, "parameters") for name in operation.parameters]
    if operation.body:
        content: Schema = {"schema": ref(operation.body.__name__)}
        if operation.example is not None:
            content["example"] = operation.example
        described["requestBody"] = {
            "required": operation.needs_body,
            "content": {JSON: content},
        }
    described["responses"] = _responses(operation)
    return described


def _responses(operation: Operation) -> Schema:
    success: Schema = {
        "description": HTTPStatus(operation.status).phrase,
        "content": {JSON: {"schema": ref(operation.answer)}},
    }
    if not operation.is_cached:
        success["headers"] = {"Cache-Control": {"required": True, "schema": {"const": "no-store"}}}
    answers: dict[int, Schema] = {operation.status: success}
    if operation.also:
        answers[operation.also.value] = {**success, "description": operation.also.phrase}
    if operation.is_cached:
        headers = _cache_headers(is_public=operation.is_public)
        success["headers"] = headers
        unchanged = "The client has this very page already."
        answers[304] = {"description": unchanged, "headers": headers}
    codes = {*operation.refusals, *EVERYWHERE, *(() if operation.is_public else _OF_USERS)}
    for status in {STATUS_BY_CODE[code] for code in codes}:
        here = [code for code, its in STATUS_BY_CODE.items() if its == status and code in codes]
        answers[status] = _problem_answer(here)
    for status, description in _gateway_answers(operation).items():
        answer = answers.setdefault(status, {"description": "", "content": {}})
        answer["description"] = " ".join(filter(None, (answer["description"], description)))
        answer["content"][JSON] = {"schema": ref("GatewayMessage")}
        # The gateway's own answer has no header of ours.
        for header in answer.get("headers", {}).values():
            header["required"] = False
    return {str(status): answers[status] for status in sorted(answers)}


def _problem_answer(codes: list[str]) -> Schema:
    forms = [ref(problem_name(code)) for code in codes]
    described: Schema = {
        "description": f"{', '.join(f'`{code}`' for code in codes)}.",
        "content": {PROBLEM_JSON: {"schema": forms[0] if len(forms) == 1 else {"oneOf": forms}}},
    }
    if RETRIED.intersection(codes):
        described["headers"] = {
            "Retry-After": {
                "description": "Seconds; then asking again gives the one true answer.",
                "required": RETRIED.issuperset(codes),
                "schema": {"type": "integer", "minimum": 1},
            }
        }
    return described


def _gateway_answers(operation: Operation) -> dict[int, str]:
    answers = dict(_GATEWAY_ANSWERS)
    if operation.is_public:
        del answers[HTTPStatus.UNAUTHORIZED]
    if operation.scope:
        answers[HTTPStatus.FORBIDDEN] = "A token without the scope."
    if not any(PARAMETERS[name]["in"] == "path" for name in operation.parameters):
        del answers[HTTPStatus.NOT_FOUND]
    return {status.value: description for status, description in answers.items()}


def _cache_headers(*, is_public: bool) -> Schema:
    kept: Schema = {"const": "private, no-cache"}
    if is_public:
        kept = {"enum": [f"public, max-age={age_s}" for age_s in (1, 3600)]}
    return {
        "ETag": {"required": True, "schema": {"type": "string", "pattern": '^"[0-9a-f]{32}"$'}},
        "Cache-Control": {"required": True, "schema": kept},
    }


def main() -> None:
    """Write the file."""
    OPENAPI.write_text(text(), encoding="utf-8")
    print(f"Wrote {OPENAPI.name}: {len(OPERATIONS)} routes")


if __name__ == "__main__":
    main()

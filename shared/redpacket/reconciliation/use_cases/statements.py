"""SQL checks, written once for both Athena and DuckDB (docs/adr/0049).

A statement may use `num(name)`, `text(name)`, and `flag(name)` for an exported attribute,
`year_of(time)` for a UTC year, `day_of(time)` for a day in Beijing, `code_of(text)` for a number
computed from its letters, `kept(table: names)` for attributes that never change, and `:name` for a
value of the run or for the values of an enum. A line with `:year` is repeated for each year.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TypeAlias

from redpacket.campaigns.model import WINDOW_AGE_MAX_MS
from redpacket.ledger.model import TransferKind
from redpacket.packets.model.claim import ShareStatus
from redpacket.packets.model.packet import Kind, PacketStatus
from redpacket.payments.model.payments import (
    OPEN_RETURNS,
    PAYMENT_LIFE_MS,
    WATCHED_MS,
    PaymentStatus,
    ReturnReason,
    ReturnStatus,
)
from redpacket.payments.model.provider import statement_day
from redpacket.payments.model.withdrawals import (
    FINAL,
    GIVEN_UP_AFTER_MS,
    RETURNED,
    WithdrawalStatus,
)
from redpacket.payments.ports import QUERY_HORIZON_MS
from redpacket.platform.bounds import (
    CLOCKS_DIFFER_MS,
    FEN_MAX,
    LIFE_S_MAX,
    START_AHEAD_MS_MAX,
)
from redpacket.platform.settings import settings
from redpacket.reconciliation.use_cases.audit_packet import FOUND_MAX, LATE_AFTER_MS

MOVING_MS = LATE_AFTER_MS
"""Milliseconds before an export whose facts are left to the next run: the settlement limit."""

DAY_MS = 24 * 3_600_000
BEIJING_MS = 8 * 3_600_000

AUDITED_MS = 26 * 3_600_000
"""Age in ms up to which Python audits every packet and draw, within AUDITS_MAX: 26 hours."""

AUDITS_MAX = 20_000
"""Maximum packets, draws, or campaigns that a run audits; each takes about ten milliseconds."""

DORMANT_MS = 180 * DAY_MS
"""Milliseconds after the last entry when a balance becomes dormant."""

COUNTS = frozenset(
    f"check_{name}"
    for name in (
        *("year_sums", "claim_counts", "audiences", "open_counts", "unpaid_counts"),
        *("withdrawn", "lottery", "players"),
    )
)
"""Checks of frequently changed counts: an export may split a transaction that changes one."""

BALANCE = "balance vs entries"
"""Difference between an account's balance and entries; strong reads decide whether it is real."""

KEPT = "check_kept"
"""Check of single rows against their past; one comparison suffices, as exports split no row."""

FAMILIES = ("ledger", "packets", "payments", "lottery", "log")
"""Files that contain checks."""

Fields: TypeAlias = "dict[str, str]"
"""DynamoDB types, keyed by attribute."""

_FIRST_YEAR = 2026
"""Year of the first release."""
_SQL = Path(__file__).with_name("sql")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_CODED = 48
"""Number of leading letters that `code_of` reads; account names are shorter."""

_WORDS: dict[str, Iterable[StrEnum]] = {
    "transfer_kinds": TransferKind,
    "packet_kinds": Kind,
    "packet_statuses": PacketStatus,
    "share_statuses": ShareStatus,
    "payment_statuses": PaymentStatus,
    "return_reasons": ReturnReason,
    "return_statuses": ReturnStatus,
    "open_returns": OPEN_RETURNS,
    "withdrawal_statuses": WithdrawalStatus,
    "ended_withdrawals": FINAL,
    "returned_withdrawals": RETURNED,
}
"""Model enums and sets, keyed by the name that statements use."""

_KINDS = {"num": "n", "text": "s", "flag": "bool"}
"""DynamoDB types, keyed by the abbreviation that statements use."""
_KEYS = {"pk": "s", "sk": "s"}
_WRITTEN = {"WriteTimestampMicros": "n"}
_FIELD = re.compile(rf"\b({'|'.join(_KINDS)})\((\w+)\)")
_RAW = re.compile(r"FROM (\w+)_raw\b")
_CURRENT = r"FROM (SELECT item FROM \1_raw WHERE change IS DISTINCT FROM 'before') \1_now"


@dataclass(frozen=True, slots=True)
class Run:
    """Export to reconcile, and the time up to which the run compares facts.

    Facts after *until_ms* are not compared, because an export may split a transaction. With a
    *base*, the export contains only changes to the rows in that base database.
    """

    run_id: str
    exported_at_ms: int
    moving_ms: int = MOVING_MS
    has_receipts: bool = True
    base: str = ""
    alone_fen: int = 10**17
    """Fen that all operators together may move per UTC day without approval; see `ApprovalFen`."""

    @property
    def until_ms(self) -> int:
        """Return the time after which facts are left to the next run."""
        return self.exported_at_ms - self.moving_ms

    @property
    def values(self) -> dict[str, int | str]:
        """Return the values to which statements refer by name."""
        return {
            "until_ms": self.until_ms,
            "now_ms": self.exported_at_ms,
            "late_ms": LATE_AFTER_MS,
            "late_outside_ms": GIVEN_UP_AFTER_MS,
            "horizon_ms": QUERY_HORIZON_MS,
            "clocks_ms": CLOCKS_DIFFER_MS,
            "window_ms": WINDOW_AGE_MAX_MS,
            "payment_life_ms": PAYMENT_LIFE_MS,
            "watched_ms": WATCHED_MS,
            "fen_max": FEN_MAX,
            "alone_fen": self.alone_fen,
            "shard_max": settings.work_shards - 1,
            "longest_ms": START_AHEAD_MS_MAX + LIFE_S_MAX * 1000,
            "has_receipts": int(self.has_receipts),
            # Limits do not read daily sums from before this day.
            "first_day": statement_day(self.exported_at_ms - 3 * DAY_MS),
            # A gradual deployment may send packets before it starts the log.
            "demanded_after_ms": 3_600_000,
            "audited_ms": AUDITED_MS,
            "audits_max": AUDITS_MAX,
            "dormant_ms": DORMANT_MS,
            # Run ids are random, so an attacker cannot predict which packets and draws are audited.
            "letter": _LETTERS[int(self.run_id[:2], 16) % len(_LETTERS)],
            "place": 1 + int(self.run_id[:2], 16) % 12,
            **{name: ", ".join(f"'{word}'" for word in sorted(of)) for name, of in _WORDS.items()},
        }


@cache
def texts(file: str) -> dict[str, str]:
    """Return a file's statements, keyed by headers such as "check_entries I1"."""
    sections = re.split(
        r"^-- (.+)\n", (_SQL / f"{file}.sql").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    return {name: text.strip() for name, text in zip(sections[1::2], sections[2::2], strict=True)}


@cache
def tables() -> list[str]:
    """Return the tables that a run exports."""
    return list(attributes(Run("00", 0)))


@cache
def rules() -> dict[str, str]:
    """Return the rule of each check."""
    return dict(header.split(" ") for file in FAMILIES for header in texts(file))


def rows(run: Run) -> dict[str, str]:
    """Return the queries that make exported rows typed, keyed by the table that they fill."""
    return {name: expanded(_RAW.sub(_CURRENT, text), run) for name, text in texts("rows").items()}


def checks(run: Run) -> dict[str, str]:
    """Return each check's query, which selects an item's subject, what, expected, and actual."""
    return {
        header.split(" ")[0]: expanded(text, run)
        for file in FAMILIES
        for header, text in texts(file).items()
    }


def file_columns(run: Run) -> dict[str, dict[str, Fields]]:
    """Return the columns of the exported files, keyed by the table that reads them."""
    if not run.base:
        return {f"{name}_export": {"Item": kinds} for name, kinds in attributes(run).items()}
    return {
        f"{name}_changes": {"Metadata": _WRITTEN, "Keys": _KEYS, "NewImage": kinds}
        for name, kinds in attributes(run).items()
    }


def external(name: str, columns: Mapping[str, Fields], location: str) -> str:
    """Return the statement that makes an export's files queryable.

    Names are case-sensitive: otherwise, if two names differed only in case, the last value would
    win. Hive's column names are lowercase, so every name with capitals gets a mapping, at any
    depth.
    """
    structs, names = list[str](), {kind.upper() for kind in _KINDS.values()}
    for column, kinds in columns.items():
        fields = ",".join(f"`{key.lower()}`:struct<`{kind}`:string>" for key, kind in kinds.items())
        structs.append(f"`{column.lower()}` struct<{fields}>")
        names |= {column, *kinds}
    renamed = [
        "'case.insensitive'='FALSE'",
        *(f"'mapping.{each.lower()}'='{each}'" for each in sorted(names) if each != each.lower()),
    ]
    return (
        f"CREATE EXTERNAL TABLE {name} ({', '.join(structs)})"
        " ROW FORMAT SERDE 'org.openx.data.jsonserde.JsonSerDe'"
        f" WITH SERDEPROPERTIES ({', '.join(renamed)}) LOCATION '{location}'"
    )


def images(run: Run) -> dict[str, str]:
    """Return the queries for all rows as of the export, keyed by the table that they fill.

    With a base, the queries update the base's rows: the last image of a key wins, in whatever file
    it is, and a deleted row has no image. They also keep a changed row's base version as "before".
    """
    if not run.base:
        return {
            f"{name}_raw": f"SELECT item, CAST(NULL AS varchar) AS change FROM {name}_export"  # noqa: S608
            for name in tables()
        }
    key = "{0}.pk.s AS pk, COALESCE({0}.sk.s, '') AS sk"
    last = "PARTITION BY keys.pk.s, COALESCE(keys.sk.s, '') ORDER BY {} DESC".format(
        "TRY_CAST(metadata.writetimestampmicros.n AS decimal(18, 0))"
    )
    return {
        f"{name}_raw": (
            "WITH changed AS (SELECT item, pk, sk FROM (SELECT newimage AS item,"  # noqa: S608
            f" {key.format('keys')}, ROW_NUMBER() OVER ({last}) AS place FROM {name}_changes) c"
            " WHERE place = 1)"
            " SELECT b.item, CASE WHEN changed.pk IS NOT NULL THEN 'before' END AS change"
            f" FROM (SELECT item, {key.format('item')} FROM {run.base}.{name}_raw"
            " WHERE change IS DISTINCT FROM 'before') b"
            " LEFT JOIN changed ON changed.pk = b.pk AND changed.sk = b.sk"
            " UNION ALL SELECT item, 'after' FROM changed WHERE item.pk.s IS NOT NULL"
        )
        for name in tables()
    }


def exported(run: Run, item_counts: Mapping[str, int]) -> str:
    """Return the query that checks whether the engine reads every exported row of each table."""
    suffix, column = ("changes", "keys") if run.base else ("raw", "item")
    return " UNION ALL ".join(
        f"SELECT '{name}' AS subject, 'exported rows' AS what, {item_counts[name]} AS expected,"  # noqa: S608
        f" COUNT({column}.pk.s) AS actual FROM {name}_{suffix}"
        for name in tables()
    )


def filled(name: str, query: str) -> str:
    """Return the statement that fills a table from a query."""
    return f"CREATE TABLE {name} WITH (format = 'PARQUET') AS {query}"


def reports(run: Run, database: str) -> dict[str, str]:
    """Return the query of each report over a run's typed rows in *database*."""
    typed = re.compile(rf"(?<=FROM |JOIN )({'|'.join(texts('rows'))})\b")
    return {
        name: typed.sub(rf"{database}.\1", expanded(text, run))
        for name, text in texts("reports").items()
    }


def counted(check: str) -> str:
    """Return the query that counts the rows that a check read and found different."""
    return (
        "SELECT COUNT(*) AS examined, COALESCE(SUM(CASE WHEN expected IS DISTINCT FROM actual"  # noqa: S608
        f" THEN 1 ELSE 0 END), 0) AS differences FROM ({check}) c"
    )


def differing(check: str) -> str:
    """Return the query for all differences that a check finds."""
    return (
        "SELECT subject, what, CAST(expected AS varchar) AS expected, CAST(actual AS varchar) AS"  # noqa: S608
        f" actual FROM ({check}) c WHERE expected IS DISTINCT FROM actual"
    )


def confirmed(name: str, check: str, first: str) -> str:
    """Return the second comparison's query for a check that differed in the first comparison.

    The query reports all differences, even new ones, because an attacker may change a row between
    the two comparisons. But a count must also differ in *first*, the table of the first comparison,
    and KEPT also reports the rows in *first*.
    """
    if name == KEPT:
        return f"{differing(check)} UNION SELECT * FROM {first}"  # noqa: S608
    if name not in COUNTS:
        return differing(check)
    key = "COALESCE(subject, 'none') || ' ' || what"
    return f"SELECT * FROM ({differing(check)}) d WHERE {key} IN (SELECT {key} FROM {first})"  # noqa: S608


def shown(table: str, limit: int = FOUND_MAX) -> str:
    """Return the query for the first *limit* differences in *table*."""
    return f"SELECT * FROM {table} ORDER BY subject, what LIMIT {limit}"  # noqa: S608


def expanded(text: str, run: Run) -> str:
    """Return a statement with its abbreviations expanded."""
    text = re.sub(r"\byear_of\((\w+)\)", lambda matched: _year_of(matched[1], run), text)
    text = re.sub(r"\bday_of\(([\w.]+|MIN\(\w+\))\)", lambda matched: _day_of(matched[1]), text)
    text = re.sub(r"\bcode_of\((\w+)\)", lambda matched: _code_of(matched[1]), text)
    text = re.sub(r"\bkept\((\w+): ([\w ]+)\)", lambda matched: _kept(run, *matched.groups()), text)
    text = _each_year(text, run)
    text = _FIELD.sub(lambda matched: _field(*matched.groups()), text)
    return re.sub(r"(?<=[ ('+*-]):([a-z_]+)", lambda matched: str(run.values[matched[1]]), text)


def attributes(run: Run) -> dict[str, Fields]:
    """Return the exported attributes that statements read, with their types, keyed by table."""
    columns: dict[str, Fields] = {}
    for text in texts("rows").values():
        if table := _RAW.search(text):
            fields = _FIELD.findall(_each_year(text, run))
            kinds = columns.setdefault(table[1], dict(_KEYS))
            kinds |= {name: _KINDS[kind] for kind, name in fields}
    return columns


def _kept(run: Run, table: str, names: str) -> str:
    """Return the query for changed and removed rows, with the changed attributes among *names*."""
    kinds = attributes(run)[table]
    changed = " || ".join(
        f"CASE WHEN b.item.{name}.{kinds[name]} IS NOT NULL AND b.item.{name}.{kinds[name]}"
        f" IS DISTINCT FROM a.item.{name}.{kinds[name]} THEN ' {name}' ELSE '' END"
        for name in names.split()
    )
    rows = f"(SELECT item, item.pk.s AS pk, COALESCE(item.sk.s, '') AS sk FROM {table}_raw WHERE change = '{{}}')"  # noqa: E501, S608
    return (
        f"SELECT b.pk || ' ' || b.sk AS subject, 'attributes that changed' AS what, '' AS expected,"  # noqa: S608
        f" {changed} AS actual FROM {rows.format('before')} b LEFT JOIN {rows.format('after')} a"
        " ON a.pk = b.pk AND a.sk = b.sk"
    )


def _field(kind: str, name: str) -> str:
    if kind == "flag":  # A value of another type still counts as an existing flag.
        return f"CASE WHEN item.{name} IS NOT NULL THEN COALESCE(item.{name}.bool, 'other') END"
    if kind == "text":
        return f"item.{name}.s"
    # A fraction is not an amount and must not be rounded; a sum of longer numbers would overflow.
    number = f"item.{name}.n"
    is_number = f"{number} NOT LIKE '%.%' AND length({number}) <= 16"
    return f"CASE WHEN {is_number} THEN TRY_CAST({number} AS decimal(18, 0)) END"


def _years(run: Run) -> range:
    return range(_FIRST_YEAR, datetime.fromtimestamp(run.exported_at_ms / 1000, UTC).year + 2)


def _each_year(text: str, run: Run) -> str:
    return re.sub(
        r"^.*:year.*$",
        lambda line: "\n".join(line[0].replace(":year", str(year)) for year in _years(run)),
        text,
        flags=re.MULTILINE,
    )


def _code_of(column: str) -> str:
    # The engines share no hash function, so weight each letter by its position.
    letters = (
        f"strpos('{_LETTERS}', substr({column}, {place}, 1)) * {pow(7, place, 9973)}"
        for place in range(1, _CODED + 1)
    )
    return f"({' + '.join(letters)})"


def _day_of(column: str) -> str:
    # The engines divide integers differently, so multiply doubles instead.
    local = f"({column} + {BEIJING_MS})"
    days = f"CAST({local} - {local} % {DAY_MS} AS double) * {1 / DAY_MS:.24f}"
    return (
        f"CAST(CAST(DATE '1970-01-01' + INTERVAL '1' DAY * CAST(ROUND({days}) AS integer)"
        " AS date) AS varchar)"
    )


def _year_of(column: str, run: Run) -> str:
    def start_ms(year: int) -> int:
        return int(datetime(year, 1, 1, tzinfo=UTC).timestamp() * 1000)

    cases = (
        f"WHEN {column} >= {start_ms(year)} AND {column} < {start_ms(year + 1)} THEN {year}"
        for year in _years(run)
    )
    return f"CASE {' '.join(cases)} END"

"""Incremental exports: when a run uses one, and whether its rows equal those of a full export."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import pytest

from local import warehouse
from local.warehouse import Duck, Rows, change, export, export_changes, write_files
from redpacket.platform.errors import Unavailable
from redpacket.reconciliation.use_cases.runs import (
    EXPORTED,
    FULL_AFTER_MS,
    plan_export,
    read_sums,
)
from redpacket.reconciliation.use_cases.statements import (
    DAY_MS,
    Run,
    counted,
    exported,
    external,
    file_columns,
    images,
    tables,
)

NOW_MS = 1_795_000_000_000
MINUTE_MS = 60_000
LAST_MS = NOW_MS - DAY_MS + MINUTE_MS
WINDOW_MIN_MS = 15 * MINUTE_MS

TABLE = "accounts"
KEYS = [("user:ann", "balance"), ("user:ann", "entry#1"), ("user:bob", "balance"), ("log", "")]
Write: TypeAlias = "tuple[tuple[str, str], dict[str, Any] | None]"


def _before(**changes: Any) -> dict[str, Any]:
    """Return a valid run's result, with *changes* to the result or to its export."""
    layout = plan_export(LAST_MS, {}, window_min_ms=0)["layout"]
    exported = {"exported_at_ms": LAST_MS, "full_at_ms": LAST_MS - DAY_MS, "layout": layout}
    result: dict[str, Any] = {"database": "last", "differences": [], "export": exported}
    for name, value in changes.items():
        (result if name in result else exported)[name] = value
    return result


@pytest.mark.parametrize(
    ("before", "at_ms"),
    [
        pytest.param(_before(), NOW_MS, id="a night later"),
        pytest.param(_before(exported_at_ms=NOW_MS - WINDOW_MIN_MS), NOW_MS, id="shortest window"),
        pytest.param(
            _before(exported_at_ms=NOW_MS - DAY_MS - MINUTE_MS), NOW_MS - MINUTE_MS, id="a late run"
        ),
        pytest.param(_before(exported_at_ms=NOW_MS - WINDOW_MIN_MS + 1), None, id="short window"),
        pytest.param(_before(exported_at_ms=NOW_MS - 2 * DAY_MS), None, id="a night was missed"),
        pytest.param(_before(exported_at_ms=NOW_MS + 1), None, id="a run of the future"),
        pytest.param(_before(full_at_ms=NOW_MS - FULL_AFTER_MS), None, id="a week later"),
        pytest.param(_before(layout="other"), None, id="other attributes"),
        pytest.param(_before(differences=[{"rule": "I1"}]), None, id="differences"),
        pytest.param({}, None, id="the first run"),
        pytest.param({**_before(), "export": {}}, None, id="a run of an earlier release"),
    ],
)
def test_a_run_exports_changes_if_it_has_a_base_and_otherwise_all_rows(
    before: dict[str, Any], at_ms: int | None
) -> None:
    planned = plan_export(NOW_MS, before, window_min_ms=WINDOW_MIN_MS)

    if at_ms is None:
        assert (planned["base"], planned["full_at_ms"]) == ("", NOW_MS)
        assert planned["exported_at_ms"] == NOW_MS
    else:
        assert (planned["base"], planned["exported_at_ms"]) == ("last", at_ms)
        # The increment leaves no gap.
        assert planned["since_ms"] == before["export"]["exported_at_ms"]
        assert planned["full_at_ms"] == before["export"]["full_at_ms"]


def test_a_second_check_builds_on_the_differences_of_the_first() -> None:
    first = _before(differences=[{"rule": "I1"}])

    planned = plan_export(NOW_MS, first, window_min_ms=WINDOW_MIN_MS, is_second=True)

    assert planned["base"] == "last"


# ---- rows


def _history(random: Random) -> list[Write]:
    """Return writes of some rows: new rows, changes, reverted changes, and deletions."""
    return [
        (key, random.choice([None, *(_row(key, fen) for fen in (1, 2))]))
        for key in random.choices(KEYS, k=random.randint(1, 25))
    ]


def _row(key: tuple[str, str], fen: int) -> dict[str, Any]:
    names = zip(("pk", "sk"), key, strict=True)
    keys = {name: {"S": text} for name, text in names if text}
    return {**keys, "balance_fen": {"N": str(fen)}}


def _at(writes: list[Write]) -> Rows:
    last = dict(writes)
    return {key: row for key, row in last.items() if row is not None}


def _export_writes(folder: Path, random: Random, before: Rows, writes: list[Write]) -> None:
    """Write an increment in any order over several files. A key has some of its writes or, as in
    DynamoDB, only the last one. A row that was created and deleted may have none.
    """
    first_us = random.randint(1, 9) * 10**14
    last = {key: number for number, (key, _) in enumerate(writes)}
    left_out = {key for key in last if key not in {*before, *_at(writes)} and random.random() < 0.5}
    records = [
        change(key, row, first_us + number)
        for number, (key, row) in enumerate(writes)
        if key not in left_out and (number == last[key] or random.random() < 0.5)
    ]
    random.shuffle(records)
    write_files(folder, records, {}, per_file=random.randint(1, 4))


def _differing(folder: Path, seed: int) -> set[str]:
    """Return the rows in which a full export and its chain of increments differ."""
    random = Random(seed)
    nights = [_history(random) for _ in range(3)]
    whole = len(nights)
    export(folder / "0" / TABLE, _at(nights[0]).values())
    for number, writes in enumerate(nights[1:], 1):
        before = _at(list(chain(*nights[:number])))
        _export_writes(folder / str(number) / TABLE, random, before, writes)
    export(folder / str(whole) / TABLE, _at(list(chain(*nights))).values())
    duck: Duck | None = None
    current = "change IS DISTINCT FROM 'before'"
    differing: list[set[str]] = []
    for number, base in ((0, ""), (1, "look_0"), (2, "look_1"), (whole, "")):
        run, place = Run("00", NOW_MS, base=base), folder / str(number)
        for name in set(tables()) - {TABLE}:
            export(place / name, [])
        duck = Duck(place, run, f"look_{number}", duck)
        for name, query in vars(warehouse)["images"](run).items():
            duck.rows(f"CREATE TABLE {name} AS {query}")
        rows = duck.rows(f"SELECT CAST(item AS varchar) FROM {TABLE}_raw WHERE {current}")  # noqa: S608
        differing.append({str(key) for (key,) in rows})
        assert len(differing[-1]) == len(rows), "a row twice"
    return differing[-1] ^ differing[-2]


@pytest.mark.parametrize("base", ["", "look_0"])
def test_a_run_fails_unless_the_engine_reads_every_exported_row(tmp_path: Path, base: str) -> None:
    full = Run("00", NOW_MS)
    counts = {name: export(tmp_path / "0" / name, []) for name in tables()}
    run, duck = full, Duck(tmp_path / "0", full, "look_0").type_rows(full)
    if base:
        run = Run("00", NOW_MS, base=base)
        rows = {key: _row(key, 1) for key in KEYS}
        counts = {
            name: export_changes(tmp_path / "1" / name, {}, rows if name == TABLE else {})
            for name in tables()
        }
        assert counts[TABLE] == len(KEYS)
        duck = Duck(tmp_path / "1", run, "look_1", duck).type_rows(run)

    def read(item_counts: dict[str, int]) -> dict[str, tuple[int, int]]:
        return read_sums({EXPORTED: duck.rows(counted(exported(run, item_counts)))[0]})

    assert read(counts) == {}
    with pytest.raises(Unavailable, match="of 1 tables"):
        read({**counts, TABLE: counts[TABLE] + 1})


def _read(statement: str, line: Any, path: str) -> Any:
    """Read a value of a line as Trino's OpenX reader does, at any depth. If case is ignored, the
    last of two equal names counts.
    """
    properties = dict(re.findall(r"'([\w.]+)'='(\w+)'", statement))
    is_exact = properties["case.insensitive"] == "FALSE"
    for field in path.split("."):
        name = properties.get(f"mapping.{field}", field)
        named = {key if is_exact else key.lower(): value for key, value in (line or {}).items()}
        line = named.get(name if is_exact else name.lower())
    return line


@pytest.mark.parametrize("base", ["", "look_0"])
def test_a_second_name_that_differs_in_case_shadows_no_attribute(base: str) -> None:
    row = {"sk": {"S": "balance"}, "balance_fen": {"N": "5"}, "is_for_campaigns": {"BOOL": True}}
    shadows = {"Balance_fen": {"N": "1"}, "s\N{KELVIN SIGN}": {"S": "x"}, "SK": {"S": "x"}}
    columns = file_columns(Run("00", NOW_MS, base=base))
    name, column = (f"{TABLE}_changes", "newimage") if base else (f"{TABLE}_export", "item")
    (written,) = [each for each in columns[name] if each.lower() == column]

    statement = external(name, columns[name], "s3://bucket/")

    line = {written: {**row, **shadows}, "Metadata": {"WriteTimestampMicros": {"N": "7"}}}
    paths = ("sk.s", "balance_fen.n", "is_for_campaigns.bool")
    assert [_read(statement, line, f"{column}.{path}") for path in paths] == ["balance", "5", True]
    if base:
        assert _read(statement, line, "metadata.writetimestampmicros.n") == "7"
    with_any_case = statement.replace("'FALSE'", "'TRUE'")
    assert _read(with_any_case, line, f"{column}.balance_fen.n") == "1"


def test_a_row_without_a_readable_key_fails_the_run(tmp_path: Path) -> None:
    full = Run("00", NOW_MS)
    for name in tables():
        export(tmp_path / name, [{"PK": {"S": "user:ann"}}] if name == TABLE else [])
    duck = Duck(tmp_path, full).type_rows(full)
    counts = {name: int(name == TABLE) for name in tables()}

    with pytest.raises(Unavailable, match="of 1 tables"):
        read_sums({EXPORTED: duck.rows(counted(exported(full, counts)))[0]})


@pytest.mark.parametrize("seed", range(12))
def test_a_base_and_its_increments_have_the_rows_of_a_full_export(
    tmp_path: Path, seed: int
) -> None:
    assert _differing(tmp_path, seed) == set()


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        pytest.param("FROM accounts_changes", "{} WHERE newimage.pk.s IS NOT NULL", id="deletions"),
        pytest.param("DESC", "ASC", id="the first write"),
        pytest.param(
            "ORDER BY TRY_CAST(metadata.writetimestampmicros.n AS decimal(18, 0)) DESC",
            "",
            id="any write",
        ),
        pytest.param("WHEN changed.pk IS NOT NULL", "WHEN false", id="changed rows of the base"),
        pytest.param(" WHERE change IS DISTINCT FROM 'before'", "", id="rows of the past"),
        pytest.param("AND changed.sk = b.sk", "", id="a part of the key"),
    ],
)
def test_a_reader_that_ignores_a_part_of_an_increment_is_detected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, right: str, wrong: str
) -> None:
    def naive(run: Run) -> dict[str, str]:
        texts = images(run)
        return {name: text.replace(right, wrong.format(right)) for name, text in texts.items()}

    assert right in images(Run("00", NOW_MS, base="base"))[f"{TABLE}_raw"]
    monkeypatch.setattr(warehouse, "images", naive)

    def is_seen(seed: int) -> bool:
        try:
            return bool(_differing(tmp_path / str(seed), seed))
        except AssertionError:
            return True

    assert any(is_seen(seed) for seed in range(12))

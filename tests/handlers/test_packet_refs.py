"""Packet references for operators: a reference never allows a claim, and it allows an early end
only to operators with the permission.
"""

import json
from typing import Any

import httpx
import pytest

from redpacket.packets.api.packet_refs import packet_ref, without_ids
from redpacket.platform.http.request import HttpRequest
from testing.builders import a_packet_id
from testing.in_memory_system import InMemorySystem
from testing.platform.users import HttpUser
from tests.handlers.conftest import MakeUser

RAIN = {"kind": "equal", "total_fen": 600, "count": 2, "campaign_id": "gala"}


@pytest.fixture
def auditor(a_user: MakeUser) -> HttpUser:
    return a_user("auditor", scope="hongbao/audit")


@pytest.fixture
def rain(a_user: MakeUser, system: InMemorySystem) -> str:
    """Return the id of a campaign's packet."""
    boss, now_ms = a_user("boss", funds_fen=1_000, scope="hongbao/admin"), system.clock.now_ms()
    plan = {"title": "Gala", "starts_at_ms": now_ms - 1, "ends_at_ms": now_ms + 10**7}
    plan |= {"budget_fen": 1_000, "status": "on"}
    assert boss.http.put("/admin/campaigns/gala", json=plan).is_success
    return str(boss.post("/admin/packets", RAIN).json()["packet_id"])


def _listed(user: HttpUser, **query: str) -> dict[str, str | None]:
    answer = user.http.get("/admin/packets", params={"campaign_id": "gala", **query})
    (row,) = answer.json()["items"]
    return dict(row)


def test_an_auditor_reads_about_an_open_packet_and_cannot_claim_from_it(
    auditor: HttpUser, rain: str
) -> None:
    row = _listed(auditor)
    ref = str(row["packet_ref"])

    grab = auditor.http.post(f"/packets/{ref}/grab", json={})

    assert (row["packet_id"], rain in json.dumps(row)) == (None, False)
    assert grab.status_code == httpx.codes.NOT_FOUND
    assert auditor.http.get(f"/packets/{ref}/feed").status_code == httpx.codes.NOT_FOUND


def test_a_reference_names_the_packet_in_every_route_of_operators(
    auditor: HttpUser, operator: HttpUser, rain: str
) -> None:
    ref = _listed(auditor)["packet_ref"]

    reads = [
        auditor.http.get(f"/admin/packets/{ref}/{part}") for part in ("audit", "claims", "sharers")
    ]
    end = operator.http.post(f"/admin/packets/{ref}/end", json={"reason": "sent twice"})

    assert [read.status_code for read in reads] == [httpx.codes.OK] * 3
    assert end.json()["packet_id"] == rain
    # The packet has ended, so its id allows no claim and is visible.
    assert _listed(auditor)["packet_id"] == rain


def test_operators_with_permission_see_the_id_and_the_same_reference(
    auditor: HttpUser, operator: HttpUser, rain: str
) -> None:
    row = _listed(operator)

    assert row["packet_id"] == rain
    assert row["packet_ref"] == _listed(auditor)["packet_ref"]


def test_a_list_shows_the_ids_of_packets_that_the_operator_can_end(
    a_user: MakeUser, operator: HttpUser, rain: str
) -> None:
    private = str(a_user("alice", funds_fen=5_000).send().json()["packet_id"])
    scopes = ("operate", "treasury", "audit", "treasury hongbao/audit", "operate hongbao/treasury")
    readers = {scope: a_user("reader", scope=f"hongbao/{scope}") for scope in scopes}

    shown = {scope: _open_ids(reader) for scope, reader in readers.items()}

    nothing, campaigns = {None}, {None, rain}
    assert _open_ids(operator) == {private, rain}
    assert shown == {
        "operate": campaigns,
        "treasury": nothing,
        "audit": nothing,
        "treasury hongbao/audit": nothing,
        "operate hongbao/treasury": campaigns,
    }


def _open_ids(user: HttpUser) -> set[str | None]:
    items = user.http.get("/admin/packets").json()["items"]
    return {row["packet_id"] for row in items if row["status"] == "open"}


def test_the_audit_log_and_an_audit_show_no_packet_id_to_readers(
    auditor: HttpUser, operator: HttpUser, rain: str
) -> None:
    ref = str(_listed(auditor)["packet_ref"])
    operator.http.post(f"/admin/packets/{rain}/end", json={"reason": f"as {rain} was"})

    told = auditor.http.get("/admin/journal").text
    everything = operator.http.get("/admin/journal").text

    assert rain in everything
    assert rain not in told
    assert f"ended packet {ref} of campaign gala" in told


def test_a_lookup_returns_the_id_and_leaves_a_row_in_the_audit_log(
    auditor: HttpUser, operator: HttpUser, rain: str
) -> None:
    ref = _listed(auditor)["packet_ref"]

    answer = auditor.http.get("/admin/packets", params={"packet": ref})

    (row,) = answer.json()["items"]
    journal = operator.http.get("/admin/journal", params={"subject": "campaign:gala"}).json()
    (noted,) = (each for each in journal["items"] if each["action"] == "packet_looked_up")
    assert row["packet_id"] == rain
    assert noted["operator"]["id"] == auditor.user_id
    assert noted["summary"].endswith(f"looked up the id of packet {rain} of campaign gala")


def test_an_empty_lookup_is_refused_and_leaves_no_row(
    auditor: HttpUser, operator: HttpUser, rain: str
) -> None:
    ref = str(_listed(auditor)["packet_ref"])
    before = operator.http.get("/admin/journal").text

    for text in (f"{ref[:-2]}AA", "A" * 64, rain[::-1], "x"):
        answer = auditor.http.get("/admin/packets", params={"packet": text})
        assert answer.status_code == httpx.codes.NOT_FOUND

    assert operator.http.get("/admin/journal").text == before


def test_the_cursor_of_the_next_page_has_no_packet_id(
    auditor: HttpUser, a_user: MakeUser, rain: str
) -> None:
    second = a_user("boss", scope="hongbao/admin").post("/admin/packets", RAIN | {"total_fen": 400})
    query = {"campaign_id": "gala", "limit": "1"}

    page = auditor.http.get("/admin/packets", params=query).json()
    rest = auditor.http.get("/admin/packets", params={**query, "cursor": page["next"]}).json()
    alien = auditor.http.get("/admin/packets", params={**query, "cursor": rain})

    assert rain not in page["next"]
    assert second.json()["packet_id"] not in page["next"]
    assert (len(page["items"]), len(rest["items"]), rest["next"]) == (1, 1, None)
    assert alien.status_code == httpx.codes.UNPROCESSABLE_ENTITY


def test_texts_show_references_to_readers_and_keep_other_words(system: InMemorySystem) -> None:  # noqa: ARG001 - it has the keys
    packet_id, other = a_packet_id(2), "x" * 31
    texts = [f"packet {packet_id}", f"settle#{packet_id}#3", json.dumps([[packet_id, 5]]), other]
    view = {"differences": [{"subject": text, "actual": 1} for text in texts], "step": None}

    def shown(scope: str) -> str:
        request = HttpRequest({}, {}, {}, {"scope": f"openid {scope}"}, b"")
        return json.dumps(without_ids(request, view))

    read = shown("hongbao/audit")
    assert shown("hongbao/admin") == json.dumps(view)
    assert shown("hongbao/audit hongbao/operate") == shown("hongbao/treasury") == read
    assert packet_id not in read
    assert (read.count(packet_ref(packet_id)), other in read) == (3, True)


@pytest.mark.parametrize("lost", [{"changes": None}, {"kind": {"S": "of_a_newer_version"}}])
def test_an_unreadable_row_hides_no_other_one(
    system: InMemorySystem, operator: HttpUser, rain: str, lost: dict[str, Any]
) -> None:
    operator.http.post(f"/admin/packets/{rain}/end", json={"reason": "sent twice"})
    table = system.dynamo.tables["journal"]
    (key,) = (each for each, row in table.items() if row["kind"]["S"] == "packet_ended")
    row = {**table[key], **lost}
    table[key] = {name: value for name, value in row.items() if value is not None}

    items = operator.http.get("/admin/journal").json()["items"]

    told = {each["action"]: each["changes"] for each in items}
    assert told.keys() >= {"deposit", "packet_sent", "unreadable"}
    assert "packet_ended" not in told
    assert told["unreadable"] == []

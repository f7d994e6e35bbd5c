"""Uploaded pictures over HTTP: users can use only their own, and operators can remove them."""

from base64 import b64encode

import httpx
import pytest

from redpacket.packets.model.picture import PICTURE_BYTES_MAX
from redpacket.platform.errors import Unavailable
from testing.builders import NOW_MS
from testing.in_memory_system import InMemorySystem
from testing.pictures import jpeg, png, png_chunk, webp
from testing.platform.users import HttpUser
from tests.handlers.conftest import MakeUser


def _upload(user: HttpUser, content: bytes = webp()) -> httpx.Response:
    return user.post("/me/pictures", {"picture": b64encode(content).decode()})


@pytest.fixture
def cover_url(sender: HttpUser) -> str:
    return str(_upload(sender).json()["cover_url"])


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (webp(), "image/webp"),
        (jpeg(), "image/jpeg"),
        (png(1, 1, png_chunk(b"bKGD", bytes(PICTURE_BYTES_MAX - len(png()) - 12))), "image/png"),
    ],
)
def test_all_users_see_a_picture_under_its_type_alone(
    sender: HttpUser, content: bytes, media_type: str
) -> None:
    shown = sender.http.get(_upload(sender, content).json()["cover_url"])

    assert (shown.content, shown.headers["content-type"]) == (content, media_type)
    assert shown.headers["x-content-type-options"] == "nosniff"
    assert shown.headers["content-security-policy"].startswith("default-src 'none'")
    assert shown.headers["cache-control"] == "public, max-age=3600"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"<svg onload='x'/>", "invalid_request"),
        (png(16_000, 16_000), "invalid_request"),
        (b"\xff\xd8\xff".ljust(PICTURE_BYTES_MAX + 1), "invalid_request"),
        (b"\xff\xd8\xff".ljust(PICTURE_BYTES_MAX + 4096), "payload_too_large"),
    ],
)
def test_a_file_that_is_not_a_picture_or_too_large_is_refused(
    sender: HttpUser, content: bytes, code: str
) -> None:
    assert _upload(sender, content).json()["code"] == code


def test_a_packet_keeps_the_picture_of_its_sender(
    sender: HttpUser, a_user: MakeUser, system: InMemorySystem, cover_url: str
) -> None:
    assert not system.pictures.kept

    sent = sender.send(cover_url=cover_url).json()

    assert a_user().record(sent["packet_id"])["cover_url"] == f"https://share.example{cover_url}"
    assert system.pictures.kept == {cover_url.removeprefix("/pictures/")}


def test_a_refused_send_keeps_no_picture(a_user: MakeUser, system: InMemorySystem) -> None:
    poor = a_user()
    cover_url = _upload(poor, jpeg()).json()["cover_url"]

    refused = poor.send(cover_url=cover_url)

    assert refused.json()["code"] == "insufficient_funds"
    assert not system.pictures.kept


@pytest.mark.parametrize("completed_by", ["repeat", "sweep"])
def test_a_picture_that_a_send_failed_to_keep_is_kept_later(
    sender: HttpUser,
    system: InMemorySystem,
    cover_url: str,
    monkeypatch: pytest.MonkeyPatch,
    completed_by: str,
) -> None:
    def down(_: str) -> None:
        raise Unavailable("the bucket of pictures")

    with monkeypatch.context() as outage:
        outage.setattr(system.pictures, "keep", down)
        sent = sender.send(key="once", cover_url=cover_url)
    assert (sent.status_code, system.pictures.kept) == (201, set())

    if completed_by == "repeat":
        assert sender.send(key="once", cover_url=cover_url).json() == sent.json()
    else:
        system.pass_time(61_000)
        system.sweep()

    assert system.pictures.kept == {cover_url.removeprefix("/pictures/")}


def test_another_user_cannot_send_with_it(a_user: MakeUser, cover_url: str) -> None:
    refused = a_user(funds_fen=10_000).send(cover_url=cover_url)

    assert refused.json()["code"] == "invalid_request"
    assert "cover_url" in refused.text


def test_a_url_does_not_give_access_to_the_picture_of_another_user(
    a_user: MakeUser, system: InMemorySystem, cover_url: str
) -> None:
    mallory = a_user(funds_fen=10_000)

    refused = mallory.send(cover_url=f"https://share.example{cover_url}")
    elsewhere = mallory.send(cover_url=f"https://images.example/any{cover_url}")

    assert refused.json()["code"] == "invalid_request"
    assert elsewhere.status_code == 201
    system.pass_time(61_000)
    system.sweep()
    assert not system.pictures.kept


def test_an_operator_removes_a_picture_and_a_repeated_send_still_succeeds(
    sender: HttpUser, operator: HttpUser, system: InMemorySystem, cover_url: str
) -> None:
    sent = sender.send(key="once", cover_url=cover_url)
    removed = operator.http.delete(f"/admin{cover_url}")

    assert removed.json()["user_token"] == sender.user_id
    assert sender.http.get(cover_url).json()["code"] == "picture_not_found"
    assert operator.http.delete(f"/admin{cover_url}").status_code == 404
    items = operator.http.get("/admin/journal").json()["items"]
    (noted,) = (item for item in items if item["action"] == "picture_removed")
    assert noted["subject"] == f"user:{sender.user_id}"
    assert sender.send(key="once", cover_url=cover_url).json() == sent.json()
    assert not system.pictures.kept
    assert sender.send(cover_url=cover_url).json()["code"] == "invalid_request"


def test_the_picture_of_a_prize_stays(
    sender: HttpUser, operator: HttpUser, system: InMemorySystem
) -> None:
    upload = {"picture": b64encode(jpeg()).decode()}
    assert sender.post("/admin/pictures", upload).json()["code"] == "forbidden"
    path = operator.post("/admin/pictures", upload).json()["cover_url"]
    items = operator.http.get("/admin/journal").json()["items"]
    (noted,) = (item for item in items if item["action"] == "picture_uploaded")
    assert noted["summary"] == f"operator uploaded picture {path.rpartition('/')[2]} for prizes"

    assert system.pictures.kept == {path.removeprefix("/pictures/")}
    assert sender.http.get(path).content == jpeg()
    prize = {"title": "Tea", "kind": "goods", "weight": 1, "total": 1, "image_url": path}
    campaign = {"title": "New Year", "starts_at_ms": 1, "ends_at_ms": 2 * NOW_MS, "status": "on"}
    assert operator.http.put("/admin/campaigns/tea", json=campaign).is_success
    assert (
        operator.http.put("/admin/campaigns/tea/prizes/tea", json=prize).json()["image_url"] == path
    )
    shown = sender.http.get("/campaigns/tea").json()["prizes"]
    assert [each["image_url"] for each in shown] == [path]
    assert operator.http.delete(f"/admin{path}").is_success


def test_an_avatar_is_a_seal_of_the_page_or_a_picture_of_its_owner(
    a_user: MakeUser, system: InMemorySystem
) -> None:
    user, other = a_user(), a_user()
    upload = {"picture": b64encode(webp()).decode(), "is_avatar": True}
    own, foreign = (each.post("/me/pictures", upload).json()["cover_url"] for each in (user, other))

    def edited(avatar_url: str) -> httpx.Response:
        return user.http.put("/me/profile", json={"nickname": "安", "avatar_url": avatar_url})

    seal, picture = edited("/seals/fu.svg").json(), edited(own).json()
    again = edited(seal["avatar_url"])

    assert seal["avatar_url"].endswith("/seals/fu.svg")
    assert picture["avatar_url"].endswith(own)
    assert again.json()["avatar_url"].endswith("/seals/fu.svg")
    # No lifecycle rule of the bucket deletes the picture, so the erasure must find it.
    assert own.removeprefix("/pictures/") in system.pictures.kept
    for refused in (foreign, "/covers/fu.svg", "/seals/../x", "https://elsewhere.example/a.png"):
        answer = edited(refused).json()
        assert (answer["code"], answer["errors"][0]["field"]) == ("invalid_request", "avatar_url")


def test_an_erasure_removes_the_picture_of_a_profile(a_user: MakeUser, operator: HttpUser) -> None:
    user = a_user()
    upload = {"picture": b64encode(webp()).decode(), "is_avatar": True}
    path = user.post("/me/pictures", upload).json()["cover_url"]
    assert user.http.put("/me/profile", json={"nickname": "安", "avatar_url": path}).is_success

    assert operator.http.delete(f"/admin/users/{user.host_id}").is_success

    assert user.http.get("/me").json()["avatar_url"] is None
    assert user.http.get(path).json()["code"] == "picture_not_found"

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jwt
import pytest

from local.issuer import Issuer
from local.issuer_keys import make
from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.model.provider import ExternalAccount
from redpacket.payments.token_issuer import (
    PUBLISHED_AHEAD_MS,
    TOKEN_LIFE_MS_MAX,
    IssuerKey,
    IssuerKeys,
    Rs256Tokens,
    issuer_files,
)
from redpacket.platform.user import HOST_ID

URL = "https://issuer.example/users"
NOW_MS = 1_790_000_000_000
LIFE_MS = 2 * 60 * 60 * 1_000
ALICE = ExternalAccount("1.sealed", "hash of alice")


@pytest.fixture(scope="module")
def first() -> IssuerKeys:
    return IssuerKeys.new(NOW_MS)


@pytest.fixture(scope="module")
def second_key() -> IssuerKey:
    return IssuerKey.new(NOW_MS + PUBLISHED_AHEAD_MS)


def _tokens(keys: IssuerKeys) -> Rs256Tokens:
    return Rs256Tokens(ProviderName.WECHAT, keys, url=URL, audience="redpacket", life_ms=LIFE_MS)


def _read(token: str, published: str) -> dict[str, Any]:
    kid = jwt.get_unverified_header(token)["kid"]
    key = jwt.PyJWKSet.from_json(published)[kid]
    # The token's times come from the tests' clock, so they are not compared with the real time.
    options: Any = {"verify_exp": False, "verify_iat": False}
    claims: dict[str, Any] = jwt.decode(
        token, key, algorithms=["RS256"], audience="redpacket", issuer=URL, options=options
    )
    return claims


def test_a_token_has_the_name_that_the_user_shares(first: IssuerKeys) -> None:
    named = replace(ALICE, nickname="微信小明", picture_url="https://pictures.example/1")

    token, _ = _tokens(first).issue(named, NOW_MS)

    claims = _read(token, issuer_files(URL, first)["jwks.json"])
    assert (claims["nickname"], claims["picture"]) == ("微信小明", "https://pictures.example/1")
    assert claims["sub"] == _tokens(first).subject_of(ALICE.name_hash)


def test_a_token_can_be_verified_with_the_published_keys(first: IssuerKeys) -> None:
    token, expires_at_ms = _tokens(first).issue(ALICE, NOW_MS)

    claims = _read(token, issuer_files(URL, first)["jwks.json"])

    # The token never gets a scope.
    assert set(claims) == {"iss", "aud", "sub", "iat", "exp"}
    assert claims["exp"] * 1_000 == expires_at_ms == NOW_MS + LIFE_MS


def test_a_subject_is_an_opaque_host_id(first: IssuerKeys) -> None:
    subject = _tokens(first).subject_of(ALICE.name_hash)

    assert HOST_ID.fullmatch(subject)
    # User ids are derived from the subject.
    assert subject.startswith("wechat|")
    assert subject == _tokens(IssuerKeys.of(first.text())).subject_of(ALICE.name_hash)
    assert ALICE.name_hash not in subject
    assert subject != _tokens(first).subject_of("hash of bob")
    assert subject != _tokens(IssuerKeys(first.keys, bytes(32))).subject_of(ALICE.name_hash)


def test_discovery_links_to_the_keys(first: IssuerKeys) -> None:
    files = issuer_files(URL, first)

    configuration = json.loads(files[".well-known/openid-configuration"])
    assert configuration["issuer"] == URL
    assert configuration["jwks_uri"] == f"{URL}/jwks.json"
    (key,) = json.loads(files["jwks.json"])["keys"]
    assert key["alg"] == "RS256"
    assert not {"d", "p", "q", "dp", "dq", "qi"} & set(key)


def test_a_new_key_is_published_three_hours_before_it_signs(
    first: IssuerKeys, second_key: IssuerKey
) -> None:
    rotated_at_ms = second_key.published_at_ms

    both = first.rotated(rotated_at_ms, second_key)

    assert {key["kid"] for key in both.jwks()["keys"]} == {first.keys[0].kid, second_key.kid}
    just_before = rotated_at_ms + PUBLISHED_AHEAD_MS - 1
    assert both.signing(rotated_at_ms) == both.signing(just_before) == first.keys[0]
    assert both.signing(just_before + 1) == second_key


def test_an_old_key_stays_as_long_as_its_tokens_can_live(
    first: IssuerKeys, second_key: IssuerKey
) -> None:
    both = first.rotated(second_key.published_at_ms, second_key)
    signs_at_ms = second_key.published_at_ms + PUBLISHED_AHEAD_MS
    third = IssuerKey("third", second_key.private_key, signs_at_ms + TOKEN_LIFE_MS_MAX)

    early = both.rotated(signs_at_ms + TOKEN_LIFE_MS_MAX - 1, third)
    late = both.rotated(signs_at_ms + TOKEN_LIFE_MS_MAX, third)

    assert [key.kid for key in early.keys] == [first.keys[0].kid, second_key.kid, "third"]
    assert [key.kid for key in late.keys] == [second_key.kid, "third"]
    assert late.signing(third.published_at_ms) == second_key


def test_frequent_rotations_never_drop_the_signing_key(
    first: IssuerKeys, second_key: IssuerKey
) -> None:
    keys, now_ms = first, NOW_MS
    for step in range(5):
        now_ms += 60_000
        keys = keys.rotated(now_ms, IssuerKey(f"{step}", second_key.private_key, now_ms))

    assert keys.signing(now_ms) == first.keys[0]
    assert len(keys.keys) == 6


def test_a_token_outlives_a_rotation(first: IssuerKeys, second_key: IssuerKey) -> None:
    token, _ = _tokens(first).issue(ALICE, second_key.published_at_ms)

    both = first.rotated(second_key.published_at_ms, second_key)

    assert _read(token, issuer_files(URL, both)["jwks.json"])


@pytest.mark.parametrize("life_ms", [0, -1, TOKEN_LIFE_MS_MAX + 1])
def test_no_token_outlives_the_publication_of_its_key(first: IssuerKeys, life_ms: int) -> None:
    with pytest.raises(ValueError, match="24 hours"):
        Rs256Tokens(ProviderName.WECHAT, first, url=URL, audience="redpacket", life_ms=life_ms)


def test_keys_are_not_printed(first: IssuerKeys) -> None:
    assert "PRIVATE" not in repr(first)
    assert repr(first.subject_key) not in repr(first)


def test_the_command_creates_keys_once_and_rotates_them(tmp_path: Path) -> None:
    keys_file, folder = tmp_path / "keys.json", tmp_path / "issuer"

    make(keys_file, folder, URL, now_ms=NOW_MS)
    made = keys_file.read_text()
    make(keys_file, folder, URL, now_ms=NOW_MS + 1)
    again = keys_file.read_text()
    make(keys_file, folder, URL, now_ms=NOW_MS + 2, rotates=True)

    assert made == again
    assert keys_file.stat().st_mode & 0o077 == 0
    rotated = IssuerKeys.of(keys_file.read_text())
    assert len(rotated.keys) == 2
    assert json.loads((folder / "jwks.json").read_text()) == rotated.jwks()


def test_the_development_issuer_publishes_them_with_its_own(tmp_path: Path) -> None:
    issuer = Issuer(tmp_path / "issuer.pem", "http://127.0.0.1/dev")
    alone = issuer.jwks()["keys"]

    make(tmp_path / "issuer.json", tmp_path / "issuer", "http://127.0.0.1/dev", now_ms=NOW_MS)

    (own,) = IssuerKeys.of((tmp_path / "issuer.json").read_text()).jwks()["keys"]
    assert issuer.jwks()["keys"] == [*alone, own]

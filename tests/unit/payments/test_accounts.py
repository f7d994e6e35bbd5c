import hmac
import json
from base64 import urlsafe_b64encode
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from hypothesis import given
from hypothesis import strategies as st

from redpacket.payments.model.provider import ExternalAccount
from redpacket.payments.sealed_accounts import AccountKeys, Accounts
from redpacket.platform.errors import InvariantViolated

HASH_KEY = bytes(range(32))
OLD, NEW = bytes(range(64)), bytes(range(64, 128))
KEYS = AccountKeys({"1": OLD}, HASH_KEY)
ROTATED = AccountKeys({"1": OLD, "2": NEW}, HASH_KEY)
TEXT, NEWER_TEXT = "a" * 64, "b" * 43
OPENID = "oLTPCuFqLz_UVHHD67rLX5BxXysI"


@given(name=st.text(min_size=1))
def test_a_sealed_name_opens_again(name: str) -> None:
    accounts = Accounts(KEYS, "wechat/wx1")

    account = accounts.seal(name, "alice")

    assert accounts.open(account) == name
    assert account.name_hash == accounts.hash_of(name)


def test_a_sealed_name_reveals_nothing() -> None:
    account = Accounts(KEYS, "wechat/wx1").seal(OPENID, "alice")

    assert OPENID not in repr(account) + account.sealed + account.name_hash
    assert account.sealed not in repr(account)


def test_equal_names_are_sealed_as_equal_texts() -> None:
    accounts = Accounts(KEYS, "wechat/wx1")

    assert accounts.seal(OPENID, "alice") == accounts.seal(OPENID, "alice")
    assert accounts.seal(OPENID, "alice") != accounts.seal(OPENID[:-1] + "J", "alice")


def test_another_context_has_other_names() -> None:
    first, other = Accounts(KEYS, "wechat/wx1"), Accounts(KEYS, "wechat/wx2")

    assert first.hash_of(OPENID) != other.hash_of(OPENID)
    with pytest.raises(InvariantViolated):
        other.open(first.seal(OPENID, "alice"))


def test_a_context_cannot_overlap_with_a_name() -> None:
    assert Accounts(KEYS, "ab").hash_of("c") != Accounts(KEYS, "a").hash_of("bc")


def test_after_a_rotation_old_accounts_open_and_new_ones_have_the_new_key() -> None:
    rotated = AccountKeys.of(json.dumps({"1": TEXT, "2": NEWER_TEXT}))
    texts = AccountKeys.of(json.dumps({"1": TEXT})), rotated
    for first, second in ((KEYS, ROTATED), texts):
        before, after = Accounts(first, "host"), Accounts(second, "host")
        old = before.seal(OPENID, "alice")

        new = after.seal(OPENID, "alice")

        assert after.open(old) == after.open(new) == OPENID
        assert new.sealed.startswith("2:")
        # The hash always uses the first key.
        assert new.name_hash == old.name_hash
        with pytest.raises(InvariantViolated):
            before.open(new)


@pytest.mark.parametrize(
    "sealed", ["", "1:", "1:AAAA", "9:AAAA", "no mark", "1:not base64!", "1:é"]
)
def test_a_text_sealed_elsewhere_does_not_open(sealed: str) -> None:
    accounts = Accounts(KEYS, "host")

    with pytest.raises(InvariantViolated) as raised:
        accounts.open(replace(accounts.seal(OPENID, "alice"), sealed=sealed))

    assert OPENID not in str(raised.value)


def test_a_seal_of_one_account_differs_from_that_of_another() -> None:
    accounts = Accounts(KEYS, "host")

    with pytest.raises(InvariantViolated):
        accounts.open(
            replace(accounts.seal("a", "alice"), sealed=accounts.seal("b", "alice").sealed)
        )


def test_a_seal_opens_for_its_owner_alone() -> None:
    accounts = Accounts(KEYS, "host")
    mallorys = accounts.seal("mallory's openid", "mallory")

    with pytest.raises(InvariantViolated):
        accounts.open(replace(mallorys, owner="alice"))

    assert accounts.open_text(mallorys.sealed, "") is None


def test_a_seal_of_an_earlier_version_opens_only_without_an_owner() -> None:
    accounts = Accounts(KEYS, "host")
    content = AESSIV(OLD).encrypt(OPENID.encode(), [b"host"])
    sealed = f"1.{urlsafe_b64encode(content).decode()}"
    account = ExternalAccount(sealed, accounts.hash_of(OPENID))

    assert accounts.open(account) == OPENID
    assert not account.has_owner
    with pytest.raises(InvariantViolated):
        accounts.open(replace(account, owner="alice"))


def test_keys_made_from_a_text_are_constant() -> None:
    keys = AccountKeys.of(json.dumps({"1": TEXT}))

    seal_key = hmac.digest(TEXT.encode(), b"redpacket/seal", "sha512")
    hash_key = hmac.digest(TEXT.encode(), b"redpacket/hash", "sha256")
    assert keys == AccountKeys({"1": seal_key}, hash_key)


@pytest.mark.parametrize("secret", [{}, [], {"1": TEXT, "2": "b" * 42}, {"1": [TEXT]}, TEXT])
def test_texts_that_cannot_be_keys_are_refused(secret: object) -> None:
    with pytest.raises(ValueError, match="43 characters") as raised:
        AccountKeys.of(json.dumps(secret))

    assert TEXT not in str(raised.value)


def test_keys_are_not_printed() -> None:
    assert repr(OLD) not in repr(ROTATED)
    assert repr(HASH_KEY) not in repr(ROTATED)

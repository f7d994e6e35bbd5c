"""User ids: permanent for a user, opaque, and specific to one deployment."""

import base64
import hmac
import string
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.places import ROOT
from local.user_ids import PUBLISHED_KEY, PUBLISHED_USER_IDS
from redpacket.platform.errors import Forbidden
from redpacket.platform.http import request as edge_request
from redpacket.platform.user import HOST_ID, UserIds, check_host_id

OTHER_KEY = "the key of another deployment, as long"
OTHER_USER_IDS = UserIds(OTHER_KEY)
HOST_IDS = st.from_regex(HOST_ID, fullmatch=True)


def test_an_id_is_a_keyed_hash_of_the_host_id_and_a_tag_of_that_hash() -> None:
    key = PUBLISHED_KEY.encode()
    digest = hmac.digest(key, b"user:100042", "sha256")
    head = base64.urlsafe_b64encode(digest[:12])
    tag = base64.urlsafe_b64encode(hmac.digest(key, b"tag:" + head, "sha256")[:6])

    assert PUBLISHED_USER_IDS.id_of("100042") == (head + tag).decode()


@given(HOST_IDS)
def test_ids_have_one_form_for_every_host_id(host_id: str) -> None:
    user_id = PUBLISHED_USER_IDS.id_of(host_id)

    assert len(user_id) == 24
    # Ids contain no comma, which separates recipients, and no special character of cache keys.
    assert set(user_id) <= set(string.ascii_letters + string.digits + "-_")
    assert user_id == UserIds(PUBLISHED_KEY).id_of(host_id)
    assert PUBLISHED_USER_IDS.has_made(user_id)


def test_consecutive_employee_numbers_have_unrelated_ids() -> None:
    ids = [PUBLISHED_USER_IDS.id_of(str(number)) for number in range(100_000, 110_000)]

    assert len({user_id[:8] for user_id in ids}) == len(ids)


def test_without_the_key_an_employee_number_cannot_be_derived_from_its_token() -> None:
    token = PUBLISHED_USER_IDS.id_of("100042")
    guessed_keys = ["", "0" * 43, OTHER_KEY, PUBLISHED_KEY[:-1] + "z", PUBLISHED_KEY + " "]

    for key in guessed_keys:
        for number in range(100_000, 100_100):
            guesses = {hmac.digest(key.encode(), text, "sha256")[:12] for text in _texts(number)}
            assert base64.urlsafe_b64decode(token)[:12] not in guesses


def _texts(number: int) -> list[bytes]:
    return [str(number).encode(), f"user:{number}".encode()]


@given(HOST_IDS)
def test_a_deployment_accepts_only_its_own_ids(host_id: str) -> None:
    ours, theirs = PUBLISHED_USER_IDS.id_of(host_id), OTHER_USER_IDS.id_of(host_id)

    assert ours[:16] != theirs[:16]
    assert not PUBLISHED_USER_IDS.has_made(theirs)
    assert not OTHER_USER_IDS.has_made(ours)


@given(HOST_IDS, st.integers(0, 23), st.sampled_from(string.ascii_letters + string.digits + "-_"))
def test_an_id_with_one_changed_character_is_refused(host_id: str, place: int, other: str) -> None:
    user_id = PUBLISHED_USER_IDS.id_of(host_id)
    changed = user_id[:place] + other + user_id[place + 1 :]

    assert PUBLISHED_USER_IDS.has_made(changed) == (changed == user_id)


def test_an_invented_id_is_refused() -> None:
    made_up = ("", "A" * 24, "A" * 23, "A" * 25, "阿" * 24, "A" * 23 + "\n")
    longer = (PUBLISHED_USER_IDS.id_of("ann") + tail for tail in ("\n", " ", "=", "A"))

    assert not any(map(PUBLISHED_USER_IDS.has_made, (*made_up, *longer)))


def test_a_malformed_key_is_refused_and_not_quoted() -> None:
    for key in ("", "short", "k" * 31, "钥" * 40):
        with pytest.raises(ValueError, match="at least 32 ASCII") as refused:
            UserIds(key)
        assert not key or key not in str(refused.value)


def test_a_request_names_its_user_by_the_id_and_not_by_the_subject() -> None:
    request = edge_request.HttpRequest({}, {}, {}, {"sub": "ann@example.com"}, b"")

    assert request.user.user_id == PUBLISHED_USER_IDS.id_of("ann@example.com")


def test_a_subject_of_another_form_is_not_a_user() -> None:
    for host_id in ("", " ", "a b", "a,b", "-a", "a" * 129, "阿明", "a\n"):
        with pytest.raises(Forbidden):
            check_host_id(host_id)


def test_an_operator_finds_the_id_of_a_user_by_the_commands_of_the_runbook() -> None:
    text = (ROOT / "docs" / "how-to" / "rotate-keys.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith(("hashed()", "HEAD="))]
    script = "\n".join([f"KEY={PUBLISHED_KEY}", *lines, 'printf %s "$USER_ID"'])

    run = ["bash", "-euc", script]
    completed = subprocess.run(run, capture_output=True, text=True, check=True)

    assert completed.stdout == PUBLISHED_USER_IDS.id_of("100042")

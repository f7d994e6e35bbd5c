"""Suite for users' accounts and consent, on the fake and on the emulator."""

import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import pytest

from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.dynamodb import keys as payment_keys
from redpacket.payments.dynamodb.authorizations import DynamoAuthorizations
from redpacket.payments.dynamodb.payees import REBOUND_WAIT_MS, DynamoPayees
from redpacket.payments.errors import OpenidInUse
from redpacket.payments.model.authorization import Authorization, AuthorizationStatus
from redpacket.payments.model.provider import ExternalAccount, Payee
from redpacket.platform.dynamodb.client import Dynamo, to_wire
from redpacket.platform.errors import RedPacketError
from testing.builders import NOW_MS, a_user_id
from testing.platform.fake_tables import TABLE_NAMES
from tests.contract.tables import KINDS, a_client

WECHAT = ProviderName.WECHAT


@dataclass
class Rows:
    """Adapters under test, and their client."""

    client: Any
    payees: DynamoPayees
    consents: DynamoAuthorizations

    def requested(self, user_id: str) -> Authorization:
        payee = self.payees.find(user_id, WECHAT)
        assert payee
        made = Authorization(
            number=f"au{secrets.token_hex(15)}",
            user_id=user_id,
            channel=WECHAT,
            account=payee.account,
            display_name="小明",
            asked_at_ms=NOW_MS,
        )
        assert self.consents.begin(made, payee)
        return made

    def waits(self, authorization: Authorization, until_ms: int) -> bool:
        return authorization.number in self.consents.list_waiting(WECHAT, until_ms, 10**4)

    def owner(self, account: ExternalAccount) -> str | None:
        key = payment_keys.outside_account(WECHAT, account.name_hash)
        row = Dynamo(lambda: self.client, TABLE_NAMES).get("payments", key)
        return str(row["user_id"]) if row and "user_id" in row else None

    def interposed(self, do: Callable[[], None]) -> DynamoPayees:
        """Return a repository that runs *do* just before its first transaction."""
        client, pending = self.client, [do]

        class Interposed:
            def __getattr__(self, name: str) -> Any:
                if name == "transact_write_items" and pending:
                    pending.pop()()
                return getattr(client, name)

        return DynamoPayees(Dynamo(Interposed, TABLE_NAMES))


@pytest.fixture(params=KINDS)
def rows(request: pytest.FixtureRequest) -> Iterator[Rows]:
    with a_client(request.param, request) as client:
        dynamo = Dynamo(lambda: client, TABLE_NAMES)
        yield Rows(client, DynamoPayees(dynamo), DynamoAuthorizations(dynamo))


@pytest.fixture
def user() -> str:
    return a_user_id("user")


def an_account() -> ExternalAccount:
    name = secrets.token_hex(8)
    return ExternalAccount(f"1:{name}", name)


def test_an_account_is_bound_to_one_user(rows: Rows, user: str) -> None:
    account = an_account()

    bound = rows.payees.bind(user, WECHAT, account, NOW_MS)
    again = rows.payees.bind(user, WECHAT, account, NOW_MS + 5)
    with pytest.raises(OpenidInUse):
        rows.payees.bind(a_user_id("other"), WECHAT, account, NOW_MS)

    payee = rows.payees.find(user, WECHAT)
    assert bound == again == Payee(account)
    assert payee == bound
    assert payee.account.sealed == account.sealed
    assert rows.owner(account) == user


def test_one_name_at_two_gateways_is_two_accounts(rows: Rows, user: str) -> None:
    account = an_account()
    rows.payees.bind(user, WECHAT, account, NOW_MS)

    rows.payees.bind(other := a_user_id("other"), ProviderName.HOST, account, NOW_MS)

    assert rows.payees.find(other, WECHAT) is None
    assert rows.payees.find(other, ProviderName.HOST) == Payee(account)


def test_a_second_account_replaces_the_first_and_releases_it(rows: Rows, user: str) -> None:
    first, second = an_account(), an_account()
    rows.payees.bind(user, WECHAT, first, NOW_MS)

    rows.payees.bind(user, WECHAT, second, NOW_MS + 5)
    rows.payees.bind(user, WECHAT, second, NOW_MS + 9)
    freed = rows.owner(first)
    rows.payees.bind(other := a_user_id("other"), WECHAT, first, NOW_MS + 10)

    assert rows.payees.find(user, WECHAT) == Payee(second, opens_at_ms=NOW_MS + 5 + REBOUND_WAIT_MS)
    assert (freed, rows.owner(second)) == (None, user)
    assert rows.payees.find(other, WECHAT) == Payee(first)


def test_an_account_that_an_earlier_version_sealed_can_be_bound_again(
    rows: Rows, user: str
) -> None:
    account = an_account()
    old = replace(account, sealed=account.sealed.replace(":", "."))
    rows.payees.bind(user, WECHAT, old, NOW_MS)
    before = rows.payees.find(user, WECHAT)

    bound = rows.payees.bind(user, WECHAT, account, NOW_MS + 5, first_wait_ms=1_000)

    payee = rows.payees.find(user, WECHAT)
    assert before is None
    assert payee == bound == Payee(account)
    assert payee.account.sealed == account.sealed
    assert rows.owner(account) == user


def test_a_refused_binding_changes_nothing(rows: Rows, user: str) -> None:
    theirs, own = an_account(), an_account()
    rows.payees.bind(a_user_id("other"), WECHAT, theirs, NOW_MS)
    rows.payees.bind(user, WECHAT, own, NOW_MS)
    authorization = rows.requested(user)

    with pytest.raises(OpenidInUse):
        rows.payees.bind(user, WECHAT, theirs, NOW_MS + 5)

    assert rows.payees.find(user, WECHAT) == Payee(own, asked_no=authorization.number)
    assert rows.owner(own) == user


@pytest.mark.parametrize("had_one", [False, True])
def test_two_concurrent_bindings_leave_one_account(rows: Rows, user: str, *, had_one: bool) -> None:
    before, first, second = an_account(), an_account(), an_account()
    if had_one:
        rows.payees.bind(user, WECHAT, before, NOW_MS)
    payees = rows.interposed(lambda: _bind(rows, user, first, NOW_MS + 5))

    payees.bind(user, WECHAT, second, NOW_MS + 9)

    assert rows.payees.find(user, WECHAT) == Payee(second, opens_at_ms=NOW_MS + 9 + REBOUND_WAIT_MS)
    assert [rows.owner(external_account) for external_account in (before, first, second)] == [
        None,
        None,
        user,
    ]


# The fake runs one transaction at a time.
@pytest.mark.parametrize("rows", ["emulator"], indirect=True)
def test_if_two_users_bind_one_account_at_once_one_of_them_has_it(rows: Rows) -> None:
    account, users = an_account(), [a_user_id(f"user-{number}") for number in range(4)]

    def bind(user_id: str) -> Payee | RedPacketError:
        try:
            return rows.payees.bind(user_id, WECHAT, account, NOW_MS)
        except RedPacketError as refusal:
            return refusal

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(bind, users))

    bound = [name for name, result in zip(users, results, strict=True) if isinstance(result, Payee)]
    assert len(bound) == 1
    assert rows.owner(account) == bound[0]
    assert [rows.payees.find(name, WECHAT) is not None for name in users].count(True) == 1


def test_a_binding_and_a_consent_request_can_be_concurrent(rows: Rows, user: str) -> None:
    rows.payees.bind(user, WECHAT, an_account(), NOW_MS)
    authorizations: list[Authorization] = []
    payees = rows.interposed(lambda: authorizations.append(rows.requested(user)))

    payees.bind(user, WECHAT, second := an_account(), NOW_MS + 5)

    (authorization,) = authorizations
    stored = rows.consents.find(authorization.number)
    assert stored
    assert stored.status is AuthorizationStatus.CLOSING
    assert rows.payees.find(user, WECHAT) == Payee(second, opens_at_ms=NOW_MS + 5 + REBOUND_WAIT_MS)


def test_a_binding_and_a_consent_that_replaces_another_can_be_concurrent(
    rows: Rows, user: str
) -> None:
    rows.payees.bind(user, WECHAT, an_account(), NOW_MS)
    old, new = rows.requested(user), []

    def replace_consent() -> None:
        rows.consents.close(old, NOW_MS)
        new.append(rows.requested(user))

    rows.interposed(replace_consent).bind(user, WECHAT, an_account(), NOW_MS + 5)

    authorization = rows.consents.find(new[0].number)
    assert authorization
    assert authorization.status is AuthorizationStatus.CLOSING


def test_an_account_row_of_another_user_prevents_a_rebinding(rows: Rows, user: str) -> None:
    rows.payees.bind(user, WECHAT, own := an_account(), NOW_MS)
    forged = {**payment_keys.outside_account(WECHAT, own.name_hash), "user_id": "forger"}
    rows.client.put_item(TableName="payments", Item=to_wire(forged))

    with pytest.raises(RedPacketError):
        rows.payees.bind(user, WECHAT, an_account(), NOW_MS + 5)

    assert rows.payees.find(user, WECHAT) == Payee(own)


def _bind(rows: Rows, user_id: str, account: ExternalAccount, now_ms: int) -> None:
    rows.payees.bind(user_id, WECHAT, account, now_ms)


# Consent


@pytest.fixture
def authorization(rows: Rows, user: str) -> Authorization:
    rows.payees.bind(user, WECHAT, an_account(), NOW_MS)
    return rows.requested(user)


def _named(rows: Rows, authorization: Authorization) -> tuple[str | None, str | None]:
    payee = rows.payees.find(authorization.user_id, WECHAT)
    assert payee
    return payee.asked_no, payee.authorization_no


def test_a_consent_is_stored_with_its_account(rows: Rows, authorization: Authorization) -> None:
    stored = rows.consents.find(authorization.number)

    assert stored == authorization
    assert stored.account.sealed == authorization.account.sealed
    assert _named(rows, authorization) == (authorization.number, None)
    assert rows.waits(authorization, NOW_MS)
    assert rows.consents.find("unknown") is None


def test_a_second_consent_is_requested_only_if_the_first_is_unchanged(
    rows: Rows, user: str
) -> None:
    rows.payees.bind(user, WECHAT, an_account(), NOW_MS)
    seen = rows.payees.find(user, WECHAT)
    assert seen
    first = rows.requested(user)
    late = Authorization("au-late", user, WECHAT, seen.account, "小明", NOW_MS)

    assert not rows.consents.begin(late, seen)
    rows.payees.bind(user, WECHAT, an_account(), NOW_MS)
    assert not rows.consents.begin(late, Payee(seen.account, asked_no=first.number))
    assert rows.consents.find("au-late") is None


def test_a_consent_is_polled_until_it_is_given(rows: Rows, authorization: Authorization) -> None:
    rows.consents.look_again(authorization.number, NOW_MS + 5)
    waits = [rows.waits(authorization, NOW_MS + late) for late in (4, 5)]

    assert rows.consents.activate(authorization)
    rows.consents.look_again(authorization.number, NOW_MS)

    assert waits == [False, True]
    assert not rows.waits(authorization, NOW_MS + 10**9)
    assert _named(rows, authorization) == (authorization.number, authorization.number)


def test_polling_creates_no_consent(rows: Rows) -> None:
    rows.consents.look_again("unknown", NOW_MS)

    assert rows.consents.find("unknown") is None


def test_a_confirmation_is_stored_while_it_is_needed(
    rows: Rows, authorization: Authorization
) -> None:
    rows.consents.keep_confirmation(authorization, "package")
    kept = rows.consents.find(authorization.number)
    rows.consents.activate(authorization)
    rows.consents.keep_confirmation(authorization, "late")

    stored = rows.consents.find(authorization.number)
    assert kept
    assert stored
    assert (kept.confirmation, stored.confirmation) == ("package", "")


def test_a_doubtful_consent_is_unused_until_it_is_polled(
    rows: Rows, authorization: Authorization
) -> None:
    rows.consents.doubt(authorization.user_id, WECHAT, authorization.number, NOW_MS + 1)
    early = rows.waits(authorization, NOW_MS)
    rows.consents.activate(authorization)

    rows.consents.doubt(authorization.user_id, WECHAT, authorization.number, NOW_MS + 5)

    stored = rows.consents.find(authorization.number)
    assert early
    assert stored
    assert stored.status is AuthorizationStatus.AWAITING_CONFIRMATION
    assert _named(rows, authorization) == (authorization.number, None)
    assert [rows.waits(authorization, NOW_MS + late) for late in (4, 5)] == [False, True]


def test_a_consent_that_is_closing_is_no_longer_used(
    rows: Rows, authorization: Authorization
) -> None:
    rows.consents.keep_confirmation(authorization, "package")

    assert rows.consents.begin_close(authorization, NOW_MS + 5)
    assert not rows.consents.begin_close(authorization, NOW_MS + 6)
    assert not rows.consents.activate(authorization)

    stored = rows.consents.find(authorization.number)
    assert stored
    assert (stored.status, stored.confirmation) == (AuthorizationStatus.CLOSING, "")
    assert _named(rows, authorization) == (None, None)
    assert rows.waits(authorization, NOW_MS + 5)


@pytest.mark.parametrize("is_closing", [False, True])
def test_a_closed_consent_is_no_longer_polled(
    rows: Rows, authorization: Authorization, *, is_closing: bool
) -> None:
    rows.consents.activate(authorization)
    if is_closing:
        rows.consents.begin_close(authorization, NOW_MS)

    rows.consents.close(authorization, NOW_MS + 5)
    rows.consents.close(authorization, NOW_MS + 6)

    stored = rows.consents.find(authorization.number)
    assert stored
    assert stored.status is AuthorizationStatus.CLOSED
    assert _named(rows, authorization) == (None, None)
    assert not rows.waits(authorization, NOW_MS + 10**9)
    rows.consents.look_again(authorization.number, NOW_MS)
    assert not rows.waits(authorization, NOW_MS + 10**9)


def test_the_end_of_an_old_consent_leaves_the_new_one(
    rows: Rows, authorization: Authorization
) -> None:
    rows.consents.begin_close(authorization, NOW_MS)
    new = rows.requested(authorization.user_id)
    assert rows.consents.activate(new)

    rows.consents.close(authorization, NOW_MS + 5)

    assert _named(rows, authorization) == (new.number, new.number)

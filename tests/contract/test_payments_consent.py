"""Consent to transfers without confirmation, and sign-in codes: only WeChat has them."""

import pytest

from redpacket.payments.model.authorization import AuthorizationState
from redpacket.payments.model.provider import ProviderEventKind
from redpacket.payments.providers.wechat.login import CodeKind
from redpacket.platform.errors import Unavailable
from testing.payments.gateways import DAY_MS, WeChatSide, a_number


def test_a_consent_is_given_and_reported(wechat: WeChatSide) -> None:
    number, alice = a_number(), wechat.account("alice")

    authorization = wechat.authorizations.ask(number, alice, "alice")
    again = wechat.authorizations.ask(number, alice, "alice")
    wechat.fake.do("confirm", authorization_no=number)
    (notice,) = wechat.notices(1)
    reported = wechat.authorizations.query(number)

    assert authorization.state is again.state is AuthorizationState.AWAITING_CONFIRMATION
    assert authorization.confirmation
    assert (notice.kind, notice.number) == (ProviderEventKind.AUTHORIZATION, number)
    assert reported.state is AuthorizationState.ACTIVE
    assert reported.payee_hash == alice.name_hash
    assert not reported.confirmation


def test_a_consent_that_is_not_given_is_closed_after_a_day(wechat: WeChatSide) -> None:
    number = a_number()
    wechat.authorizations.ask(number, wechat.account("alice"), "alice")

    wechat.advance(DAY_MS + 1)

    authorization = wechat.authorizations.query(number)
    assert (authorization.state, authorization.reason) == (
        AuthorizationState.CLOSED,
        "USER_OVERDUE_UNCONFIRMED",
    )


def test_a_user_revokes_the_consent(wechat: WeChatSide) -> None:
    number = a_number()
    wechat.authorizations.ask(number, wechat.account("alice"), "alice")
    wechat.fake.do("confirm", authorization_no=number)

    wechat.fake.do("withdraw_authorization", authorization_no=number)

    authorization = wechat.authorizations.query(number)
    assert (authorization.state, authorization.reason) == (AuthorizationState.CLOSED, "USER_CLOSE")
    assert {notice.number for notice in wechat.notices(2)} == {number}


def test_we_can_end_a_consent_twice(wechat: WeChatSide) -> None:
    number = a_number()
    wechat.authorizations.ask(number, wechat.account("alice"), "alice")

    wechat.authorizations.close(number)
    wechat.authorizations.close(number)
    wechat.authorizations.close(a_number())

    assert wechat.authorizations.query(number).state is AuthorizationState.CLOSED


def test_an_unknown_consent_is_not_found(wechat: WeChatSide) -> None:
    assert wechat.authorizations.query(a_number()).state is AuthorizationState.NOT_FOUND


def test_a_consent_without_an_answer_is_unknown(wechat: WeChatSide) -> None:
    number, alice = a_number(), wechat.account("alice")
    wechat.fake.do("mode", mode="fails")

    with pytest.raises(Unavailable):
        wechat.authorizations.ask(number, alice, "alice")
    with pytest.raises(Unavailable):
        wechat.authorizations.close(number)


@pytest.mark.parametrize("kind", CodeKind)
def test_each_code_belongs_to_a_separate_account(wechat: WeChatSide, kind: CodeKind) -> None:
    login = wechat.login(kind)

    alice, again, bob = (
        login.find_account(f"code-{name}", lambda _: "alice") for name in ("alice", "alice", "bob")
    )

    assert alice == again == wechat.account("alice")
    assert bob
    assert bob.name_hash != wechat.account("alice").name_hash


def test_a_user_who_consents_has_their_wechat_name_and_picture(wechat: WeChatSide) -> None:
    login = wechat.login(CodeKind.OFFICIAL_ACCOUNT)

    silent, named = (
        login.find_account(code, lambda _: "alice") for code in ("code-alice", "code-alice+named")
    )

    assert silent is not None
    assert named is not None
    assert silent == named == wechat.account("alice")
    assert (silent.nickname, silent.picture_url) == ("", "")
    assert named.nickname == "微信alice"
    assert named.picture_url == "https://thirdwx.qlogo.cn/mmopen/vi_32/picture/132"


@pytest.mark.parametrize("kind", CodeKind)
def test_a_wrong_code_belongs_to_no_user(wechat: WeChatSide, kind: CodeKind) -> None:
    assert wechat.login(kind).find_account("something", str) is None


@pytest.mark.parametrize("mode", ["fails", "throttles"])
def test_a_code_without_an_answer_is_unknown(wechat: WeChatSide, mode: str) -> None:
    wechat.fake.do("mode", mode=mode)

    with pytest.raises(Unavailable):
        wechat.login(CodeKind.MINI_PROGRAM).find_account("code-alice", str)

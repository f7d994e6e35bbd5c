"""Users' consent to transfers without confirmation; retries reuse the consent's durable number."""

from __future__ import annotations

from contextlib import suppress

from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.errors import PayeeNotBound
from redpacket.payments.model.authorization import (
    ASKED_MS,
    CONSENT_MS,
    Authorization,
    AuthorizationFound,
    AuthorizationState,
    AuthorizationStatus,
    next_look_ms,
)
from redpacket.payments.use_cases.dependencies import AuthorizationPorts
from redpacket.platform.errors import Contended, InvariantViolated, RateLimited, Unavailable

_TRIES = 4

_USABLE = frozenset({AuthorizationStatus.AWAITING_CONFIRMATION, AuthorizationStatus.ACTIVE})


def authorize(
    user_id: str, channel: ProviderName, display_name: str, *, ports: AuthorizationPorts
) -> Authorization:
    """Return the user's consent with the provider's current state; if it ended, request a new one.

    Raises ChannelUnavailable, PayeeNotBound, RateLimited, Unavailable.
    """
    ports.provider(channel)
    ports.asks.take(user_id)
    for _ in range(_TRIES):
        payee = ports.payees.find(user_id, channel)
        if payee is None:
            raise PayeeNotBound
        current = ports.repository.find(payee.asked_no) if payee.asked_no else None
        if current is None or current.status not in _USABLE:
            current = Authorization(
                number=ports.new_number(),
                user_id=user_id,
                channel=channel,
                account=payee.account,
                display_name=display_name,
                asked_at_ms=ports.clock.now_ms(),
            )
            if not ports.repository.begin(current, payee):
                continue
        current = _bring_up(current, ports)
        if current.status in _USABLE:
            return current
    raise Contended


def end_authorization(
    user_id: str, channel: ProviderName, *, ports: AuthorizationPorts
) -> Authorization | None:
    """Close a user's consent, now or in the next sweep. Raises ChannelUnavailable."""
    ports.provider(channel)
    payee = ports.payees.find(user_id, channel)
    current = ports.repository.find(payee.asked_no) if payee and payee.asked_no else None
    if current is None:
        return None
    ports.repository.begin_close(current, ports.clock.now_ms())
    with suppress(Unavailable, RateLimited):
        ports.asks.take(user_id)
        look_at_authorization(current.number, ports=ports)
    return ports.repository.find(current.number)


def look_at_authorization(number: str, *, ports: AuthorizationPorts) -> Authorization | None:
    """Query the provider about a consent and update the rows. Raises Unavailable."""
    seen = ports.repository.find(number)
    if seen is None or seen.status is AuthorizationStatus.CLOSED:
        return seen
    # Reschedule first, so that a failed query or a crash does not block the other rows.
    ports.repository.look_again(number, next_look_ms(seen, ports.clock.now_ms()))
    provider = ports.provider(seen.channel)
    if seen.status is AuthorizationStatus.CLOSING:
        provider.close(number)
    return _take(seen, provider.query(number), ports)


def _bring_up(current: Authorization, ports: AuthorizationPorts) -> Authorization:
    provider = ports.provider(current.channel)
    is_old = ports.clock.now_ms() >= current.asked_at_ms + ASKED_MS
    if is_old or current.status is AuthorizationStatus.ACTIVE:
        return _take(current, provider.query(current.number), ports)
    authorization = provider.ask(current.number, current.account, current.display_name)
    return _take(current, authorization, ports)


def _take(
    seen: Authorization, authorization: AuthorizationFound, ports: AuthorizationPorts
) -> Authorization:
    repository, now_ms = ports.repository, ports.clock.now_ms()
    is_over = now_ms >= seen.asked_at_ms + CONSENT_MS
    if _is_of_another(seen, authorization):
        error = InvariantViolated(f"consent {seen.number} belongs to another user at the provider")
        ports.logger.failure("consent_mismatched", error, number=seen.number)
        repository.begin_close(seen, now_ms)
    elif authorization.state is AuthorizationState.CLOSED or (
        # No call can be in flight, so the provider never received the request.
        authorization.state is AuthorizationState.NOT_FOUND
        and is_over
        and seen.status is not AuthorizationStatus.ACTIVE
    ):
        repository.close(seen, now_ms)
        ports.logger.event("consent_ended", channel=seen.channel)
    elif authorization.state is AuthorizationState.ACTIVE:
        if seen.status in _USABLE and repository.activate(seen):
            ports.logger.event("consent_given", channel=seen.channel)
    elif authorization.state is AuthorizationState.AWAITING_CONFIRMATION and is_over:
        repository.begin_close(seen, now_ms)
    elif authorization.confirmation:
        sealed = ports.prompts.seal_text(authorization.confirmation, seen.number)
        repository.keep_confirmation(seen, sealed)
    return repository.find(seen.number) or seen


def _is_of_another(seen: Authorization, authorization: AuthorizationFound) -> bool:
    is_other = authorization.payee_hash not in {None, seen.account.name_hash}
    # A CLOSING consent is closed at the provider in any case.
    return is_other and seen.status is not AuthorizationStatus.CLOSING

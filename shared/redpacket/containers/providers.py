"""Container for the registry's payment providers and the queue for their notices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

from redpacket.containers.container import Container

if TYPE_CHECKING:
    from redpacket.ledger.provider_name import ProviderName
    from redpacket.packets.model.claim import Share
    from redpacket.payments import ports
    from redpacket.payments.sealed_accounts import AccountKeys, Accounts
    from redpacket.platform.ssrf_safe_http import HttpClient

Part = TypeVar("Part")


@dataclass(eq=False)
class ProvidersContainer(Container):
    @cached_property
    def providers(self) -> Mapping[ProviderName, ports.Provider[Any]]:
        from pkgutil import resolve_name

        from redpacket.ledger.provider_name import ProviderName
        from redpacket.payments.ports import ProviderEnvironment

        environment = ProviderEnvironment(
            self.settings, self.platform.secret, self._accounts, self._http, self.clock.now_ms
        )
        made = {name: resolve_name(name.implementation)(environment) for name in ProviderName}
        units = {"", self.settings.unit.name}
        return {name: each for name, each in made.items() if each.only_unit in units}

    def by_provider(
        self, part_of: Callable[[ports.Provider[Any]], Part | None]
    ) -> dict[ProviderName, Part]:
        named = ((name, part_of(provider)) for name, provider in self.providers.items())
        return {name: part for name, part in named if part}

    @cached_property
    def providers_in(self) -> Mapping[ProviderName, ports.PaymentProvider]:
        return self.by_provider(lambda provider: provider.payments)

    @cached_property
    def providers_out(self) -> Mapping[ProviderName, ports.PayoutProvider]:
        return self.by_provider(lambda provider: provider.payouts)

    @cached_property
    def callbacks(self) -> Mapping[ProviderName, ports.CallbackVerifier]:
        return self.by_provider(lambda provider: provider.callbacks)

    @cached_property
    def consent_providers(self) -> Mapping[ProviderName, ports.Authorizations]:
        return self.by_provider(lambda provider: provider.consents)

    @cached_property
    def logins(self) -> Mapping[ProviderName, ports.Logins]:
        return self.by_provider(lambda provider: provider.logins)

    @cached_property
    def page_signers(self) -> Mapping[ProviderName, Callable[[str], ports.JsSignature]]:
        return self.by_provider(lambda provider: provider.page_signer)

    @cached_property
    def announce_claims(self) -> Callable[[Sequence[Share]], None] | None:
        """Function that triggers automatic payouts after claims, or None if they are disabled."""
        if not self.settings.withdraw_above_fen:
            return None
        from redpacket.payments.use_cases.trigger_auto_payouts import trigger_auto_payouts

        channels = [name for name, each in self.providers.items() if each.pays_out_automatically]
        return partial(trigger_auto_payouts, channels=channels, queue=self.notice_queue)

    @cached_property
    def notice_queue(self) -> ports.NoticeQueue:
        from redpacket.payments.clients.sqs_notices import SqsNotices

        return SqsNotices(lambda: self.platform.aws("sqs"), self.settings.notice_queue_url)

    @cached_property
    def host_accounts(self) -> Accounts:
        return self._accounts("host")

    @cached_property
    def prompts(self) -> Accounts:
        return self._accounts("prompt")

    def _accounts(self, context: str) -> Accounts:
        from redpacket.payments.sealed_accounts import Accounts

        return Accounts(self.payee_keys, context)

    @cached_property
    def payee_keys(self) -> AccountKeys:
        from redpacket.payments.sealed_accounts import AccountKeys

        return AccountKeys.of(self.platform.secret(self.settings.payee_keys_secret_arn))

    def _http(self, url: str) -> HttpClient:
        from redpacket.payments.ports import CALL_MS_MAX

        return self.platform.http_client(url, call_ms_max=CALL_MS_MAX)

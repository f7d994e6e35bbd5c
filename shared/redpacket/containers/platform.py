"""Container for AWS and cache clients, the clock, randomness and settings."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from redpacket.packets.model.seed_keys import SeedKeys
from redpacket.platform.aws.errors import translated
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.runtime import SystemClock, in_threads
from redpacket.platform.settings import Settings, settings
from redpacket.platform.telemetry import logger

if TYPE_CHECKING:
    from collections.abc import Callable

    from redpacket.platform.aws.container_keys import ContainerKeys
    from redpacket.platform.aws.signature import Keys
    from redpacket.platform.redis.client import Client
    from redpacket.platform.redis.connect import Options
    from redpacket.platform.runtime import EventLogger, InParallel
    from redpacket.platform.ssrf_safe_http import HttpClient

_CACHE_TIMEOUT_S = 0.5
_AWS_CONNECT_S = 1
_AWS_READ_S = 2
_AWS_TRIES = 2
"""Attempts and timeouts (in seconds) for a call. `platform/time_budget.py` bounds requests."""
_LIGHT_SERVICES = {"dynamodb", "sqs", "secretsmanager"}
"""Services that `platform/aws/client.py` supports; botocore handles all others."""


@dataclass(eq=False)
class Platform:
    new_seed = staticmethod(secrets.token_bytes)

    def secret(self, arn: str) -> str:
        """Return a secret's value. Raises Unavailable."""
        with translated("the store of secrets"):
            response = self.aws("secretsmanager").get_secret_value(SecretId=arn)
        return str(response["SecretString"])

    @cached_property
    def settings(self) -> Settings:
        return settings

    @cached_property
    def clock(self) -> SystemClock:
        return SystemClock()

    @cached_property
    def logger(self) -> EventLogger:
        return logger

    @cached_property
    def seed_keys(self) -> SeedKeys:
        return SeedKeys.parse(self.settings.seed_keys)

    @property
    def seeds(self) -> SeedKeys | None:
        """Keys for sealed seeds, or None in a function that must not compute amounts."""
        return self.seed_keys if self.settings.has_seed_keys() else None

    @cached_property
    def in_parallel(self) -> InParallel:
        return in_threads

    @cached_property
    def dynamo(self) -> Dynamo:
        return Dynamo(lambda: self.aws("dynamodb"), self.settings.tables)

    def aws(
        self, service: str, *, read_timeout_s: float = _AWS_READ_S, tries: int = _AWS_TRIES
    ) -> Any:  # noqa: ANN401 - boto3's clients have no type at run time
        """Return a client for an AWS service; the light client ignores the keyword arguments."""
        if service in _LIGHT_SERVICES and self.has_aws_keys():
            from redpacket.platform.aws.client import AwsClient

            return AwsClient(
                service,
                self.settings.aws_region(),
                self.settings.aws_endpoint(service),
                keys=self.aws_keys,
                ca_bundle=self.settings.aws_ca_bundle(),
                connect_timeout_s=_AWS_CONNECT_S,
                read_timeout_s=_AWS_READ_S,
            )
        from redpacket.platform.aws.botocore_client import botocore_client

        timeouts_s = (_AWS_CONNECT_S, read_timeout_s, _AWS_READ_S)
        return botocore_client(self.aws_session, service, timeouts_s, tries)

    @cached_property
    def aws_session(self) -> Any:  # noqa: ANN401 - see aws
        """Shared botocore session, which caches service data; boto3 would only add imports."""
        import botocore.session

        return botocore.session.get_session()

    def has_aws_keys(self) -> bool:
        """Return whether the environment provides credentials; only botocore can read a profile."""
        return self.settings.has_aws_keys() or self.settings.has_aws_keys_endpoint()

    def aws_keys(self) -> Keys:
        """Return credentials to sign one request. Raises AwsSilent."""
        if not self.settings.has_aws_keys():
            return self._container_keys()
        from redpacket.platform.aws.signature import Keys

        return Keys(*self.settings.aws_keys())

    @cached_property
    def _container_keys(self) -> ContainerKeys:
        from redpacket.platform.aws.container_keys import ContainerKeys

        return ContainerKeys(self.settings.aws_keys_endpoint)

    @cached_property
    def http_client(self) -> Callable[..., HttpClient]:
        """Constructor for HTTP clients; they reach private addresses only if a simulator is set."""
        from redpacket.platform.ssrf_safe_http import HttpClient

        return partial(HttpClient, allows_private=bool(self.settings.simulator_url))

    @cached_property
    def cache_client(self) -> Client:
        from redpacket.platform.redis.connect import connect

        url = self.settings.cache_url
        options: Options = {
            "has_tls": url.has_tls,
            "username": url.user,
            "password": self._cache_password(),
            "timeout_s": _CACHE_TIMEOUT_S,
            "ca_bundle": self.settings.cache_ca_bundle(),
        }
        if url.is_cluster:
            from redpacket.platform.redis.cluster import connect_cluster

            return connect_cluster(url.host, url.port, **options)
        return connect(url.host, url.port, **options)

    def _cache_password(self) -> str | Callable[[], str]:
        credentials = self.settings.cache_credentials
        if credentials.startswith("arn:"):
            from redpacket.platform.redis.passwords import CacheSecret

            return CacheSecret(lambda: self.aws("secretsmanager"), credentials)
        if not credentials:
            return ""
        from redpacket.platform.redis.passwords import token_maker

        user_id, region = self.settings.cache_iam_user(), self.settings.aws_region()
        return token_maker(credentials, user_id, region, self.aws_keys)

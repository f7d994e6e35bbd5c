"""Environment variables of all functions; only `telemetry` also reads `os.environ`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from redpacket.platform.unit import Unit

Value = TypeVar("Value")


class SettingMissing(Exception):
    """A variable is missing or malformed."""


class Variable(Generic[Value]):
    """Environment variable with its parser; *default* replaces a missing or empty value."""

    def __init__(
        self,
        name: str,
        parse: Callable[[str], Value],
        *,
        default: str | None = None,
        is_checked_at_start: bool = True,
    ) -> None:
        self.name = name
        # If False, a function starts despite a malformed value, and only reading it raises.
        self.is_checked_at_start = is_checked_at_start
        self._parse = parse
        self._default = default

    def __get__(self, settings: Settings, _: type[Settings]) -> Value:
        """Return the value. Raises SettingMissing."""
        text = settings.variables.get(self.name) or self._default
        if text is None:
            raise SettingMissing(self.name)
        try:
            return self._parse(text)
        except ValueError as error:
            # The message omits the text, which may be a key.
            raise SettingMissing(f"{self.name} is {error}") from None


def resolved(text: str) -> str:
    """Return *text*. Raises ValueError if CloudFormation left a reference unresolved."""
    if "{{resolve" in text:
        # An unresolved CloudFormation reference is public, so it must not become a key.
        raise ValueError("not resolved")
    return text


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError("not an integer") from None


def _integer_or_none(text: str) -> int | None:
    return _integer(text) if text else None


def _three_integers(text: str) -> tuple[int, int, int]:
    first, second, third = map(_integer, text.split(","))
    return first, second, third


def _milliseconds(text: str) -> int:
    return _integer(text) * 1000


def _is_true(text: str) -> bool:
    return text == "true"


def _without_slash(text: str) -> str:
    return text.rstrip("/")


def _words(text: str) -> frozenset[str]:
    return frozenset(filter(None, text.split(",")))


def _listed(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(",")))


def _hosts(text: str) -> frozenset[str]:
    return _words(text.lower())


class CacheUrl(NamedTuple):
    """Cache address; *user* is empty if the cache has no users."""

    host: str
    port: int
    user: str
    has_tls: bool
    is_cluster: bool


def _cache_url(text: str) -> CacheUrl:
    scheme, _, place = text.partition("://")
    place, _, mode = place.partition("?")
    user, _, place = place.rpartition("@")
    host, _, port = place.rpartition(":")
    is_known = scheme in {"redis", "rediss"} and mode in {"", "cluster"}
    if not (is_known and host and port.isdigit()):
        raise ValueError("not rediss://[USER@]HOST:PORT[?cluster]")
    return CacheUrl(host, int(port), user, scheme == "rediss", bool(mode))


def _is_open(text: str) -> bool:
    return text == "open"


def _unit(text: str) -> Unit:
    # Import lazily: grabs format no amount.
    from redpacket.platform.unit import Unit

    return Unit.of(text)


def _before_symbol(text: str) -> str:
    return text.rpartition(",")[0]


class Tables(NamedTuple):
    """Names of the DynamoDB tables. A function's role grants access to some of them."""

    accounts: str
    approvals: str
    audience: str
    campaigns: str
    codes: str
    commitments: str
    draws: str
    journal: str
    log: str
    packets: str
    payments: str
    profiles: str
    quotas: str
    shares: str
    switches: str
    webhooks: str
    chat: str = ""
    """Empty in a stack without chat platforms."""


def _tables(text: str) -> Tables:
    names = dict(pair.split("=", 1) for pair in text.split())
    for table in Tables._fields:
        if not names.get(table) and table not in Tables._field_defaults:
            raise ValueError("without a table of " + table)
    return Tables(**names)


_CNY = "CNY,2,¥"


class Settings:
    """Settings for a function, from the environment or from a test's *variables*.

    `tests/template` compares the variables that each handler reads with the template.
    """

    tables = Variable("TABLES", _tables)
    """`accounts=NAME approvals=NAME ...`: the physical name of each table."""
    packet_id_keys = Variable("PACKET_ID_KEYS", resolved)
    """`version:key[,version:key]`: the first key signs; all verify."""
    seed_keys = Variable("SEED_KEYS", resolved)
    """`{"1":"key",...}`: keys of sealed seeds, by version; the newest seals, and all unseal."""
    user_id_key = Variable("USER_ID_KEY", resolved)
    """Key for hashing user ids; never replace this key."""
    operator_issuer = Variable("OPERATOR_ISSUER", str, default="")
    """Issuer of operator tokens; empty if the users' issuer also issues them."""
    has_verdicts = Variable("RISK_VERDICTS", _is_true, default="false")
    """Whether claims and draws check the host's risk decisions."""
    distribution = Variable("DISTRIBUTION", _listed, default="")
    """`HOST,KEY[,KEY]`: CloudFront distribution that users must call, and its keys; optional."""
    client_address = Variable("CLIENT_ADDRESS", str, default="")
    """Source of client addresses: `source` from API Gateway, `forwarded` from CloudFront."""
    risk_url = Variable("RISK_URL", str, default="")
    """URL of the host's risk control; empty disables the calls to it."""
    risk_secret = Variable("RISK_SECRET", resolved, is_checked_at_start=False)
    """Key that signs calls to the risk control: `whsec_...`."""
    risk_is_open = Variable("RISK_ON_FAILURE", _is_open, default="open")
    """Whether users may participate if the risk control does not answer."""
    work_shards = Variable("WORK_SHARDS", _integer, default="32")
    """Number of partitions per work list. Lowering the number hides waiting rows."""
    reconciliation_machine = Variable("RECONCILIATION_MACHINE", str)
    """ARN of the state machine that exports and compares the tables."""
    reconciliation_workgroup = Variable("RECONCILIATION_WORKGROUP", str)
    """Athena workgroup, which limits how much a query scans."""
    approval_fen = Variable("APPROVAL_FEN", _three_integers)
    """`SUBJECT,OPERATOR,ALL`: maximum fen that may move without approval in 24 hours."""
    payout_queue_url = Variable("PAYOUT_QUEUE_URL", str)
    """Payout queue."""
    payout_dlq_url = Variable("PAYOUT_DLQ_URL", str)
    """Dead-letter queue for payouts."""
    cache_url = Variable("CACHE_URL", _cache_url)
    """`rediss://[USER@]HOST:PORT[?cluster]`, or `redis://` without TLS."""
    cache_credentials = Variable("CACHE_CREDENTIALS", str, default="")
    """End of the cache's ARN for IAM authentication, or the ARN of the password's secret."""
    unit = Variable("UNIT", _unit, default=_CNY, is_checked_at_start=False)
    """`NAME,DECIMALS,SYMBOL` of the unit of account."""
    unit_id = Variable("UNIT", _before_symbol, default=_CNY)
    """`NAME,DECIMALS` of the unit, fixed by the first deposit or payment."""
    share_base_url = Variable("SHARE_BASE_URL", _without_slash)
    """Base URL for share links."""
    share_fen_max = Variable("SHARE_FEN_MAX", _integer)
    """Maximum fen for a share and for one unit of a cash prize."""
    avatar_hosts = Variable("AVATAR_HOSTS", _hosts, default="")
    """Allowed hosts for avatars, separated by commas; `*.host` allows direct subdomains."""
    cover_hosts = Variable("COVER_HOSTS", _hosts, default="")
    """Allowed hosts for covers, in the same format as AVATAR_HOSTS."""
    pictures_bucket = Variable("PICTURES_BUCKET", str)
    """Bucket for the pictures that users and operators upload."""
    metrics_namespace = Variable("POWERTOOLS_METRICS_NAMESPACE", str)
    """CloudWatch namespace of the stack's metrics."""
    deposit_fen_max = Variable("DEPOSIT_FEN_MAX", _integer)
    """Largest deposit in fen."""
    open_packets_max = Variable("OPEN_PACKETS_MAX", _integer_or_none, default="")
    """Maximum open packets per user outside campaigns; empty for no limit."""
    notice_queue_url = Variable("NOTICE_QUEUE_URL", str)
    """Queue for provider callbacks."""
    order_function = Variable("ORDER_FUNCTION", str)
    """Alias of the function that creates payment orders for packets."""
    payment_channels = Variable("PAYMENT_CHANNELS", _words, default="")
    """Configured providers, such as `host`, separated by commas."""
    payee_keys_secret_arn = Variable("PAYEE_KEYS_SECRET_ARN", str)
    """Secret with the keys that seal users' provider accounts."""
    webhook_keys_secret_arn = Variable("WEBHOOK_KEYS_SECRET_ARN", str)
    """Secret with the keys that encrypt webhook secrets."""
    delivery_queue_url = Variable("DELIVERY_QUEUE_URL", str)
    """Webhook delivery queue."""
    unread_records_url = Variable("UNREAD_RECORDS_URL", str)
    """Queue for unreadable stream records."""
    chat_secret = Variable("CHAT_SECRET", resolved, default="{}", is_checked_at_start=False)
    """JSON with the chat platform keys (docs/how-to/chat.md)."""
    chat_member_day_fen = Variable("CHAT_MEMBER_DAY_FEN", _integer)
    """Maximum fen that one member may send from chats in a day."""
    card_queue_url = Variable("CARD_QUEUE_URL", str, default="")
    """Queue for cards to edit; empty disables edits."""
    simulator_url = Variable("SIMULATOR_URL", _without_slash, default="")
    """Local provider simulator. If set, external addresses may be private and use http."""
    jwt_audience = Variable("JWT_AUDIENCE", str)
    """Audience of tokens from a provider's sign-in."""
    callback_base_url = Variable("CALLBACK_BASE_URL", _without_slash)
    """Base URL at which providers reach the API."""
    withdrawal_fen_max = Variable("WITHDRAWAL_FEN_MAX", _integer)
    """Largest withdrawal in fen."""
    withdrawal_fen_per_day = Variable("WITHDRAWAL_FEN_PER_DAY", _integer)
    """Maximum fen that one user may withdraw in a day."""
    bills_per_minute = Variable("BILLS_PER_MINUTE", _integer)
    """Transfers per minute that a provider accepts for all users together."""
    withdraw_above_fen = Variable("WITHDRAW_ABOVE_FEN", _integer, default="0")
    """Balance in fen above which money is paid out automatically; 0 disables automatic payouts."""
    night_window = Variable("NIGHT_WINDOW", str, default="")
    """Hours without transfers, such as 23:00-07:00; empty allows transfers at any time."""
    log_key_id = Variable("LOG_KEY_ID", str)
    """KMS key that signs the public log's heads."""
    first_link_wait_ms = Variable("FIRST_LINK_WAIT_S", _milliseconds)
    """Wait between a user's first linked account and withdrawals, set in seconds; 0 in dev."""
    close_grace_ms = Variable("CLOSE_GRACE_S", _milliseconds)
    """Time between closing and refunding a packet, set in seconds: 5 in prod, 1 in dev."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.variables = variables

    def check(self) -> None:
        """Parse the variables that are checked at start. Raises SettingMissing for all bad ones."""
        failures = []
        for attribute, variable in vars(Settings).items():
            if not isinstance(variable, Variable) or variable.name not in self.variables:
                continue
            try:
                if variable.is_checked_at_start:
                    getattr(self, attribute)
            except SettingMissing as error:
                failures.append(str(error))
        if failures:
            raise SettingMissing("; ".join(failures))

    def cache_iam_user(self) -> str:
        """Return the cache's IAM user, which requires TLS. Raises SettingMissing."""
        url = self.cache_url
        if not (url.user and url.has_tls):
            raise SettingMissing("CACHE_CREDENTIALS by IAM need rediss:// and a user in CACHE_URL")
        return url.user

    def has_seed_keys(self) -> bool:
        """Return whether this function may compute amounts or draws."""
        return "SEED_KEYS" in self.variables

    def _required(self, name: str) -> str:
        value = self.variables.get(name)
        if not value:
            raise SettingMissing(name)
        return value

    def aws_region(self) -> str:
        """Return AWS_REGION, which Lambda sets, or AWS_DEFAULT_REGION."""
        return self.variables.get("AWS_REGION") or self._required("AWS_DEFAULT_REGION")

    def aws_endpoint(self, service: str) -> str:
        """Return AWS_ENDPOINT_URL_<SERVICE>, AWS_ENDPOINT_URL, or the default endpoint."""
        for name in (f"AWS_ENDPOINT_URL_{service.upper()}", "AWS_ENDPOINT_URL"):
            if given := self.variables.get(name):
                return given
        region = self.aws_region()
        domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
        return f"https://{service}.{region}.{domain}"

    def has_aws_keys(self) -> bool:
        """Return whether AWS_ACCESS_KEY_ID is set; profiles and SnapStart do not set it."""
        return "AWS_ACCESS_KEY_ID" in self.variables

    def aws_keys(self) -> tuple[str, str, str]:
        """Return access key, secret key and session token from the environment."""
        return (
            self._required("AWS_ACCESS_KEY_ID"),
            self._required("AWS_SECRET_ACCESS_KEY"),
            self.variables.get("AWS_SESSION_TOKEN", ""),
        )

    def has_aws_keys_endpoint(self) -> bool:
        """Return whether an endpoint provides credentials, as with SnapStart."""
        return "AWS_CONTAINER_CREDENTIALS_FULL_URI" in self.variables

    def aws_keys_endpoint(self) -> tuple[str, str]:
        """Return the credentials endpoint's URL and its token."""
        return (
            self._required("AWS_CONTAINER_CREDENTIALS_FULL_URI"),
            self._required("AWS_CONTAINER_AUTHORIZATION_TOKEN"),
        )

    def makes_snapshot(self) -> bool:
        """Return whether Lambda starts this process to take its snapshot."""
        return self.variables.get("AWS_LAMBDA_INITIALIZATION_TYPE") == "snap-start"

    def aws_ca_bundle(self) -> str:
        """Return AWS_CA_BUNDLE or SSL_CERT_FILE, which replaces Amazon's roots."""
        return self.variables.get("AWS_CA_BUNDLE") or self.cache_ca_bundle()

    def cache_ca_bundle(self) -> str:
        """Return SSL_CERT_FILE, which replaces the default roots for the cache."""
        return self.variables.get("SSL_CERT_FILE", "")


settings = Settings(os.environ)

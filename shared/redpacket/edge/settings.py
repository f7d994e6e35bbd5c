"""Every environment variable that a function reads; the only module that knows `os.environ`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Generic, NamedTuple, TypeVar

Value = TypeVar("Value")


class SettingMissing(Exception):
    """A variable that a flow needs is not given to this function, or is ill-formed."""


class _Variable(Generic[Value]):
    """One variable; *parse* makes its value, and *default* stands for one that is not given."""

    def __init__(
        self,
        name: str,
        parse: Callable[[str], Value],
        *,
        default: str | None = None,
        is_checked_at_start: bool = True,
    ) -> None:
        self.name = name
        # What belongs to a gateway that is not set up is empty, and is not read.
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
            # The text may be a key.
            raise SettingMissing(f"{self.name} is {error}") from None


def _resolved(text: str) -> str:
    if "{{resolve" in text:
        # What CloudFormation was to replace is known to everybody, so it can't be a key.
        raise ValueError("not resolved")
    return text


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError("not an integer") from None


def _integer_or_none(text: str) -> int | None:
    return _integer(text) if text else None


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
    """Where a cache is; *user* is empty for one without users."""

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


def _is_refund(text: str) -> bool:
    return text == "refund"


class Scene(NamedTuple):
    """A scene of transfers, and the names and contents that it reports."""

    scene_id: str
    report_infos: tuple[tuple[str, str], ...]


def _scene(text: str) -> Scene:
    scene_id, *items = text.split(",")
    pairs = [item.partition("=") for item in items]
    if not (pairs and all(name and content for name, _, content in pairs)):
        raise ValueError("not SCENE,name=content[,name=content]")
    return Scene(scene_id, tuple((name, content) for name, _, content in pairs))


def _chain(text: str) -> str:
    return text.rpartition(",")[0]


def _chain_key(text: str) -> bytes:
    return bytes.fromhex(text.rpartition(",")[2])


def _table(name: str) -> _Variable[str]:
    def parse(text: str) -> str:
        tables = dict(pair.split("=", 1) for pair in text.split())
        if not tables.get(name):
            raise ValueError("without a table of " + name)
        return tables[name]

    # Of all tables, a function uses some.
    return _Variable("TABLES", parse, is_checked_at_start=False)


class Settings:
    """What a function is given by its environment; a test gives its own *variables*.

    Which of them a function needs is in the template. `tests/template` follows the code of each
    door to the variables that it reads, and holds the template to them, both ways.
    """

    packets_table = _table("packets")
    shares_table = _table("shares")
    packet_id_keys = _Variable("PACKET_ID_KEYS", _resolved)
    """`version:key[,version:key]`; the first signs, all are accepted."""
    seed_keys = _Variable("SEED_KEYS", _resolved)
    """`{"1":"key",...}`: what seals seeds, by version; the newest seals."""
    user_id_key = _Variable("USER_ID_KEY", _resolved)
    """What user ids are hashed with; it is never replaced."""
    draws_table = _table("draws")
    quotas_table = _table("quotas")
    audience_table = _table("audience")
    has_verdicts = _Variable("RISK_VERDICTS", _is_true, default="false")
    """Whether claims and draws ask what the host says of their users."""
    risk_url = _Variable("RISK_URL", str, default="")
    """Where the host's risk control is asked; empty for none."""
    risk_secret = _Variable("RISK_SECRET", _resolved, is_checked_at_start=False)
    """What calls of it are signed with: `whsec_...`."""
    risk_is_open = _Variable("RISK_ON_FAILURE", _is_open, default="open")
    """Whether users take part where it does not answer."""
    accounts_table = _table("accounts")
    reconciliation_table = _table("reconciliation")
    journal_table = _table("journal")
    approvals_table = _table("approvals")
    approval_fen = _Variable("APPROVAL_FEN", _integer)
    """What an operator may move alone a day, to one subject."""
    profiles_table = _table("profiles")
    campaigns_table = _table("campaigns")
    payout_queue_url = _Variable("PAYOUT_QUEUE_URL", str)
    payout_dlq_url = _Variable("PAYOUT_DLQ_URL", str)
    cache_url = _Variable("CACHE_URL", _cache_url)
    """Where the cache is, and how it is spoken to."""
    cache_credentials = _Variable("CACHE_CREDENTIALS", str, default="")
    """The end of the cache's ARN to sign in by IAM, or the ARN of a secret with the password."""
    share_base_url = _Variable("SHARE_BASE_URL", _without_slash)
    """Without a slash at its end."""
    share_fen_max = _Variable("SHARE_FEN_MAX", _integer)
    """The largest share that any packet may hold."""
    avatar_hosts = _Variable("AVATAR_HOSTS", _hosts, default="")
    """Where avatars may lie; `*.host` is any host below one."""
    cover_hosts = _Variable("COVER_HOSTS", _hosts, default="")
    """Where covers of packets may lie, as avatars."""
    deposit_fen_max = _Variable("DEPOSIT_FEN_MAX", _integer)
    """The most that one deposit may bring."""
    open_packets_max = _Variable("OPEN_PACKETS_MAX", _integer_or_none, default="")
    """Packets of one user that may be open; only sends have it."""
    sends_per_day = _Variable("SENDS_PER_DAY", _integer)
    """How many packets one user may send a day, in the long run."""
    switches_table = _table("switches")
    payout_mapping_id = _Variable("PAYOUT_MAPPING_ID", str)
    """What hands the payout queue's messages to its function."""
    payments_table = _table("payments")
    notice_queue_url = _Variable("NOTICE_QUEUE_URL", str)
    payment_function = _Variable("PAYMENT_FUNCTION", str)
    """The alias that orders the payments of packets."""
    payment_channels = _Variable("PAYMENT_CHANNELS", _words, default="")
    """By which gateways packets may be paid for."""
    payee_keys_secret_arn = _Variable("PAYEE_KEYS_SECRET_ARN", str)
    """Where the keys of users' accounts at gateways are."""
    webhooks_table = _table("webhooks")
    webhook_keys_secret_arn = _Variable("WEBHOOK_KEYS_SECRET_ARN", str)
    """Where the keys are that seal webhooks' secrets."""
    delivery_queue_url = _Variable("DELIVERY_QUEUE_URL", str)
    unread_records_url = _Variable("UNREAD_RECORDS_URL", str)
    """Where records of streams go that can't be read."""
    host_wallet_url = _Variable("HOST_WALLET_URL", str, default="")
    """Empty where the embedding app has no wallet."""
    host_wallet_secret_arn = _Variable("HOST_WALLET_SECRET_ARN", str, is_checked_at_start=False)
    wechat_secret_arn = _Variable("WECHAT_SECRET_ARN", str, default="")
    """Empty for no WeChat Pay."""
    wechat_code_kind = _Variable("WECHAT_CODE_KIND", str)
    """Where clients get their codes."""
    wechat_scene = _Variable("WECHAT_SCENE", _scene)
    """The scene of transfers, with the names and contents that it must report."""
    simulator_url = _Variable("SIMULATOR_URL", _without_slash, default="")
    """What stands for WeChat on a local stack, where outside addresses may be private, and http."""
    wechat_remark = _Variable("WECHAT_REMARK", str)
    """What users see beside a payment and a transfer."""
    wechat_issuer_url = _Variable("WECHAT_ISSUER_URL", str, default="")
    """Whose tokens users get who sign in by WeChat; may be empty."""
    wechat_issuer_secret_arn = _Variable("WECHAT_ISSUER_SECRET_ARN", str, is_checked_at_start=False)
    jwt_audience = _Variable("JWT_AUDIENCE", str)
    """Whom the tokens of our own issuer are for."""
    callback_base_url = _Variable("CALLBACK_BASE_URL", _without_slash)
    """The API, as gateways reach it."""
    refunds_late_payments = _Variable("LATE_PAYMENTS", _is_refund)
    """Whether what comes after its order was closed goes back."""
    withdrawal_fen_min = _Variable("WITHDRAWAL_FEN_MIN", _integer)
    withdrawal_fen_max = _Variable("WITHDRAWAL_FEN_MAX", _integer)
    withdrawal_fen_per_day = _Variable("WITHDRAWAL_FEN_PER_DAY", _integer)
    """Of one user."""
    bills_per_minute = _Variable("BILLS_PER_MINUTE", _integer)
    """Transfers that a gateway takes of all users together."""
    withdraw_above_fen = _Variable("WITHDRAW_ABOVE_FEN", _integer, default="0")
    """From when on balances are paid out by themselves; 0 for never."""
    night_window = _Variable("NIGHT_WINDOW", str, default="")
    """When no transfer is made, like 23:00-07:00; empty for never."""
    transparency_table = _table("transparency")
    """Where the beacon's rounds are kept."""
    commitments_table = _table("commitments")
    """Where sends and new campaigns note what they commit to."""
    log_table = _table("log")
    """The public log of commitments."""
    log_key_id = _Variable("LOG_KEY_ID", str)
    """The key of KMS that signs the log's heads."""
    beacon_urls = _Variable("BEACON_URLS", _listed, default="")
    """The endpoints of a public beacon, asked in turn; empty for none."""
    beacon_chain = _Variable("BEACON_CHAIN", _chain, default="")
    """`chain_hash,genesis_s,period_s`; empty where campaigns draw without a beacon."""
    beacon_public_key = _Variable("BEACON_CHAIN", _chain_key, is_checked_at_start=False)
    """What the chain's rounds are signed with: the last part of the variable."""
    default_draw_beacon = _Variable("DRAW_BEACON", str, default="day")
    """What a new campaign draws by that does not say it, with a beacon: day or none."""
    close_grace_ms = _Variable("CLOSE_GRACE_S", _milliseconds)
    """The time between closing a packet and refunding it."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.variables = variables

    def check(self) -> None:
        """Check all variables that are given. Raises SettingMissing, which names each bad one."""
        failures = []
        for attribute, variable in vars(Settings).items():
            if not isinstance(variable, _Variable) or variable.name not in self.variables:
                continue
            try:
                if variable.is_checked_at_start:
                    getattr(self, attribute)
            except SettingMissing as error:
                failures.append(str(error))
        if failures:
            raise SettingMissing("; ".join(failures))

    def cache_iam_user(self) -> str:
        """Return whom a cache knows by IAM, which has TLS. Raises SettingMissing."""
        url = self.cache_url
        if not (url.user and url.has_tls):
            raise SettingMissing("CACHE_CREDENTIALS by IAM need rediss:// and a user in CACHE_URL")
        return url.user

    def has_seed_keys(self) -> bool:
        """Tell whether SEED_KEYS is there: only functions that compute amounts or draws have it."""
        return "SEED_KEYS" in self.variables

    def _required(self, name: str) -> str:
        value = self.variables.get(name)
        if not value:
            raise SettingMissing(name)
        return value

    def aws_region(self) -> str:
        """Return AWS_REGION, which Lambda gives; elsewhere AWS_DEFAULT_REGION."""
        return self.variables.get("AWS_REGION") or self._required("AWS_DEFAULT_REGION")

    def aws_endpoint(self, service: str) -> str:
        """Return AWS_ENDPOINT_URL_<SERVICE>, AWS_ENDPOINT_URL, or AWS' own address of a service."""
        for name in (f"AWS_ENDPOINT_URL_{service.upper()}", "AWS_ENDPOINT_URL"):
            if given := self.variables.get(name):
                return given
        region = self.aws_region()
        domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
        return f"https://{service}.{region}.{domain}"

    def has_aws_keys(self) -> bool:
        """Tell whether AWS_ACCESS_KEY_ID is there; a profile and SnapStart keep keys elsewhere."""
        return "AWS_ACCESS_KEY_ID" in self.variables

    def aws_keys(self) -> tuple[str, str, str]:
        """Return AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or nothing for it.

        Lambda gives them to a sandbox at its start, and they outlive it.
        """
        return (
            self._required("AWS_ACCESS_KEY_ID"),
            self._required("AWS_SECRET_ACCESS_KEY"),
            self.variables.get("AWS_SESSION_TOKEN", ""),
        )

    def aws_ca_bundle(self) -> str:
        """Return AWS_CA_BUNDLE or SSL_CERT_FILE: whom to trust for AWS, not Amazon's roots."""
        return self.variables.get("AWS_CA_BUNDLE") or self.cache_ca_bundle()

    def cache_ca_bundle(self) -> str:
        """Return SSL_CERT_FILE: whom to trust for the cache in place of the known roots."""
        return self.variables.get("SSL_CERT_FILE", "")


settings = Settings(os.environ)
"""This process' own."""

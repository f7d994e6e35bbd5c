"""Keys, `WECHATPAY2-SHA256-RSA2048` signatures, and events of WeChat Pay's API v3."""

import json
import re
import secrets
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256

from local.gateways.core import BEIJING, MS_PER_S, digest, wall_s
from local.gateways.deliveries import Message, Posted
from local.gateways.records import Refused
from local.gateways.server import write_secret

SCHEME = "WECHATPAY2-SHA256-RSA2048"
AGE_S_MAX = 300
FIELD = re.compile(r'(\w+)="([^"]*)"')
FIELDS = {"mchid", "nonce_str", "signature", "timestamp", "serial_no"}


@dataclass(frozen=True, slots=True)
class Merchant:
    """Content of `merchant.json`: the merchant's ids, keys and secrets."""

    mch_id: str
    app_id: str
    app_secret: str
    cert_serial: str
    private_key: str
    api_v3_key: str
    public_key_id: str
    public_key: str


@dataclass(frozen=True, slots=True)
class GatewayKeys:
    """The provider's key pair, and the merchant's data and certificates."""

    private_key: rsa.RSAPrivateKey
    merchant: Merchant
    certificates: dict[str, rsa.RSAPublicKey]
    """Public keys of the merchant's certificates, keyed by serial; earlier keys stay valid."""
    merchant_file: Path

    @classmethod
    def of(cls, folder: Path) -> Self:
        """Return the keys in *folder*, and create them if they are missing.

        `merchant.json` contains the merchant's part, and `gateway.pem` the provider's key.
        """
        own_file, merchant_file = folder / "gateway.pem", folder / "merchant.json"
        if not merchant_file.exists():
            own = make_private_key()
            write_secret(own_file, private_text(own))
            # Write this file last, so that after an interruption the next start creates both files
            # again.
            write_secret(merchant_file, json.dumps(asdict(_make_merchant(own))))
        merchant = Merchant(**json.loads(merchant_file.read_text()))
        made = cls(_load(own_file.read_text()), merchant, {}, merchant_file)
        made._read_certificate()
        return made

    def _read_certificate(self) -> None:
        merchant = Merchant(**json.loads(self.merchant_file.read_text()))
        self.certificates[merchant.cert_serial] = _load(merchant.private_key).public_key()

    def check(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> None:
        """Reject a request without the merchant's signature, or with a time over 5 minutes off."""
        scheme, _, rest = headers.get("authorization", "").partition(" ")
        given, merchant = dict(FIELD.findall(rest)), self.merchant
        if scheme != SCHEME or not set(given) >= FIELDS:
            raise _sign_error("the Authorization header is not complete")
        serial = given["serial_no"]
        if serial not in self.certificates:
            self._read_certificate()  # The merchant may have requested a new certificate.
        key = self.certificates.get(serial)
        if given["mchid"] != merchant.mch_id or key is None:
            raise _sign_error("no such merchant or certificate")
        at_s = given["timestamp"]
        if not at_s.isdecimal() or abs(wall_s() - int(at_s)) > AGE_S_MAX:
            raise _sign_error("the timestamp is more than five minutes off")
        signed = f"{method}\n{target}\n{at_s}\n{given['nonce_str']}\n".encode() + body + b"\n"
        try:
            key.verify(b64decode(given["signature"]), signed, PKCS1v15(), SHA256())
        except (InvalidSignature, ValueError):
            raise _sign_error("the signature does not fit") from None
        # The header names the key with which the provider must sign the response. New merchants
        # have no platform certificate, only this public key.
        if headers.get("wechatpay-serial", merchant.public_key_id) != merchant.public_key_id:
            raise _sign_error("Wechatpay-Serial names no key of this gateway")

    def signed(
        self, body: bytes, at_s: int | None = None, key: rsa.RSAPrivateKey | None = None
    ) -> dict[str, str]:
        """Return the headers that sign *body*, a response or a notification."""
        timestamp, nonce = str(wall_s() if at_s is None else at_s), secrets.token_hex(16)
        signed = f"{timestamp}\n{nonce}\n".encode() + body + b"\n"
        signature = (key or self.private_key).sign(signed, PKCS1v15(), SHA256())
        return {
            "Wechatpay-Timestamp": timestamp,
            "Wechatpay-Nonce": nonce,
            "Wechatpay-Serial": self.merchant.public_key_id,
            "Wechatpay-Signature": b64encode(signature).decode(),
            "Wechatpay-Signature-Type": SCHEME,
        }

    def event(
        self, url: str, kind: str, original_type: str, subject: str, resource: Mapping[str, Any]
    ) -> Message:
        """Return the encrypted event *kind* about the record with the number *subject*."""
        told = json.dumps(resource, sort_keys=True)
        nonce = secrets.token_hex(6)
        key = AESGCM(self.merchant.api_v3_key.encode())
        sealed = key.encrypt(nonce.encode(), told.encode(), original_type.encode())
        event = {
            "id": f"EV-{digest(kind, subject, told, digits=30)}",
            "create_time": rfc3339(wall_s() * MS_PER_S),
            "resource_type": "encrypt-resource",
            "event_type": kind,
            "summary": kind,
            "resource": {
                "original_type": original_type,
                "algorithm": "AEAD_AES_256_GCM",
                "ciphertext": b64encode(sealed).decode(),
                "associated_data": original_type,
                "nonce": nonce,
            },
        }
        body = json.dumps(event).encode()
        return Message(
            *(url, subject, body),
            lambda at_s: self.signed(body, at_s),
            lambda now_s: self._forge(body, now_s),
        )

    def _forge(self, body: bytes, now_s: int) -> list[Posted]:
        wrong_key = self.signed(body, now_s, _others_key())
        return [
            (body, wrong_key),
            # Signature that is valid for a different body.
            (body.replace(b'"EV-', b'"EV-9'), self.signed(body, now_s)),
            # Serial numbers that a library might fetch or fail to parse.
            (body, wrong_key | {"Wechatpay-Serial": "5157F09EFDC096DE15EBE81A47057A7232F1B8E1"}),
            (body, wrong_key | {"Wechatpay-Serial": "PUB_KEY_ID_" + "0" * 28}),
            (body, wrong_key | {"Wechatpay-Signature": "not base64"}),
            (body, {}),
        ]


def rfc3339(at_ms: int) -> str:
    """Return *at_ms* as the provider writes times: to the second, in Beijing's time zone."""
    return datetime.fromtimestamp(at_ms // MS_PER_S, UTC).astimezone(BEIJING).isoformat()


def make_private_key() -> rsa.RSAPrivateKey:
    """Return a new key pair."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def private_text(key: rsa.RSAPrivateKey) -> str:
    """Return a key pair as PEM text."""
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(encoding, form, serialization.NoEncryption()).decode()


def public_text(key: rsa.RSAPublicKey) -> str:
    """Return a public key as PEM text."""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_bytes(serialization.Encoding.PEM, form).decode()


def _load(text: str) -> rsa.RSAPrivateKey:
    key = serialization.load_pem_private_key(text.encode(), password=None)
    assert isinstance(key, rsa.RSAPrivateKey)
    return key


def _make_merchant(own: rsa.RSAPrivateKey) -> Merchant:
    return Merchant(
        mch_id="1" + _digits(9),
        app_id="wx" + secrets.token_hex(8),
        app_secret=secrets.token_hex(16),
        cert_serial=secrets.token_hex(20).upper(),
        private_key=private_text(make_private_key()),
        api_v3_key=secrets.token_hex(16),
        public_key_id="PUB_KEY_ID_" + _digits(28),
        public_key=public_text(own.public_key()),
    )


def _digits(count: int) -> str:
    return "".join(str(secrets.randbelow(10)) for _ in range(count))


def _sign_error(message: str) -> Refused:
    return Refused(401, "SIGN_ERROR", message)


@cache
def _others_key() -> rsa.RSAPrivateKey:
    return make_private_key()

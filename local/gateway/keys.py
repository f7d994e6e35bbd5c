"""The keys of a gateway and of its one merchant, made at start as real ones are made by people."""

import json
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

RSA_BITS = 2048


@dataclass(frozen=True, slots=True)
class Merchant:
    """What a merchant of the gateway is given and keeps secret, as text."""

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
    """What the gateway holds: its own key pair, and what it has of its merchant's."""

    private_key: rsa.RSAPrivateKey
    merchants_key: rsa.RSAPublicKey
    merchant: Merchant

    @classmethod
    def of(cls, folder: Path) -> Self:
        """Return the keys in *folder*; made when they are missing.

        `merchant.json` there is what the merchant gets, `gateway.pem` the gateway's own.
        """
        own_file, merchant_file = folder / "gateway.pem", folder / "merchant.json"
        if not merchant_file.exists():
            _make(own_file, merchant_file)
        merchant = Merchant(**json.loads(merchant_file.read_text()))
        return cls(
            load_private_key(own_file.read_text()),
            load_private_key(merchant.private_key).public_key(),
            merchant,
        )


def make_private_key() -> rsa.RSAPrivateKey:
    """Return a new key pair."""
    return rsa.generate_private_key(public_exponent=65537, key_size=RSA_BITS)


def private_text(key: rsa.RSAPrivateKey) -> str:
    """Return the text of a key pair."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()


def public_text(key: rsa.RSAPublicKey) -> str:
    """Return the text of a public key."""
    return key.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    ).decode()


def load_private_key(text: str) -> rsa.RSAPrivateKey:
    """Return the key pair of a text."""
    key = serialization.load_pem_private_key(text.encode(), password=None)
    assert isinstance(key, rsa.RSAPrivateKey)
    return key


def write_secret(file: Path, text: str) -> None:
    """Write a file that its owner alone can read."""
    file.touch(mode=0o600)
    file.write_text(text)


def _make(own_file: Path, merchant_file: Path) -> None:
    own = make_private_key()
    merchant = Merchant(
        mch_id="1" + _digits(9),
        app_id="wx" + secrets.token_hex(8),
        app_secret=secrets.token_hex(16),
        cert_serial=secrets.token_hex(20).upper(),
        private_key=private_text(make_private_key()),
        api_v3_key=secrets.token_hex(16),
        public_key_id="PUB_KEY_ID_" + _digits(28),
        public_key=public_text(own.public_key()),
    )
    write_secret(own_file, private_text(own))
    # The last one: a start that was interrupted makes all of them again.
    write_secret(merchant_file, json.dumps(asdict(merchant)))


def _digits(count: int) -> str:
    return "".join(str(secrets.randbelow(10)) for _ in range(count))

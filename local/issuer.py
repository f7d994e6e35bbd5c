"""Development issuer that issues tokens for any user, like an OpenID provider."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from local.access import AUDIENCE

KEY_ID = "dev"
# Lifetime of a token in seconds: half a day, so that it stays valid during a whole trial.
TOKEN_TTL_S = 12 * 60 * 60


@dataclass(frozen=True, slots=True)
class Token:
    """Signed token with its expiration time."""

    token: str
    expires_at_ms: int


class Issuer:
    """Issuer *url*, which signs tokens with the key pair in *key_file*, created if it is missing.

    The API trusts only one issuer, so this one also publishes the product issuer's keys, which
    `local/issuer_keys.py` writes to `issuer/jwks.json` beside *key_file*.
    """

    def __init__(self, key_file: Path, url: str) -> None:
        self._url = url
        self._published = key_file.parent / "issuer" / "jwks.json"
        self._key = _load_key(key_file) if key_file.exists() else _make_key(key_file)

    def token(self, sub: str, nickname: str | None = None, scope: str | None = None) -> Token:
        """Return a token for the user *sub*."""
        now_s = int(time.time())
        optional = {"nickname": nickname, "scope": scope}
        claims = {
            "iss": self._url,
            "aud": AUDIENCE,
            "sub": sub,
            "iat": now_s,
            "exp": now_s + TOKEN_TTL_S,
        } | {name: value for name, value in optional.items() if value is not None}
        token = jwt.encode(claims, self._key, algorithm="RS256", headers={"kid": KEY_ID})
        return Token(token, (now_s + TOKEN_TTL_S) * 1000)

    def configuration(self) -> dict[str, Any]:
        """Return the discovery document that the API's authorizer reads."""
        return {
            "issuer": self._url,
            "jwks_uri": f"{self._url}/jwks.json",
            "token_endpoint": f"{self._url}/tokens",
            "id_token_signing_alg_values_supported": ["RS256"],
            "subject_types_supported": ["public"],
            "response_types_supported": ["token"],
        }

    def jwks(self) -> dict[str, Any]:
        """Return the public key, and the keys of the product's issuer."""
        public = RSAAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
        keys = [{**public, "kid": KEY_ID, "use": "sig", "alg": "RS256"}]
        if self._published.exists():
            # Read the file each time, because a rotation replaces it.
            keys += json.loads(self._published.read_text())["keys"]
        return {"keys": keys}


def _make_key(key_file: Path) -> rsa.RSAPrivateKey:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    key_file.touch(mode=0o600)
    key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return key


def _load_key(key_file: Path) -> rsa.RSAPrivateKey:
    key = serialization.load_pem_private_key(key_file.read_bytes(), password=None)
    assert isinstance(key, rsa.RSAPrivateKey)
    return key

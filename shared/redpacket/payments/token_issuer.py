"""Issuer of RS256 tokens, with rotating keys, for users who sign in through a provider.

Verifiers cache the published keys for two hours. A new key is therefore published three hours
before it signs, and an old key stays published until all its tokens have expired.
"""

from __future__ import annotations

import hmac
import json
import secrets
from base64 import b64decode, b64encode
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.model.provider import ExternalAccount

PUBLISHED_AHEAD_MS = 3 * 60 * 60 * 1_000
TOKEN_LIFE_MS_MAX = 24 * 60 * 60 * 1_000
_RSA_BITS = 2048
_SUBJECT_KEY_BYTES = 32
_SUBJECT_LENGTH = 40
_MS_PER_S = 1_000


@dataclass(frozen=True, slots=True)
class IssuerKey:
    """Key pair, with the time at which the public key was published."""

    kid: str
    private_key: str = field(repr=False)
    published_at_ms: int

    @classmethod
    def new(cls, now_ms: int) -> Self:
        """Return a new key pair, published at *now_ms*."""
        key = rsa.generate_private_key(public_exponent=65537, key_size=_RSA_BITS)
        text = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ).decode()
        return cls(f"{now_ms // _MS_PER_S}-{secrets.token_hex(4)}", text, now_ms)

    def loaded(self) -> rsa.RSAPrivateKey:
        """Return the private key, parsed from its PEM text."""
        key = serialization.load_pem_private_key(self.private_key.encode(), password=None)
        assert isinstance(key, rsa.RSAPrivateKey)
        return key


@dataclass(frozen=True, slots=True)
class IssuerKeys:
    """Keys of an issuer, oldest first; user ids depend on *subject_key*, so it never changes."""

    keys: tuple[IssuerKey, ...]
    subject_key: bytes = field(repr=False)

    @classmethod
    def new(cls, now_ms: int) -> Self:
        """Return the keys of a new issuer; its only key signs immediately."""
        return cls((IssuerKey.new(now_ms),), secrets.token_bytes(_SUBJECT_KEY_BYTES))

    @classmethod
    def of(cls, secret: str) -> Self:
        """Parse the result of `text`."""
        read = json.loads(secret)
        subject_key = b64decode(read["subject_key"])
        keys = tuple(IssuerKey(**key) for key in read["keys"])
        if len(subject_key) != _SUBJECT_KEY_BYTES or not keys:
            raise ValueError("the issuer's secret lacks a valid key")
        return cls(keys, subject_key)

    def text(self) -> str:
        """Return the keys as JSON for a secret."""
        kept = {
            "keys": [asdict(key) for key in self.keys],
            "subject_key": b64encode(self.subject_key).decode(),
        }
        return json.dumps(kept)

    def rotated(self, now_ms: int, new: IssuerKey) -> Self:
        """Return these keys plus *new*, without keys that no unexpired token uses."""
        signs = self.signing(now_ms)
        kept = [
            key
            for key, later in zip(self.keys, (*self.keys[1:], None), strict=True)
            if key.kid == signs.kid
            or later is None
            or now_ms < later.published_at_ms + PUBLISHED_AHEAD_MS + TOKEN_LIFE_MS_MAX
        ]
        return type(self)((*kept, new), self.subject_key)

    def signing(self, now_ms: int) -> IssuerKey:
        """Return the newest key that all verifiers have had time to fetch."""
        ready = [k for k in self.keys if now_ms >= k.published_at_ms + PUBLISHED_AHEAD_MS]
        # A new issuer's key can sign now, because no verifier has cached earlier keys.
        return ready[-1] if ready else self.keys[0]

    def jwks(self) -> dict[str, Any]:
        """Return the public keys as a JWK set."""
        return {
            "keys": [
                {
                    **RSAAlgorithm.to_jwk(key.loaded().public_key(), as_dict=True),
                    "kid": key.kid,
                    "use": "sig",
                    "alg": "RS256",
                }
                for key in self.keys
            ]
        }


class Rs256Tokens:
    """JWT implementation of TokenIssuer; tokens have no scope and thus grant no operator rights.

    Subjects begin with *provider*, so that they differ from other issuers' subjects.
    """

    def __init__(
        self, provider: ProviderName, keys: IssuerKeys, *, url: str, audience: str, life_ms: int
    ) -> None:
        if not 0 < life_ms <= TOKEN_LIFE_MS_MAX:
            raise ValueError("token lifetime must be positive and at most 24 hours")
        self._provider = provider
        self._keys = keys
        self._url = url
        self._audience = audience
        self._life_ms = life_ms

    def issue(self, account: ExternalAccount, now_ms: int) -> tuple[str, int]:
        """Return a user's token and its expiry."""
        issued_at_s = now_ms // _MS_PER_S
        expires_at_s = issued_at_s + self._life_ms // _MS_PER_S
        key = self._keys.signing(now_ms)
        claims = {
            "iss": self._url,
            "aud": self._audience,
            "sub": self.subject_of(account.name_hash),
            "iat": issued_at_s,
            "exp": expires_at_s,
        }
        named = {"nickname": account.nickname, "picture": account.picture_url}
        claims |= {name: text for name, text in named.items() if text}
        token = jwt.encode(claims, key.loaded(), algorithm="RS256", headers={"kid": key.kid})
        return token, expires_at_s * _MS_PER_S

    def subject_of(self, name_hash: str) -> str:
        """Return the subject for an account, which is the same in all tokens."""
        hashed = hmac.digest(self._keys.subject_key, name_hash.encode(), "sha256")
        return f"{self._provider}|{hashed.hex()[:_SUBJECT_LENGTH]}"


def issuer_files(url: str, keys: IssuerKeys) -> dict[str, str]:
    """Return the issuer's files, keyed by path; an HTTP API cannot serve its own issuer."""
    configuration = {
        "issuer": url,
        "jwks_uri": f"{url}/jwks.json",
        "id_token_signing_alg_values_supported": ["RS256"],
        "subject_types_supported": ["public"],
        "response_types_supported": ["token"],
    }
    return {
        ".well-known/openid-configuration": json.dumps(configuration),
        "jwks.json": json.dumps(keys.jwks()),
    }

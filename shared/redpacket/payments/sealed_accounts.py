"""Encryption and keyed hashes of users' provider account names, such as openids."""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from redpacket.payments.model.provider import OWNED, ExternalAccount
from redpacket.platform.errors import InvariantViolated

_TEXT_LENGTH_MIN = 43
"""Minimum length of a key: this many random base64 characters contain 256 bits."""


@dataclass(frozen=True, slots=True)
class AccountKeys:
    """Keys of all accounts: the last of *seal_keys* encrypts, and *hash_key* never changes."""

    seal_keys: Mapping[str, bytes] = field(repr=False)
    hash_key: bytes = field(repr=False)

    @classmethod
    def of(cls, secret: str) -> Self:
        """Parse a JSON object of named keys, such as `{"1": "<64 random characters>"}`.

        The last key encrypts, and all keys decrypt. The hash key derives from the first key: never
        remove the first key or insert a key before it.
        """
        texts = json.loads(secret)
        # Error messages must not include the value, which may be a secret.
        if not isinstance(texts, dict) or not texts or not all(map(_is_key, texts.values())):
            raise ValueError(f"account keys need at least {_TEXT_LENGTH_MIN} characters")
        first = next(iter(texts.values()))
        return cls(
            {name: _derived(text, "seal", "sha512") for name, text in texts.items()},
            _derived(first, "hash", "sha256"),
        )


class Accounts:
    """Encryption of one provider's account names, or of other text in one *context*.

    Each seal is bound to an owner, such as a user or a payment, so a copy in another owner's row
    cannot be decrypted. AES-SIV is deterministic, so a retry writes the same value. Like the hash,
    a seal reveals only whether two names are equal.
    """

    def __init__(self, keys: AccountKeys, context: str) -> None:
        self._keys = keys
        self._context = context.encode()
        self._hash_prefix = len(self._context).to_bytes(2) + self._context

    def seal(self, name: str, owner: str) -> ExternalAccount:
        """Return *name* sealed for *owner*, with its hash."""
        return ExternalAccount(self.seal_text(name, owner), self.hash_of(name), owner)

    def open(self, account: ExternalAccount) -> str:
        """Return an account's name, which must not be logged. Raises InvariantViolated."""
        name = self.open_text(account.sealed, account.owner)
        if name is None or not hmac.compare_digest(self.hash_of(name), account.name_hash):
            raise InvariantViolated("a provider account cannot be decrypted with our keys")
        return name

    def seal_text(self, text: str, owner: str) -> str:
        """Return *text* sealed for *owner*."""
        key_name = list(self._keys.seal_keys)[-1]
        cipher = AESSIV(self._keys.seal_keys[key_name])
        sealed = cipher.encrypt(text.encode(), [self._context, owner.encode()])
        return f"{key_name}{OWNED}{urlsafe_b64encode(sealed).decode()}"

    def open_text(self, sealed: str, owner: str) -> str | None:
        """Return a seal's text, or None if none of our keys sealed the text for *owner*.

        If *owner* is empty, open a seal from an earlier version.
        """
        key_name, _, content = sealed.partition(OWNED if owner else ".")
        bound = [self._context, owner.encode()] if owner else [self._context]
        try:
            cipher = AESSIV(self._keys.seal_keys[key_name])
            return cipher.decrypt(urlsafe_b64decode(content), bound).decode()
        except (InvalidTag, KeyError, ValueError):
            return None

    def hash_of(self, name: str) -> str:
        """Return the keyed hash of a name."""
        return hmac.digest(self._keys.hash_key, self._hash_prefix + name.encode(), "sha256").hex()


def _is_key(text: object) -> bool:
    return isinstance(text, str) and len(text) >= _TEXT_LENGTH_MIN


def _derived(text: str, use: str, digest: str) -> bytes:
    return hmac.digest(text.encode(), f"redpacket/{use}".encode(), digest)

"""A key that signs heads of the log, in memory."""

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


class FakeSigner:
    """Implements HeadSigner; *messages* is all that it has signed."""

    def __init__(self, secret: int = 20_261_122) -> None:
        self._key = ec.derive_private_key(secret, ec.SECP256R1())
        self.messages: list[bytes] = []

    def sign(self, message: bytes) -> bytes:
        self.messages.append(message)
        return self._key.sign(message, ec.ECDSA(SHA256(), deterministic_signing=True))

    def public_key(self) -> bytes:
        public = self._key.public_key()
        return public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)

"""What the wallet tells us: results, signed."""

import json
from dataclasses import dataclass

from local.gateway.clock import MS_PER_S, wall_ms
from local.gateway.deliveries import Posted
from local.wallet.signatures import PREFIX, WalletSecrets, signed_headers

OTHERS_SECRET = f"{PREFIX}b3RoZXI="


@dataclass(frozen=True, slots=True)
class Result:
    """One result; its id and its body are the same at each attempt."""

    secrets: WalletSecrets
    url: str
    subject: str
    message_id: str
    body: bytes

    @classmethod
    def of(
        cls, secrets: WalletSecrets, url: str, kind: str, number: str, outside_no: str
    ) -> "Result":
        """Return the result *kind* of what has the number *number*."""
        told = {"type": kind, "data": {"number": number, "outside_no": outside_no}}
        message_id = f"msg_{kind}_{number}_{outside_no}"
        return cls(secrets, url, number, message_id, json.dumps(told).encode())

    def signed(self, at_s: int) -> Posted:
        """Return it as it is sent, signed *at_s*."""
        return self._posted(self._headers(self.secrets.result_secret, at_s))

    def forged(self) -> list[Posted]:
        """Return what somebody might send who lacks the secrets."""
        now_s = wall_ms() // MS_PER_S
        wrong = self._headers(OTHERS_SECRET, now_s)
        return [
            self._posted(wrong),
            # What we sign ourselves must not come back as the host's word.
            self._posted(self._headers(self.secrets.call_secret, now_s)),
            Posted(self.body.replace(b'"number": "', b'"number": "9'), self.signed(now_s).headers),
            self._posted(wrong | {"webhook-signature": "v1"}),
            self._posted({}),
        ]

    def _headers(self, secret: str, at_s: int) -> dict[str, str]:
        return signed_headers(secret, self.message_id, self.body, at_s)

    def _posted(self, headers: dict[str, str]) -> Posted:
        return Posted(self.body, {**headers, "Content-Type": "application/json"})

"""User with a token who calls the API over HTTP; successful claims are stored for I5."""

import uuid
from typing import Any

import httpx

from testing.reconciliation.checks import Told


class HttpUser:
    """API client. *host_id* is the token's subject, and *user_id* the id in the ledger."""

    def __init__(self, http: httpx.Client, host_id: str, user_id: str, told: list[Told]) -> None:
        self.http = http
        self.host_id = host_id
        self.user_id = user_id
        self._told = told

    def approve(self, response: httpx.Response) -> httpx.Response:
        """Approve another operator's pending request."""
        return self.post(f"/admin/approvals/{response.json()['approval_id']}/approve", {})

    def grab(self, packet_id: str, passphrase: str | None = None) -> httpx.Response:
        body = {"passphrase": passphrase} if passphrase is not None else None
        return self._remember(self.http.post(f"/packets/{packet_id}/grab", json=body))

    def open(self, packet_id: str, grab_token: str) -> httpx.Response:
        body = {"grab_token": grab_token}
        return self._remember(self.http.post(f"/packets/{packet_id}/open", json=body))

    def thank(self, packet_id: str, emoji: str | None, text: str | None = None) -> httpx.Response:
        thanks = {"emoji": emoji, "text": text}
        given = {name: value for name, value in thanks.items() if value is not None}
        return self.http.post(f"/packets/{packet_id}/thanks", json=given)

    def draw(self, campaign_id: str, key: str | None = None) -> httpx.Response:
        headers = {"Idempotency-Key": key or uuid.uuid4().hex}
        return self.http.post(f"/campaigns/{campaign_id}/draws", headers=headers)

    def help(self, campaign_id: str, inviter_token: str, phrase: str) -> httpx.Response:
        body = {"inviter_token": inviter_token, "transcript": phrase}
        return self.http.post(f"/campaigns/{campaign_id}/helps", json=body)

    def _remember(self, answer: httpx.Response) -> httpx.Response:
        told = answer.json()
        if answer.status_code == httpx.codes.OK and "amount_fen" in told:
            share_no, amount_fen = told["share_no"], told["amount_fen"]
            self._told.append(Told(told["packet_id"], self.user_id, share_no, amount_fen))
        return answer

    def send(self, key: str | None = None, **body: Any) -> httpx.Response:
        body = {"kind": "lucky", "total_fen": 1000, "count": 5, **body}
        return self.post("/packets", body, key=key)

    def post(self, path: str, body: Any, key: str | None = None) -> httpx.Response:
        headers = {"Idempotency-Key": key or uuid.uuid4().hex}
        return self.http.post(path, json=body, headers=headers)

    def record(self, packet_id: str) -> dict[str, Any]:
        answer = self.http.get(f"/packets/{packet_id}")
        assert answer.status_code == httpx.codes.OK, answer.text
        record: dict[str, Any] = answer.json()
        return record

    def user_token(self) -> str:
        return str(self.http.get("/me").json()["user_token"])

    def balance_fen(self) -> int:
        return int(self.http.get("/me").json()["balance_fen"])

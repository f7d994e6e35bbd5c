"""Client of a drand chain over several untrusted endpoints."""

from __future__ import annotations

import json
from collections.abc import Sequence

from redpacket.fairness.bls import PublicKey
from redpacket.fairness.model.beacon import BeaconChain, BeaconRound
from redpacket.platform.errors import Unavailable
from redpacket.platform.runtime import EventLogger
from redpacket.platform.ssrf_safe_http import HttpClient

_OK = 200
_ANSWER_BYTES_MAX = 64 * 1024
"""Bytes of an answer; a round has about 500."""


class DrandBeacon:
    """drand implementation of Beacon: tries endpoints in turn and verifies each signature."""

    def __init__(
        self,
        urls: Sequence[str],
        chain: BeaconChain,
        public_key: bytes,
        *,
        logger: EventLogger,
        call_ms_max: int,
        allows_private: bool = False,
    ) -> None:
        self._urls = urls
        self._chain = chain
        self._key = PublicKey(public_key)
        self._logger = logger
        self._call_ms_max = call_ms_max
        self._allows_private = allows_private

    def fetch(self, round_no: int) -> BeaconRound | None:
        for url in self._urls:
            try:
                signature = self._ask(url, round_no)
            except Unavailable as error:
                self._logger.failure("beacon_not_read", error, endpoint=url, round_no=round_no)
                continue
            if signature is None:
                continue
            if self._key.has_signed(round_no, signature):
                return BeaconRound(round_no, signature)
            self._logger.event("beacon_forged", endpoint=url, round_no=round_no)
        return None

    def _ask(self, url: str, round_no: int) -> bytes | None:
        endpoint = HttpClient(
            f"{url.rstrip('/')}/{self._chain.chain_hash}/public/{round_no}",
            call_ms_max=self._call_ms_max,
            allows_private=self._allows_private,
            answer_bytes_max=_ANSWER_BYTES_MAX,
        )
        answer = endpoint.get("")
        if answer.status != _OK:
            return None
        try:
            return bytes.fromhex(json.loads(answer.body)["signature"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise Unavailable("an endpoint answers something else than a round") from error

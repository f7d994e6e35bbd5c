"""Retries of the local client, which first steps and the demonstration need on a busy machine."""

import httpx
import pytest

from local import client
from local.client import until_answered
from local.errors import StackError


@pytest.mark.parametrize(
    ("refused", "requested", "status"), [(0, 1, 201), (3, 4, 201), (99, 20, 503)]
)
def test_a_503_is_retried_until_it_is_answered(
    refused: int, requested: int, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("local.client.time.sleep", lambda _: None)
    answers = iter([*[503] * refused, *[201] * client.TRIES])
    seen: list[int] = []

    def ask() -> httpx.Response:
        seen.append(next(answers))
        return httpx.Response(seen[-1])

    assert until_answered(ask).status_code == status
    assert len(seen) == requested


def test_a_lost_answer_is_requested_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("local.client.time.sleep", lambda _: None)
    told: list[httpx.Response | httpx.TransportError] = [
        httpx.ReadTimeout("timed out"),
        httpx.Response(201),
    ]
    answers = iter(told)

    def ask() -> httpx.Response:
        answer = next(answers, httpx.ConnectError("refused"))
        if isinstance(answer, httpx.Response):
            return answer
        raise answer

    assert until_answered(ask).is_success
    with pytest.raises(StackError, match="ConnectError: refused"):
        until_answered(ask)

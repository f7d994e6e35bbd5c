"""Request bodies for draws and helps."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from redpacket.platform.http.bodies import StrictBody, about, example
from redpacket.platform.http.request_fields import UserToken


class DrawBody(StrictBody):
    """POST /campaigns/{campaign_id}/draws; the body is empty."""


class HelpBody(StrictBody):
    """POST /campaigns/{campaign_id}/helps; *transcript* is the typed or spoken passphrase."""

    model_config = example({"inviter_token": "FxwabzlgU_xAyodWCCPNtYDw", "transcript": "恭喜发财"})

    inviter_token: Annotated[UserToken, about("The friend's `user_token`.")]
    transcript: Annotated[
        str,
        StringConstraints(max_length=200),
        about("What the caller typed, or the result of speech recognition."),
    ]

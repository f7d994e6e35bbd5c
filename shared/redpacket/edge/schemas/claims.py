"""The bodies of a grab and of an open: a cold grab imports no other."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from redpacket.edge.schemas.bodies import StrictBody, about, example


class GrabBody(StrictBody):
    """POST /packets/{packet_id}/grab; a passphrase is ignored where the packet has none."""

    model_config = example({"passphrase": "恭喜发财"})

    passphrase: Annotated[
        Annotated[str, StringConstraints(max_length=200)] | None,
        about("What the user typed, or what speech recognition returned."),
    ] = None


class OpenBody(StrictBody):
    """POST /packets/{packet_id}/open."""

    model_config = example({"grab_token": "Z3JhYi10b2tlbg"})

    grab_token: Annotated[
        str,
        StringConstraints(max_length=200),
        about("What a grab of a packet in two steps answered."),
    ]

"""Response field types that several contexts share, with bounds, descriptions and examples."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from redpacket.platform.bounds import FEN_MAX
from redpacket.platform.http.bodies import about
from redpacket.platform.http.request_fields import PER_USER_MAX, WEIGHT_MAX

SOME_AT_MS = 1_800_000_000_000
SOME_DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

Count = Annotated[int, Field(ge=0)]
PerUser = Annotated[int, Field(ge=0, le=PER_USER_MAX)]
Weight = Annotated[int, Field(ge=0, le=WEIGHT_MAX, examples=[10])]
Version = Annotated[int, Field(ge=1, le=2**53, examples=[1])]
Word = Annotated[str, StringConstraints(min_length=1)]
PrizeImage = Annotated[str, StringConstraints(pattern="^(https://|/pictures/)")]
"""URL, or a path on the origins of the page and the API."""
AnyFen = Annotated[int, Field(ge=0, le=FEN_MAX)]
SumFen = Annotated[int, Field(ge=0)]
"""Amount without an upper bound, such as a balance or the total of several packets."""
BalanceFen = Annotated[SumFen, about("Current balance of the account.", 100_000)]
AtMs = Annotated[int, about("Milliseconds since 1970.", SOME_AT_MS, ge=0)]
EndsAtMs = Annotated[AtMs, Field(examples=[SOME_AT_MS + 86_400_000])]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$", examples=[SOME_DIGEST])]
Next = Annotated[Word | None, about("`cursor` of the next page; null on the last page.", None)]
Unread = Annotated[int, about("Number of unread notices among the newest 20.", 1, ge=0, le=20)]
HostId = Annotated[
    str | None,
    about("Host id of the user; null if unknown or erased.", "alice"),
]
UserToken = Annotated[
    str,
    about(
        "Id by which other users refer to this user.",
        "FxwabzlgU_xAyodWCCPNtYDw",
        pattern="^[A-Za-z0-9_-]{24}$",
    ),
]
SecretVersion = Annotated[
    int | None,
    about(
        "Version of the deployment's key that sealed the seed; null if the seed was not sealed.",
        1,
    ),
]

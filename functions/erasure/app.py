"""The operators' door of erasure: who a user is, is forgotten; what money did, is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.domain.errors import AccountNotEmpty, InvalidRequest, Unavailable
from redpacket.edge.api import Api, HttpAnswer
from redpacket.edge.asking import note_erasure
from redpacket.edge.operator_lists import user_of
from redpacket.edge.request import HttpRequest
from redpacket.edge.scopes import ADMINS
from redpacket.edge.wiring import wiring

if TYPE_CHECKING:
    from redpacket.edge.answers.operators import Erased

handler = Api()


@handler.route(
    "DELETE /admin/users/{user}",
    parameters=(user_of,),
    scopes=ADMINS,
    statuses=(202,),
    refusals=(AccountNotEmpty, InvalidRequest, Unavailable),
)
def erase_user(request: HttpRequest) -> HttpAnswer[Erased]:
    """Erase who a user is, once nothing is theirs; ledger and journal keep their pseudonym."""
    user_id = user_of(request).user_id
    wiring.erase_user(user_id, lambda: note_erasure(request, user_id))
    return HttpAnswer({"user_token": user_id})

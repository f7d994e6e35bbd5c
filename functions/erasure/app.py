"""HTTP handler for erasure: remove a user's personal data and retain the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.approvals.api.approval_gate import note_erasure
from redpacket.approvals.api.operator_lists import user_of
from redpacket.containers import containers
from redpacket.erasure.errors import AccountNotEmpty
from redpacket.operations.api.scopes import ADMINS
from redpacket.platform.errors import InvalidRequest
from redpacket.platform.http.api import Api, HttpAnswer
from redpacket.platform.http.request import HttpRequest

if TYPE_CHECKING:
    from redpacket.operations.api.answers import Erased

handler = Api()


@handler.route(
    "DELETE /admin/users/{user}",
    parameters=(user_of,),
    scopes=ADMINS,
    statuses=(202,),
    refusals=(AccountNotEmpty, InvalidRequest),
)
def erase_user(request: HttpRequest) -> HttpAnswer[Erased]:
    """Erase who a user is, once nothing is theirs; ledger and journal keep their pseudonym."""
    user_id = user_of(request).user_id
    containers.erasure.erase_user(user_id, lambda: note_erasure(request, user_id))
    return HttpAnswer({"user_token": user_id})

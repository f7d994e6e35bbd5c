"""HTTP handler for erasure: removes personal data or a picture, but keeps the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.approvals.api.approval_gate import note_erasure, note_picture
from redpacket.approvals.api.operator_lists import user_of
from redpacket.containers import containers
from redpacket.erasure.errors import AccountNotEmpty
from redpacket.operations.api.scopes import ADMINS, OPERATORS
from redpacket.packets.api.packet_ids import picture_id_of
from redpacket.packets.errors import PictureNotFound
from redpacket.platform.errors import InvalidRequest
from redpacket.platform.http.api import Api, HttpAnswer
from redpacket.platform.http.request import HttpRequest

if TYPE_CHECKING:
    from redpacket.operations.api.answers import Erased
    from redpacket.packets.api.answers import RemovedPicture

handler = Api()


@handler.route(
    "DELETE /admin/users/{user}",
    parameters=(user_of,),
    scopes=ADMINS,
    statuses=(202,),
    refusals=(AccountNotEmpty, InvalidRequest),
)
def erase_user(request: HttpRequest) -> HttpAnswer[Erased]:
    """Erase a user who owns and owes nothing; the ledger and audit log keep the pseudonym."""
    user_id = user_of(request).user_id
    containers.operators.erase_user(user_id, lambda: note_erasure(request, user_id))
    return HttpAnswer({"user_token": user_id})


@handler.route(
    "DELETE /admin/pictures/{picture_id}",
    parameters=(picture_id_of,),
    scopes=OPERATORS,
    refusals=(PictureNotFound,),
)
def remove_picture(request: HttpRequest) -> HttpAnswer[RemovedPicture]:
    """Remove a picture; packets with this picture show the plain cover within an hour."""
    picture_id, pictures = picture_id_of(request), containers.packets.pictures
    owner_id = pictures.owner_of(picture_id)
    if owner_id is None:
        raise PictureNotFound
    note_picture(request, picture_id, owner_id)
    pictures.blank(picture_id)
    return HttpAnswer({"picture_id": picture_id, "user_token": owner_id})

"""The gateway's book of money out: transfers, and users' consent to transfers without a tap."""

import re
from dataclasses import dataclass
from typing import Any

from local.gateway.clock import rfc3339
from local.gateway.errors import Refused, invalid_request, parameter_error
from local.gateway.numbers import digest

NUMBER = re.compile(r"[0-9A-Za-z]{1,32}")
CONFIRM_WITHIN_MS = 24 * 60 * 60 * 1_000
# How long a cancelled transfer stays CANCELING.
CANCELLING_MS = 3_000
# From here on the payee's name has to be given.
NAMELESS_FEN_MAX = 199_999
TRANSFER_FEN_MIN = 10
REMARK_LENGTH_MAX = 32
FINAL = frozenset({"SUCCESS", "FAIL", "CANCELLED"})
COMMON = ("appid", "out_bill_no", "transfer_scene_id", "transfer_remark")


@dataclass(slots=True)
class Transfer:
    """One transfer to a user."""

    number: str
    transfer_no: str
    wanted: dict[str, Any]
    openid: str
    state: str
    created_at_ms: int
    updated_at_ms: int
    notify_url: str | None = None
    authorization_no: str | None = None
    fail_reason: str = ""
    queries: int = 0
    hidden_queries: int = 0

    @property
    def amount_fen(self) -> int:
        """What the user gets."""
        amount_fen: int = self.wanted["transfer_amount"]
        return amount_fen

    def move(self, state: str, now_ms: int, fail_reason: str = "") -> None:
        """Enter another state; a final one is for ever."""
        assert self.state not in FINAL
        self.state, self.updated_at_ms, self.fail_reason = state, now_ms, fail_reason

    def shown(self, *, with_package: bool = False) -> dict[str, Any]:
        """Return what calls answer."""
        answer = {
            "out_bill_no": self.number,
            "transfer_bill_no": self.transfer_no,
            "create_time": rfc3339(self.created_at_ms),
            "state": self.state,
        }
        if self.fail_reason:
            answer["fail_reason"] = self.fail_reason
        if with_package and self.state == "WAIT_USER_CONFIRM":
            answer["package_info"] = f"package-{digest('package', self.number, digits=20)}"
        return answer

    def described(self, mch_id: str) -> dict[str, Any]:
        """Return what queries and notifications show."""
        return self.shown() | {
            "mch_id": mch_id,
            "appid": self.wanted["appid"],
            "openid": self.openid,
            "transfer_amount": self.amount_fen,
            "transfer_remark": self.wanted["transfer_remark"],
            "update_time": rfc3339(self.updated_at_ms),
        }


@dataclass(slots=True)
class Authorization:
    """A user's consent to transfers without a tap each time."""

    number: str
    wanted: dict[str, Any]
    created_at_ms: int
    state: str = "WAIT_USER_CONFIRM"
    authorization_id: str = ""
    authorized_at_ms: int = 0
    closed_at_ms: int = 0
    close_reason: str = ""

    def confirm(self, now_ms: int) -> None:
        """Let the user agree."""
        if self.state != "WAIT_USER_CONFIRM":
            raise Refused(409, "NOT_CONFIRMABLE", f"the authorization is {self.state}")
        self.state, self.authorized_at_ms = "TAKING_EFFECT", now_ms
        self.authorization_id = digest("authorization", self.number, digits=27)

    def close(self, reason: str, now_ms: int) -> None:
        """End it; harmless when it has ended."""
        if self.state != "CLOSED":
            self.state, self.close_reason, self.closed_at_ms = "CLOSED", reason, now_ms

    def shown(self, *, with_package: bool = False) -> dict[str, Any]:
        """Return what calls, queries and notifications show."""
        answer = {
            "out_authorization_no": self.number,
            "state": self.state,
            "create_time": rfc3339(self.created_at_ms),
            **{
                name: self.wanted[name]
                for name in ("appid", "openid", "user_display_name", "transfer_scene_id")
            },
        }
        if self.authorization_id:
            answer["authorization_id"] = self.authorization_id
            answer["authorize_time"] = rfc3339(self.authorized_at_ms)
        if self.state == "CLOSED":
            answer["close_info"] = {
                "close_time": rfc3339(self.closed_at_ms),
                "close_reason": self.close_reason,
            }
        if with_package and self.state == "WAIT_USER_CONFIRM":
            answer["package_info"] = f"package-{digest('consent', self.number, digits=20)}"
        return answer


class Transfers:
    """All transfers and authorizations of the merchant."""

    def __init__(self) -> None:
        self.by_number: dict[str, Transfer] = {}
        self.authorizations: dict[str, Authorization] = {}

    def create(self, wanted: dict[str, Any], now_ms: int) -> tuple[Transfer, bool]:
        """Make a transfer that the user has to confirm; False: this same request made it before."""
        openid = str(wanted.get("openid", ""))
        _check(wanted)
        if not openid:
            raise parameter_error("openid is missing")
        if known := self._known(wanted):
            return known, False
        transfer = self._new(wanted, openid, "WAIT_USER_CONFIRM", now_ms)
        transfer.notify_url = wanted.get("notify_url")
        if asked := wanted.get("authorization_info"):
            transfer.authorization_no = self.ask(
                {
                    **asked,
                    "appid": wanted["appid"],
                    "openid": openid,
                    "transfer_scene_id": wanted["transfer_scene_id"],
                },
                now_ms,
            )[0].number
        return transfer, True

    def create_authorized(self, wanted: dict[str, Any], now_ms: int) -> tuple[Transfer, bool]:
        """Pay a user who agreed to transfers without a tap."""
        _check(wanted)
        if {"openid", "notify_url"} & set(wanted):
            raise parameter_error("openid and notify_url have no place here")
        if known := self._known(wanted):
            return known, False
        authorization = next(
            (
                found
                for found in self.authorizations.values()
                if wanted.get("out_authorization_no") == found.number
                or wanted.get("authorization_id", found) == found.authorization_id
            ),
            None,
        )
        if authorization is None or authorization.state != "TAKING_EFFECT":
            raise Refused(403, "USER_NOT_AUTHORIZED", "the user has not agreed, or not any more")
        transfer = self._new(wanted, authorization.wanted["openid"], "PROCESSING", now_ms)
        transfer.move("SUCCESS", now_ms)
        return transfer, True

    def get(self, number: str) -> Transfer:
        """Return a transfer."""
        if number not in self.by_number:
            raise Refused(404, "NOT_FOUND", "no transfer has this number")
        return self.by_number[number]

    def query(self, number: str) -> Transfer:
        """Return a transfer as a query sees it, which may be late."""
        transfer = self.get(number)
        transfer.queries += 1
        if transfer.queries <= transfer.hidden_queries:
            raise Refused(404, "NOT_FOUND", "no transfer has this number")
        return transfer

    def cancel(self, number: str, now_ms: int) -> Transfer:
        """Begin to take a transfer back that the user has not confirmed."""
        transfer = self.get(number)
        if transfer.state in {"CANCELING", "CANCELLED"}:
            return transfer
        if transfer.state != "WAIT_USER_CONFIRM":
            raise invalid_request(f"a transfer that is {transfer.state} can't be cancelled")
        transfer.move("CANCELING", now_ms)
        return transfer

    def confirm(self, number: str, now_ms: int) -> Transfer:
        """Let the user take the money; it wins over a cancel that is under way."""
        transfer = self.get(number)
        if transfer.state not in {"WAIT_USER_CONFIRM", "CANCELING"}:
            raise Refused(409, "NOT_CONFIRMABLE", f"the transfer is {transfer.state}")
        transfer.move("SUCCESS", now_ms)
        if transfer.authorization_no:
            self.authorizations[transfer.authorization_no].confirm(now_ms)
        return transfer

    def ask(self, wanted: dict[str, Any], now_ms: int) -> tuple[Authorization, bool]:
        """Ask a user to agree to transfers without a tap; False: asked by this number before."""
        number = str(wanted.get("out_authorization_no", ""))
        needed = {"appid", "openid", "transfer_scene_id", "user_display_name"}
        if not NUMBER.fullmatch(number) or not all(wanted.get(name) for name in needed):
            raise parameter_error("out_authorization_no, or one of " + ", ".join(sorted(needed)))
        if "?" in str(wanted.get("authorization_notify_url", "?")):
            raise parameter_error("authorization_notify_url")
        if known := self.authorizations.get(number):
            if known.wanted != wanted:
                raise invalid_request("out_authorization_no was used with other parameters")
            return known, False
        authorization = Authorization(number, wanted, now_ms)
        self.authorizations[number] = authorization
        return authorization, True

    def get_authorization(self, number: str) -> Authorization:
        """Return what a user was asked, and what they said."""
        if number not in self.authorizations:
            raise Refused(404, "NOT_FOUND", "no authorization has this number")
        return self.authorizations[number]

    def lapse(self, now_ms: int) -> list[Transfer | Authorization]:
        """End what was not confirmed within a day, and return all that ended just now."""
        ended: list[Transfer | Authorization] = []
        for transfer in self.by_number.values():
            if transfer.state == "CANCELING" and now_ms >= transfer.updated_at_ms + CANCELLING_MS:
                transfer.move("CANCELLED", now_ms)
            elif _is_overdue(transfer, now_ms):
                transfer.move("FAIL", now_ms, "OVERDUE_CLOSE")
            else:
                continue
            ended.append(transfer)
        for authorization in self.authorizations.values():
            if _is_overdue(authorization, now_ms):
                authorization.close("USER_OVERDUE_UNCONFIRMED", now_ms)
                ended.append(authorization)
        return ended

    def _known(self, wanted: dict[str, Any]) -> Transfer | None:
        known = self.by_number.get(wanted["out_bill_no"])
        if known and known.wanted != wanted:
            raise Refused(400, "ALREADY_EXISTS", "out_bill_no was used with other parameters")
        return known

    def _new(self, wanted: dict[str, Any], openid: str, state: str, now_ms: int) -> Transfer:
        number = wanted["out_bill_no"]
        transfer = Transfer(
            number,
            f"13{digest('transfer', number, digits=35)}",
            wanted,
            openid,
            state,
            now_ms,
            now_ms,
        )
        self.by_number[number] = transfer
        return transfer


def _check(wanted: dict[str, Any]) -> None:
    amount = wanted.get("transfer_amount")
    if not NUMBER.fullmatch(str(wanted.get("out_bill_no", ""))):
        raise parameter_error("out_bill_no: at most 32 letters and digits")
    if not all(wanted.get(name) for name in COMMON):
        raise parameter_error("one of " + ", ".join(COMMON))
    if not isinstance(amount, int) or isinstance(amount, bool) or amount < TRANSFER_FEN_MIN:
        raise parameter_error(f"transfer_amount: at least {TRANSFER_FEN_MIN} fen")
    if amount > NAMELESS_FEN_MAX and not wanted.get("user_name"):
        raise parameter_error("user_name is missing")
    if len(wanted["transfer_remark"]) > REMARK_LENGTH_MAX:
        raise parameter_error("transfer_remark")
    if not wanted.get("transfer_scene_report_infos"):
        raise invalid_request("transfer_scene_report_infos is missing")


def _is_overdue(asked: Transfer | Authorization, now_ms: int) -> bool:
    return asked.state == "WAIT_USER_CONFIRM" and now_ms >= asked.created_at_ms + CONFIRM_WITHIN_MS

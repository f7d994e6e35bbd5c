"""What a caller meets before and after a call is carried out."""

import asyncio
import contextlib

from starlette.requests import Request

from local.gateway.clock import MS_PER_S
from local.gateway.errors import Refused
from local.gateway.gateway import Answer, Call, Gateway, Handler
from local.gateway.modes import ANY_CALL, CREATING_CALL, HIDDEN_QUERIES, Mode

REFUSALS = {
    Mode.THROTTLES: (429, "FREQUENCY_LIMITED", "too many calls"),
    Mode.FAILS: (500, "SYSTEM_ERROR", "the system is busy"),
    Mode.REFUSES_CALLS: (403, "NOT_ENOUGH", "the merchant lacks the money"),
}
DONE_ALL_THE_SAME = {Mode.PAYS_AND_TIMES_OUT, Mode.PAYS_AND_FAILS, Mode.NOT_FOUND_THEN_FOUND}


class Behaviour:
    """What a caller meets before and after a call is carried out."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def answer(
        self, request: Request, handler: Handler, call: Call, *, creates: bool
    ) -> Answer:
        """Carry out *call* as the mode wants it."""
        gateway = self._gateway
        gateway.lapse()
        among = CREATING_CALL if creates else ANY_CALL
        mode = gateway.modes.draw(among, f"{request.url.path} {call.subject}")
        await self._before(request, mode)
        made = handler(call)
        if mode is Mode.REFUSES:
            made = self._fail(call, made)
        if mode is Mode.NOT_FOUND_THEN_FOUND:
            self._hide(call)
        if mode is Mode.PAYS_AND_TIMES_OUT:
            await hang(request, gateway.modes.hang_ms)
        if mode in DONE_ALL_THE_SAME:
            raise Refused(500, "SYSTEM_ERROR", "what was asked is done all the same")
        return made

    async def _before(self, request: Request, mode: Mode) -> None:
        """Do what *mode* does before anything is carried out; it may never be."""
        gateway, path = self._gateway, request.url.path
        if mode in REFUSALS:
            raise Refused(*REFUSALS[mode])
        if mode is Mode.REFUSES and "/transfer-bills" not in path:
            raise Refused(403, "NO_AUTH", "the merchant may not do this")
        if mode is Mode.AUTHORIZATION_WITHDRAWN and path.endswith("/transfer"):
            for authorization in gateway.transfers.authorizations.values():
                gateway.withdraw(authorization, "USER_CLOSE")
        if mode is Mode.TIMES_OUT:
            await hang(request, gateway.modes.hang_ms)
            raise Refused(504, "SYSTEM_ERROR", "nothing was done")
        if mode is Mode.SLOW:
            await asyncio.sleep(gateway.modes.slow_ms / MS_PER_S)

    def _fail(self, call: Call, made: Answer) -> Answer:
        """Let a transfer fail that was accepted: the refusal that a query confirms."""
        transfer = self._gateway.transfers.by_number.get(call.body.get("out_bill_no", ""))
        if transfer is None or transfer.state != "WAIT_USER_CONFIRM":
            return made
        transfer.move("FAIL", self._gateway.clock.now_ms(), "ACCOUNT_FROZEN")
        self._gateway.tell_ended(transfer)
        return 200, transfer.shown()

    def _hide(self, call: Call) -> None:
        """Let the next queries miss what was made just now."""
        order = self._gateway.orders.by_number.get(call.body.get("out_trade_no", ""))
        transfer = self._gateway.transfers.by_number.get(call.body.get("out_bill_no", ""))
        for made in (order, transfer):
            if made is not None and not made.hidden_queries:
                made.hidden_queries = made.queries + HIDDEN_QUERIES


async def hang(request: Request, for_ms: int) -> None:
    """Keep a caller waiting until they give up, or so long."""

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(gone(), for_ms / MS_PER_S)

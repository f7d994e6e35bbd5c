"""The gateway's bills of a day: files that repeat its books, line by line, in yuan."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from local.gateway.clock import day_of, time_of_bill
from local.gateway.keys import Merchant
from local.gateway.orders import Order, Orders, Payment, Refund
from local.gateway.transfers import Transfers

TRADE_HEADER = (
    "交易时间,公众账号ID,商户号,特约商户号,设备号,微信订单号,商户订单号,用户标识,交易类型,交易状态,"
    "付款银行,货币种类,应结订单金额,代金券金额,微信退款单号,商户退款单号,退款金额,充值券退款金额,"
    "退款类型,退款状态,商品名称,商户数据包,手续费,费率,订单金额,申请退款金额,费率备注"
)
TRADE_SUMMARY = (
    "总交易单数,应结订单总金额,退款总金额,充值券退款总金额,手续费总金额,订单总金额,申请退款总金额"
)
FLOW_HEADER = (
    "记账时间,微信支付业务单号,资金流水单号,业务名称,业务类型,收支类型,收支金额(元),账户结余(元),"
    "资金变更提交申请人,备注,业务凭证号"
)
FLOW_SUMMARY = "资金流水总笔数,收入笔数,收入金额,支出笔数,支出金额"
# Where a line has its amounts: of a payment, a refund, both again as ordered; of a flow.
TRADE_AMOUNTS = (12, 16, 24, 25)
FLOW_AMOUNT = 6
# A merchant's account before any of this; no test compares a balance with it.
OPENING_FEN = 100_000_000_00
Account = Literal["BASIC", "OPERATION"]


@dataclass(frozen=True, slots=True)
class Movement:
    """Money that moved in one of the merchant's accounts."""

    at_ms: int
    gateway_no: str
    kind: str
    fen: int
    merchant_no: str


def trade_bill(orders: Orders, day: str, merchant: Merchant) -> list[str]:
    """Return the lines of the payments and refunds of a day, header and summary included."""
    rows: list[tuple[int, str]] = []
    total_fen = refunded_fen = 0
    for order in orders.by_number.values():
        for payment in order.payments:
            if day_of(payment.paid_at_ms) == day:
                total_fen += payment.amount_fen
                rows.append((payment.paid_at_ms, _payment_line(order, payment, merchant)))
        for refund in order.refunds:
            if day_of(refund.created_at_ms) == day:
                refunded_fen += refund.amount_fen
                payment = next(
                    p for p in order.payments if p.transaction_id == refund.transaction_id
                )
                rows.append((refund.created_at_ms, _refund_line(order, payment, refund, merchant)))
    rows.sort()
    totals = (len(rows), yuan(total_fen), yuan(refunded_fen), "0.00", "0.00000")
    summary = _line(*totals, yuan(total_fen), yuan(refunded_fen))
    return [TRADE_HEADER, *(line for _, line in rows), TRADE_SUMMARY, summary]


def flow_bill(orders: Orders, transfers: Transfers, day: str, account: Account) -> list[str]:
    """Return the lines of what moved in an account on a day, header and summary included."""
    moved = _incoming(orders) if account == "BASIC" else _outgoing(transfers)
    of_day = sorted((one for one in moved if day_of(one.at_ms) == day), key=lambda one: one.at_ms)
    balance_fen, lines = OPENING_FEN, []
    for one in of_day:
        balance_fen += one.fen
        lines.append(
            _line(
                *(time_of_bill(one.at_ms), one.gateway_no, f"flow{one.gateway_no}"),
                *(one.kind, one.kind, "收入" if one.fen > 0 else "支出"),
                *(yuan(abs(one.fen)), yuan(balance_fen), "1900000000API", "", one.merchant_no),
            )
        )
    came = [one.fen for one in of_day if one.fen > 0]
    went = [-one.fen for one in of_day if one.fen < 0]
    summary = _line(len(of_day), len(came), yuan(sum(came)), len(went), yuan(sum(went)))
    return [FLOW_HEADER, *lines, FLOW_SUMMARY, summary]


def yuan(fen: int) -> str:
    """Return an amount as bills write it."""
    return f"{fen // 100}.{fen % 100:02}"


def without_a_line(lines: Sequence[str]) -> list[str]:
    """Return a bill that lacks its first line of money."""
    return [lines[0], *lines[2:]] if has_money(lines) else list(lines)


def with_a_changed_line(lines: Sequence[str]) -> list[str]:
    """Return a bill in which the first amount is one fen more."""
    if not has_money(lines):
        return list(lines)
    fields = lines[1].split(",")
    for index in TRADE_AMOUNTS if len(fields) > max(TRADE_AMOUNTS) else (FLOW_AMOUNT,):
        amount = fields[index].removeprefix("`")
        if amount not in {"0.00", ""}:
            whole, cents = amount.split(".")
            fields[index] = f"`{yuan(int(whole + cents) + 1)}"
    return [lines[0], ",".join(fields), *lines[2:]]


def has_money(lines: Sequence[str]) -> bool:
    """Say whether there is any line between the headers."""
    return lines[1].startswith("`")


def _incoming(orders: Orders) -> list[Movement]:
    return [
        Movement(p.paid_at_ms, p.transaction_id, "交易", p.amount_fen, order.number)
        for order in orders.by_number.values()
        for p in order.payments
    ] + [
        Movement(r.created_at_ms, r.refund_id, "退款", -r.amount_fen, r.number)
        for order in orders.by_number.values()
        for r in order.refunds
    ]


def _outgoing(transfers: Transfers) -> list[Movement]:
    return [
        Movement(t.updated_at_ms, t.transfer_no, "商家转账", -t.amount_fen, t.number)
        for t in transfers.by_number.values()
        if t.state == "SUCCESS"
    ]


def _payment_line(order: Order, payment: Payment, merchant: Merchant) -> str:
    amount = yuan(payment.amount_fen)
    return _line(
        *(time_of_bill(payment.paid_at_ms), merchant.app_id, merchant.mch_id, "0", ""),
        *(payment.transaction_id, order.number, payment.openid, order.kind.upper(), "SUCCESS"),
        *("OTHERS", "CNY", amount, "0.00", "0", "0", "0.00", "0.00", "", ""),
        *(order.wanted["description"], "", "0.00000", "0.60%", amount, "0.00", ""),
    )


def _refund_line(order: Order, payment: Payment, refund: Refund, merchant: Merchant) -> str:
    amount = yuan(refund.amount_fen)
    return _line(
        *(time_of_bill(refund.created_at_ms), merchant.app_id, merchant.mch_id, "0", ""),
        *(payment.transaction_id, order.number, payment.openid, order.kind.upper(), "REFUND"),
        *("OTHERS", "CNY", "0.00", "0.00", refund.refund_id, refund.number, amount, "0.00"),
        *("ORIGINAL", "SUCCESS", order.wanted["description"], "", "0.00000", "0.60%", "0.00"),
        *(amount, ""),
    )


def _line(*fields: object) -> str:
    return ",".join(f"`{field}" for field in fields)

"""WeChat Pay's daily statements: files with its own columns, in yuan."""

from collections.abc import Mapping, Sequence

from local.gateways.records import Line
from local.gateways.wechat.wire import rfc3339

TRADES = (
    "交易时间,公众账号ID,商户号,特约商户号,设备号,微信订单号,商户订单号,用户标识,交易类型,交易状态,"
    "付款银行,货币种类,应结订单金额,代金券金额,微信退款单号,商户退款单号,退款金额,充值券退款金额,"
    "退款类型,退款状态,商品名称,商户数据包,手续费,费率,订单金额,申请退款金额,费率备注"
)
FLOWS = (
    "记账时间,微信支付业务单号,资金流水单号,业务名称,业务类型,收支类型,收支金额(元),账户结余(元),"
    "资金变更提交申请人,备注,业务凭证号"
)
TRADES_SUMMARY = (
    "总交易单数,应结订单总金额,退款总金额,充值券退款总金额,手续费总金额,订单总金额,申请退款总金额"
)
FLOWS_SUMMARY = "资金流水总笔数,收入笔数,收入金额,支出笔数,支出金额"


def trade_file(lines: Sequence[Line], names: Mapping[str, str]) -> str:
    """Return the file with a day's payments and refunds; *names* has the merchant's columns."""
    rows = []
    for line in lines:
        row = {"交易时间": _time(line.moved_at_ms), "商品名称": "红包, 充值", **names}
        if line.kind == "payment":
            amounts = dict.fromkeys(("应结订单金额", "订单金额"), _yuan(line.amount_fen))
            row |= {"交易状态": "SUCCESS", "微信订单号": line.outside_no, "商户订单号": line.number}
        else:
            amounts = dict.fromkeys(("退款金额", "申请退款金额"), _yuan(line.amount_fen))
            row |= {"交易状态": "REFUND", "商户订单号": line.of_number}
            row |= {"微信退款单号": line.outside_no, "商户退款单号": line.number}
        rows.append(
            dict.fromkeys(("应结订单金额", "订单金额", "申请退款金额"), "0.00") | row | amounts
        )
    return _file(TRADES, rows, TRADES_SUMMARY)


def flow_file(lines: Sequence[Line]) -> str:
    """Return the file with a day's transfers out of the merchant's account and their returns."""
    rows = [
        {
            "记账时间": _time(line.moved_at_ms),
            "微信支付业务单号": line.outside_no,
            "业务类型": "商家转账",
            "收支类型": "收入" if line.kind == "unlock" else "支出",
            "收支金额(元)": _yuan(line.amount_fen),
            "业务凭证号": line.number,
        }
        for line in lines
    ]
    return _file(FLOWS, rows, FLOWS_SUMMARY)


def _file(header: str, rows: Sequence[Mapping[str, str]], summary: str) -> str:
    # In the summary, only the number of lines is real; the amounts are zero.
    totals = _line([str(len(rows)), *["0.00"] * summary.count(",")])
    written = [_line([row.get(name, "") for name in header.split(",")]) for row in rows]
    return "".join(f"{line}\r\n" for line in (header, *written, summary, totals))


def _line(fields: Sequence[str]) -> str:
    return ",".join(f"`{field}" for field in fields)


def _time(at_ms: int) -> str:
    return rfc3339(at_ms)[:19].replace("T", " ")


def _yuan(fen: int) -> str:
    return f"{fen // 100}.{fen % 100:02}"

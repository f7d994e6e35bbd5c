/** Chinese for the reasons why a withdrawal waits, from redpacket/payments/use_cases/explain_withdrawal.py. */

export const WAITS: Record<string, string> = {
  "the provider to cancel the transfer, as the user asked": "等待支付渠道按用户的要求撤销转账",
  "the provider to cancel the transfer, which is 72 hours old": "转账已满 72 小时，等待支付渠道撤销",
  "proof that the refused transfer was never made": "等待确认：被拒绝的转账确实没有发生",
  "proof that the transfer was never made: the user's consent has ended": "用户的授权已失效，等待确认转账没有发生",
  "The money goes back to the user once the provider can no longer pay this transfer.":
    "支付渠道不会再付这笔转账后，钱自动退回用户余额。",
  "A new transfer asks the user to confirm.": "会发起新的转账，请用户确认。",
  "the provider's answer to a call": "等待支付渠道的答复",
  "The schedule queries the provider after the call.": "调用结束后会自动查询。",
  "the next call to the provider": "等待下一次调用支付渠道",
  "The schedule calls within a minute, or after NightWindow, the rate limit's queue or the provider's pause of at most 15 minutes. Otherwise, check the withdraw switch and TransferFunction's alarms. After a change of merchant, no call follows, and the money stays held until the old keys are back.":
    "一分钟内会自动调用；夜间（NightWindow）、限流排队或渠道暂停（最长 15 分钟）时会顺延。否则请检查“提现”开关和 TransferFunction 的告警。更换商户后不再调用：换回旧商户的密钥之前，钱一直冻结。",
  "the user to confirm in the provider's app": "等待用户在支付 App 里确认收款",
  "Ask the user to open the withdrawal and confirm. It is canceled after 72 hours.": "请用户打开提现记录确认收款；72 小时后自动取消。",
  "the provider to finish the transfer": "等待支付渠道完成转账",
  "The schedule queries the provider again, with the keys of the transfer's merchant.":
    "会自动再次查询；只有发起转账时的商户才能查询。",
  "an operator: after 29 days a provider's NOT_FOUND proves nothing": "等待运营处理：满 29 天后，支付渠道查不到转账也不能作为凭据",
  "Look for the transfer in the provider's statements. See the runbook page `withdrawals-wait`.":
    "请在渠道账单里查找这笔转账，并按运维手册的 `withdrawals-wait` 一页处理。",
  "nothing: no work list contains it": "没有任务在处理它",
  "Run `redpacket reconcile`, and follow the runbook page `reconciliation-difference`.":
    "请运行 `redpacket reconcile`，并按运维手册的 `reconciliation-difference` 一页处理。",
};

/** The page's texts about WeChat. */

import type { Words } from "../provider.ts";

export const zh: Words = {
  name: "微信",
  pay: "用微信扫一扫付款",
  own_face: "用微信的昵称和头像",
  pay_here: "微信支付",
  pay_in_app: "请在微信里打开本页付款",
  confirm_in_app: "请在微信里打开本页确认",
  open_in_app: "请在微信里打开这个链接",
  bind: "绑定微信",
  bound: "微信已绑定（账户编号 {no}，绑定于 {time}）",
  opens: "为安全起见，{time} 起可提现到这个账户",
};
export const en: Words = {
  name: "WeChat",
  pay: "Scan with WeChat to pay",
  own_face: "Use my WeChat name and picture",
  pay_here: "Pay with WeChat",
  pay_in_app: "Open this page in WeChat to pay",
  confirm_in_app: "Open this page in WeChat to confirm",
  open_in_app: "Open this link in WeChat",
  bind: "Bind WeChat",
  bound: "Your WeChat account is bound (account {no}, since {time})",
  opens: "For your safety, withdrawals to it open at {time}",
};

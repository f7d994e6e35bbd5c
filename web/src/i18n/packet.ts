/** Texts of the packet itself. The element on other pages has no other texts. */

import type { STATES_AFTER } from "../api/limits.ts";
import type { Code } from "../api/problems.ts";
import { fill, language, type Params, translate } from "./language.ts";

const zh = {
  packet: "红包",
  from: "{name}的红包",
  for_you: "你收到一个红包",
  someone: "有人",
  default_greeting: "恭喜发财，大吉大利",
  open: "開",
  open_word: "",
  open_label: "拆开红包",
  grab: "抢",
  grab_word: "",
  grab_label: "抢红包",
  loading: "红包正在路上…",
  loading_view: "正在加载…",
  opening: "正在拆…",
  confirming: "网络有点挤，正在确认结果，请不要离开…",
  admitted: "抢到了！快拆开",
  admitted_hint: "{s} 秒内有效，手慢可能会被领完哦",
  say: "输入或说出口令才能领",
  listen: "用语音说口令",
  stop_listening: "说完了",
  exclusive: "专属红包，仅指定的人可领",
  sign_in: "登录后领取",
  starts_in: "{time} 后开抢",
  starts_at: "{at} 开抢",
  starts_soon: "马上开始",
  deposited: "已存入{purse}",
  depositing: "正在存入{purse}…",
  again: "你已领取过这个红包",
  gone: "手慢了，红包派完了",
  expired: "红包已结束",
  expired_hint: "没领完的已退还给发红包的人",
  closing_hint: "没领完的会在一分钟内退还给发红包的人",
  cancelled: "没有付款，红包已取消",
  closed_hint: "未领取的 {amount}已退还",
  retry: "再试一次",
  too_long: "最多 {n} 个字",
  at_most: "最多 {n}",
  at_least: "至少 {n}",
  bad_letter: "有不能用的字符（{letter}）",
  fill_in: "请填写",
  choose: "请选择",
  records: "领取记录",
  taken: "已领取 {n}/{m} 个",
  taken_sum: "共 {got}/{all}",
  sealed: "金额结束后揭晓",
  sealed_sum: "金额结束后揭晓",
  emptied_in: "{m} 个红包共 {all}，{time}被抢光",
  luckiest: "手气最佳",
  nobody_yet: "还没有人领取",
  you: "我",
  more: "查看更多",
  lucky_kind: "拼手气红包",
  equal_kind: "普通红包",
  seconds: "{s} 秒",
  minutes: "{m} 分 {s} 秒",
  hours: "{h} 小时 {m} 分",
  days: "{d} 天 {h} 小时",
  live_open: "红包已打开，领到 {amount}",
  left: "还剩 {n} 个",
  take_own: "我也拆一个",
  watch: "看看大家的手气",
  thank: "给 TA 道声谢",
  thanked: "已道谢",
  thanks_text: "说句谢谢，20 字以内",
  send_thanks: "发送",
  more_emoji: "更多表情",
  verify: "验证公平",
};

export type PacketWord = keyof typeof zh;

const en: Record<PacketWord, string> = {
  packet: "Red packet",
  from: "{name}'s red packet",
  for_you: "A red packet for you",
  someone: "Somebody",
  default_greeting: "Wishing you prosperity",
  open: "開",
  open_word: "Open",
  open_label: "Open the red packet",
  grab: "抢",
  grab_word: "Grab",
  grab_label: "Grab a share",
  loading: "Your red packet is on its way…",
  loading_view: "Loading…",
  opening: "Opening…",
  confirming: "It's crowded. We are confirming your result, please stay…",
  admitted: "You're in! Open it now",
  admitted_hint: "Open it within {s} s: others may be faster",
  say: "Type or say the passphrase",
  listen: "Say it aloud",
  stop_listening: "Stop listening",
  exclusive: "Only for the people it was sent to",
  sign_in: "Sign in to open it",
  starts_in: "Starts in {time}",
  starts_at: "Opens at {at}",
  starts_soon: "Starting now",
  deposited: "Added to your balance",
  depositing: "Being added to your balance…",
  again: "You already have your share",
  gone: "Too late, all shares are gone",
  expired: "This red packet has ended",
  expired_hint: "The rest was returned to the sender",
  closing_hint: "The rest returns to the sender within a minute",
  cancelled: "This red packet was canceled because it was not paid",
  closed_hint: "{amount} was left and returned to the sender",
  retry: "Try again",
  too_long: "At most {n} characters",
  at_most: "At most {n}",
  at_least: "At least {n}",
  bad_letter: "Contains a character that can't be used ({letter})",
  fill_in: "Please fill this in",
  choose: "Please choose",
  records: "Who took how much",
  taken: "{n} of {m} taken",
  taken_sum: "{got} of {all}",
  sealed: "Amount shown at the end",
  sealed_sum: "amounts are shown at the end",
  emptied_in: "{m} of {m} taken in {time} · {all}",
  luckiest: "Luckiest",
  nobody_yet: "No share has been taken yet",
  you: "me",
  more: "Show more",
  lucky_kind: "Lucky shares",
  equal_kind: "Equal shares",
  seconds: "{s} s",
  minutes: "{m} min {s} s",
  hours: "{h} h {m} min",
  days: "{d} days {h} h",
  live_open: "The packet is open: {amount}",
  left: "{n} left",
  take_own: "Take a share yourself",
  watch: "See everybody's luck",
  thank: "Say thank you",
  thanked: "You said:",
  thanks_text: "Say thank you, up to 20 letters",
  send_thanks: "Send",
  more_emoji: "More emoji",
  verify: "Check that it is fair",
};

/** Returns one of the packet's texts, in the current language. */
export function p(word: PacketWord, params?: Params): string {
  return fill((language() === "en" ? en : zh)[word], params);
}

/** Formats a duration in everyday words. */
export function duration(ms: number): string {
  const s = Math.max(1, Math.round(ms / 1000));
  if (s < 60) return p("seconds", { s });
  if (s < 3600) return p("minutes", { m: Math.floor(s / 60), s: s % 60 });
  if (s < 86_400) return p("hours", { h: Math.floor(s / 3600), m: Math.floor((s % 3600) / 60) });
  return p("days", { d: Math.floor(s / 86_400), h: Math.floor((s % 86_400) / 3600) });
}

const zhProblems = {
  already_thanked: "你已经谢过了",
  campaign_ended: "活动已结束",
  campaign_not_started: "活动还没开始",
  campaign_paused: "活动暂停中，请稍后再来",
  forbidden: "你没有权限这样做",
  grab_token_invalid: "时间已过，请重新抢一次",
  internal_error: "系统出了点问题，我们已收到报告",
  invalid_request: "填写的内容有误",
  not_in_audience: "本场活动仅限受邀用户参加",
  not_invited: "这是专属红包，不是给你的哦",
  offline: "网络断开了，恢复后会继续",
  origin_refused: "这个网页还不能显示红包",
  packet_emptied: "手慢了，红包派完了",
  packet_expired: "红包已结束",
  packet_not_found: "这个红包不存在，或不是发给你的",
  packet_not_started: "红包还没开始",
  passphrase_mismatch: "口令不对，再试试",
  quota_exhausted: "你领取的个数已达上限",
  rate_limited: "操作太快了，请稍等",
  switched_off: "系统维护中，请稍后再试",
  unauthorized: "请先登录",
  unavailable: "有点拥挤，正在重试",
  unknown: "没有成功，请再试一次",
} satisfies Partial<Record<Code, string>> & Record<keyof typeof STATES_AFTER, string>;

type PacketCode = keyof typeof zhProblems;
/** Codes that no packet request returns. Their texts are in i18n/problems.ts, which the embedded element omits. */
export type OtherCode = Exclude<Code, PacketCode>;

const enProblems: Record<PacketCode, string> = {
  already_thanked: "You have already said thank you",
  campaign_ended: "This event is over",
  campaign_not_started: "This event hasn't started yet",
  campaign_paused: "This event is paused, please come back soon",
  forbidden: "You aren't allowed to do that",
  grab_token_invalid: "Your time ran out, please grab again",
  internal_error: "Something went wrong on our side and was reported",
  invalid_request: "Please check what you typed",
  not_in_audience: "This event is for invited people only",
  not_invited: "This packet is for somebody else",
  offline: "You are offline. We'll continue when you're back",
  origin_refused: "This page may not show red packets yet",
  packet_emptied: "Too late, all shares are gone",
  packet_expired: "This red packet has ended",
  packet_not_found: "This red packet doesn't exist, or isn't for you",
  packet_not_started: "This red packet isn't open yet",
  passphrase_mismatch: "That's not the passphrase, try again",
  quota_exhausted: "You have reached your limit of shares",
  rate_limited: "That was too fast, please wait a moment",
  switched_off: "Closed for maintenance, please try again soon",
  unauthorized: "Please sign in",
  unavailable: "It's crowded, trying again",
  unknown: "That didn't work, please try again",
};

const others: Record<"zh" | "en", Record<string, string>> = { zh: {}, en: {} };

/** Adds the texts of all other codes. */
export function addProblems(words: Record<"zh" | "en", Record<OtherCode, string>>): void {
  Object.assign(others, words);
}

/** Returns the text of a problem for the reader. Unknown codes share one text. */
export function problemText(code: string): string {
  const [words, more] = language() === "en" ? [enProblems, others.en] : [zhProblems, others.zh];
  return translate({ ...more, ...words }[code] ?? words.unknown);
}

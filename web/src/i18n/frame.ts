/** Texts of the page's frame and around a packet. A visit to a packet's link loads no other page texts. */

import { fill, language, type Params } from "./language.ts";

const zh = {
  brand: "红包",
  skip: "跳到内容",
  lost: "页面走丢了",
  go_home: "回首页",
  language: "语言",
  no_name: "填昵称",
  notice_denied: "你取消了登录",
  notice_failed: "登录没有成功，请再试一次",
  notice_expired: "登录已过期，请重新登录",
  operator: "运营",
  send_title: "发红包",
  share_title: "红包包好了",
  proof: "验证公平",
  proof_title: "公平验证",
  send_back: "我也发一个",
  relay: "手气最佳，接力发一个",
  more_of_campaign: "看看这场活动还有什么",
  end_now: "立即结束",
  share_again: "分享",
  sound_on: "声音：开",
  sound_off: "声音：关",
  scan_to_open: "用手机扫码打开",
  lost_hint: "链接可能不完整，或者已经失效",
  wallet: "钱包",
  notices: "消息",
  pay_title: "付款",
};

export type FrameWord = keyof typeof zh;

const en: Record<FrameWord, string> = {
  brand: "Red packets",
  skip: "Skip to content",
  lost: "This page got lost",
  go_home: "Go home",
  language: "Language",
  no_name: "Add a name",
  notice_denied: "You canceled the sign-in",
  notice_failed: "The sign-in failed. Please try again",
  notice_expired: "Your sign-in has expired, please sign in again",
  operator: "Operator",
  send_title: "Send a packet",
  share_title: "Your packet is ready",
  proof: "Check fairness",
  proof_title: "Fairness check",
  send_back: "Send one too",
  relay: "Best luck! Send the next one",
  more_of_campaign: "See what else this event has",
  end_now: "End now",
  share_again: "Share",
  sound_on: "Sound: on",
  sound_off: "Sound: off",
  scan_to_open: "Scan to open it on a phone",
  lost_hint: "The link may be incomplete or out of date",
  wallet: "Wallet",
  notices: "Notifications",
  pay_title: "Payment",
};

export const frame = { zh, en };

/** Returns one of the frame's texts, in the current language. */
export function f(word: FrameWord, params?: Params): string {
  return fill((language() === "en" ? en : zh)[word], params);
}

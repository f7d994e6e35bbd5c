/** Texts of the frame, the sign-in, the proof and the copy button. */

import { frame } from "./frame.ts";
import { fill, language, type Params } from "./language.ts";

const zh = {
  ...frame.zh,
  home: "首页",
  back: "返回",
  sign_in: "登录",
  sign_in_title: "恭喜发财",
  sign_in_lead: "登录后就能收发红包",
  dev_lead: "本机体验：选一个身份，随时可以换",
  dev_name: "或者用别的名字",
  dev_enter: "进入",
  link: "红包链接",
  copy: "复制",
  copied: "已复制",
  copy_failed: "请手动复制",
  proof_lead: "金额在发出前就定好了。本机刚刚按公开的规则重新算了一遍。",
  proof_true: "完全一致",
  proof_false: "有出入",
  proof_partly: "未发现出入，但未能全部验证",
  proof_commitment: "校验码与公开的随机种子一致，金额未被改动",
  proof_noted: "校验码与你在 {time} 看到的相同",
  proof_first: "这是你第一次在这台设备上看到这个校验码",
  proof_amounts: "{n} 个金额全部重算",
  proof_sum: "合计 {amount}，一分不差",
  proof_claims: "{n} 条领取记录相符",
  proof_owners: "每份只有一位领取人，每人只领一份",
  proof_share: "第 {no} 个：记录为 {said}，应为 {real}",
  proof_shares: "每个红包的金额",
  proof_seed: "随机种子",
  proof_code: "校验码",
  proof_what: "这是什么？",
  proof_why: "发红包前，系统用一个随机种子算好所有金额，并公布它的校验码。种子在红包结束后公开：谁改过金额，校验码就对不上。",
  proof_large: "这个红包太大，请用离线验证程序",
};

export type Word = keyof typeof zh;

const en: Record<Word, string> = {
  ...frame.en,
  home: "Home",
  back: "Back",
  sign_in: "Sign in",
  sign_in_title: "Good fortune to you",
  sign_in_lead: "Sign in to send and open red packets",
  dev_lead: "On your own machine: be anyone, change at any time",
  dev_name: "Or use another name",
  dev_enter: "Enter",
  link: "Link",
  copy: "Copy",
  copied: "Copied",
  copy_failed: "Copy it by hand",
  proof_lead:
    "The amounts were fixed before the packet was sent. This device has just computed them again by the published rules.",
  proof_true: "Everything matches",
  proof_false: "Something differs",
  proof_partly: "Nothing differs, but not everything was checked",
  proof_commitment: "The commitment matches the published seed: no amount was changed",
  proof_noted: "The commitment is the one you saw at {time}",
  proof_first: "This device sees this commitment for the first time",
  proof_amounts: "Amounts recomputed: {n}",
  proof_sum: "{amount} in total, nothing missing",
  proof_claims: "Records that match: {n}",
  proof_owners: "Each share has one owner, and each user one share",
  proof_share: "Share {no}: says {said}, should be {real}",
  proof_shares: "The amount of every share",
  proof_seed: "Seed",
  proof_code: "Commitment",
  proof_what: "What is this?",
  proof_why:
    "A random seed fixes all amounts before a packet is sent, and its fingerprint, the commitment, is published. The seed is shown at the end: if anybody had changed an amount, the two would not match.",
  proof_large: "This packet is too large for a page; use the offline verifier",
};

/** Returns one of the page's texts, in the current language. */
export function t(word: Word, params?: Params): string {
  return fill((language() === "en" ? en : zh)[word], params);
}

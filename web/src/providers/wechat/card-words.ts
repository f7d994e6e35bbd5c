/** Words that only WeChat's own browser shows. */

import { fill, language, type Params } from "../../i18n/language.ts";

const zh = {
  hold_to_save: "长按图片保存或转发",
  card_title: "红包",
  card_desc: "{name}发来一个红包，快来领取",
  card_neutral: "点开看看手气",
  menu: "点右上角的「···」，再选「发送给朋友」",
  got_it: "知道了",
};
const en: typeof zh = {
  hold_to_save: "Press and hold the picture to save or forward it",
  card_title: "Red packet",
  card_desc: "{name} sent a red packet: open it",
  card_neutral: "Open it and try your luck",
  menu: "Tap ··· at the top right, then “Send to Chat”",
  got_it: "Got it",
};

export function w(word: keyof typeof zh, params?: Params): string {
  return fill((language() === "en" ? en : zh)[word], params);
}

/** Texts of the sheet for a user's name and picture. */

import { fill, language, type Params } from "./language.ts";
import { t as pageWord, type Word as PageWord } from "./page.ts";

const zh = {
  face_title: "让大家认出你",
  face_lead: "封面、领取记录和大屏上会显示你的昵称和头像",
  face_nickname: "昵称",
  face_example: "例如：小明",
  face_picture: "头像",
  face_letter: "用昵称的第一个字",
  face_own: "我的图片",
  face_upload: "上传图片",
  face_bad_picture: "打不开这张图片，请换一张 JPG、PNG 或 WebP",
  face_save: "就用这个",
  face_saving: "正在保存…",
  face_later: "以后再说",
  sign_out: "退出登录",
  sign_out_title: "要退出登录吗？",
  sign_out_hint: "{purse}和红包都还在，再次登录就能看到。",
  sign_out_no: "不退出",
  seal_fu: "福",
  seal_xi: "喜",
  seal_lu: "禄",
  seal_shou: "寿",
  seal_cai: "财",
  seal_an: "安",
  seal_chun: "春",
  seal_long: "龙",
};

type Own = keyof typeof zh;

const en: Record<Own, string> = {
  face_title: "Let people know you",
  face_lead: "Covers, lists and the big screen show your name and picture",
  face_nickname: "Name",
  face_example: "Such as: Alex",
  face_picture: "Picture",
  face_letter: "First letter of the name",
  face_own: "My picture",
  face_upload: "Upload a picture",
  face_bad_picture: "This picture can't be opened. Try a JPG, PNG or WebP",
  face_save: "Use this",
  face_saving: "Saving…",
  face_later: "Not now",
  sign_out: "Sign out",
  sign_out_title: "Sign out?",
  sign_out_hint: "Your balance and packets stay. Sign in again to see them.",
  sign_out_no: "Stay",
  seal_fu: "Fortune",
  seal_xi: "Joy",
  seal_lu: "Success",
  seal_shou: "Long life",
  seal_cai: "Wealth",
  seal_an: "Peace",
  seal_chun: "Spring",
  seal_long: "Dragon",
};

/** Returns a text from the sheet or the page, in the current language. */
export function t(word: Own | PageWord, params?: Params): string {
  if (!(word in zh)) return pageWord(word as PageWord, params);
  return fill((language() === "en" ? en : zh)[word as Own], params);
}

import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import test from "node:test";

import { catalogOf, FOLDERS, texts } from "../languages.ts";

Object.defineProperty(globalThis, "navigator", { value: { languages: ["zh-CN"] }, configurable: true });
const { clock, fill, formatTime, language, languageOf, setLanguage, speaking } = await import("../src/i18n/language.ts");

const NOON_MS = new Date(2026, 9, 1, 12, 3, 9).getTime();

test("a time includes its date if it is not today", () => {
  assert.equal(clock(NOON_MS, NOON_MS + 1), "12:03:09");
  assert.match(clock(NOON_MS, NOON_MS + 86_400_000), /10\/01.*12:03:09/);
});

test("each language's formatter is created once", (context) => {
  const { DateTimeFormat } = Intl;
  const made = context.mock.method(Intl, "DateTimeFormat", DateTimeFormat).mock;
  const options = { month: "long" } as const;

  const months = (["zh-CN", "en", "zh-CN", "en"] as const).map((wanted) => {
    setLanguage(wanted);
    return formatTime(NOON_MS, options);
  });

  assert.deepEqual(months, ["十月", "October", "十月", "October"]);
  assert.equal(made.callCount(), 2);
});

test("one element uses another language, and the page keeps its own", () => {
  setLanguage("zh-CN");

  const inEnglish = speaking("en", () => language());

  assert.deepEqual([inEnglish, language(), speaking(undefined, language)], ["en", "zh-CN", "zh-CN"]);
});

test("a reader gets the first of their languages that the page supports", () => {
  const expected = { "zh-TW": "zh-TW", "zh-Hant-HK": "zh-TW", "zh-MO": "zh-TW", "zh-SG": "zh-CN", "ug-CN": "zh-CN", "en-GB": "en", fr: "en" };

  for (const [tag, wanted] of Object.entries(expected)) assert.equal(languageOf(tag), wanted, tag);
  assert.equal(languageOf("vi-VN", "zh-HK", "en"), "zh-TW");
  assert.equal(languageOf(), "en");
});

test("a language from a folder shows its words once they are loaded", async () => {
  setLanguage("zh-TW");
  const early = fill("发红包给 {name}", { name: "小明" });
  await import("../src/i18n/others/zh-TW.ts");
  await Promise.resolve();

  assert.equal(early, "发红包给 小明");
  assert.equal(fill("发红包"), "發紅包");
  assert.equal(speaking("en", () => fill("发红包")), "发红包");
  setLanguage("zh-CN");
});

test("every traditional Chinese word is reviewed or from the dictionary, and none stays simplified", () => {
  const catalog = catalogOf(`${FOLDERS}/zh-TW`, texts());

  assert.equal(catalog["登录后领取"], "登入後領取");
  assert.equal(catalog["账本"], "帳本");
  assert.equal(catalog["平台钱包"], "平台錢包");
  for (const [text, word] of Object.entries(catalog)) {
    assert.doesNotMatch(word, /[红发钱领开账这里链录网络设备单个给还过额]/, text);
    assert.deepEqual(word.match(/\{\w+\}/g), text.match(/\{\w+\}/g));
  }
});

test("a language folder must have every word", () => {
  const folder = mkdtempSync(`${tmpdir()}/language-`);
  writeFileSync(`${folder}/language.json`, JSON.stringify({ name: "Tiếng Việt", tags: ["vi"] }));
  writeFileSync(`${folder}/words.json`, JSON.stringify({ 红包: "lì xì" }));

  assert.deepEqual(catalogOf(folder, ["红包"]), { 红包: "lì xì" });
  assert.throws(() => catalogOf(folder, ["红包", "钱包"]), /lacks 1 words: 钱包/);
});

import assert from "node:assert/strict";
import test from "node:test";

Object.defineProperty(globalThis, "navigator", { value: { language: "zh-CN" }, configurable: true });
const { clock, formatTime, language, setLanguage, speaking } = await import("../src/i18n/language.ts");

const NOON_MS = new Date(2026, 9, 1, 12, 3, 9).getTime();

test("a time has its date where it is not today", () => {
  assert.equal(clock(NOON_MS, NOON_MS + 1), "12:03:09");
  assert.match(clock(NOON_MS, NOON_MS + 86_400_000), /10\/01.*12:03:09/);
});

test("a format is made once for each language", (context) => {
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

test("one element speaks another language, and the choice of its page stays", () => {
  setLanguage("zh-CN");

  const inEnglish = speaking("en", () => language());

  assert.deepEqual([inEnglish, language(), speaking(undefined, language)], ["en", "zh-CN", "zh-CN"]);
});

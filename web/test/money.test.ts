import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { fill } from "../src/i18n/language.ts";
import { digits, grouped, parseAmount, plainAmount, useUnit } from "../src/money.ts";
import { bodyOf, countOf, EMPTY, totalFenOf, wrongOf, type Draft } from "../src/views/draft.ts";

const draft: Draft = { ...EMPTY, split: "bell", amount: "88.88", count: "8" };

interface Case {
  text: string;
  fen: number | null;
}

test("an amount that follows the grammar is parsed, and an ambiguous one is rejected", () => {
  const cases = JSON.parse(readFileSync("../tests/vectors/amounts.json", "utf8")) as Case[];

  for (const { text, fen } of cases) assert.equal(parseAmount(text) ?? null, fen, JSON.stringify(text));
});

test("an amount that the page formats parses to the same value", () => {
  for (const fen of [1, 100, 8888, 123456, 123456789]) {
    assert.deepEqual([parseAmount(digits(fen)), parseAmount(grouped(fen))], [fen, fen]);
  }
});

test("an error quotes an amount with the parsed digits", () => {
  assert.equal(plainAmount(" １．００５ "), "1.005");
  assert.equal(plainAmount("٠٫١٢٣"), "0.123");
});

test("fen are shown with two decimals", () => {
  assert.deepEqual([0, 1, 10, 100, 8888, -5].map((fen) => digits(fen)), ["0.00", "0.01", "0.10", "1.00", "88.88", "-0.05"]);
  assert.equal(grouped(123456789), "1,234,567.89");
});

test("the purse has a money name only if the unit is money", () => {
  const said = [undefined, { name: "points", symbol: "pts", decimals: 0 }, undefined].map((unit) => {
    useUnit(unit);
    return [fill("已存入{purse}"), fill("{put}进红包")];
  });

  const ofMoney = ["已存入零钱", "塞钱进红包"];
  assert.deepEqual(said, [ofMoney, ["已存入余额", "放进红包"], ofMoney]);
});

test("users type the total of a lucky packet, but the share of an equal one", () => {
  assert.equal(totalFenOf(draft), 8888);
  assert.equal(totalFenOf({ ...draft, kind: "equal" }), 71104);
  assert.equal(totalFenOf({ ...draft, amount: "0" }), undefined);
  assert.equal(countOf({ ...draft, count: "101" }), undefined);
});

test("a body has only the fields that the user set", () => {
  const some = { audience: "some", people: ["bb", "cc"], recipients: "aa\n bb " } as const;
  const typed = { ...draft, ...some, people: [...some.people], passphrase: " 新年 ", two_step: "on", cover: "/covers/moon.svg" };
  assert.deepEqual(bodyOf(typed, "恭喜"), {
    kind: "lucky",
    split: "bell",
    total_fen: 8888,
    count: 8,
    greeting: "恭喜",
    opening: "two_step",
    expires_in_s: 86400,
    passphrase: "新年",
    recipients: ["bb", "cc", "aa"],
    cover_url: "/covers/moon.svg",
  });
  assert.ok(!("split" in bodyOf({ ...draft, kind: "equal" }, "")));
  assert.ok(!("recipients" in bodyOf({ ...typed, audience: "all" }, "")));
});

test("pasted tokens lose invisible characters", () => {
  const typed = { ...draft, audience: "some", recipients: "\u202daa\u202c\u00a0bb\u200b\ncc" } as const;

  assert.deepEqual(bodyOf(typed, "").recipients, ["aa", "bb", "cc"]);
});

test("the first user who opens the link of a single share gets the whole amount", () => {
  const { count, total_fen, recipients } = bodyOf({ ...draft, audience: "one", count: "" }, "");

  assert.deepEqual([count, total_fen, recipients], [1, 8888, undefined]);
});

test("the form shows limits before the user sends", () => {
  const cases: [Partial<Draft>, object][] = [
    [{}, {}],
    [{ amount: "", count: "0" }, { amount: "bad_amount", count: "bad_count" }],
    [{ amount: "0" }, { amount: "bad_amount" }],
    [{ amount: "1.005" }, { amount: "unread_amount" }],
    [{ amount: "1600.01" }, { amount: "too_large" }],
    [{ amount: "200.01", kind: "equal" }, { amount: "too_large" }],
    [{ amount: "200", kind: "equal" }, {}],
    [{ amount: "0.07" }, { amount: "too_small" }],
    [{ audience: "one", amount: "200.01" }, { amount: "too_large" }],
    [{ audience: "some" }, { people: "no_people" }],
    [{ audience: "some", recipients: "aa" }, {}],
    [{ cover_link: "https://elsewhere.example/1.png" }, { cover_link: "bad_cover" }],
    [{ starts: "2027-01-31T20:00" }, {}],
    [{ starts: "2027-01-31T20:01" }, { starts: "bad_start" }],
  ];
  const nowMs = new Date("2027-01-01T20:00").getTime();
  for (const [typed, wrong] of cases) assert.deepEqual(wrongOf({ ...draft, ...typed }, 20_000, [], nowMs), wrong);
});

/** API client for one user: signs in silently and retries requests with an unknown outcome. */

const { api, unit } = require("./config");
const refusals = require("./refusals");

const TRIES = 8;
const PASSING = ["unavailable", "idempotency_key_in_use", "offline"];

/** Texts that replace those in refusals.js: this client stops retrying, and the split's text states the limits. */
const WORDS = {
  offline: "网络断开了",
  split_impossible: "每人至少 0.01 元，最多 200 元",
  unavailable: "有点拥挤，请再试一次",
};

let session;

/** Returns the current token. Concurrent callers share one sign-in. */
function token() {
  session ??= signIn().catch((error) => {
    session = undefined;
    throw error;
  });
  return session;
}

async function signIn() {
  // A code is valid only once, so every attempt gets a new one.
  return repeat(async () => {
    const { code } = await new Promise((success, fail) => wx.login({ success, fail }));
    return (await send("POST", "/auth/wechat", { body: { code } })).token;
  });
}

/** Sends a request, with retries. They are harmless, because the API recognizes a send by its key and a grab by its user. */
function ask(method, path, options = {}) {
  return repeat(async () => {
    const asked = session;
    try {
      return await send(method, path, { ...options, token: await token() });
    } catch (problem) {
      if (problem.code !== "unauthorized") throw problem;
      // The token has expired. The first caller that notices signs in again.
      if (session === asked || !asked) session = undefined;
      return send(method, path, { ...options, token: await token() });
    }
  });
}

async function repeat(once) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await once();
    } catch (problem) {
      if (!PASSING.includes(problem.code) || tries === TRIES) throw problem;
      // The delay doubles each time. With jitter, users who were refused at the same time retry at different times.
      await pause(250 * 2 ** tries * (0.5 + Math.random() / 2));
    }
  }
}

function send(method, path, { body, key, token: signed } = {}) {
  const header = { "content-type": "application/json" };
  if (signed) header.authorization = `Bearer ${signed}`;
  if (key) header["idempotency-key"] = key;
  return new Promise((done, refuse) => {
    const askedAtMs = Date.now();
    wx.request({
      url: api + path,
      method,
      header,
      data: body,
      timeout: 32_000,
      success: ({ statusCode, data, header: told }) => {
        noteTime(told, askedAtMs);
        if (statusCode < 300) done(data);
        else refuse(problemOf(statusCode, data?.code));
      },
      fail: () => refuse(problemOf(0, "offline")),
    });
  });
}

let aheadMs = 0;

/** Returns the server's time according to the last answer, because a phone's clock may be hours off. */
const now = () => Date.now() + aheadMs;

function noteTime(header = {}, askedAtMs) {
  const told = Object.fromEntries(Object.entries(header).map(([name, value]) => [name.toLowerCase(), value]));
  // Ignore a cached answer, because its time is old.
  if (!told["x-now-ms"] || "age" in told || told["cache-control"]?.includes("public")) return;
  aheadMs = Math.round(Number(told["x-now-ms"]) - (askedAtMs + Date.now()) / 2);
}

function problemOf(status, told) {
  const code = told ?? { 401: "unauthorized", 429: "rate_limited" }[status] ?? "unavailable";
  return { text: "没有成功，请再试一次", ...refusals[code], code, ...(WORDS[code] && { text: WORDS[code] }) };
}

/** Returns 128 random bits as the idempotency key of one send. */
async function newKey() {
  const { randomValues } = await wx.getRandomValues({ length: 16 });
  return Array.from(new Uint8Array(randomValues), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Formats an amount without floats. The API calls the minor unit fen. */
function digits(fen) {
  const text = String(fen).padStart(unit.decimals + 1, "0");
  const at = text.length - unit.decimals;
  return unit.decimals ? `${text.slice(0, at)}.${text.slice(at)}` : text;
}

const money = (fen) => `${digits(fen)} ${unit.symbol}`;

const FEN_MAX = 1e12;
const PLAIN = /^(\d+)()(?:[.,](\d\d?))?$/;
/** Groups of three digits with one separator. A single group after a point is excluded, because it may be a fraction. */
const GROUPED = /^(?!\d+\.\d+$)([1-9]\d{0,2}([,. '])\d{3}(?:\2\d{3})*)(?:(?!\2)[.,](\d\d?))?$/;

/** Parses an amount in yuan by the page's grammar. Returns fen, or 0 if the input is invalid. */
function fenOf(text) {
  const number = text
    .replace(/[０-９٠-٩۰-۹]/g, (digit) => String(digit.charCodeAt(0) & 15))
    .replace(/，/g, ",")
    .replace(/[．。｡٫]/g, ".")
    .replace(/[’٬]/g, "'")
    .replace(/[\u00a0\u202f]/g, " ")
    .trim()
    .replace(/^[¥￥] ?| ?元$/g, "");
  const [, whole, , cents = ""] = PLAIN.exec(number) ?? GROUPED.exec(number) ?? [];
  const fen = whole ? Number(whole.replace(/\D/g, "") + cents.padEnd(2, "0")) : 0;
  return fen <= FEN_MAX ? fen : 0;
}

module.exports = { ask, digits, fenOf, money, newKey, now, pause, unit };

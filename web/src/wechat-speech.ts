/** Speech recognition in WeChat's own browser, by its JS-SDK, which is loaded at the first use. */

import { listenBy, type Listening } from "./packet/speech.ts";
import { session } from "./session.ts";

interface Answers<Answer> {
  success?: (answer: Answer) => void;
  fail?: (problem: unknown) => void;
  cancel?: (problem: unknown) => void;
  complete?: (answer: Answer) => void;
}

interface Recorded {
  localId: string;
}

interface Translated {
  translateResult?: string;
}

interface Wx {
  config(settings: object): void;
  ready(done: () => void): void;
  error(failed: (problem: unknown) => void): void;
  startRecord(how: Answers<unknown>): void;
  stopRecord(how: Answers<Recorded>): void;
  onVoiceRecordEnd(how: Answers<Recorded>): void;
  translateVoice(how: Answers<Translated> & Recorded & { isShowProgressTips: 0 | 1 }): void;
}

interface Policies {
  createPolicy(name: string, rules: object): { createScriptURL(url: string): string };
}

const SCRIPT = "https://res.wx.qq.com/open/js/jweixin-1.6.0.js";
const CALLS = ["startRecord", "stopRecord", "onVoiceRecordEnd", "translateVoice"];
const CONFIG_MS_MAX = 10_000;

let loading: Promise<Wx> | undefined;
let signedUrl: string | undefined;

/** Uses the JS-SDK's recognition instead of the browser's. */
export function offerWeChatSpeech(): void {
  listenBy(listen);
}

function listen(): Listening {
  const told = new AbortController();
  const heard = hear(told.signal).catch(() => undefined);
  return { heard, stop: () => told.abort() };
}

async function hear(stopped: AbortSignal): Promise<string | undefined> {
  const wx = await configured().catch((problem: unknown) => {
    // It would fail again: the button goes away, and the phrase is typed.
    listenBy(undefined);
    throw problem;
  });
  if (stopped.aborted) return undefined;
  await answerOf((how) => wx.startRecord(how));
  const { localId } = await new Promise<Recorded>((done, failed) => {
    // WeChat ends a record after a minute.
    wx.onVoiceRecordEnd({ complete: done });
    const stop = () => wx.stopRecord({ success: done, fail: failed });
    if (stopped.aborted) stop();
    else stopped.addEventListener("abort", stop);
  });
  const { translateResult } = await answerOf<Translated>((how) =>
    wx.translateVoice({ localId, isShowProgressTips: 1, ...how }),
  );
  // It writes a sentence, and ends it.
  return translateResult?.replace(/[。，！？.,!?\s]+$/u, "");
}

function answerOf<Answer>(call: (how: Answers<Answer>) => void): Promise<Answer> {
  return new Promise((success, fail) => call({ success, fail, cancel: fail }));
}

async function configured(): Promise<Wx> {
  loading ??= load();
  const wx = await loading;
  const url = urlToSign();
  if (url === signedUrl) return wx;
  const query = new URLSearchParams({ url }).toString();
  const signed = await session.client.get(`/wechat/js-config?${query}`);
  let timer: ReturnType<typeof setTimeout> | undefined;
  await new Promise<void>((done, failed) => {
    timer = setTimeout(failed, CONFIG_MS_MAX);
    const { app_id: appId, timestamp, nonce: nonceStr, signature } = signed;
    wx.config({ appId, timestamp, nonceStr, signature, jsApiList: CALLS });
    wx.ready(done);
    wx.error(failed);
  }).finally(() => clearTimeout(timer));
  signedUrl = url;
  return wx;
}

/** WeChat on iOS knows a page by the address that it was loaded with, on Android by that of now. */
function urlToSign(): string {
  const [loaded] = performance.getEntriesByType("navigation");
  const isIos = /iPhone|iPad/.test(navigator.userAgent);
  const [url = ""] = (isIos && loaded ? loaded.name : location.href).split("#");
  return url;
}

function load(): Promise<Wx> {
  return new Promise((done, failed) => {
    const { trustedTypes } = globalThis as { trustedTypes?: Policies };
    const script = document.createElement("script");
    const policy = trustedTypes?.createPolicy("wechat-js-sdk", { createScriptURL: () => SCRIPT });
    script.src = policy?.createScriptURL(SCRIPT) ?? SCRIPT;
    script.onload = () => done((globalThis as unknown as { wx: Wx }).wx);
    script.onerror = failed;
    document.head.append(script);
  });
}

/** WeChat's JS-SDK, loaded on first use and configured for the current URL. */

import type { Client } from "../../api/client.ts";

export interface Answers<Answer> {
  success?: (answer: Answer) => void;
  fail?: (problem: unknown) => void;
  cancel?: (problem: unknown) => void;
  complete?: (answer: Answer) => void;
}

export interface Recorded {
  localId: string;
}

export interface Translated {
  translateResult?: string;
}

/** Preview of a link in a chat or the timeline. */
export interface ShareCard {
  title: string;
  desc: string;
  link: string;
  imgUrl: string;
}

export interface Wx {
  config(settings: object): void;
  ready(done: () => void): void;
  error(failed: (problem: unknown) => void): void;
  startRecord(how: Answers<unknown>): void;
  stopRecord(how: Answers<Recorded>): void;
  onVoiceRecordEnd(how: Answers<Recorded>): void;
  translateVoice(how: Answers<Translated> & Recorded & { isShowProgressTips: 0 | 1 }): void;
  updateAppMessageShareData(how: ShareCard): void;
  updateTimelineShareData(how: Omit<ShareCard, "desc">): void;
}

interface Policies {
  createPolicy(name: string, rules: object): { createScriptURL(url: string): string };
}

const SCRIPT = "https://res.wx.qq.com/open/js/jweixin-1.6.0.js";
const CALLS = [
  ...["startRecord", "stopRecord", "onVoiceRecordEnd", "translateVoice"],
  ...["updateAppMessageShareData", "updateTimelineShareData"],
];
const CONFIG_MS_MAX = 10_000;

let loading: Promise<Wx> | undefined;
let configuring: Promise<Wx> | undefined;
let signedUrl: string | undefined;

/** Returns the JS-SDK once WeChat has accepted this URL. Otherwise rejects. */
export function jsSdk(client: Client): Promise<Wx> {
  const url = urlToSign();
  if (!configuring || url !== signedUrl) {
    signedUrl = url;
    configuring = configure(client, url);
    configuring.catch(() => (signedUrl = undefined));
  }
  return configuring;
}

async function configure(client: Client, url: string): Promise<Wx> {
  loading ??= load().catch((problem: unknown) => {
    // Forget the failure, so that the next call tries again.
    loading = undefined;
    throw problem;
  });
  const wx = await loading;
  const query = new URLSearchParams({ url }).toString();
  const signed = await client.get(`/wechat/js-config?${query}`);
  let timer: ReturnType<typeof setTimeout> | undefined;
  await new Promise<void>((done, failed) => {
    timer = setTimeout(failed, CONFIG_MS_MAX);
    const { app_id: appId, timestamp, nonce: nonceStr, signature } = signed;
    wx.config({ appId, timestamp, nonceStr, signature, jsApiList: CALLS });
    wx.ready(done);
    wx.error(failed);
  }).finally(() => clearTimeout(timer));
  return wx;
}

/** Returns the URL that WeChat checks: on iOS the URL of the page load, on Android the current one. */
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

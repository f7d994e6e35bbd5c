import assert from "node:assert/strict";
import test from "node:test";

const page = "https://page.example/packets/1?via=a";
const requests: string[] = [];
const scripts: { src: string }[] = [];
Object.assign(globalThis, {
  location: { href: `${page}#part`, pathname: "/packets/1" },
  scrollY: 0,
  addEventListener: () => undefined,
  sessionStorage: { getItem: () => null, setItem: () => undefined, removeItem: () => undefined },
  trustedTypes: {
    createPolicy: (name: string, rules: { createScriptURL: (url: string) => string }) => {
      requests.push(name);
      return rules;
    },
  },
  document: {
    createElement: () => ({}),
    addEventListener: () => undefined,
    head: {
      append: (script: { src: string; onload: () => void }) => {
        scripts.push(script);
        setTimeout(() => script.onload());
      },
    },
  },
});
const setAgent = (userAgent: string) =>
  Object.defineProperty(globalThis, "navigator", {
    value: { userAgent, languages: ["zh-CN"], language: "zh-CN" },
    configurable: true,
  });
const ANDROID = "Mozilla/5.0 (Linux; Android 14) Mobile MicroMessenger/8.0.50";
setAgent(ANDROID);

interface How {
  success: (answer?: object) => void;
  fail: (problem: object) => void;
  complete: (answer: object) => void;
  localId: string;
}

/** Fake of WeChat's `wx` object, which records one voice at a time and translates only its own recordings. */
class FakeWx {
  isRecording = false;
  said = "恭喜发财。";
  refuses = "";
  configs: Record<string, unknown>[] = [];
  #ended: ((answer: object) => void) | undefined;
  config(settings: Record<string, unknown>): void {
    this.configs.push(settings);
  }
  ready(done: () => void): void {
    if (this.refuses !== "config") setTimeout(done);
  }
  error(failed: (problem: object) => void): void {
    if (this.refuses === "config") setTimeout(() => failed({ errMsg: "config:invalid signature" }));
  }
  startRecord({ success, fail }: How): void {
    const isRefused = this.refuses === "startRecord" || this.isRecording;
    this.isRecording = !isRefused;
    setTimeout(() => (isRefused ? fail({ errMsg: "startRecord:fail" }) : success()));
  }
  stopRecord({ success, fail }: How): void {
    const isOver = !this.isRecording;
    this.isRecording = false;
    setTimeout(() => (isOver ? fail({ errMsg: "stopRecord:fail" }) : success({ localId: "voice-1" })));
  }
  onVoiceRecordEnd({ complete }: How): void {
    this.#ended = complete;
  }
  translateVoice({ localId, success, fail }: How): void {
    const isHeard = localId === "voice-1" && !this.isRecording && this.said;
    if (isHeard) success({ translateResult: this.said });
    else fail({ errMsg: "translateVoice:fail" });
  }
  passMinute(): void {
    this.isRecording = false;
    this.#ended?.({ localId: "voice-1" });
  }
}

const { canListen, listen, listenBy } = await import("../src/packet/speech.ts");
const { offer } = await import("../src/providers/wechat/speech.ts");
const { session } = await import("../src/session.ts");
const signed = { app_id: "wx1", timestamp: 1, nonce: "n", signature: "s" };
const wx = new FakeWx();
Object.assign(globalThis, { wx });

const recording = async () => {
  for (let i = 0; i < 100 && !wx.isRecording; i++) await new Promise((done) => setTimeout(done, 1));
};

function begin(context: test.TestContext): string[] {
  const paths: string[] = [];
  Object.assign(wx, { isRecording: false, said: "恭喜发财。", refuses: "" });
  context.mock.method(session.client, "get", (path: string) => {
    paths.push(path);
    return Promise.resolve(signed);
  });
  listenBy(undefined);
  setAgent(ANDROID);
  offer(session.client);
  return paths;
}

test("speech until the second tap is recognized in WeChat", async (context) => {
  const paths = begin(context);
  assert.ok(canListen());

  const listening = listen();
  await recording();
  listening.stop();

  assert.equal(await listening.heard, "恭喜发财");
  assert.deepEqual(paths, [`/wechat/js-config?${new URLSearchParams({ url: page }).toString()}`]);
  const [{ appId, timestamp, nonceStr, signature } = {}] = wx.configs;
  assert.deepEqual([appId, timestamp, nonceStr, signature], ["wx1", 1, "n", "s"]);
  assert.deepEqual(requests, ["wechat-js-sdk"]);
  assert.deepEqual(scripts.map(({ src }) => src), ["https://res.wx.qq.com/open/js/jweixin-1.6.0.js"]);
});

test("a recording that WeChat ends after a minute is recognized, without a second signature", async (context) => {
  const paths = begin(context);

  const listening = listen();
  await recording();
  await new Promise((done) => setTimeout(done, 5));
  wx.passMinute();

  assert.equal(await listening.heard, "恭喜发财");
  assert.deepEqual(paths, []);
});

test("after a blocked microphone or silence, the user can type the phrase", async (context) => {
  begin(context);
  wx.refuses = "startRecord";
  assert.equal(await listen().heard, undefined);

  Object.assign(wx, { refuses: "", said: "" });
  const listening = listen();
  await recording();
  listening.stop();

  assert.equal(await listening.heard, undefined);
  assert.ok(canListen());
});

test("another URL is signed again, and a rejected signature removes the button", async (context) => {
  const paths = begin(context);
  location.href = "https://page.example/campaigns/spring";
  wx.refuses = "config";

  assert.equal(await listen().heard, undefined);

  assert.equal(paths.length, 1);
  assert.ok(!canListen());
});

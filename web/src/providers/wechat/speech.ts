/** Speech recognition in WeChat's own browser, through its JS-SDK. */

import type { Client } from "../../api/client.ts";
import { listenBy, type Listening } from "../../packet/speech.ts";
import { jsSdk, type Answers, type Recorded, type Translated } from "./sdk.ts";

/** Uses the JS-SDK's recognition instead of the browser's. */
export function offer(client: Client): void {
  listenBy(() => listen(client));
}

function listen(client: Client): Listening {
  const stopping = new AbortController();
  const heard = hear(client, stopping.signal).catch(() => undefined);
  return { heard, stop: () => stopping.abort() };
}

async function hear(client: Client, stopped: AbortSignal): Promise<string | undefined> {
  const wx = await jsSdk(client).catch((problem: unknown) => {
    // A retry would probably fail. Without the JS-SDK, WeChat's browser has no recognition, so the button disappears.
    listenBy(undefined);
    throw problem;
  });
  if (stopped.aborted) return undefined;
  await answerOf((how) => wx.startRecord(how));
  const { localId } = await new Promise<Recorded>((done, failed) => {
    // WeChat ends a recording after a minute.
    wx.onVoiceRecordEnd({ complete: done });
    const stop = () => wx.stopRecord({ success: done, fail: failed });
    if (stopped.aborted) stop();
    else stopped.addEventListener("abort", stop);
  });
  const { translateResult } = await answerOf<Translated>((how) =>
    wx.translateVoice({ localId, isShowProgressTips: 1, ...how }),
  );
  // WeChat returns a sentence with final punctuation.
  return translateResult?.replace(/[。，！？.,!?\s]+$/u, "");
}

function answerOf<Answer>(call: (how: Answers<Answer>) => void): Promise<Answer> {
  return new Promise((success, fail) => call({ success, fail, cancel: fail }));
}

/** Speech recognition: the browser's, or one that the page supplies. */

import { language } from "../i18n/language.ts";

interface Recognition {
  lang: string;
  onresult: (event: { results: { transcript: string }[][] }) => void;
  onend: () => void;
  onerror: () => void;
  start(): void;
  stop(): void;
}

type Maker = new () => Recognition;

export interface Listening {
  /** The recognized words, or undefined if nothing was understood or recognition isn't allowed. */
  heard: Promise<string | undefined>;
  /** Ends the recording. The recorded words are still recognized. */
  stop: () => void;
}

let ours: (() => Listening) | undefined;

/** Replaces the browser's speech recognition. Undefined restores it. */
export function listenBy(other: typeof ours): void {
  ours = other;
}

function maker(): Maker | undefined {
  const globals = globalThis as { SpeechRecognition?: Maker; webkitSpeechRecognition?: Maker };
  return globals.SpeechRecognition ?? globals.webkitSpeechRecognition;
}

export function canListen(): boolean {
  return (ours ?? maker()) !== undefined;
}

/** Listens until the speaker pauses, or until `stop` is called. */
export function listen(): Listening {
  if (ours) return ours();
  const Made = maker();
  if (!Made) return { heard: Promise.resolve(undefined), stop: () => undefined };
  const recognition = new Made();
  const heard = new Promise<string | undefined>((done) => {
    recognition.lang = language();
    recognition.onresult = ({ results }) => done(results[0]?.[0]?.transcript);
    recognition.onerror = () => done(undefined);
    recognition.onend = () => done(undefined);
    recognition.start();
  });
  return { heard, stop: () => recognition.stop() };
}

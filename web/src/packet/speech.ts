/** The browser's speech recognition, where it has one. */

import { language } from "../i18n/language.ts";

interface Recognition {
  lang: string;
  onresult: (event: { results: { transcript: string }[][] }) => void;
  onend: () => void;
  onerror: () => void;
  start(): void;
}

type Maker = new () => Recognition;

function maker(): Maker | undefined {
  const found = globalThis as { SpeechRecognition?: Maker; webkitSpeechRecognition?: Maker };
  return found.SpeechRecognition ?? found.webkitSpeechRecognition;
}

export function canListen(): boolean {
  return maker() !== undefined;
}

/** What was said; undefined where nothing was understood or it isn't allowed. */
export function listen(): Promise<string | undefined> {
  const Made = maker();
  if (!Made) return Promise.resolve(undefined);
  return new Promise((done) => {
    const recognition = new Made();
    recognition.lang = language();
    recognition.onresult = ({ results }) => done(results[0]?.[0]?.transcript);
    recognition.onerror = () => done(undefined);
    recognition.onend = () => done(undefined);
    recognition.start();
  });
}

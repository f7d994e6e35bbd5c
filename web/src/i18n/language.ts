/** The current language, and its listeners. */

import type { ReactiveController, ReactiveControllerHost } from "lit";

import { now } from "../now.ts";
import { device } from "../store.ts";
import { OTHERS } from "./others/index.ts";

/** Tag of a page language: a language of the source, or a folder in web/languages/. */
export type Language = string;
/** Language of the texts in the source. */
export type Written = "zh-CN" | "en";
export type Params = Record<string, string | number>;

const SLOT = "redpacket.language";
const listeners = new Set<() => void>();
export const LANGUAGES: readonly { tag: Language; name: string }[] = [
  { tag: "zh-CN", name: "简体中文" },
  ...OTHERS,
  { tag: "en", name: "English" },
];
/** Loaded texts of the other languages, keyed by Chinese text. */
const catalogs = new Map<Language, Record<string, string>>();
/** Chinese words for `{purse}` and `{put}` in texts: for money, and for any other unit of account. */
const OF_MONEY: Params = { purse: "零钱", put: "塞钱" };
const OF_OTHERS: Params = { purse: "余额", put: "放" };
let unitWords = OF_MONEY;
let chosen: Language = remembered() ?? languageOf(...navigator.languages);
let spoken: Language | undefined;
load(chosen);

/** Returns the page's language for a reader who prefers the language tags in *wanted*, the first one most. */
export function languageOf(...wanted: readonly string[]): Language {
  for (const tag of wanted.map((each) => each.toLowerCase())) {
    const other = OTHERS.find(({ tags }) => tags.some((part) => `${tag}-`.startsWith(`${part.toLowerCase()}-`)));
    if (other) return other.tag;
    // Readers of China's other languages are more likely to read Chinese than English.
    if (/^zh\b|-cn$/.test(tag)) return "zh-CN";
    if (/^en\b/.test(tag)) return "en";
  }
  return "en";
}

/** Loads the texts of *wanted* and shows them. Until then, and after a failure, the source's texts are shown. */
function load(wanted: Language): void {
  if (catalogs.has(wanted)) return;
  const loading = OTHERS.find(({ tag }) => tag === wanted)?.load();
  loading?.then(
    ({ words }) => {
      catalogs.set(wanted, words);
      for (const listener of listeners) listener();
    },
    () => undefined,
  );
}

/** Translates a source text to the current language. */
export function translate(text: string): string {
  return catalogs.get(language())?.[text] ?? text;
}

export function written(): Written {
  return language() === "en" ? "en" : "zh-CN";
}

export function language(): Language {
  return spoken ?? chosen;
}

/** Calls *render* with *wanted* as the language, without changing the rest of the page or the reader's choice. */
export function speaking<Made>(wanted: Language | undefined, render: () => Made): Made {
  spoken = wanted;
  if (wanted) load(wanted);
  try {
    return render();
  } finally {
    spoken = undefined;
  }
}

export function setLanguage(wanted: Language): void {
  chosen = wanted;
  load(wanted);
  device.setItem(SLOT, wanted);
  for (const listener of listeners) listener();
}

function remembered(): Language | undefined {
  const stored = device.getItem(SLOT);
  return LANGUAGES.find(({ tag }) => tag === stored)?.tag;
}

/** Sets whether texts use the words for money, which is the default, or for another unit. */
export function speakOfMoney(isMoney: boolean): void {
  unitWords = isMoney ? OF_MONEY : OF_OTHERS;
}

/** Translates a source text, and fills in each `{name}` from *params* or from the unit's words. */
export function fill(text: string, params: Params = {}): string {
  return translate(text).replace(/\{(\w+)\}/g, (_, name: string) => String(params[name] ?? translate(String(unitWords[name] ?? ""))));
}

/** Controller that re-renders its host when the language changes. */
export class Speaks implements ReactiveController {
  readonly #notify: () => void;

  constructor(host: ReactiveControllerHost) {
    this.#notify = () => host.requestUpdate();
    host.addController(this);
  }

  hostConnected(): void {
    listeners.add(this.#notify);
  }

  hostDisconnected(): void {
    listeners.delete(this.#notify);
  }
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Formats a time in the current language. Formatters are cached, because creating one costs far more than using it. */
export function formatTime(atMs: number, options: Intl.DateTimeFormatOptions): string {
  const key = language() + JSON.stringify(options);
  const format = formats.get(key) ?? new Intl.DateTimeFormat(language(), options);
  formats.set(key, format);
  return format.format(atMs);
}

/** Formats a time of day, like 14:03:09, with the date if it is not today. */
export function clock(atMs: number, nowMs = now()): string {
  const isToday = new Date(atMs).toDateString() === new Date(nowMs).toDateString();
  const date = isToday ? {} : ({ month: "2-digit", day: "2-digit" } as const);
  const time = { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false } as const;
  return formatTime(atMs, { ...date, ...time });
}

/** The current language, and its listeners. */

import type { ReactiveController, ReactiveControllerHost } from "lit";

export type Language = "zh-CN" | "en";
export type Params = Record<string, string | number>;

const SLOT = "redpacket.language";
const listeners = new Set<() => void>();
let chosen: Language = remembered() ?? languageOf(navigator.language);
let spoken: Language | undefined;

/** The dictionary language for a browser's tag. */
export function languageOf(tag: string): Language {
  return tag.toLowerCase().startsWith("zh") ? "zh-CN" : "en";
}

export function language(): Language {
  return spoken ?? chosen;
}

/** Renders one element in *wanted*: neither its page nor the reader's choice changes. */
export function speaking<Made>(wanted: Language | undefined, render: () => Made): Made {
  spoken = wanted;
  try {
    return render();
  } finally {
    spoken = undefined;
  }
}

export function setLanguage(wanted: Language): void {
  chosen = wanted;
  try {
    localStorage.setItem(SLOT, wanted);
  } catch {
    // Storage is forbidden: the choice lives as long as the page.
  }
  for (const listener of listeners) listener();
}

function remembered(): Language | undefined {
  try {
    const stored = localStorage.getItem(SLOT);
    return stored === "zh-CN" || stored === "en" ? stored : undefined;
  } catch {
    return undefined;
  }
}

/** Puts `{name}` from *params* into a text. */
export function fill(text: string, params: Params = {}): string {
  return text.replace(/\{(\w+)\}/g, (_, name: string) => String(params[name] ?? ""));
}

/** Renders its host again when the language changes. */
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

/** Formats a time in the current language. Formats are cached: making one costs far more than using it. */
export function formatTime(atMs: number, options: Intl.DateTimeFormatOptions): string {
  const key = language() + JSON.stringify(options);
  const format = formats.get(key) ?? new Intl.DateTimeFormat(language(), options);
  formats.set(key, format);
  return format.format(atMs);
}

/** A time of day, like 14:03:09; with the date where it is not today. */
export function clock(atMs: number, nowMs = Date.now()): string {
  const isToday = new Date(atMs).toDateString() === new Date(nowMs).toDateString();
  const date = isToday ? {} : ({ month: "2-digit", day: "2-digit" } as const);
  const time = { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false } as const;
  return formatTime(atMs, { ...date, ...time });
}

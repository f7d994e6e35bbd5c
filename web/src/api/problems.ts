/** Failures of a request; callers switch on `code`. */

import type { components } from "./schema.ts";

type Schemas = components["schemas"];

/** Every code that openapi.json names. */
export type ApiCode = {
  [Name in keyof Schemas]: Name extends `${string}Problem`
    ? Schemas[Name] extends { code: infer One }
      ? One
      : never
    : never;
}[keyof Schemas];

/** Also those that only a browser meets: no network, no storage, a module, origin, token or answer that can't be used. */
export type Code = ApiCode | "no_storage" | "not_loaded" | "offline" | "origin_refused" | "unauthorized" | "unknown";

export class Problem extends Error {
  readonly code: Code;
  readonly status: number;
  /** Seconds until the next attempt; undefined if another attempt is pointless. */
  readonly retryAfterS: number | undefined;
  /** Fields that the API refuses, with its words for each. */
  errors: readonly { field: string; message: string }[] = [];
  /** Action of its button, if the view that shows it has no other one. */
  retry: (() => void) | undefined;

  constructor(code: Code, status = 0, retryAfterS?: number) {
    super(code);
    this.code = code;
    this.status = status;
    this.retryAfterS = retryAfterS;
  }

  /** Whether the same request may succeed soon. */
  get passesByItself(): boolean {
    return ["unavailable", "idempotency_key_in_use", "offline"].includes(this.code);
  }

  /** Whether a write may have taken effect, which only a repeat with its key shows. */
  get isUncertain(): boolean {
    const isRefused = (this.status >= 400 && this.status < 500) || this.code === "switched_off";
    return this.passesByItself || !isRefused;
  }
}

/** Any thrown value as a problem. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  // Browsers report a module that failed to load only in their own words.
  if (!/import|preload/i.test(String(error))) return new Problem("unknown");
  return new Problem(navigator.onLine ? "not_loaded" : "offline");
}

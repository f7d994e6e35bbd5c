/** Failures of requests. Callers switch on `code`. */

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

/** Code from the API, or of a failure in the browser: no network or storage, or an unusable module, origin, token or answer. */
export type Code = ApiCode | "no_storage" | "not_loaded" | "offline" | "origin_refused" | "unauthorized" | "unknown";

export class Problem extends Error {
  readonly code: Code;
  readonly status: number;
  /** Seconds until the next attempt, or undefined if the API states no delay. */
  readonly retryAfterS: number | undefined;
  /** Fields that the API rejected, with its message for each. */
  errors: readonly { field: string; message: string }[] = [];
  /** Action of the retry button, unless the view supplies another one. */
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

  /** Whether a write may have taken effect. Only a retry with the same key can tell. */
  get isUncertain(): boolean {
    const isRefused = (this.status >= 400 && this.status < 500) || this.code === "switched_off";
    return this.passesByItself || !isRefused;
  }
}

/** Converts any thrown value to a Problem. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  // A module that failed to load throws no special class of error, and the message depends on the browser.
  if (!/import|preload/i.test(String(error))) return new Problem("unknown");
  return new Problem(navigator.onLine ? "not_loaded" : "offline");
}

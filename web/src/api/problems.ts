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

/** Also those that only a browser meets: no network, an origin or token that is refused, an answer it can't read. */
export type Code = ApiCode | "offline" | "origin_refused" | "unauthorized" | "unknown";

export class Problem extends Error {
  readonly code: Code;
  readonly status: number;
  /** Seconds until the next attempt; undefined if another attempt is pointless. */
  readonly retryAfterS: number | undefined;

  constructor(code: Code, status = 0, retryAfterS?: number) {
    super(code);
    this.code = code;
    this.status = status;
    this.retryAfterS = retryAfterS;
  }

  /** Whether the same request may succeed a moment later. */
  get passesByItself(): boolean {
    return ["unavailable", "idempotency_key_in_use", "offline"].includes(this.code);
  }
}

/** Any thrown value as a problem. */
export function problemOf(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem("unknown");
}

/** HTTP client with problem codes, Retry-After, and retries with jitter. */

import { noteTime } from "../now.ts";
import type { components, paths } from "./schema.ts";
import { Problem, type Code } from "./problems.ts";

export type Schemas = components["schemas"];
export type Method = "GET" | "POST" | "PUT";

/** A path of the OpenAPI contract with its parameters filled in, such as `/packets/${string}/feed`. */
type Filled<Path extends string> = Path extends `${infer Before}{${string}}${infer After}`
  ? `${Before}${string}${Filled<After>}`
  : Path;
type WithoutQuery<Path extends string> = Path extends `${infer Before}?${string}` ? Before : Path;

type OperationOf<Operations, Verb extends string> = Operations extends Record<Verb, infer Operation>
  ? Operation
  : never;
type SuccessOf<Operation> = Operation extends { responses: infer Responses }
  ? { [Status in keyof Responses & (200 | 201 | 202)]: Responses[Status] }[keyof Responses & (200 | 201 | 202)]
  : never;
type JsonOf<Response> = Response extends { content: { "application/json": infer Json } } ? Json : never;
type OrUnknown<Answer> = [Answer] extends [never] ? unknown : Answer;
type KeyOf<Path extends string> = {
  [Key in keyof paths]: [Path, Filled<Key>] extends [Filled<Key>, Path] ? Key : never;
}[keyof paths];

/** The response type of a method and a path in the contract, or unknown if the contract has no such path. */
export type AnswerOf<Path extends string, Verb extends Method = "GET"> = OrUnknown<
  JsonOf<SuccessOf<OperationOf<paths[KeyOf<WithoutQuery<Path>>], Lowercase<Verb>>>>
>;

export interface Ask {
  body?: unknown;
  /** Media type of the answer. Default: JSON. */
  accept?: string;
  /** Parses the answer. Default: as JSON. */
  read?: (answer: Response) => Promise<unknown>;
  /** Idempotency key, for writes that need one: the same key and body have no second effect. */
  key?: string;
  /** Maximum number of retries after a temporary problem or without a network. Only for idempotent calls. */
  repeats?: number;
  /** Called before each retry, so that the page can show the wait. */
  onRepeat?: (problem: Problem) => void;
  signal?: AbortSignal;
}

export interface ClientOptions {
  base: string;
  /** Returns the current token, or undefined to send requests without a token. */
  token: () => string | undefined;
  /** Gets a new token when the API refuses the current token. Returns undefined if that is impossible. */
  renew?: () => Promise<string | undefined>;
  fetch?: typeof fetch;
  /** Waits. Tests replace it. */
  sleep?: (ms: number) => Promise<void>;
  /** Whether the device reports that it is offline. Waiting for the network does not use up a retry. */
  isAway?: () => boolean;
  /** Returns a number from 0 to 1, for jitter. */
  random?: () => number;
}

/** Maximum seconds of one wait before jitter, even if Retry-After is longer. */
const WAIT_MAX_S = 30;
/** Timeout of a request in ms, longer than API Gateway's timeout for a function. */
const ANSWER_TIMEOUT_MS = 32_000;

const pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));

/** Path of the first page of a packet's public feed. */
export function feedPath(packetId: string) {
  return `/packets/${packetId}/feed?limit=100`;
}

export class Client {
  readonly #options: ClientOptions;
  readonly #prefetched = new Map<string, Promise<unknown>>();

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** Whether requests carry a token. */
  get isSignedIn(): boolean {
    return this.#options.token() !== undefined;
  }

  /** Fetches *path*. The contract gives the type of the answer. For a computed path, the caller gives the type. */
  get<Path extends string>(path: Path, ask?: Ask): Promise<AnswerOf<Path>>;
  get<Answer extends object>(path: string, ask?: Ask): Promise<Answer>;
  get(path: string, ask: Ask = {}): Promise<unknown> {
    const prefetched = this.#prefetched.get(path);
    this.#prefetched.delete(path);
    return prefetched ?? this.ask("GET", path, { repeats: 3, ...ask });
  }

  /** Requests *path* before the script that needs it has loaded. The first `get` of *path* returns this answer. */
  prefetch(path: string): void {
    const answer = this.get<object>(path);
    answer.catch(() => undefined);
    this.#prefetched.set(path, answer);
  }

  /** Sends a request and returns its answer, or throws a Problem. For a computed path, the caller gives the type. */
  ask<Verb extends Method, Path extends string>(
    method: Verb,
    path: Path,
    ask?: Ask,
  ): Promise<AnswerOf<Path, Verb>>;
  ask<Answer extends object>(method: Method, path: string, ask?: Ask): Promise<Answer>;
  async ask(method: Method, path: string, ask: Ask = {}): Promise<unknown> {
    const { sleep = pause, random = Math.random, isAway = () => false } = this.#options;
    const { repeats = 0 } = ask;
    for (let tries = 0; ; ) {
      try {
        return await this.#once(method, path, ask);
      } catch (error) {
        const isOver = !(error instanceof Problem) || !error.passesByItself;
        if (isOver || tries >= repeats || ask.signal?.aborted) throw error;
        ask.onRepeat?.(error);
        // The maximum jitter doubles up to five times, so users who were refused at the same time retry at different times.
        const leastMs = 1000 * Math.min(error.retryAfterS ?? 1, WAIT_MAX_S);
        await sleep(leastMs + random() * 500 * 2 ** Math.min(tries, 5));
        if (error.code !== "offline" || !isAway()) tries++;
      }
    }
  }

  async #once(method: Method, path: string, ask: Ask): Promise<unknown> {
    let answer = await this.#send(method, path, ask, this.#options.token());
    if (answer.status === 401 && this.#options.renew) {
      const token = await this.#options.renew();
      if (token) answer = await this.#send(method, path, ask, token);
    }
    if (!answer.ok) throw await readProblem(answer);
    try {
      return await (ask.read?.(answer) ?? answer.json());
    } catch {
      throw new Problem("unavailable", answer.status, 1);
    }
  }

  async #send(method: Method, path: string, ask: Ask, token?: string): Promise<Response> {
    const headers: Record<string, string> = { Accept: ask.accept ?? "application/json" };
    if (token) headers.Authorization = `Bearer ${token}`;
    if (ask.key) headers["Idempotency-Key"] = ask.key;
    const init: RequestInit = { method, headers };
    if (ask.body !== undefined) {
      headers["Content-Type"] = "application/json";
      init.body = JSON.stringify(ask.body);
    }
    const cut = new AbortController();
    const timer = setTimeout(() => cut.abort(), ANSWER_TIMEOUT_MS);
    const end = () => cut.abort();
    ask.signal?.addEventListener("abort", end);
    try {
      const { fetch: ours = fetch } = this.#options;
      const askedAtMs = performance.now();
      const answer = await ours(this.#options.base + path, { ...init, signal: cut.signal });
      noteTime(answer, askedAtMs);
      return answer;
    } catch (error) {
      throw error instanceof Problem ? error : new Problem("offline", 0, 2);
    } finally {
      clearTimeout(timer);
      ask.signal?.removeEventListener("abort", end);
    }
  }
}

/** Returns the problem in an answer. If the body has no code, as in API Gateway's own answers, the status decides. */
export async function readProblem(answer: Response): Promise<Problem> {
  let body: { code?: unknown; errors?: Problem["errors"] } = {};
  try {
    body = (await answer.json()) as typeof body;
  } catch {
    // The body is not JSON: it may come from a proxy between us and the API.
  }
  const code = typeof body.code === "string" ? (body.code as Code) : codeOf(answer.status);
  const problem = new Problem(code, answer.status, retryAfterS(answer));
  problem.errors = body.errors ?? [];
  return problem;
}

function codeOf(status: number): Code {
  if (status === 401) return "unauthorized";
  if (status === 403) return "forbidden";
  if (status === 429) return "rate_limited";
  return status >= 500 ? "unavailable" : "unknown";
}

function retryAfterS(answer: Response): number | undefined {
  const text = answer.headers.get("Retry-After") ?? "";
  if (/^\d{1,6}$/.test(text)) return Number(text);
  return answer.status === 429 || answer.status >= 502 ? 1 : undefined;
}

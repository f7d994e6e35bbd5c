/** Calls a function repeatedly while the page is visible, in one loop and one call at a time. */

export interface PollOptions {
  /** Calls the API. Returns the delay in ms until the next call, or undefined to stop. */
  ask: () => Promise<number | undefined>;
  /** Returns the delay in ms after a failed call, or undefined to stop. */
  failed: (error: unknown) => number | undefined;
  /** Runs before the first call once a hidden page is visible again. */
  resumed?: () => void;
}

export class Poll {
  readonly #options: PollOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isRunning = false;
  #asking: Promise<void> | undefined;

  constructor(options: PollOptions) {
    this.#options = options;
  }

  /** Starts the loop after *delayMs*. If *delayMs* is 0, calls now, even if the loop is waiting. */
  start(delayMs = 0): void {
    const wasRunning = this.#isRunning;
    this.#isRunning = true;
    if (!wasRunning) document.addEventListener("visibilitychange", this.#onVisible);
    if (delayMs === 0) void this.now();
    else if (!wasRunning) this.#wait(delayMs);
  }

  stop(): void {
    this.#isRunning = false;
    clearTimeout(this.#timer);
    document.removeEventListener("visibilitychange", this.#onVisible);
  }

  /** Calls now instead of after the delay, or joins a call that is in progress. */
  now(): Promise<void> {
    clearTimeout(this.#timer);
    this.#asking ??= this.#ask().finally(() => (this.#asking = undefined));
    return this.#asking;
  }

  async #ask(): Promise<void> {
    const delayMs = await this.#options.ask().catch(this.#options.failed);
    if (delayMs === undefined) this.stop();
    else if (this.#isRunning && !document.hidden) this.#wait(delayMs);
  }

  #wait(delayMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.now(), delayMs);
  }

  readonly #onVisible = () => {
    if (document.hidden || !this.#isRunning) return;
    this.#options.resumed?.();
    void this.now();
  };
}

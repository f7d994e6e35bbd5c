/** A packet's feed or record, polled while it changes and the page is visible. */

import { feedPath, type Client } from "../api/client.ts";
import { Poll } from "../poll.ts";
import type { Feed, Packet } from "./states.ts";

/** Milliseconds for which the CDN caches the feed of an open packet. */
const FAST_MS = 1000;
const SLOW_MS = 8000;

export class Live {
  feed: Feed | undefined;
  readonly #client: Client;
  readonly #packetId: string;
  readonly #changed: () => void;
  #usesRecord = false;
  #delayMs = FAST_MS;
  readonly #poll = new Poll({
    ask: () => this.#look(),
    failed: () => SLOW_MS * jitter(),
    resumed: () => (this.#delayMs = FAST_MS),
  });
  /** Rows of the further pages that the reader has requested. */
  #more: Feed["claims"] = [];
  #next: string | null | undefined;

  constructor(client: Client, packetId: string, changed: () => void) {
    this.#client = client;
    this.#packetId = packetId;
    this.#changed = changed;
  }

  /** Selects the record or the feed. An exclusive packet has no feed, and senders see thanks sooner in the record. */
  useRecord(uses: boolean): void {
    this.#usesRecord = uses;
  }

  get claims(): Feed["claims"] {
    return [...(this.feed?.claims ?? []), ...this.#more];
  }

  get hasMore(): boolean {
    return Boolean(this.#next);
  }

  async ask(cursor?: string): Promise<Feed> {
    const path = this.#usesRecord ? `/packets/${this.#packetId}?limit=100` : feedPath(this.#packetId);
    const query = cursor ? `&cursor=${encodeURIComponent(cursor)}` : "";
    const answer = await this.#client.get<Feed | Packet>(path + query, { repeats: 1 });
    if (cursor) return answer;
    this.feed = answer;
    if (this.#more.length === 0) this.#next = answer.next;
    return answer;
  }

  /** Loads the next page. After a failure, the reader can try again. */
  async askMore(): Promise<void> {
    const page = this.#next && (await this.ask(this.#next).catch(() => undefined));
    if (!page) return;
    this.#more.push(...page.claims);
    this.#next = page.next;
    this.#changed();
  }

  start(): void {
    this.#poll.start();
  }

  stop(): void {
    this.#poll.stop();
  }

  async #look(): Promise<number | undefined> {
    const before = JSON.stringify(this.feed);
    const feed = await this.ask();
    const isSame = JSON.stringify(feed) === before;
    this.#delayMs = isSame ? Math.min(this.#delayMs * 1.6, SLOW_MS) : FAST_MS;
    if (!isSame) this.#changed();
    // Names may still be added to the list of an emptied packet, until its claims are settled.
    const isOver = feed.status === "emptied" && isSame && this.#delayMs === SLOW_MS;
    if (isOver || feed.status === "closed") return undefined;
    return this.#delayMs * jitter();
  }
}

/** Returns a factor that spreads the calls of many users. */
function jitter(): number {
  return 1 + Math.random() / 4;
}

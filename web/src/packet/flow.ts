/** One viewer and one packet: the order of requests, and the state after each answer. */

import type { Client, Schemas } from "../api/client.ts";
import { Problem, problemOf, type Code } from "../api/problems.ts";
import { now as serverNow } from "../now.ts";
import { Live } from "./live.ts";
import {
  coverOf,
  isOpen,
  isOver,
  coverOfFeed,
  stateAfter,
  stateOf,
  stateOfFeed,
  type Claim,
  type Cover,
  type Packet,
  type State,
  type Thanks,
  thanksOf,
} from "./states.ts";

/** Maximum number of retries of a claim whose outcome is unknown. Their waits average more than a minute in total. */
const CLAIM_REPEATS = 12;
/** Minimum milliseconds that the coin spins, so that users notice the animation. */
const TURN_MS = 900;
/** Maximum jitter in ms at the start, so that waiting users can tap at slightly different times. */
const START_JITTER_MS = 400;
/** Maximum number of polls for a settlement, which takes a second or two. Afterward, only a reload shows it. */
const SETTLE_ASKS = 6;

export interface FlowOptions {
  client: Client;
  packetId: string;
  changed: () => void;
  now?: () => number;
  random?: () => number;
  sleep?: (ms: number) => Promise<void>;
  /** Whether the viewer prefers reduced motion, so that the coin does not spin. */
  isCalm?: boolean;
  /** User token of the user who shared the link. */
  via?: string;
  /** Loads data that is required to show a packet. */
  prepare?: () => Promise<void>;
}

export class PacketFlow {
  state: State = "loading";
  cover: Cover | undefined;
  packet: Packet | undefined;
  claim: Claim | undefined;
  /** The viewer's thanks. */
  thanks: Thanks | undefined;
  thanksProblem: Code | undefined;
  showsAllEmoji = false;
  /** Whether the viewer already had a share, so nothing opens. */
  isRepeat = true;
  problem: Code | undefined;
  /** Time until which the button is disabled. */
  waitUntilMs = 0;
  admittedUntilMs = 0;
  /** Lifetime of the admission in ms. */
  admittedForMs = 0;
  /** The viewer's name and picture. The feed has them only after the settlement. */
  viewer: { nickname?: string | undefined; avatarUrl?: string | null | undefined } = {};
  readonly live: Live;

  readonly #options: Required<FlowOptions>;
  #grabToken: string | undefined;
  #isAsking = false;
  #isEnded = false;

  constructor(options: FlowOptions) {
    this.#options = {
      now: serverNow,
      random: Math.random,
      sleep: (ms) => new Promise((done) => setTimeout(done, ms)),
      isCalm: false,
      via: "",
      prepare: () => Promise.resolve(),
      ...options,
      // A host page may take the id from its URL, so it can contain anything.
      packetId: encodeURIComponent(options.packetId),
    };
    this.live = new Live(options.client, this.#options.packetId, options.changed);
  }

  /** Stops all work in progress. */
  end(): void {
    this.#isEnded = true;
    this.live.stop();
  }

  /** Loads the packet and the viewer's state. */
  async load(): Promise<void> {
    const { client, packetId, now, prepare } = this.#options;
    this.problem = undefined;
    // Clear the wait, which may have been computed before the clock was corrected.
    this.waitUntilMs = 0;
    try {
      await prepare();
      if (client.isSignedIn) {
        const packet = await client.get(`/packets/${packetId}`);
        this.packet = packet;
        this.cover = coverOf(packet);
        this.live.useRecord(packet.is_exclusive || packet.is_sender);
        this.claim = packet.mine ?? undefined;
        this.thanks = thanksOf(packet);
        this.#go(stateOf(packet, now()));
        this.#waitForStart();
      } else {
        await this.#loadFeed();
      }
    } catch (error) {
      this.#fail(problemOf(error));
    }
  }

  /** Reloads a packet that can be opened: while the page was hidden, others may have emptied it. */
  async refresh(): Promise<void> {
    const isReady = () => this.state === "ready";
    if (!isReady() || !this.#options.client.isSignedIn) return;
    const { client, packetId, now } = this.#options;
    // Send a query, because the API counts a read without a query as a visit.
    const packet = await client.get(`/packets/${packetId}?limit=1`).catch(() => undefined);
    if (!packet || !isReady()) return;
    this.packet = packet;
    this.claim = packet.mine ?? undefined;
    const state = stateOf({ ...packet, is_sender: false }, now());
    if (state !== "ready") this.#go(state);
  }

  /** Handles the viewer's tap: grabs, or opens after an admission. */
  async take(passphrase?: string): Promise<void> {
    if (this.#isAsking || !this.canTap) return;
    this.#isAsking = true;
    this.problem = undefined;
    this.#go("opening");
    const { now, sleep, isCalm } = this.#options;
    const readyAtMs = now() + (isCalm ? 0 : TURN_MS);
    try {
      const answer = await this.#claim(passphrase);
      await sleep(Math.max(0, readyAtMs - now()));
      if ("grab_token" in answer) {
        this.#grabToken = answer.grab_token;
        this.admittedUntilMs = answer.expires_at_ms;
        this.admittedForMs = answer.expires_at_ms - now();
        this.#go("admitted");
        this.#countDown();
      } else {
        this.claim = answer;
        this.isRepeat = answer.outcome === "already_claimed";
        this.#go("opened");
        void this.#watchSettlement();
      }
    } catch (error) {
      await sleep(Math.max(0, readyAtMs - now()));
      this.#fail(problemOf(error));
    } finally {
      this.#isAsking = false;
    }
  }

  /** Whether there is a list to watch before opening. */
  get canWatch(): boolean {
    const shown = this.packet ?? this.live.feed;
    return ["ready", "signed_out"].includes(this.state) && Boolean(shown?.claimed_count);
  }

  /** Shows the list to a viewer who has not opened the packet. */
  watch(): void {
    this.#go("watching");
  }

  /** Shows the cover instead of the list, so that the viewer, even if it is the sender, can take a share. */
  showCover(): void {
    this.live.stop();
    const { packet, problem } = this;
    const isKnown = packet && problem !== "unauthorized";
    this.#go(isKnown ? stateOf({ ...packet, is_sender: false }, this.#options.now()) : "signed_out");
    this.#waitForStart();
  }

  /** State that selects the texts. It can differ from `state`, because a packet may end while its list is shown. */
  get shownState(): State {
    const { feed } = this.live;
    return this.state === "watching" && feed && isOver(feed) ? stateOfFeed(feed) : this.state;
  }

  /** Thanks the sender. After a refusal, shows the thanks that the API has stored. */
  async thank(thanks: Thanks): Promise<void> {
    const { client, packetId, changed } = this.#options;
    this.thanks = thanks;
    this.thanksProblem = undefined;
    changed();
    try {
      await client.ask("POST", `/packets/${packetId}/thanks`, { body: thanks, repeats: 3 });
    } catch (error) {
      const packet = await client.get(`/packets/${packetId}?limit=1`).catch(() => undefined);
      this.thanks = packet && thanksOf(packet);
      this.thanksProblem = problemOf(error).code;
      changed();
    }
  }

  showAllEmoji(): void {
    this.showsAllEmoji = true;
    this.#options.changed();
  }

  /** Time of the start, if it is in the future. */
  get startsAtMs(): number | undefined {
    const startsAtMs = this.cover?.starts_at_ms ?? 0;
    return startsAtMs > this.#options.now() ? startsAtMs : undefined;
  }

  /** The latest record that was loaded. Senders and viewers of exclusive packets poll it instead of the feed. */
  get record(): Packet | undefined {
    const { feed } = this.live;
    return feed && "is_sender" in feed ? (feed as Packet) : this.packet;
  }

  get canTap(): boolean {
    return ["ready", "admitted"].includes(this.state) && this.#options.now() >= this.waitUntilMs;
  }

  #claim(passphrase?: string): Promise<Schemas["Grabbed"]> {
    const { client, packetId, via } = this.#options;
    const sharer = via ? { via } : {};
    const repeats = {
      repeats: CLAIM_REPEATS,
      onRepeat: (problem: Problem) => {
        this.problem = problem.code;
        this.#go("confirming");
      },
    };
    // Grab and open are idempotent, so both can be retried.
    if (this.#grabToken) {
      const token = this.#grabToken;
      this.#grabToken = undefined;
      return client.ask("POST", `/packets/${packetId}/open`, { body: { grab_token: token, ...sharer }, ...repeats });
    }
    const body = passphrase === undefined ? sharer : { passphrase, ...sharer };
    return client.ask("POST", `/packets/${packetId}/grab`, { body, ...repeats });
  }

  #fail(problem: Problem): void {
    this.problem = problem.code;
    const next = stateAfter(problem.code);
    if (problem.retryAfterS) {
      this.waitUntilMs = this.#options.now() + 1000 * problem.retryAfterS;
      this.#tickUntil(this.waitUntilMs);
    }
    if (next === "signed_out" && !this.cover) {
      void this.#loadFeed().catch(() => this.#go("signed_out"));
      return;
    }
    if (next) this.#go(next);
    else if (this.state === "loading") this.#go("missing");
    else this.#go("ready");
    this.#waitForStart();
  }

  async #loadFeed(): Promise<void> {
    try {
      const feed = await this.live.ask();
      this.cover = coverOfFeed(feed);
      this.#go(stateOfFeed(feed));
    } catch (error) {
      const problem = problemOf(error);
      // Without a token, an exclusive packet looks like an unknown one.
      if (problem.code !== "packet_not_found") throw error;
      this.problem = undefined;
      this.#go(this.#options.client.isSignedIn ? "missing" : "signed_out");
    }
  }

  #waitForStart(): void {
    if (this.state !== "waiting") return;
    const { now, random, sleep } = this.#options;
    const startsAtMs = Math.max(this.cover?.starts_at_ms ?? 0, this.waitUntilMs);
    const leftMs = startsAtMs - now();
    const tick = async () => {
      if (leftMs > 1000) {
        await sleep(1000 - (now() % 1000));
        if (this.#isEnded) return;
        this.#options.changed();
        this.#waitForStart();
        return;
      }
      // Add jitter, which usually also covers a server's clock that is slightly behind ours.
      await sleep(Math.max(0, leftMs) + random() * START_JITTER_MS);
      if (this.state === "waiting" && !this.#isEnded) this.#go("ready");
    };
    void tick();
  }

  /** Counts down the seconds of the admission. When it ends, the viewer must grab again. */
  #countDown(): void {
    const { now, sleep, changed } = this.#options;
    void sleep(Math.min(1000, Math.max(0, this.admittedUntilMs - now()))).then(() => {
      if (this.#isEnded || this.state !== "admitted") return;
      if (now() < this.admittedUntilMs) {
        changed();
        this.#countDown();
        return;
      }
      this.#grabToken = undefined;
      this.problem = "grab_token_invalid";
      this.#go("ready");
      void this.refresh();
    });
  }

  #tickUntil(atMs: number): void {
    const { now, sleep, changed } = this.#options;
    void sleep(Math.min(1000, Math.max(0, atMs - now()) + 10)).then(() => {
      if (this.#isEnded) return;
      changed();
      if (now() < atMs) this.#tickUntil(atMs);
    });
  }

  async #watchSettlement(): Promise<void> {
    const { client, packetId, sleep } = this.#options;
    for (let asks = 0; asks < SETTLE_ASKS && this.claim?.payout === "queued"; asks++) {
      await sleep(1000 * (asks + 1));
      if (this.#isEnded) return;
      try {
        // Send a query, because the API counts a read without a query as a visit.
        const packet = await client.get(`/packets/${packetId}?limit=1`);
        this.packet = packet;
        if (packet.mine) this.claim = packet.mine;
        this.#options.changed();
      } catch {
        // The amount is certain. Only the word "settled" appears later.
      }
    }
  }

  #go(state: State): void {
    if (this.#isEnded) return;
    this.state = state;
    if (isOpen(state)) this.live.start();
    this.#options.changed();
  }
}

/** A running campaign: the number of claimed shares, their rate, and warnings. */

import type { Client, Schemas } from "../api/client.ts";
import { address, Rows } from "./pages.ts";
import { stateOf } from "./plan.ts";

type Campaign = Schemas["CampaignAdmin"];
type Packet = Schemas["ListedPacket"];

/** Maximum number of packets whose feeds are polled. Feeds may be a second old, because caches keep them. */
export const FOLLOWED_MAX = 20;
const WINDOW_MS = 10_000;
const OVER: readonly Packet["status"][] = ["closed", "cancelled", "unpaid"];

/** Meter of claims per second over the last ten seconds. */
export class Meter {
  #seen: { atMs: number; taken: number }[] = [];

  note(atMs: number, taken: number): void {
    const isOld = (sample: { atMs: number }) => sample.atMs < atMs - WINDOW_MS;
    // Keep one older sample, so that slow polls still yield an interval.
    const firstNew = this.#seen.findIndex((sample) => !isOld(sample));
    this.#seen = [...this.#seen.slice(firstNew < 0 ? -1 : Math.max(0, firstNew - 1)), { atMs, taken }];
  }

  /** Claims per second. Undefined before the second sample. */
  get perSecond(): number | undefined {
    const [first, last] = [this.#seen[0], this.#seen.at(-1)];
    if (!first || !last || last.atMs <= first.atMs) return undefined;
    return Math.max(0, (1000 * (last.taken - first.taken)) / (last.atMs - first.atMs));
  }
}

/** Claimed shares and remaining budget at one time. */
export interface Sample {
  atMs: number;
  taken: number;
  budgetLeftFen: number;
}

/** Maximum number of samples. Older samples are thinned out, so that a whole evening fits. */
const SAMPLES_MAX = 600;

export function withSample(samples: readonly Sample[], sample: Sample): Sample[] {
  const all = [...samples, sample];
  if (all.length <= SAMPLES_MAX) return all;
  const half = Math.floor(all.length / 2);
  return [...all.slice(0, half).filter((_, at) => at % 2 === 0), ...all.slice(half)];
}

/** Returns the claims per second between consecutive samples. */
export function speeds(samples: readonly Sample[]): number[] {
  return samples.slice(1).map((sample, at) => {
    const before = samples[at]!;
    return Math.max(0, (1000 * (sample.taken - before.taken)) / Math.max(1, sample.atMs - before.atMs));
  });
}

export interface Look {
  taken: number;
  left: number;
  packets: number;
  /** Upper bound of the unclaimed fen in the followed open packets. Hidden amounts count as unclaimed. */
  unclaimedFen: number;
  /** Number of open packets that are not followed. */
  unfollowed: number;
}

/** Reader of the last rows of an append-only list. Each read continues from the last full page. */
export class Tail<Row> {
  readonly #client: Client;
  readonly #path: string;
  readonly #filters: Record<string, string>;
  #cursor: string | undefined;
  #before: Row[] = [];

  constructor(client: Client, path: string, filters: Record<string, string>) {
    this.#client = client;
    this.#path = path;
    this.#filters = filters;
  }

  async read(): Promise<Row[]> {
    for (;;) {
      const query = { ...this.#filters, limit: 100, cursor: this.#cursor };
      const page = await this.#client.get<{ items: Row[]; next: string | null }>(address(this.#path, query));
      if (page.next === null) return [...this.#before, ...page.items];
      this.#cursor = page.next;
      this.#before = page.items;
    }
  }
}

type Claim = Schemas["Feed"]["claims"][number];

/** Maximum number of feed pages to read in one poll. */
const PAGES_MAX = 5;
/** Number of polls after a packet's end, while the last names arrive. */
const LOOKS_AFTER_END = 5;

/** Reader of a packet's public claims. Each read continues from the last full page. */
export class Claims {
  readonly #client: Client;
  readonly #path: string;
  #cursor: string | undefined;
  #before: Claim[] = [];
  #last: Claim[] = [];
  #looksAfterEnd = 0;

  constructor(client: Client, packetId: string) {
    this.#client = client;
    this.#path = `/packets/${encodeURIComponent(packetId)}/feed`;
  }

  get rows(): Claim[] {
    return [...this.#before, ...this.#last];
  }

  /** Whether no more claims are expected. */
  get isOver(): boolean {
    return this.#looksAfterEnd > LOOKS_AFTER_END;
  }

  async read(): Promise<void> {
    for (let pages = 0; pages < PAGES_MAX; pages++) {
      const feed = await this.#client.get<Schemas["Feed"]>(address(this.#path, { limit: 100, cursor: this.#cursor }));
      const isEnded = ["emptied", "closed"].includes(feed.status);
      if (isEnded && this.#cursor && this.#before.some(({ amount_fen: fen }) => fen === null)) {
        // Amounts are no longer hidden, so read all pages again.
        this.#cursor = undefined;
        this.#before = [];
        continue;
      }
      if (isEnded && feed.next === null) this.#looksAfterEnd++;
      this.#last = feed.claims;
      if (feed.next === null) return;
      this.#cursor = feed.next;
      this.#before.push(...feed.claims);
      this.#last = [];
    }
  }
}

/** Counts units of prizes, and shares of packets that don't belong to a prize. */
export async function look(client: Client, campaign: Campaign, packets: Packet[]): Promise<Look> {
  const rains = packets.filter((packet) => packet.prize_id === null);
  const open = rains.filter((packet) => !OVER.includes(packet.status));
  // A feed needs the packet's id, which operators see only if they may act on the packet.
  const followed = open.flatMap(({ packet_id: id }) => id ?? []).slice(0, FOLLOWED_MAX);
  const feeds = await Promise.all(
    followed.map((id) =>
      client.get<Schemas["Feed"]>(address(`/packets/${encodeURIComponent(id)}/feed`, { limit: 1 })),
    ),
  );
  const ended = rains.filter((packet) => packet.status === "closed");
  const sum = (numbers: number[]) => numbers.reduce((all, value) => all + value, 0);
  return {
    taken:
      sum(campaign.prizes.map((prize) => prize.issued)) +
      sum(feeds.map((feed) => feed.claimed_count)) +
      sum(ended.map((packet) => packet.claimed_count ?? 0)),
    left:
      sum(campaign.prizes.map((prize) => prize.total - prize.issued)) + sum(feeds.map((feed) => feed.remaining_count)),
    packets: rains.length,
    unclaimedFen: sum(feeds.map((feed) => feed.total_fen - (feed.claimed_fen ?? 0))),
    unfollowed: open.length - followed.length,
  };
}

/** Returns up to 100 packets of a campaign, which are enough for its live page. */
export async function packetsOf(client: Client, campaignId: string): Promise<Packet[]> {
  const rows = new Rows<Packet>(client, "/admin/packets", { campaign_id: campaignId, limit: "100" });
  await rows.more();
  return rows.items;
}

export type Warning =
  | { kind: "switch_off"; name: Schemas["Switch"]["name"]; reason: string }
  | { kind: "budget_low"; percent: number }
  | { kind: "sold_out"; prize: string }
  | { kind: "paused" };

const BUDGET_LOW_PERCENT = 10;
const OF_CAMPAIGNS: readonly Schemas["Switch"]["name"][] = ["grab", "draw", "payout", "refund", "send"];

/** Returns warnings for an operator. Alarms go to the deployment's alarm topic instead. */
export function warnings(campaign: Campaign, switches: readonly Schemas["Switch"][]): Warning[] {
  const raised: Warning[] = [];
  if (stateOf(campaign) === "paused") raised.push({ kind: "paused" });
  for (const { name, on, reason } of switches) {
    if (!on && OF_CAMPAIGNS.includes(name)) raised.push({ kind: "switch_off", name, reason });
  }
  if (campaign.budget_fen > 0) {
    const percent = Math.floor((100 * campaign.budget_left_fen) / campaign.budget_fen);
    if (percent < BUDGET_LOW_PERCENT) raised.push({ kind: "budget_low", percent });
  }
  for (const prize of campaign.prizes) {
    if (prize.is_sold_out) raised.push({ kind: "sold_out", prize: prize.title });
  }
  return raised;
}

/** Base of views that poll a campaign. */

import type { Schemas } from "../api/client.ts";
import { problemOf, type Problem } from "../api/problems.ts";
import { now } from "../now.ts";
import { Poll } from "../poll.ts";
import { session } from "../session.ts";
import { look, Meter, packetsOf, withSample, type Look, type Sample } from "./live.ts";
import type { Campaign } from "./plan.ts";
import { ConsoleView } from "./view.ts";

const EVERY_MS = 2_000;
/** Number of polls of counts per poll of packets and switches, which change less often. */
const LOOKS_PER_LIST = 5;

/** Samples since the page was loaded, keyed by campaign. They survive a change of view. */
const SAMPLES = new Map<string, Sample[]>();

export class CampaignView extends ConsoleView {
  static override properties = {
    ...ConsoleView.properties,
    campaignId: {},
    campaign: { state: true },
    seen: { state: true },
    trouble: { state: true },
  };
  declare campaignId: string;
  declare campaign: Campaign | undefined;
  declare seen: Look | undefined;
  /** Reason why the last poll failed, shown beside an action's result. */
  declare trouble: Problem | undefined;
  protected switches: readonly Schemas["Switch"][] = [];
  protected readonly meter = new Meter();
  protected readonly poll = new Poll({
    ask: async () => {
      await this.lookNow();
      this.trouble = undefined;
      return EVERY_MS;
    },
    failed: (error) => {
      this.trouble = problemOf(error);
      return this.trouble.retryAfterS === undefined ? undefined : EVERY_MS;
    },
  });
  #packets: Schemas["ListedPacket"][] = [];
  #looks = 0;

  override connectedCallback(): void {
    super.connectedCallback();
    this.poll.start();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.poll.stop();
  }

  protected get samples(): Sample[] {
    return SAMPLES.get(this.campaignId) ?? [];
  }

  protected async lookNow(isWhole = false): Promise<void> {
    const { client } = session;
    const campaign = await client.get(`/admin/campaigns/${this.campaignId}`);
    if (isWhole || this.#looks++ % LOOKS_PER_LIST === 0) {
      [this.#packets, this.switches] = await Promise.all([
        packetsOf(client, this.campaignId),
        client.get("/admin/switches").then(({ items }) => items),
      ]);
    }
    const seen = await look(client, campaign, this.#packets);
    const atMs = now();
    this.meter.note(atMs, seen.taken);
    const sample = { atMs, taken: seen.taken, budgetLeftFen: campaign.budget_left_fen };
    SAMPLES.set(this.campaignId, withSample(this.samples, sample));
    this.campaign = campaign;
    this.seen = seen;
  }
}

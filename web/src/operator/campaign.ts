/** One campaign, live: what is taken, how fast, what is left, and what needs a look. */

import { html, nothing } from "lit";

import type { Schemas } from "../api/client.ts";
import { newKey } from "../api/keys.ts";
import { problemOf, type Problem } from "../api/problems.ts";
import { Poll } from "../poll.ts";
import { session } from "../session.ts";
import { checked, loadingView, problemView, typed } from "../views/view.ts";
import { look, Meter, packetsOf, warnings, type Look, type Warning } from "./live.ts";
import { address } from "./pages.ts";
import { awaitingView, awaits, type Awaiting, ConsoleView, duties, money, when, write } from "./view.ts";
import { o, wordOf } from "./words.ts";

type Campaign = Schemas["CampaignAdmin"];
type Prize = Schemas["PrizeAdmin"];
const DUTY_OF = { goods: "stock_goods", packet: "stock_cash", code: "add_codes" } as const;
const CODES_PER_CALL = 500;
const EVERY_MS = 2_000;
/** Packets and switches change less often than counts. */
const LOOKS_PER_LIST = 5;

export class OperatorCampaign extends ConsoleView {
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
  /** Why the last look failed; what an action came to stays told beside it. */
  declare trouble: Problem | undefined;
  #meter = new Meter();
  #warnings: Warning[] = [];
  #switches: readonly Schemas["Switch"][] = [];
  #packets: Schemas["ListedPacket"][] = [];
  #looks = 0;
  readonly #poll = new Poll({
    ask: async () => {
      await this.#look();
      this.trouble = undefined;
      return EVERY_MS;
    },
    failed: (error) => {
      this.trouble = problemOf(error);
      return this.trouble.retryAfterS === undefined ? undefined : EVERY_MS;
    },
  });

  override connectedCallback(): void {
    super.connectedCallback();
    this.#poll.start();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#poll.stop();
  }

  async #look(): Promise<void> {
    const { client } = session;
    const campaign = await client.get(`/admin/campaigns/${this.campaignId}`);
    if (this.#looks++ % LOOKS_PER_LIST === 0) {
      [this.#packets, this.#switches] = await Promise.all([
        packetsOf(client, this.campaignId),
        client.get("/admin/switches").then(({ items }) => items),
      ]);
    }
    const seen = await look(client, campaign, this.#packets);
    this.#meter.note(Date.now(), seen.taken);
    this.#warnings = warnings(campaign, this.#switches);
    this.campaign = campaign;
    this.seen = seen;
  }

  override render() {
    const { campaign, seen } = this;
    const trouble = this.trouble ? problemView(this.trouble, () => this.#poll.start()) : nothing;
    if (!campaign || !seen) return this.trouble ? trouble : loadingView();
    const id = campaign.campaign_id;
    return html`
      <h1 tabindex="-1">${campaign.title}</h1>
      <p class="hint">
        ${wordOf(campaign.status)} · ${when(campaign.starts_at_ms)} – ${when(campaign.ends_at_ms)} ·
        ${o("version")} ${campaign.version}
      </p>
      <p class="ways">
        <a href=${address("/operator/packets", { campaign_id: id })}>${o("packets")}</a>
        <a href="/operator/campaigns/${id}/winners">${o("winners")}</a>
        ${duties().may("see_journal")
          ? html`<a href=${address("/operator/journal", { subject: `campaign:${id}` })}>${o("journal")}</a>`
          : nothing}
        <a href="/campaigns/${id}" target="_blank">${o("as_users")}</a>
      </p>
      ${this.news()} ${trouble} ${this.#figures(campaign, seen)}
      <div class="warnings" role="status">
        ${this.#warnings.length
          ? this.#warnings.map((one) => html`<p class="bad">${warningText(one)}</p>`)
          : html`<p>${o("no_warnings")}</p>`}
      </div>
      ${duties().may("preheat")
        ? html`<button class="secondary" ?disabled=${this.isBusy} @click=${() => this.#preheat()}>
            ${o("preheat")}
          </button>`
        : nothing}
      ${campaign.prizes.length ? this.#prizes(campaign) : nothing}
    `;
  }

  #figures(campaign: Campaign, seen: Look) {
    const speed = this.#meter.perSecond;
    const figure = (name: string, value: string | number, more = "") =>
      html`<div><dt>${name}</dt><dd>${value}<small>${more}</small></dd></div>`;
    return html`
      <dl class="figures">
        ${figure(o("per_second"), speed === undefined ? "…" : speed.toFixed(1))}
        ${figure(o("taken"), seen.taken)} ${figure(o("left"), seen.left)}
        ${figure(
          o("budget_left"),
          money(campaign.budget_left_fen),
          o("of_yuan", { n: money(campaign.budget_fen) }),
        )}
      </dl>
      ${seen.unfollowed ? html`<p class="hint">${o("unfollowed", { n: seen.unfollowed })}</p>` : nothing}
    `;
  }

  #prizes(campaign: Campaign) {
    return html`<section class="card">
      <h2>${o("prizes")}</h2>
      <ul class="items">
        ${campaign.prizes.map(
          (prize) => html`<li>
            <span class="what">
              <b>${prize.title}</b>
              <small>${o("issued", { n: prize.issued, all: prize.total })} · ${o("version")} ${prize.version}</small>
            </span>
            ${duties().may(DUTY_OF[prize.kind]) ? this.#stock(prize) : nothing}
          </li>`,
        )}
      </ul>
    </section>`;
  }

  #stock(prize: Prize) {
    if (prize.kind === "code") return this.#codes(prize);
    const change = (event: SubmitEvent) => {
      event.preventDefault();
      const delta = Number(typed(event.target, "delta"));
      const isChange = Number.isSafeInteger(delta) && delta !== 0;
      if (checked(event.target, "delta", isChange ? "" : o("delta_invalid"))) void this.#changeStock(prize, delta);
    };
    return html`<form class="row" @submit=${change}>
      <input class="delta" name="delta" type="number" step="1" value="1" aria-label="${prize.title}: ${o("delta")}" />
      <button class="secondary" ?disabled=${this.isBusy}>${o("change_stock")}</button>
    </form>`;
  }

  #codes(prize: Prize) {
    const add = (event: SubmitEvent) => {
      event.preventDefault();
      const file = new FormData(event.target as HTMLFormElement).get("codes");
      if (file instanceof File) void this.#addCodes(prize, file);
    };
    return html`<form class="row" @submit=${add}>
      <input name="codes" type="file" accept=".txt,.csv" required aria-label="${prize.title}: ${o("codes_file")}" />
      <button class="secondary" ?disabled=${this.isBusy}>${o("add_codes")}</button>
    </form>`;
  }

  #addCodes(prize: Prize, file: File): Promise<void> {
    return this.act("add_codes", async () => {
      const path = `/admin/campaigns/${this.campaignId}/prizes/${prize.prize_id}/codes`;
      const lines = (await file.text()).split("\n").map((line) => line.trim());
      const codes = lines.filter(Boolean);
      // A repeat after a failure skips what was added.
      for (let at = 0; at < codes.length; at += CODES_PER_CALL) {
        await write<Prize>("POST", path, { add: codes.slice(at, at + CODES_PER_CALL) });
      }
      await this.#look();
      return o("done");
    });
  }

  #changeStock(prize: Prize, delta: number): Promise<void> {
    return this.act(DUTY_OF[prize.kind], async () => {
      const path = `/admin/campaigns/${this.campaignId}/prizes/${prize.prize_id}/stock`;
      // Under the version that is shown: what another operator changed meanwhile is not changed blindly.
      const body = { delta, version: prize.version };
      const answer = await write<Prize | Awaiting>("POST", path, body, newKey());
      await this.#look();
      return awaits(answer) ? awaitingView() : o("done");
    });
  }

  #preheat(): Promise<void> {
    return this.act("preheat", async () => {
      let cursor: string | null | undefined;
      for (let n = 0, loaded = 0; ; ) {
        const path = address(`/admin/campaigns/${this.campaignId}/preheat`, { cursor });
        const page = await write<Schemas["Preheated"]>("POST", path);
        n += page.packet_count;
        loaded += page.loaded_count;
        this.told = o("preheated", { n, loaded });
        if (page.next === null) return this.told;
        cursor = page.next;
      }
    });
  }
}

function warningText(one: Warning): string {
  switch (one.kind) {
    case "switch_off":
      return `${o("warn_switch_off", { name: wordOf(`switch_${one.name}`) })} ${one.reason}`;
    case "budget_low":
      return o("warn_budget_low", { n: one.percent });
    case "sold_out":
      return o("warn_sold_out", { name: one.prize });
    case "paused":
      return o("warn_paused");
  }
}

customElements.define("op-campaign", OperatorCampaign);

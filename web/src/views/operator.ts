/** What operators need at hand: switches, a campaign with its prizes and stock, deposits. */

import { html, nothing } from "lit";

import type { Schemas } from "../api/client.ts";
import { newKey } from "../api/keys.ts";
import { t } from "../i18n/page.ts";
import { parseYuan, yuan } from "../money.ts";
import { session } from "../session.ts";
import { problemView, typed, View } from "./view.ts";

type Campaign = Schemas["CampaignAdmin"];
const REPEATS = 6;

export class Operator extends View {
  static override properties = {
    ...View.properties,
    switches: { state: true },
    campaign: { state: true },
    told: { state: true },
  };
  declare switches: Schemas["Switch"][];
  declare campaign: Campaign | undefined;
  declare told: string;

  constructor() {
    super();
    this.switches = [];
    this.told = "";
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.attempt(async () => {
      this.switches = (await session.client.get<Schemas["Switches"]>("/admin/switches")).items;
    });
  }

  override render() {
    return html`
      <section class="operator">
        <h1 tabindex="-1">${t("op_title")}</h1>
        ${this.problem ? problemView(this.problem) : nothing}
        <p class="hint" role="status">${this.told}</p>
        ${this.#switchesView()} ${this.#campaignView()} ${this.#depositView()}
      </section>
    `;
  }

  #switchesView() {
    return html`
      <section class="card">
        <h2>${t("op_switches")}</h2>
        <ul class="items">
          ${this.switches.map(
            (one) => html`<li>
              <span class="what">
                <b>${t(`op_switch_${one.name}` as const)}</b>
                <small>${t(one.on ? "op_on" : "op_off")}${one.reason ? ` · ${one.reason}` : ""}</small>
              </span>
              <button class="secondary" @click=${() => this.#turn(one)}>
                ${t(one.on ? "op_turn_off" : "op_turn_on")}
              </button>
            </li>`,
          )}
        </ul>
      </section>
    `;
  }

  #turn(one: Schemas["Switch"]): void {
    void this.attempt(async () => {
      const path = `/admin/switches/${one.name}`;
      const body = { on: !one.on };
      const turned = await session.client.ask<Schemas["Switch"]>("PUT", path, { body });
      this.switches = this.switches.map((old) => (old.name === one.name ? turned : old));
    });
  }

  #campaignView() {
    const show = (event: SubmitEvent) => {
      event.preventDefault();
      const id = typed(event.target, "campaign");
      void this.attempt(() => this.#watch(id));
    };
    return html`
      <section class="card">
        <h2>${t("op_campaign")}</h2>
        <form class="row link" @submit=${show}>
          <input name="campaign" aria-label=${t("op_campaign_id")} placeholder="spring" required />
          <button class="secondary">${t("op_watch")}</button>
        </form>
        ${this.campaign ? this.#details(this.campaign) : nothing}
      </section>
    `;
  }

  async #watch(id: string): Promise<void> {
    this.campaign = await session.client.get<Campaign>(`/admin/campaigns/${encodeURIComponent(id)}`);
  }

  #details(campaign: Campaign) {
    const { budget_left_fen, budget_fen } = campaign;
    return html`
      <h3><a href="/campaigns/${campaign.campaign_id}">${campaign.title}</a></h3>
      <p class="hint">
        ${t(campaign.status === "on" ? "op_on" : "op_off")} ·
        ${t("op_budget", { left: yuan(budget_left_fen), all: yuan(budget_fen) })}
      </p>
      <button class="secondary" @click=${() => this.#preheat(campaign)}>${t("op_preheat")}</button>
      <ul class="items">
        ${campaign.prizes.map((prize) => {
          const change = (event: SubmitEvent) => {
            event.preventDefault();
            const text = new FormData(event.target as HTMLFormElement).get("delta");
            this.#changeStock(campaign, prize.prize_id, Number(text));
          };
          return html`<li>
            <span class="what">
              <b>${prize.title}</b>
              <small>${t("op_issued", { n: prize.issued, all: prize.total })}</small>
            </span>
            <form class="row" @submit=${change}>
              <input
                class="delta"
                name="delta"
                type="number"
                step="1"
                value="1"
                aria-label="${prize.title}: ${t("op_delta")}"
              />
              <button class="secondary">${t("op_add")}</button>
            </form>
          </li>`;
        })}
      </ul>
    `;
  }

  #changeStock(campaign: Campaign, prizeId: string, delta: number): void {
    void this.attempt(async () => {
      const path = `/admin/campaigns/${campaign.campaign_id}/prizes/${prizeId}/stock`;
      await session.client.ask("POST", path, { body: { delta }, key: newKey(), repeats: REPEATS });
      await this.#watch(campaign.campaign_id);
      this.told = t("op_done");
    });
  }

  #preheat(campaign: Campaign): void {
    void this.attempt(async () => {
      let cursor = "";
      for (let n = 0, loaded = 0; ; ) {
        const path = `/admin/campaigns/${campaign.campaign_id}/preheat${cursor}`;
        const page = await session.client.ask<Schemas["Preheated"]>("POST", path, { repeats: REPEATS });
        n += page.packet_count;
        loaded += page.loaded_count;
        this.told = t("op_preheated", { n, loaded });
        if (page.next === null) return;
        cursor = `?cursor=${encodeURIComponent(page.next)}`;
      }
    });
  }

  #depositView() {
    const deposit = (event: SubmitEvent) => {
      event.preventDefault();
      const form = event.target as HTMLFormElement;
      const user = typed(form, "user");
      const amountFen = parseYuan(typed(form, "amount"));
      if (!user || !amountFen) return;
      void this.attempt(async () => {
        const body = { user, amount_fen: amountFen };
        const { key } = session.writes.begin("deposit", session.person?.sub ?? "", body);
        const ask = { body, key, repeats: REPEATS };
        await session.client.ask<Schemas["Deposit"]>("POST", "/admin/deposits", ask);
        session.writes.end("deposit");
        form.reset();
        this.told = t("op_done");
      });
    };
    return html`
      <form class="card" @submit=${deposit}>
        <h2>${t("op_deposit")}</h2>
        <label class="field tall"><span>${t("op_user")}</span><input name="user" required /></label>
        <label class="field tall">
          <span>${t("op_amount")}</span><input name="amount" inputmode="decimal" required />
        </label>
        <button class="secondary">${t("op_deposit")}</button>
      </form>
    `;
  }
}

customElements.define("rp-operator", Operator);

/** One campaign: its actions, its progress, and its warnings. */

import { html, nothing, type TemplateResult } from "lit";

import type { Schemas } from "../api/client.ts";
import { newKey } from "../api/keys.ts";
import { BOUNDS, CODES_MAX } from "../api/limits.ts";
import { money } from "../money.ts";
import { boneView, checked, loadingView, problemView, typed } from "../views/view.ts";
import "./audience.ts";
import "./charts.ts";
import { warnings, type Look, type Warning } from "./live.ts";
import { address } from "./pages.ts";
import { percentOf, percentText, stateOf, type Campaign, type Prize } from "./plan.ts";
import "./promote.ts";
import "./refusals.ts";
import { deedsOf, doDeed, planRain, sendRain } from "./running.ts";
import { amountCell, awaitingView, awaits, type Awaiting, duties, inZone, takeOver, write } from "./view.ts";
import { CampaignView } from "./watch.ts";
import { o, wordOf } from "./words.ts";

const DUTY_OF = { goods: "stock_goods", packet: "stock_cash", code: "add_codes" } as const;

export class OperatorCampaign extends CampaignView {
  override connectedCallback(): void {
    super.connectedCallback();
    this.message = takeOver();
  }

  override render() {
    const { campaign, seen } = this;
    const trouble = this.trouble ? problemView(this.trouble, () => this.poll.start()) : nothing;
    // The heading renders first and keeps the focus when the rest loads.
    return html`<h1 tabindex="-1">${campaign?.title ?? this.campaignId}</h1>
      ${campaign && seen ? this.#whole(campaign, seen, trouble) : this.trouble ? trouble : loadingView()}`;
  }

  #whole(campaign: Campaign, seen: Look, trouble: unknown) {
    const id = campaign.campaign_id;
    const shown = warnings(campaign, this.switches);
    const card = (title: string, body: unknown) => html`<section class="card"><h2>${title}</h2>${body}</section>`;
    return html`
      <p class="hint">
        <b>${o(`state_${stateOf(campaign)}`)}</b> · ${inZone(campaign.starts_at_ms, campaign.timezone)} –
        ${inZone(campaign.ends_at_ms, campaign.timezone)} · ${campaign.timezone}
      </p>
      <p class="ways">
        <a href=${address("/operator/packets", { campaign_id: id })}>${o("packets")}</a>
        <a href="/operator/campaigns/${id}/winners">${o("winners")}</a>
        ${duties().may("see_journal")
          ? html`<a href=${address("/operator/journal", { subject: `campaign:${id}` })}>${o("journal")}</a>`
          : nothing}
        <a href="/operator/campaigns/${id}/wall">${o("wall")}</a>
        <a href="/campaigns/${id}" target="_blank">${o("as_users")}</a>
      </p>
      ${this.#deeds(campaign, seen)} ${this.news()} ${trouble}
      <div class="warnings" role="status">
        ${shown.length
          ? shown.map((warning) => html`<p class="bad">${warningText(warning)}</p>`)
          : html`<p>${o("no_warnings")}</p>`}
      </div>
      ${this.#figures(campaign, seen)} <op-charts .samples=${this.samples}></op-charts>
      ${campaign.prizes.length ? this.#prizes(campaign) : nothing}
      ${card(o("funnel"), html`<op-refusals></op-refusals>`)}
      ${card(o("promote"), html`<op-promote .campaign=${campaign}></op-promote>`)}
      ${duties().may("edit_audience")
        ? card(
            o("audience"),
            html`<op-audience .campaign=${campaign} @edited=${() => void this.lookNow()}></op-audience>`,
          )
        : nothing}
    `;
  }

  #deeds(campaign: Campaign, seen: Look) {
    const mayEdit = duties().may("edit_campaign");
    const button = (name: string, run: () => unknown) =>
      html`<button class="secondary" ?disabled=${this.isBusy} @click=${run}>${name}</button>`;
    return html`<div class="ways deeds">
      ${duties().may("send_rain") && stateOf(campaign) !== "ended"
        ? button(o("send_rain"), () => this.#do("send_rain", () => sendRain(campaign)))
        : nothing}
      ${duties().may("plan_rain") && stateOf(campaign) !== "ended"
        ? button(o("plan_rain"), () => this.#do("plan_rain", () => planRain(campaign)))
        : nothing}
      ${mayEdit ? html`<a class="secondary" href="/operator/campaigns/${campaign.campaign_id}/edit">${o("edit")}</a>` : nothing}
      ${duties().may("preheat") ? button(o("preheat"), () => this.#preheat()) : nothing}
      ${duties().may("plan")
        ? html`<span class="apart">
            ${deedsOf(campaign).map((deed) => button(o(deed), () => this.#do("plan", () => doDeed(campaign, deed, seen))))}
          </span>`
        : nothing}
    </div>`;
  }

  /** Runs *work*, which asks for confirmation, and reloads the campaign. */
  #do(duty: "send_rain" | "plan_rain" | "plan", work: () => ReturnType<typeof doDeed>): Promise<void> {
    return this.act(duty, async () => {
      const message = await work();
      await this.lookNow(true);
      return message ?? "";
    });
  }

  #figures(campaign: Campaign, seen: Look) {
    const speed = this.meter.perSecond;
    const figure = (name: string, value: string | number | TemplateResult, more = "") =>
      html`<div><dt>${name}</dt><dd>${value}<small>${more}</small></dd></div>`;
    return html`
      <dl class="figures">
        ${figure(o("per_second"), speed === undefined ? boneView() : speed.toFixed(1))}
        ${figure(o("taken"), seen.taken)} ${figure(o("left"), seen.left)}
        ${figure(
          o("budget_left"),
          amountCell(campaign.budget_left_fen),
          o("of_sum", { n: money(campaign.budget_fen) }),
        )}
      </dl>
      ${seen.unfollowed ? html`<p class="hint">${o("unfollowed", { n: seen.unfollowed })}</p>` : nothing}
    `;
  }

  #prizes(campaign: Campaign) {
    const all = campaign.prizes.filter((prize) => prize.status === "on").reduce((sum, prize) => sum + prize.weight, campaign.miss_weight);
    return html`<section class="card">
      <h2>${o("prizes")}</h2>
      <ul class="items">
        ${campaign.prizes.map(
          (prize) => html`<li>
            <span class="what">
              <b>${prize.title}</b>
              <small>
                ${prize.status === "on" ? o("chance_is", { n: percentOf(campaign, prize) }) : o("out_of_draws")} ·
                ${o("issued", { n: prize.issued, all: prize.total })}
              </small>
              <progress max=${prize.total || 1} value=${prize.issued} aria-label="${prize.title}: ${o("taken")}"></progress>
            </span>
            ${duties().may(DUTY_OF[prize.kind]) ? this.#stock(prize) : nothing}
          </li>`,
        )}
        <li>
          <span class="what">
            <b>${o("no_prize")}</b>
            <small>${o("chance_is", { n: percentText(all ? campaign.miss_weight / all : 0) })}</small>
          </span>
        </li>
      </ul>
    </section>`;
  }

  #stock(prize: Prize) {
    if (prize.kind === "code") return this.#codes(prize);
    const change = (event: SubmitEvent) => {
      event.preventDefault();
      this.form = event.target as HTMLFormElement;
      const delta = Number(typed(event.target, "delta"));
      const isChange = Number.isSafeInteger(delta) && delta !== 0;
      if (checked(event.target, "delta", isChange ? "" : o("delta_invalid"))) void this.#changeStock(prize, delta);
    };
    return html`<form class="row" @submit=${change}>
      <input class="delta" name="delta" type="number" step="1" min=${BOUNDS.StockBody.delta[0]} max=${BOUNDS.StockBody.delta[1]} value="1" aria-label="${prize.title}: ${o("delta")}" />
      <button class="secondary" ?disabled=${this.isBusy}>${o("change_stock")}</button>
    </form>`;
  }

  #codes(prize: Prize) {
    const add = (event: SubmitEvent) => {
      event.preventDefault();
      this.form = event.target as HTMLFormElement;
      const file = new FormData(this.form).get("codes");
      if (file instanceof File) void this.#addCodes(prize, file);
    };
    return html`<form class="row" @submit=${add}>
      <input name="codes" data-api="add" type="file" accept=".txt,.csv" required aria-label="${prize.title}: ${o("codes_file")}" />
      <button class="secondary" ?disabled=${this.isBusy}>${o("add_codes")}</button>
    </form>`;
  }

  #addCodes(prize: Prize, file: File): Promise<void> {
    return this.act("add_codes", async () => {
      const path = `/admin/campaigns/${this.campaignId}/prizes/${prize.prize_id}/codes`;
      const lines = (await file.text()).split("\n").map((line) => line.trim());
      const codes = lines.filter(Boolean);
      // On a retry, the API skips codes that were already added.
      for (let at = 0; at < codes.length; at += CODES_MAX) {
        await write<Prize>("POST", path, { add: codes.slice(at, at + CODES_MAX) });
      }
      await this.lookNow();
      return o("done");
    });
  }

  #changeStock(prize: Prize, delta: number): Promise<void> {
    return this.act(DUTY_OF[prize.kind], async () => {
      const path = `/admin/campaigns/${this.campaignId}/prizes/${prize.prize_id}/stock`;
      // The write includes the displayed version, so it can't overwrite another operator's change.
      const body = { delta, version: prize.version };
      const answer = await write<Prize | Awaiting>("POST", path, body, newKey());
      await this.lookNow();
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
        this.message = o("preheated", { n, loaded });
        if (page.next === null) return this.message;
        cursor = page.next;
      }
    });
  }
}

function warningText(warning: Warning): string {
  switch (warning.kind) {
    case "switch_off":
      return `${o("warn_switch_off", { name: wordOf(`switch_${warning.name}`) })} ${warning.reason}`;
    case "budget_low":
      return o("warn_budget_low", { n: warning.percent });
    case "sold_out":
      return o("warn_sold_out", { name: warning.prize });
    case "paused":
      return o("warn_paused");
  }
}

customElements.define("op-campaign", OperatorCampaign);

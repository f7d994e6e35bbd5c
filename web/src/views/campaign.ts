/** A campaign: a lottery where it has prizes, else a rain of the packets that the link names. */

import { html, nothing } from "lit";

import type { Schemas } from "../api/client.ts";
import { duration } from "../i18n/packet.ts";
import { t } from "../i18n/page.ts";
import { session } from "../session.ts";
import { loadingView, problemView, View } from "./view.ts";

export class CampaignView extends View {
  static override properties = { ...View.properties, campaignId: {}, campaign: { state: true } };
  declare campaignId: string;
  declare campaign: Schemas["Campaign"] | undefined;
  #clock: ReturnType<typeof setInterval> | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    this.#load();
    this.#clock = setInterval(() => this.#tick(), 500);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearInterval(this.#clock);
  }

  #load(): void {
    void this.attempt(async () => {
      const path = `/campaigns/${this.campaignId}`;
      const campaign = await session.client.get<Schemas["Campaign"]>(path);
      await (campaign.prizes.length ? import("./lottery.ts") : import("./rain.ts"));
      this.campaign = campaign;
    });
  }

  /** Renders again only while a countdown is shown. */
  #tick(): void {
    if (this.campaign && this.campaign.starts_at_ms > Date.now() - 1000) this.requestUpdate();
  }

  override render() {
    const { campaign } = this;
    if (this.problem) return problemView(this.problem, () => this.#load());
    if (!campaign) return loadingView();
    const leftMs = campaign.starts_at_ms - Date.now();
    return html`
      <section class="campaign">
        <h1 tabindex="-1">${campaign.title}</h1>
        ${campaign.description ? html`<p class="lead">${campaign.description}</p>` : nothing}
        ${leftMs > 0
          ? html`<p class="countdown" role="timer">${t("starts_in", { time: duration(leftMs) })}</p>`
          : this.#game(campaign)}
      </section>
    `;
  }

  #game(campaign: Schemas["Campaign"]) {
    if (campaign.prizes.length) return html`<rp-lottery .campaign=${campaign}></rp-lottery>`;
    const ids = new URLSearchParams(location.hash.slice(1)).get("packets")?.split(",") ?? [];
    return html`<rp-rain .packetIds=${ids.filter(Boolean)} .endsAtMs=${campaign.ends_at_ms}></rp-rain>`;
  }
}

customElements.define("rp-campaign", CampaignView);

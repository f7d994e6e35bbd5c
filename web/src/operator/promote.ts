/** Promotion of a campaign: a link to copy, and a QR code and a poster to save. */

import { html, nothing } from "lit";

import { drawCard } from "../views/card.ts";
import { qrView } from "../views/qr.ts";
import { View } from "../views/view.ts";
import type { Campaign } from "./plan.ts";
import { inZone } from "./view.ts";
import { o } from "./words.ts";

export const linkOf = (campaignId: string) => `${location.origin}/campaigns/${campaignId}`;

export async function modulesOf(link: string): Promise<boolean[][]> {
  const { encode } = await import("uqr");
  return encode(link, { border: 0, ecc: "M" }).data;
}

export class OperatorPromote extends View {
  static override properties = {
    ...View.properties,
    campaign: { attribute: false },
    modules: { state: true },
    message: { state: true },
  };
  declare campaign: Campaign;
  declare modules: boolean[][] | undefined;
  declare message: string;

  constructor() {
    super();
    this.message = "";
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.attempt(async () => {
      this.modules = await modulesOf(linkOf(this.campaign.campaign_id));
    });
  }

  override render() {
    const link = linkOf(this.campaign.campaign_id);
    const text = o("invitation", { title: this.campaign.title, link });
    return html`
      <div class="promote">
        <div class="qr">${this.modules ? qrView(this.modules, o("qr")) : nothing}</div>
        <div>
          <label class="field tall"><span>${o("link")}</span><input readonly .value=${link} /></label>
          <p class="ways">
            <button class="secondary" @click=${() => this.#copy(link)}>${o("copy_link")}</button>
            <button class="secondary" @click=${() => this.#copy(text)}>${o("copy_invitation")}</button>
            <button class="secondary" ?disabled=${!this.modules} @click=${() => this.#saveCode()}>${o("save_qr")}</button>
            <button class="secondary" ?disabled=${!this.modules} @click=${() => this.#savePoster()}>${o("save_poster")}</button>
          </p>
          <p role="status" class="hint">${this.message}</p>
        </div>
      </div>
    `;
  }

  async #copy(text: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      this.message = o("copied");
    } catch {
      this.message = o("copy_failed");
    }
  }

  #saveCode(): void {
    this.#save(this.querySelector<HTMLImageElement>(".qr img")!.src, "qr");
  }

  #savePoster(): void {
    const { title, starts_at_ms: starts, timezone } = this.campaign;
    const when = o("starts_at", { at: inZone(starts, timezone) });
    this.#save(drawCard(title, when, this.modules!, o("scan")).toDataURL(), "poster");
  }

  #save(url: string, kind: string): void {
    const link = document.createElement("a");
    link.href = url;
    link.download = `${this.campaign.campaign_id}-${kind}.png`;
    link.click();
    this.message = o("csv_done", { file: link.download });
  }
}

customElements.define("op-promote", OperatorPromote);

/** A packet rain: one canvas, packets of several speeds, one grab a second at most. */

import { html, nothing } from "lit";

import type { Schemas } from "../api/client.ts";
import { problemOf } from "../api/problems.ts";
import { problemText } from "../i18n/packet.ts";
import { t } from "../i18n/page.ts";
import { yuan } from "../money.ts";
import { session } from "../session.ts";
import { Sky } from "./sky.ts";
import { View, wantsSignIn } from "./view.ts";

const TAP_GAP_MS = 1000;
const CLAIM_REPEATS = 8;
/** A packet that answers so has nothing more for this user. */
const OVER = ["packet_emptied", "packet_expired", "not_invited", "packet_not_found"];
/** After these no packet of the campaign has. */
const ALL_OVER = ["quota_exhausted", "not_in_audience", "campaign_ended", "forbidden"];

interface Catch {
  text: string;
  isWin: boolean;
}

export class Rain extends View {
  static override properties = {
    ...View.properties,
    packetIds: { attribute: false },
    endsAtMs: { attribute: false },
    catches: { state: true },
    isOver: { state: true },
    isAsking: { state: true },
  };
  declare packetIds: string[];
  declare endsAtMs: number;
  declare catches: Catch[];
  declare isOver: boolean;
  declare isAsking: boolean;
  #left: string[] = [];
  #turn = 0;
  #sumFen = 0;
  #wins = 0;
  #freeAtMs = 0;
  #sky: Sky | undefined;

  constructor() {
    super();
    this.packetIds = [];
    this.catches = [];
    this.isOver = false;
    this.isAsking = false;
  }

  override firstUpdated(): void {
    this.#left = [...this.packetIds];
    // Not everybody begins with the same packet.
    this.#turn = Math.floor(Math.random() * Math.max(1, this.#left.length));
    const canvas = this.querySelector("canvas");
    if (canvas) this.#sky = new Sky(canvas, () => void this.#grab());
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#sky?.stop();
  }

  override render() {
    const last = this.catches.at(-1);
    return html`
      <div class="rain">
        <canvas aria-hidden="true"></canvas>
        ${last
          ? html`<p class="catch ${last.isWin ? "is-win" : ""}" aria-hidden="true">${last.text}</p>`
          : nothing}
        ${this.isOver ? this.#end() : nothing}
      </div>
      <p class="unseen" role="status">${last?.text ?? ""}</p>
      ${this.isOver
        ? nothing
        : html`
            <button
              class="primary"
              aria-disabled=${this.isAsking ? "true" : "false"}
              @click=${() => void this.#grab()}
            >
              ${t("rain_tap")}
            </button>
            <p class="hint center">${t("rain_hint")}</p>
          `}
      ${this.#wins
        ? html`<p class="caught">
            ${t("rain_got", { n: this.#wins, amount: yuan(this.#sumFen) })}
          </p>`
        : nothing}
    `;
  }

  #end() {
    return html`<div class="rain-end" role="status">
      <h2>${t("rain_over")}</h2>
      <p>${this.#wins ? t("rain_got", { n: this.#wins, amount: yuan(this.#sumFen) }) : t("rain_none")}</p>
    </div>`;
  }

  async #grab(): Promise<void> {
    if (this.isAsking || this.isOver || Date.now() < this.#freeAtMs) return;
    if (wantsSignIn(this)) return;
    const packetId = this.#left[this.#turn++ % this.#left.length];
    if (!packetId) return;
    this.isAsking = true;
    this.#freeAtMs = Date.now() + TAP_GAP_MS;
    try {
      const claim = await session.client.ask<Schemas["Claim"]>("POST", `/packets/${packetId}/grab`, {
        body: {},
        repeats: CLAIM_REPEATS,
      });
      this.#drop(packetId);
      if (claim.outcome === "claimed") this.#win(claim.amount_fen);
    } catch (error) {
      const { code, retryAfterS } = problemOf(error);
      if (OVER.includes(code)) this.#drop(packetId);
      if (ALL_OVER.includes(code)) this.#left = [];
      if (retryAfterS) this.#freeAtMs = Date.now() + 1000 * retryAfterS;
      const text = code === "packet_emptied" ? t("rain_late") : problemText(code);
      this.catches = [...this.catches, { text, isWin: false }];
    } finally {
      this.isAsking = false;
      if (this.#left.length === 0 || Date.now() >= this.endsAtMs) this.#stop();
    }
  }

  #win(fen: number): void {
    this.#wins++;
    this.#sumFen += fen;
    this.catches = [...this.catches, { text: `+${yuan(fen)} ${t("yuan")}`, isWin: true }];
  }

  #drop(packetId: string): void {
    this.#left = this.#left.filter((one) => one !== packetId);
  }

  #stop(): void {
    this.isOver = true;
    this.#sky?.stop();
  }
}

customElements.define("rp-rain", Rain);

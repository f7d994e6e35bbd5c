/** A packet rain: a full-screen round with many hits for each grab, and its result. */

import { html, nothing } from "lit";

import type { Schemas } from "../api/client.ts";
import { problemOf } from "../api/problems.ts";
import { t } from "../i18n/events.ts";
import { problemText } from "../i18n/packet.ts";
import { yuan } from "../money.ts";
import { stateAfter, type State } from "../packet/states.ts";
import { session } from "../session.ts";
import { isSoundOn, playCoin, turnSound } from "../sound.ts";
import type { Catches } from "./catches.ts";
import { Sky } from "./sky.ts";
import { View, wantsSignIn } from "./view.ts";

const ROUND_S = 20;
const COUNTDOWN_S = 3;
const GRAB_GAP_MS = 1000;
const LINGER_MS = 2000;
const CLAIM_REPEATS = 8;
/** States of a packet that has nothing more for this user. */
const OVER: (State | undefined)[] = ["gone", "expired", "refused", "missing"];
/** Whether only this packet refuses; otherwise every packet of the campaign does, now. */
const isOfPacket = (code: string) => code.startsWith("packet_") || code === "not_invited";

type Phase = "ready" | "counting" | "playing" | "over";

/** Reports a share to the campaign's view. */
export type Caught = CustomEvent<{ packet_id: string; amount_fen: number }>;

/** Returns the claimed amount; opens a two-step packet as soon as it admits. */
async function takeShare(packetId: string): Promise<number> {
  const path = `/packets/${packetId}` as const;
  const ask = { body: {}, repeats: CLAIM_REPEATS };
  const grabbed = await session.client.ask("POST", `${path}/grab`, ask);
  if (!("grab_token" in grabbed)) return grabbed.amount_fen;
  const { grab_token } = grabbed;
  return (await session.client.ask("POST", `${path}/open`, { ...ask, body: { grab_token } })).amount_fen;
}

export class Rain extends View {
  static override properties = {
    ...View.properties,
    campaign: { attribute: false },
    catches: { attribute: false },
    phase: { state: true },
    leftS: { state: true },
    hits: { state: true },
    banner: { state: true },
    refusal: { state: true },
    isAsking: { state: true },
  };
  declare campaign: Schemas["Campaign"];
  /** The user's shares of this rain. */
  declare catches: Catches;
  declare phase: Phase;
  /** Seconds until the round begins, or until it ends. */
  declare leftS: number;
  declare hits: number;
  declare banner: { text: string; isWin: boolean } | undefined;
  /** Why there is nothing more for this user. */
  declare refusal: string;
  declare isAsking: boolean;
  readonly #gone = new Set<string>();
  /** Not everybody begins with the same packet. */
  #turn = Math.floor(Math.random() * 100);
  #untilMs = 0;
  #freeAtMs = 0;
  #isWanted = false;
  #sky: Sky | undefined;
  #clock: ReturnType<typeof setInterval> | undefined;

  constructor() {
    super();
    this.phase = "ready";
    this.leftS = 0;
    this.hits = 0;
    this.refusal = "";
    this.isAsking = false;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#stop();
  }

  /** Packets that may still have a share for this user. */
  get #left(): string[] {
    const ids = this.campaign.packets.map((packet) => packet.packet_id);
    return ids.filter((id) => !this.#gone.has(id) && !this.catches.has(id));
  }

  /** Why the user can't play; undefined if they can. */
  get #obstacle(): string | undefined {
    const { state, quota_per_user: quota } = this.campaign;
    if (state === "ended") return t("is_ended");
    if (state === "paused") return t("is_paused");
    if (quota && this.catches.size >= quota) return t("rain_quota", { n: quota });
    if (this.refusal) return problemText(this.refusal);
    return this.#left.length ? undefined : t(this.catches.size ? "rain_over" : "rain_missing");
  }

  override willUpdate(): void {
    if (this.phase !== "counting" && this.phase !== "playing") return;
    if (this.campaign.state !== "on") this.#end();
    // The last share is seen before the round is over.
    else if (this.#obstacle) this.#untilMs = Math.min(this.#untilMs, performance.now() + LINGER_MS);
  }

  override render() {
    const isRound = this.phase === "counting" || this.phase === "playing";
    // A pause is shown below, and ends.
    const isOver = this.phase === "over" && this.campaign.state !== "paused";
    return html`
      <dialog class="rain" aria-label=${t("rain")} @close=${this.#end}>${isRound ? this.#round() : nothing}</dialog>
      ${isOver || this.catches.size ? this.#result(isOver) : nothing} ${this.#start()}
    `;
  }

  #start() {
    const obstacle = this.#obstacle;
    if (obstacle) return html`<p class="empty rain-obstacle" role="status">${obstacle}</p>`;
    return html`
      ${this.phase === "ready" && !this.catches.size
        ? html`<div class="rain-door" aria-hidden="true"><i></i><i></i><i></i></div>`
        : nothing}
      <button class="primary" @click=${this.#begin}>${t(this.phase === "over" ? "rain_again" : "rain_start")}</button>
      <p class="hint center">${t("rain_hint", { s: ROUND_S })}</p>
    `;
  }

  #round() {
    const { banner } = this;
    return html`
      <canvas aria-hidden="true"></canvas>
      <div class="rain-bar">
        <b role="timer">${this.phase === "playing" ? t("rain_left_s", { s: this.leftS }) : ""}</b>
        <span>${t("rain_hits", { n: this.hits })}</span>
        <button aria-pressed=${isSoundOn() ? "true" : "false"} @click=${this.#turnSound}>♪ ${t("sound")}</button>
        <button @click=${this.#end}>${t("rain_ends")}</button>
      </div>
      ${this.phase === "counting" ? html`<p class="rain-count" role="status">${this.leftS}</p>` : nothing}
      ${banner ? html`<p class="catch ${banner.isWin ? "is-win" : ""}" role="status">${banner.text}</p>` : nothing}
      ${this.phase === "playing"
        ? html`<button class="rain-tap" @click=${this.#hit}>${t("rain_tap")}</button>`
        : nothing}
    `;
  }

  #result(isOver: boolean) {
    const amounts = [...this.catches.values()];
    const sum = amounts.reduce((all, amount) => all + amount, 0);
    const best = Math.max(...amounts);
    return html`
      <section class="card rain-result" role="status">
        ${isOver ? html`<h2>${t("rain_over")}</h2>` : nothing}
        ${amounts.length
          ? html`
              <p class="total">${t("rain_got", { n: amounts.length, amount: yuan(sum) })}</p>
              ${amounts.length > 1 ? html`<p class="lucky">${t("rain_best", { amount: yuan(best) })}</p>` : nothing}
              <ol class="rain-list">
                ${amounts.map((fen) => html`<li class=${fen === best ? "is-best" : ""}>¥${yuan(fen)}</li>`)}
              </ol>
            `
          : html`<p>${t(this.isAsking ? "rain_asking" : "rain_none")}</p>`}
        ${this.hits ? html`<p class="hint">${t("rain_hits", { n: this.hits })}</p>` : nothing}
      </section>
    `;
  }

  readonly #begin = () => {
    if (wantsSignIn(this)) return;
    this.phase = "counting";
    this.hits = 0;
    this.banner = undefined;
    this.#untilMs = performance.now() + 1000 * COUNTDOWN_S;
    this.#tick();
    this.#clock = setInterval(() => this.#tick(), 200);
    void this.updateComplete.then(() => this.querySelector("dialog")?.showModal());
  };

  #tick(): void {
    const leftMs = this.#untilMs - performance.now();
    this.leftS = Math.max(0, Math.ceil(leftMs / 1000));
    if (leftMs > 0) return;
    if (this.phase === "playing") {
      this.#end();
      return;
    }
    this.phase = "playing";
    this.#untilMs = performance.now() + 1000 * ROUND_S;
    this.leftS = ROUND_S;
    this.#sky = new Sky(this.querySelector("canvas")!, this.#hit);
  }

  readonly #end = () => {
    if (this.phase !== "counting" && this.phase !== "playing") return;
    this.phase = "over";
    this.#stop();
    this.querySelector("dialog")?.close();
  };

  #stop(): void {
    clearInterval(this.#clock);
    this.#sky?.stop();
    this.#sky = undefined;
  }

  readonly #hit = () => {
    this.hits++;
    this.#isWanted = true;
    void this.#grab();
  };

  /** Grabs for all hits since the last grab. */
  async #grab(): Promise<void> {
    if (this.isAsking || this.phase !== "playing" || !this.#isWanted) return;
    const waitMs = this.#freeAtMs - performance.now();
    if (waitMs > 0) {
      setTimeout(() => void this.#grab(), waitMs);
      return;
    }
    const left = this.#left;
    const packetId = left[this.#turn++ % left.length];
    if (!packetId) return;
    this.#isWanted = false;
    this.isAsking = true;
    this.#freeAtMs = performance.now() + GRAB_GAP_MS;
    try {
      this.#win(packetId, await takeShare(packetId));
    } catch (error) {
      this.#lose(packetId, problemOf(error));
    } finally {
      this.isAsking = false;
      void this.#grab();
    }
  }

  #win(packetId: string, amountFen: number): void {
    const isBest = [...this.catches.values()].every((fen) => fen < amountFen);
    this.banner = { text: `+¥${yuan(amountFen)}`, isWin: true };
    playCoin(isBest && this.catches.size > 0);
    const detail = { packet_id: packetId, amount_fen: amountFen };
    this.dispatchEvent(new CustomEvent("caught", { detail }));
  }

  #lose(packetId: string, { code, retryAfterS }: ReturnType<typeof problemOf>): void {
    const isOver = OVER.includes(stateAfter(code));
    if (isOver && isOfPacket(code)) this.#gone.add(packetId);
    if (isOver && !isOfPacket(code)) {
      // A pause ends: the campaign's view looks for it.
      if (code !== "campaign_paused") this.refusal = code;
      this.#end();
      this.dispatchEvent(new Event("stale"));
    }
    if (retryAfterS) this.#freeAtMs = performance.now() + 1000 * retryAfterS;
    this.banner = { text: code === "packet_emptied" ? t("rain_late") : problemText(code), isWin: false };
  }

  readonly #turnSound = () => {
    turnSound(!isSoundOn());
    this.requestUpdate();
  };
}

customElements.define("rp-rain", Rain);

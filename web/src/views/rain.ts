/** A packet rain: a full-screen round in which one grab covers many hits, and its result. */

import { html, nothing } from "lit";

import type { Schemas } from "../api/client.ts";
import { problemOf } from "../api/problems.ts";
import { t } from "../i18n/events.ts";
import { duration, problemText } from "../i18n/packet.ts";
import { money } from "../money.ts";
import { now } from "../now.ts";
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
/** States of a packet that has no share left for this user. */
const OVER: (State | undefined)[] = ["gone", "expired", "refused", "missing"];
/** Returns whether *code* concerns only one packet. Other final refusals concern the whole campaign. */
const isOfPacket = (code: string) => code.startsWith("packet_") || code === "not_invited";

type Round = Schemas["RainRound"];
type Phase = "ready" | "counting" | "playing" | "over";

/** Event that reports a share to the campaign's view. */
export type Caught = CustomEvent<{ packet_id: string; amount_fen: number }>;

/** Claims a share and returns its amount in fen. Opens a two-step packet as soon as it admits the user. */
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
    combo: { state: true },
    misses: { state: true },
  };
  declare campaign: Schemas["Campaign"];
  /** The user's shares from this rain. */
  declare catches: Catches;
  declare phase: Phase;
  /** Seconds until the round begins, or until it ends. */
  declare leftS: number;
  declare hits: number;
  declare banner: { text: string; isWin: boolean } | undefined;
  /** Reason why the user can't get another share. */
  declare refusal: string;
  declare isAsking: boolean;
  /** Hits since the last miss. */
  declare combo: number;
  declare misses: number;
  #bestCombo = 0;
  /** The current planned round, or the last one. */
  #planned: Round | undefined;
  readonly #gone = new Set<string>();
  /** Random index, so that users start with different packets. */
  #turn = Math.floor(Math.random() * 100);
  #untilMs = 0;
  #freeAtMs = 0;
  #isWanted = false;
  #sky: Sky | undefined;
  #clock: ReturnType<typeof setInterval> | undefined;
  #watch: ReturnType<typeof setInterval> | undefined;

  constructor() {
    super();
    this.phase = "ready";
    this.leftS = 0;
    this.hits = 0;
    this.refusal = "";
    this.isAsking = false;
    this.combo = 0;
    this.misses = 0;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#watch = setInterval(() => this.#join(), 200);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearInterval(this.#watch);
    this.#stop();
  }

  get #isPlaying(): boolean {
    return this.phase === "counting" || this.phase === "playing";
  }

  /** The current or next planned round that this user has not played. */
  get #nextRound(): Round | undefined {
    const played = this.#planned?.starts_at_ms;
    return this.campaign.rains.find((round) => round.ends_at_ms > now() && round.starts_at_ms !== played);
  }

  /** Packets that may still have an unclaimed share for this user. */
  get #left(): string[] {
    const round = this.#isPlaying ? this.campaign.rains.find((each) => each.starts_at_ms === this.#planned?.starts_at_ms) : undefined;
    const planned = this.campaign.rains.flatMap(({ packets }) => packets);
    const open = this.campaign.packets.map((packet) => packet.packet_id);
    const ids = round?.packets ?? open.filter((id) => !planned.includes(id));
    return ids.filter((id) => !this.#gone.has(id) && !this.catches.has(id));
  }

  /** Reason why the user can't play. Undefined if they can. */
  get #obstacle(): string | undefined {
    const { state, quota_per_user: quota } = this.campaign;
    if (state === "ended") return t("is_ended");
    if (state === "paused") return t("is_paused");
    if (quota && this.catches.size >= quota) return t("rain_quota", { n: quota });
    if (this.refusal) return problemText(this.refusal);
    return this.#left.length ? undefined : t(this.catches.size ? "rain_over" : "rain_missing");
  }

  override willUpdate(): void {
    if (!this.#isPlaying) return;
    if (["paused", "ended"].includes(this.campaign.state)) this.#end();
    // Never shorten a planned round, because it has the same length for all users.
    else if (this.#planned) return;
    // Let the user see the last share before the round ends.
    else if (this.#obstacle) this.#untilMs = Math.min(this.#untilMs, performance.now() + LINGER_MS);
  }

  override render() {
    const isRound = this.#isPlaying;
    // During a pause, the note below stays instead of the result.
    const isOver = this.phase === "over" && this.campaign.state !== "paused";
    return html`
      <dialog class="rain" aria-label=${t("rain")} @close=${this.#end}>${isRound ? this.#round() : nothing}</dialog>
      ${isOver || this.catches.size ? this.#result(isOver) : nothing} ${this.#podium()} ${this.#start()}
    `;
  }

  /** Renders the best claims of the last round, which arrive with the campaign's next poll. */
  #podium() {
    const podium = this.campaign.rains.findLast((round) => round.podium.length)?.podium;
    if (!podium || this.#isPlaying) return nothing;
    return html`
      <section class="card rain-podium">
        <h2>${t("rain_podium")}</h2>
        <ol>
          ${podium.map(({ nickname, amount_fen: fen }) => html`<li><b>${nickname}</b><span>${money(fen)}</span></li>`)}
        </ol>
      </section>
    `;
  }

  /** Renders the countdown to the next planned round, which starts without a tap. */
  #announced(round: Round) {
    const leftMs = round.starts_at_ms - now();
    return html`
      <div class="rain-door" aria-hidden="true"><i></i><i></i><i></i></div>
      <p class="countdown" role="timer">${t("rain_next", { time: duration(Math.max(1000, leftMs)) })}</p>
      ${session.person
        ? html`<p class="hint center">${t("rain_waits")}</p>`
        : html`<button class="primary" @click=${() => wantsSignIn(this)}>${t("rain_join")}</button>`}
    `;
  }

  #start() {
    const next = this.#nextRound;
    if (next && this.campaign.state !== "paused") return this.#announced(next);
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
        <span>
          ${t("rain_hits", { n: this.hits })}${this.combo > 2 ? html` · <em>${t("rain_combo", { n: this.combo })}</em>` : nothing}
        </span>
        <b class="purse" aria-label=${t("rain_purse")}>${money(this.#sum)}</b>
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
    const best = Math.max(...amounts);
    return html`
      <section class="card rain-result" role="status">
        ${isOver ? html`<h2>${t("rain_over")}</h2>` : nothing}
        ${amounts.length
          ? html`
              <p class="total">${t("rain_got", { n: amounts.length, amount: money(this.#sum) })}</p>
              ${amounts.length > 1 ? html`<p class="lucky">${t("rain_best", { amount: money(best) })}</p>` : nothing}
              <ol class="rain-list">
                ${amounts.map((fen) => html`<li class=${fen === best ? "is-best" : ""}>${money(fen)}</li>`)}
              </ol>
            `
          : html`<p>${t(this.isAsking ? "rain_asking" : "rain_none")}</p>`}
        ${this.hits
          ? html`<p class="hint">${t("rain_tally", { n: this.hits, misses: this.misses, combo: this.#bestCombo })}</p>`
          : nothing}
      </section>
    `;
  }

  get #sum(): number {
    return [...this.catches.values()].reduce((all, amount) => all + amount, 0);
  }

  /** Opens the planned round three seconds before its start if the user is present. */
  #join(): void {
    const round = this.#nextRound;
    if (this.#isPlaying || !round || document.hidden || !session.person || !round.packets.length) {
      if (round && !this.#isPlaying) this.requestUpdate();
      return;
    }
    if (this.campaign.state === "paused" || now() < round.starts_at_ms - 1000 * COUNTDOWN_S) return;
    this.#planned = round;
    this.#open(round.starts_at_ms - now());
  }

  readonly #begin = () => {
    if (wantsSignIn(this)) return;
    this.#planned = undefined;
    this.#open(1000 * COUNTDOWN_S);
  };

  #open(countdownMs: number): void {
    this.phase = "counting";
    this.hits = 0;
    this.combo = 0;
    this.misses = 0;
    this.#bestCombo = 0;
    this.banner = undefined;
    this.#untilMs = performance.now() + countdownMs;
    this.#clock = setInterval(() => this.#tick(), 200);
    void this.updateComplete.then(() => {
      this.querySelector("dialog")?.showModal();
      this.#tick();
    });
  }

  #tick(): void {
    const leftMs = this.#untilMs - performance.now();
    this.leftS = Math.max(0, Math.ceil(leftMs / 1000));
    if (leftMs > 0) return;
    if (this.phase === "playing") {
      this.#end();
      return;
    }
    this.phase = "playing";
    const lifeMs = this.#planned ? this.#planned.ends_at_ms - now() : 1000 * ROUND_S;
    this.#untilMs = performance.now() + lifeMs;
    this.leftS = Math.ceil(lifeMs / 1000);
    this.#sky = new Sky(this.querySelector("canvas")!, this.#hit, this.#miss);
  }

  readonly #end = () => {
    if (!this.#isPlaying) return;
    this.phase = "over";
    this.#stop();
    this.querySelector("dialog")?.close();
  };

  #stop(): void {
    clearInterval(this.#clock);
    this.#sky?.stop();
    this.#sky = undefined;
  }

  readonly #miss = () => {
    this.combo = 0;
    this.misses++;
  };

  readonly #hit = () => {
    this.hits++;
    this.combo++;
    this.#bestCombo = Math.max(this.#bestCombo, this.combo);
    this.#isWanted = true;
    void this.#grab();
  };

  /** Sends one grab for all hits since the last grab. */
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
    this.banner = { text: `+${money(amountFen)}`, isWin: true };
    playCoin(isBest && this.catches.size > 0);
    const detail = { packet_id: packetId, amount_fen: amountFen };
    this.dispatchEvent(new CustomEvent("caught", { detail }));
  }

  #lose(packetId: string, { code, retryAfterS }: ReturnType<typeof problemOf>): void {
    const isOver = OVER.includes(stateAfter(code));
    if (isOver && isOfPacket(code)) this.#gone.add(packetId);
    if (isOver && !isOfPacket(code)) {
      // The campaign's view polls for the end of a pause.
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

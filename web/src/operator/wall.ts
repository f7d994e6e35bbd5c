/** A campaign on a projector: countdown, QR code, names as they arrive, and a podium. */

import { html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";

import type { Schemas } from "../api/client.ts";
import { problemOf, type Problem } from "../api/problems.ts";
import { now } from "../now.ts";
import { Poll } from "../poll.ts";
import { session } from "../session.ts";
import { qrView } from "../views/qr.ts";
import { money } from "../money.ts";
import { loadingView, problemView } from "../views/view.ts";
import { Claims, FOLLOWED_MAX, packetsOf, Tail } from "./live.ts";
import { linkOf, modulesOf } from "./promote.ts";
import { ConsoleView, inZone } from "./view.ts";
import { o } from "./words.ts";

const EVERY_MS = 2_000;
/** Number of polls of the campaign per poll of the operators' list, which also has packets emptied in the meantime. */
const LOOKS_PER_LIST = 5;
const SHOWN_MAX = 8;
const PODIUM = 3;
type Campaign = Schemas["Campaign"];

/** A user who claimed a share or won a prize. */
interface Lucky {
  key: string;
  atMs: number;
  name: string;
  fen?: number | null;
  prize?: string;
}

export class OperatorWall extends ConsoleView {
  static override properties = {
    ...ConsoleView.properties,
    campaignId: {},
    campaign: { state: true },
    trouble: { state: true },
    modules: { state: true },
  };
  declare campaignId: string;
  /** The campaign as guests see it, without its budget. */
  declare campaign: Campaign | undefined;
  declare trouble: Problem | undefined;
  declare modules: boolean[][] | undefined;
  #lucky: Lucky[] = [];
  #looks = 0;
  #listed: string[] = [];
  readonly #claims = new Map<string, Claims>();
  readonly #tails = new Map<string, Tail<Schemas["ListedWinner"]>>();
  #clock: ReturnType<typeof setInterval> | undefined;
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
    document.body.classList.add("on-wall");
    this.#poll.start();
    this.#clock = setInterval(() => this.requestUpdate(), 250);
    void this.attempt(async () => {
      this.modules = await modulesOf(linkOf(this.campaignId));
    });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    document.body.classList.remove("on-wall");
    this.#poll.stop();
    clearInterval(this.#clock);
  }

  async #look(): Promise<void> {
    const { client } = session;
    const campaign = await client.get(`/campaigns/${this.campaignId}`);
    if (this.#looks++ % LOOKS_PER_LIST === 0) {
      const packets = await packetsOf(client, this.campaignId);
      const shown = packets.filter(({ prize_id, status }) => prize_id === null && !["unpaid", "cancelled"].includes(status));
      // Operators see a packet's id only if they may act on the packet.
      this.#listed = shown.flatMap(({ packet_id: id }) => id ?? []);
    }
    const open = campaign.packets.map((packet) => packet.packet_id);
    const ids = new Set([...campaign.rains.flatMap(({ packets }) => packets), ...open, ...this.#listed]);
    for (const id of ids) if (!this.#claims.has(id)) this.#claims.set(id, new Claims(client, id));
    const followed = [...this.#claims.values()].filter(({ isOver }) => !isOver).slice(-FOLLOWED_MAX);
    const goods = campaign.prizes.filter((prize) => prize.kind !== "packet");
    const [winners] = await Promise.all([
      Promise.all(goods.map((prize) => this.#winnersOf(prize))),
      ...followed.map((claims) => claims.read().catch(() => undefined)),
    ]);
    this.#lucky = [...this.#claims].flatMap(([id, { rows }]) =>
      rows.map(({ claimed_at_ms: atMs, nickname: name, amount_fen: fen }, at) => ({ key: `${id} ${at}`, atMs, name, fen })),
    );
    this.#lucky.push(...winners.flat());
    this.campaign = campaign;
  }

  async #winnersOf({ prize_id, title }: Schemas["Prize"]): Promise<Lucky[]> {
    const path = `/admin/campaigns/${this.campaignId}/winners`;
    const tail = this.#tails.get(prize_id) ?? new Tail<Schemas["ListedWinner"]>(session.client, path, { prize_id });
    this.#tails.set(prize_id, tail);
    const rows = await tail.read();
    return rows.slice(-SHOWN_MAX).map(({ won_at_ms: atMs, nickname, unit }) => ({
      key: `${prize_id} ${unit}`,
      atMs,
      name: nickname ?? o("somebody"),
      prize: title,
    }));
  }

  override render() {
    const { campaign } = this;
    if (!campaign) {
      const waits = this.trouble ? problemView(this.trouble, () => this.#poll.start()) : loadingView();
      return html`<div class="wall"><h1 tabindex="-1">${this.campaignId}</h1>${waits}</div>`;
    }
    const newest = [...this.#lucky].sort((first, other) => other.atMs - first.atMs).slice(0, SHOWN_MAX);
    return html`
      <div class="wall">
        <header>
          <h1 tabindex="-1">${campaign.title}</h1>
          ${this.#now(campaign)}
        </header>
        <section class="join">
          <div class="qr">${this.modules ? qrView(this.modules, o("qr")) : nothing}</div>
          <p>${o("scan")}</p>
        </section>
        <section class="party">
          ${this.#podium(campaign)}
          <div class="lucky">
            ${newest.length ? html`<h2>${o("lucky")}</h2>` : html`<p class="hint">${o("none_yet")}</p>`}
            <ul>
              ${repeat(
                newest,
                ({ key }) => key,
                (winner) => html`<li><b>${winner.name}</b><span>${winner.prize ?? this.#sum(winner.fen)}</span></li>`,
              )}
            </ul>
          </div>
        </section>
        <p class="ways">
          <button class="secondary" @click=${() => void document.documentElement.requestFullscreen().catch(() => undefined)}>
            ${o("full_screen")}
          </button>
          <a href="/operator/campaigns/${campaign.campaign_id}">${o("back")}</a>
        </p>
      </div>
    `;
  }

  #sum(fen: number | null | undefined): string {
    return fen ? money(fen) : o("got_one");
  }

  /** Renders the campaign's state, and the countdown to its start or to the start or end of a round. */
  #now({ state, starts_at_ms: startsAtMs, ends_at_ms: endsAtMs, timezone, rains }: Campaign) {
    const nowMs = now();
    const at = (atMs: number) => inZone(atMs, timezone);
    if (state === "paused" || state === "ended") return html`<p>${o(`state_${state}`)}</p>`;
    if (startsAtMs > nowMs) return this.#countdown(o("starts_at", { at: at(startsAtMs) }), startsAtMs - nowMs);
    const round = rains.find(({ ends_at_ms: endMs }) => endMs > nowMs);
    if (!round) return html`<p>${o("state_running")} · ${o("ends_at", { at: at(endsAtMs) })}</p>`;
    const leftMs = round.starts_at_ms - nowMs;
    if (leftMs > 0) return this.#countdown(o("next_round"), leftMs);
    return this.#countdown(o("this_round"), round.ends_at_ms - nowMs);
  }

  #countdown(text: string, leftMs: number) {
    return html`<p>${text}</p><p class="left" role="timer">${clockOf(leftMs)}</p>`;
  }

  /** Renders the best claims of the last round, or else the best that this screen has seen. */
  #podium({ rains }: Campaign) {
    const round = rains.findLast(({ podium }) => podium.length);
    const seen = this.#lucky.filter(({ fen }) => fen).sort((first, other) => other.fen! - first.fen!);
    const best = round?.podium.map(({ nickname: name, amount_fen: fen }) => ({ name, fen })) ?? seen.slice(0, PODIUM);
    if (!best.length) return nothing;
    return html`
      <div class="podium">
        <h2>${o("podium")}</h2>
        <ol>
          ${best.map(({ name, fen }) => html`<li><b>${name}</b><span>${this.#sum(fen)}</span></li>`)}
        </ol>
      </div>
    `;
  }
}

/** 3,723,000 -> "01:02:03". */
function clockOf(leftMs: number): string {
  const s = Math.ceil(leftMs / 1000);
  return [s / 3600, (s / 60) % 60, s % 60].map((part) => String(Math.floor(part)).padStart(2, "0")).join(":");
}

customElements.define("op-wall", OperatorWall);

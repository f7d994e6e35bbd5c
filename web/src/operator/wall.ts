/** A campaign on a big screen: numbers, its code and its winners, to be read from three meters away. */

import { html, nothing } from "lit";

import type { Schemas } from "../api/client.ts";
import { session } from "../session.ts";
import { qrView } from "../views/qr.ts";
import { loadingView, problemView } from "../views/view.ts";
import { Tail, type Lucky } from "./live.ts";
import { stateOf, type Prize } from "./plan.ts";
import { linkOf, modulesOf } from "./promote.ts";
import { inZone, money } from "./view.ts";
import { CampaignView } from "./watch.ts";
import { o } from "./words.ts";

const SHOWN_MAX = 8;
type Winner = Schemas["ListedWinner"];

export class OperatorWall extends CampaignView {
  static override properties = { ...CampaignView.properties, modules: { state: true } };
  declare modules: boolean[][] | undefined;
  protected override claims = SHOWN_MAX;
  #winners: Lucky[] = [];
  readonly #tails = new Map<string, Tail<Winner>>();

  override connectedCallback(): void {
    super.connectedCallback();
    document.body.classList.add("on-wall");
    void this.attempt(async () => {
      this.modules = await modulesOf(linkOf(this.campaignId));
    });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    document.body.classList.remove("on-wall");
  }

  protected override async lookNow(isWhole = false): Promise<void> {
    await super.lookNow(isWhole);
    const prizes = this.campaign!.prizes.filter((prize) => prize.issued > 0 && prize.kind !== "packet");
    const listed = await Promise.all(prizes.map((prize) => this.#winnersOf(prize)));
    this.#winners = listed.flat();
    this.requestUpdate();
  }

  async #winnersOf(prize: Prize): Promise<Lucky[]> {
    const path = `/admin/campaigns/${this.campaignId}/winners`;
    const cached = this.#tails.get(prize.prize_id);
    const tail = cached ?? new Tail<Winner>(session.client, path, { prize_id: prize.prize_id });
    this.#tails.set(prize.prize_id, tail);
    const rows = await tail.read();
    return rows.slice(-SHOWN_MAX).map((row) => ({
      atMs: row.won_at_ms,
      name: row.nickname ?? o("somebody"),
      prize: prize.title,
    }));
  }

  override render() {
    const { campaign, seen } = this;
    if (!campaign || !seen) return this.trouble ? problemView(this.trouble, () => this.poll.start()) : loadingView();
    const lucky = [...seen.claims, ...this.#winners].sort((first, other) => other.atMs - first.atMs).slice(0, SHOWN_MAX);
    const speed = this.meter.perSecond;
    return html`
      <div class="wall">
        <header>
          <h1 tabindex="-1">${campaign.title}</h1>
          <p>${o(`state_${stateOf(campaign)}`)} · ${o("ends_at", { at: inZone(campaign.ends_at_ms, campaign.timezone) })}</p>
        </header>
        <dl>
          ${this.#number("taken", seen.taken.toLocaleString())} ${this.#number("left", seen.left.toLocaleString())}
          ${this.#number("per_second", speed === undefined ? "…" : speed.toFixed(1))}
        </dl>
        <section class="join">
          <div class="qr">${this.modules ? qrView(this.modules, o("qr")) : nothing}</div>
          <p>${o("scan")}</p>
        </section>
        <section class="lucky">
          <h2>${o("lucky")}</h2>
          <ul>
            ${lucky.map(
              (winner) => html`<li>
                <b>${winner.name}</b><span>${winner.prize ?? (winner.fen ? o("yuan", { n: money(winner.fen) }) : o("got_one"))}</span>
              </li>`,
            )}
          </ul>
          ${lucky.length ? nothing : html`<p class="hint">${o("none_yet")}</p>`}
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

  #number(name: "taken" | "left" | "per_second", value: string) {
    return html`<div><dt>${o(name)}</dt><dd>${value}</dd></div>`;
  }
}

customElements.define("op-wall", OperatorWall);

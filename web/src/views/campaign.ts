/** A campaign: its lottery and its rain, in tabs where it has both. */

import { html, nothing } from "lit";

import type { Schemas } from "../api/client.ts";
import { duration } from "../i18n/packet.ts";
import { t } from "../i18n/page.ts";
import { session } from "../session.ts";
import { loadingView, problemView, View } from "./view.ts";

type Game = "rain" | "lottery";

/** Between two looks for packets while there are none. */
const LOOK_MS = 5000;
/** A crowd looks at the start, but not all in the same moment. */
const SPREAD_MS = 2000;
/** For so long after the start a lottery may get a rain. */
const LATE_MS = 60_000;

export class CampaignView extends View {
  static override properties = {
    ...View.properties,
    campaignId: {},
    campaign: { state: true },
    game: { state: true },
  };
  declare campaignId: string;
  declare campaign: Schemas["Campaign"] | undefined;
  declare game: Game | undefined;
  readonly #opened = new Set<Game>();
  readonly #spreadMs = SPREAD_MS * Math.random();
  #askedAtMs = 0;
  /** Whether the campaign was read after its start. */
  #isRead = false;
  #clock: ReturnType<typeof setInterval> | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    void this.attempt(() => this.#load());
    this.#clock = setInterval(() => this.#tick(), 500);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearInterval(this.#clock);
  }

  async #load(): Promise<void> {
    const askedAtMs = (this.#askedAtMs = Date.now());
    const campaign = await session.client.get(`/campaigns/${this.campaignId}`);
    const modules = { lottery: () => import("./lottery.ts"), rain: () => import("./rain.ts") };
    const games = gamesOf(campaign);
    await Promise.all(games.map((game) => modules[game]()));
    this.#isRead = campaign.starts_at_ms <= askedAtMs;
    const isHelp = new URLSearchParams(location.search).has("inviter");
    // A rain that begins later does not take the place of the lottery.
    if (this.#isRead) this.game ??= isHelp ? games.at(-1) : games[0];
    this.campaign = campaign;
  }

  #tick(): void {
    const { campaign } = this;
    if (!campaign) return;
    const { starts_at_ms: startsAtMs, ends_at_ms: endsAtMs, prizes } = campaign;
    const nowMs = Date.now();
    // Renders again only while a countdown is shown.
    if (startsAtMs > nowMs - 1000) this.requestUpdate();
    const lookAtMs = this.#isRead ? 0 : startsAtMs + this.#spreadMs;
    if (nowMs < Math.max(lookAtMs, this.#askedAtMs + LOOK_MS)) return;
    // The API names packets from the start on.
    const untilMs = prizes.length && this.#isRead ? startsAtMs + LATE_MS : endsAtMs;
    if (nowMs < untilMs && !packetIdsOf(campaign).length) void this.#load().catch(() => undefined);
  }

  override render() {
    const { campaign } = this;
    if (this.problem) return problemView(this.problem, () => void this.attempt(() => this.#load()));
    if (!campaign) return loadingView();
    const leftMs = campaign.starts_at_ms - Date.now();
    const games = () => (this.#isRead ? this.#games(campaign) : loadingView());
    return html`
      <section class="campaign">
        <h1 tabindex="-1">${campaign.title}</h1>
        ${campaign.description ? html`<p class="lead">${campaign.description}</p>` : nothing}
        ${leftMs > 0
          ? html`<p class="countdown" role="timer">${t("starts_in", { time: duration(leftMs) })}</p>`
          : games()}
      </section>
    `;
  }

  #games(campaign: Schemas["Campaign"]) {
    const games = gamesOf(campaign);
    const shown = this.game ?? games[0]!;
    this.#opened.add(shown);
    return html`
      ${games.length > 1
        ? html`<div class="tabs" role="group" aria-label=${campaign.title}>
            ${games.map(
              (game) => html`<button
                aria-pressed=${game === shown ? "true" : "false"}
                @click=${() => (this.game = game)}
              >
                ${t(game === "rain" ? "rain" : "lottery_tab")}
              </button>`,
            )}
          </div>`
        : nothing}
      ${games.map((game) =>
        // A game that was opened goes on while the other one is shown.
        this.#opened.has(game)
          ? html`<div ?hidden=${game !== shown}>${this.#game(game, campaign)}</div>`
          : nothing,
      )}
    `;
  }

  #game(game: Game, campaign: Schemas["Campaign"]) {
    if (game === "lottery") return html`<rp-lottery .campaign=${campaign}></rp-lottery>`;
    const ids = packetIdsOf(campaign);
    if (!ids.length) return html`<p class="empty">${t("rain_missing")}</p>`;
    return html`<rp-rain .packetIds=${ids} .endsAtMs=${campaign.ends_at_ms}></rp-rain>`;
  }
}

/** The rain comes first: it is short. */
function gamesOf(campaign: Schemas["Campaign"]): Game[] {
  if (!campaign.prizes.length) return ["rain"];
  return packetIdsOf(campaign).length ? ["rain", "lottery"] : ["lottery"];
}

/** The packets that the link names, else those of the campaign. */
function packetIdsOf(campaign: Schemas["Campaign"]): string[] {
  const named = new URLSearchParams(location.hash.slice(1)).get("packets")?.split(",") ?? [];
  const ids = named.filter(Boolean);
  return ids.length ? ids : campaign.packets.map((packet) => packet.packet_id);
}

customElements.define("rp-campaign", CampaignView);

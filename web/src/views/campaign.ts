/** A campaign: its countdown, its link to share, and its lottery and rain, in tabs if it has both. */

import { html, nothing } from "lit";

import type { Schemas } from "../api/client.ts";
import { t } from "../i18n/events.ts";
import { formatTime, language } from "../i18n/language.ts";
import { duration } from "../i18n/packet.ts";
import { money } from "../money.ts";
import { now } from "../now.ts";
import { appHere } from "../providers/registry.ts";
import { session } from "../session.ts";
import { calendarOf } from "./calendar.ts";
import { catchesOf, type Catches } from "./catches.ts";
import "./copy.ts";
import { download, savePicture } from "./picture.ts";
import type { Caught } from "./rain.ts";
import { loadingView, problemView, View } from "./view.ts";

type Game = "rain" | "lottery";

const DAY_MS = 86_400_000;
/** Milliseconds between polls of a running campaign. The CDN caches the answer. */
const LOOK_MS = 8000;
/** The API shows the packet ids of a round three seconds before its start. Clients spread their reads over one second. */
const IDS_AHEAD_MS = 3000;
const IDS_SPREAD_MS = 1000;
/** Milliseconds between polls while a round is planned. */
const CALM_LOOK_MS = 60_000;
/** Milliseconds over which clients spread their first poll after a start or an end. */
const SPREAD_MS = 2000;

/** Returns the campaign to preview if the console frames this page. Only a page of this origin can set it. */
const preview = () => frameElement as { campaign?: Schemas["Campaign"]; game?: Game } | null;

export class CampaignView extends View {
  static override properties = {
    ...View.properties,
    campaignId: {},
    campaign: { state: true },
    catches: { state: true },
    game: { state: true },
  };
  declare campaignId: string;
  declare campaign: Schemas["Campaign"] | undefined;
  /** The user's shares from the rain. */
  declare catches: Catches;
  declare game: Game | undefined;
  readonly #opened = new Set<Game>();
  readonly #spreadMs = SPREAD_MS * Math.random();
  #askedAtMs = 0;
  /** Whether the campaign was read after its start, or with the packet ids of its first round. */
  #isRead = false;
  #hasRain = false;
  #clock: ReturnType<typeof setInterval> | undefined;

  constructor() {
    super();
    this.catches = new Map();
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.attempt(() => this.#load());
    this.#clock = setInterval(() => this.#tick(), 500);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearInterval(this.#clock);
  }

  override refresh(): Promise<void> {
    return this.#load();
  }

  async #load(): Promise<void> {
    this.#askedAtMs = now();
    const campaign = preview()?.campaign ?? (await session.client.get(`/campaigns/${this.campaignId}`));
    // Read the clock after the answer, because the first one may correct it by hours.
    this.#askedAtMs = now();
    // The API's state decides, because our clock may be slightly ahead.
    const isRead = campaign.state !== "upcoming" || campaign.rains.some(({ packets }) => packets.length);
    if (isRead && !this.#isRead && session.person) this.catches = await catchesOf(session.client, campaign);
    this.#hasRain ||= campaign.packets.length > 0 || campaign.rains.length > 0 || this.catches.size > 0;
    const modules = { lottery: () => import("./lottery.ts"), rain: () => import("./rain.ts") };
    const games = this.#gamesOf(campaign);
    await Promise.all(games.map((game) => modules[game]()));
    // An inviter's link and a notice about a prize open the lottery.
    const isLottery = new URLSearchParams(location.search).has("inviter") || location.hash === "#prizes";
    // A rain that starts later must not replace the lottery.
    if (isRead) this.game ??= preview()?.game ?? (isLottery ? games.at(-1) : games[0]);
    if (!this.campaign) this.#name(campaign);
    this.#isRead = isRead;
    this.campaign = campaign;
  }

  #name({ title, description }: Schemas["Campaign"]): void {
    this.dispatchEvent(new CustomEvent("named", { detail: title, bubbles: true }));
    const app = appHere();
    if (!app?.isSetUp(session.config!)) return;
    void app.sharing().then((sharing) => sharing.setLinkCard(session.client, title, description, this.#link));
  }

  get #link(): string {
    return `${location.origin}/campaigns/${this.campaignId}`;
  }

  #tick(): void {
    const { campaign } = this;
    if (!campaign || document.hidden) return;
    const { starts_at_ms: startsAtMs, ends_at_ms: endsAtMs } = campaign;
    const nowMs = now();
    // Re-render only while a countdown is visible.
    if (startsAtMs > nowMs - 1000) this.requestUpdate();
    const lookAtMs = this.#isRead ? 0 : Math.min(startsAtMs + this.#spreadMs, this.#idsMs(campaign.rains[0]));
    const nextMs = this.#isRead ? this.#nextLookMs(campaign) : this.#askedAtMs + SPREAD_MS;
    if (nowMs < Math.max(lookAtMs, nextMs) || campaign.state === "ended") return;
    // Poll once more after the end to show that the campaign is over.
    if (this.#askedAtMs < endsAtMs + LOOK_MS) void this.#load().catch(() => undefined);
  }

  /** Returns the time of the next poll: a regular one, or one for a round's packet ids or its podium. */
  #nextLookMs({ rains }: Schemas["Campaign"]): number {
    // The last answer lacks the podium of a round that ended after it.
    const round = rains.find(({ ends_at_ms: endMs }) => endMs > this.#askedAtMs);
    if (!round) return this.#askedAtMs + LOOK_MS;
    if (round.packets.length) return round.ends_at_ms + SPREAD_MS + this.#spreadMs;
    const idsMs = this.#idsMs(round);
    const calmMs = this.#askedAtMs + CALM_LOOK_MS;
    // Skip a regular poll shortly before the poll for the ids.
    return calmMs < idsMs - CALM_LOOK_MS / 2 ? calmMs : Math.max(idsMs, this.#askedAtMs + IDS_SPREAD_MS);
  }

  /** Returns the time to poll for the packet ids of a round. */
  #idsMs(round: Schemas["RainRound"] | undefined): number {
    return round ? round.starts_at_ms - IDS_AHEAD_MS + (IDS_SPREAD_MS * this.#spreadMs) / SPREAD_MS : Infinity;
  }

  override render() {
    const { campaign } = this;
    if (this.problem) return problemView(this.problem, () => void this.attempt(() => this.#load()));
    if (!campaign) return loadingView();
    const isUpcoming = !this.#isRead && campaign.starts_at_ms > now();
    const games = () => (this.#isRead ? this.#games(campaign) : loadingView());
    return html`
      <section class="campaign">
        <h1 tabindex="-1">${campaign.title}</h1>
        ${campaign.description ? html`<p class="lead">${campaign.description}</p>` : nothing}
        ${isUpcoming ? this.#countdown(campaign) : games()} ${this.#share(campaign)}
      </section>
    `;
  }

  #countdown(campaign: Schemas["Campaign"]) {
    const leftMs = campaign.starts_at_ms - now();
    const save = () => {
      const event = { ...campaign, id: campaign.campaign_id, link: this.#link };
      download(new Blob([calendarOf(event)], { type: "text/calendar" }), "campaign.ics");
    };
    return html`
      <p class="countdown" role="timer">
        ${t("starts_at", { time: duration(leftMs), at: momentOf(campaign.starts_at_ms, campaign.timezone) })}
      </p>
      ${leftMs < DAY_MS ? html`<p class="digits" aria-hidden="true">${digitsOf(leftMs)}</p>` : nothing}
      ${appHere()
        ? nothing
        : html`<p class="center"><button class="secondary" @click=${save}>${t("calendar")}</button></p>`}
    `;
  }

  #games(campaign: Schemas["Campaign"]) {
    const games = this.#gamesOf(campaign);
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
        // Keep an opened game mounted while the other one is visible.
        this.#opened.has(game)
          ? html`<div ?hidden=${game !== shown}>${this.#game(game, campaign)}</div>`
          : nothing,
      )}
    `;
  }

  #game(game: Game, campaign: Schemas["Campaign"]) {
    if (game === "lottery") return html`<rp-lottery .campaign=${campaign}></rp-lottery>`;
    return html`<rp-rain
      .campaign=${campaign}
      .catches=${this.catches}
      @caught=${this.#onCaught}
      @stale=${() => void this.#load().catch(() => undefined)}
    ></rp-rain>`;
  }

  readonly #onCaught = ({ detail }: Caught) => {
    this.catches = new Map([[detail.packet_id, detail.amount_fen], ...this.catches]);
    this.dispatchEvent(new Event("amount", { bubbles: true }));
  };

  /** Returns the games. The rain comes first because it is short, and stays after its end to show the user's shares. */
  #gamesOf(campaign: Schemas["Campaign"]): Game[] {
    if (!campaign.prizes.length) return ["rain"];
    return this.#hasRain ? ["rain", "lottery"] : ["lottery"];
  }

  #share(campaign: Schemas["Campaign"]) {
    if (campaign.state === "ended" && !this.catches.size) return nothing;
    const app = appHere();
    const share = () => {
      if (app) void app.sharing().then((sharing) => sharing.pointAtMenu());
      else void navigator.share({ url: this.#link, title: campaign.title }).catch(() => undefined);
    };
    return html`
      <section class="card">
        <div class="row link">
          <input readonly aria-label=${t("campaign_link")} .value=${this.#link} />
          <rp-copy .text=${t("campaign_text", { title: campaign.title, link: this.#link })}></rp-copy>
        </div>
        <div class="row spread">
          <button class="quiet" @click=${this.#savePoster}>${t("poster")}</button>
          ${"share" in navigator || app
            ? html`<button class="quiet" @click=${share}>${t("share_game")}</button>`
            : nothing}
        </div>
      </section>
    `;
  }

  readonly #savePoster = async () => {
    const [{ drawCard }, { encode }] = await Promise.all([import("./card.ts"), import("uqr")]);
    const amounts = [...this.catches.values()];
    const amount = money(amounts.reduce((all, each) => all + each, 0));
    const got = amounts.length ? t("rain_got", { n: amounts.length, amount }) : "";
    const modules = encode(this.#link, { border: 0, ecc: "M" }).data;
    const canvas = drawCard(this.campaign!.title, got, modules, t("poster_text"));
    await savePicture(this, canvas, "campaign.png");
  };
}

/** Formats a time with the name of the campaign's time zone, so that friends in other zones read the same text. */
function momentOf(atMs: number, timeZone: string): string {
  const time = { hour: "2-digit", minute: "2-digit", hour12: false } as const;
  const moment = formatTime(atMs, { month: "long", day: "numeric", ...time, timeZone });
  const pieces = new Intl.DateTimeFormat(language(), { timeZone, timeZoneName: "long" }).formatToParts(atMs);
  return t("moment", { moment, zone: pieces.find(({ type }) => type === "timeZoneName")!.value });
}

/** 3,723,000 -> ["01", ":", "02", ":", "03"], with each number in its own block. */
function digitsOf(leftMs: number) {
  const s = Math.ceil(leftMs / 1000);
  return [Math.floor(s / 3600), Math.floor(s / 60) % 60, s % 60].map(
    (part) => html`<b>${String(part).padStart(2, "0")}</b>`,
  );
}

customElements.define("rp-campaign", CampaignView);

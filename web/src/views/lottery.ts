/** A lottery: a wheel or a scratch card, its odds, help from friends, won prizes, and verifiable draws. */

import { html, nothing } from "lit";

import type { Schemas } from "../api/client.ts";
import { problemOf } from "../api/problems.ts";
import { clock } from "../i18n/language.ts";
import { t } from "../i18n/events.ts";
import { money } from "../money.ts";
import { micView } from "../packet/cover.ts";
import { canListen, listen, type Listening } from "../packet/speech.ts";
import { session } from "../session.ts";
import { playCoin } from "../sound.ts";
import "./copy.ts";
import { isCover } from "./draft.ts";
import { loadingView, problemView, typed, View, wantsSignIn } from "./view.ts";
import "./scratch.ts";
import "./wheel.ts";
import type { Sector, Wheel } from "./wheel.ts";

type Draw = Schemas["Draws"]["items"][number];
type Drawn = Schemas["Drawn"];
type Checked = "check_true" | "check_false" | "check_later";

type Tab = "wheel" | "scratch" | "my_prizes";

const REPEATS = 12;
const TABS: Tab[] = ["wheel", "scratch", "my_prizes"];
/** Maximum number of pages of draws to search for won prizes. */
const PAGES_MAX = 20;

export class Lottery extends View {
  static override properties = {
    ...View.properties,
    campaign: { attribute: false },
    game: { state: true },
    result: { state: true },
    isDrawing: { state: true },
    isShown: { state: true },
    isTold: { state: true },
    isSaved: { state: true },
    draws: { state: true },
    won: { state: true },
    attemptsLeft: { state: true },
    winsLeft: { state: true },
    checked: { state: true },
    helped: { state: true },
    listening: { state: true },
    myToken: { state: true },
  };
  declare campaign: Schemas["Campaign"];
  declare game: Tab;
  declare result: Drawn | undefined;
  declare isDrawing: boolean;
  /** Whether the result may be shown: the wheel has stopped, or the card is scratched. */
  declare isShown: boolean;
  /** Whether the dialog about a prize is closed. */
  declare isTold: boolean;
  /** Whether the address for the dialog's prize was just saved. */
  declare isSaved: boolean;
  declare draws: Draw[];
  /** Winning draws. Undefined until they are loaded. */
  declare won: Draw[] | undefined;
  /** Attempts and wins left today. Null if unlimited or not loaded yet. */
  declare attemptsLeft: number | null;
  declare winsLeft: number | null;
  declare checked: Record<string, Checked>;
  declare helped: Schemas["Helped"]["outcome"] | undefined;
  declare listening: Listening | undefined;
  declare myToken: string;

  constructor() {
    super();
    this.game = "wheel";
    this.isDrawing = false;
    this.isShown = false;
    this.isTold = true;
    this.isSaved = false;
    this.draws = [];
    // A visitor without a token sees the limits from the rules.
    this.attemptsLeft = this.winsLeft = null;
    this.checked = {};
    this.myToken = "";
  }

  get #path() {
    return `/campaigns/${this.campaign.campaign_id}` as const;
  }

  get #slot(): string {
    return `draw.${this.campaign.campaign_id}`;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    if (!session.person) return;
    if (location.hash === "#prizes") this.#choose("my_prizes");
    void this.attempt(async () => {
      const [me] = await Promise.all([
        session.client.get("/me"),
        this.#readDraws(),
      ]);
      this.myToken = me.user_token;
      // Retry a draw that a reload interrupted.
      if (session.writes.find(this.#slot, session.person?.sub ?? "")) await this.#draw();
    });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.listening?.stop();
  }

  override async refresh(): Promise<void> {
    if (!session.person || this.isDrawing) return;
    await this.#readDraws("?cursor=newest");
    if (this.won) await this.#readWon();
  }

  /** Reads the user's draws. The API counts a read without a query as a visit. */
  async #readDraws(query = ""): Promise<void> {
    const page = await session.client.get<Schemas["Draws"]>(`${this.#path}/draws${query}`);
    this.draws = page.items;
    this.attemptsLeft = page.attempts_left;
    this.winsLeft = page.wins_left_today;
  }

  async #readWon(): Promise<void> {
    const won: Draw[] = [];
    let cursor: string | null = "newest";
    for (let pages = 0; cursor && pages < PAGES_MAX; pages++) {
      const page: Schemas["Draws"] = await session.client.get(`${this.#path}/draws?cursor=${encodeURIComponent(cursor)}`);
      won.push(...page.items.filter(({ prize }) => prize));
      cursor = page.next;
    }
    this.won = won;
  }

  override render() {
    return html`
      ${this.#helpFriend()}
      <div class="tabs" role="group" aria-label=${t("lottery")}>
        ${TABS.filter((tab) => tab !== "my_prizes" || session.person).map(
          (game) => html`<button
            aria-pressed=${game === this.game ? "true" : "false"}
            ?disabled=${this.isDrawing}
            @click=${() => this.#choose(game)}
          >
            ${t(game)}
          </button>`,
        )}
      </div>
      ${this.problem ? problemView(this.problem) : nothing}
      ${this.game === "my_prizes" ? this.#won() : this.#play()}
    `;
  }

  #play() {
    return html`
      ${this.game === "wheel" ? this.#wheel() : this.#card()} ${this.#left()}
      ${this.isTold ? this.#result() : this.#prize()} ${this.#prizes()}
      ${this.myToken && this.campaign.rules.helps_per_user_per_day ? this.#askForHelp() : nothing} ${this.#mine()}
    `;
  }

  /** Renders the attempts and wins left today. */
  #left() {
    if (this.#isOver) return html`<p class="hint center" role="status">${t("wins_used")}</p>`;
    const { attempts_per_user_per_day: attempts, wins_per_user_per_day: wins } = this.campaign.rules;
    const attemptsLeft = this.attemptsLeft ?? attempts;
    const winsLeft = this.winsLeft ?? wins;
    return html`<p class="hint center" role="status">
      ${attempts ? t(attemptsLeft === 1 ? "attempts_left_once" : "attempts_left", { n: attemptsLeft }) : nothing}
      ${wins ? t(winsLeft === 1 ? "wins_left_once" : "wins_left", { n: winsLeft }) : nothing}
    </p>`;
  }

  #choose(game: Tab): void {
    this.game = game;
    this.result = undefined;
    if (game === "my_prizes") void this.attempt(() => this.#readWon());
  }

  #wheel() {
    return html`
      <rp-wheel .sectors=${this.#sectors()}></rp-wheel>
      <button class="primary" ?disabled=${this.isDrawing || this.#isOver} @click=${() => void this.#start()}>
        ${t(this.isDrawing ? "drawing" : this.result ? "again" : "draw")}
      </button>
    `;
  }

  #card() {
    const text = this.result ? titleOf(this.result.prize) : "";
    const isCovered = Boolean(this.result) && !this.isShown;
    return html`
      <rp-scratch .text=${text} .isCovered=${isCovered} @reveal=${() => this.#show()}></rp-scratch>
      <button
        class="primary"
        ?disabled=${this.isDrawing || isCovered || this.#isOver}
        @click=${() => void this.#start()}
      >
        ${t(this.isDrawing ? "drawing" : "new_card")}
      </button>
    `;
  }

  /** Whether today's wins are used up, so that further draws would miss and cost attempts. */
  get #isOver(): boolean {
    return this.winsLeft === 0;
  }

  #sectors(): Sector[] {
    const on = this.campaign.prizes.filter((prize) => prize.status === "on");
    const prizes = on.map((prize) => ({
      title: titleOf(prize),
      odds: prize.is_sold_out ? t("sold_out") : percent(prize.probability),
      picture: pictureOf(prize),
    }));
    return [...prizes, { title: t("missed"), odds: percent(this.#missChance) }];
  }

  get #missChance(): number {
    return this.campaign.prizes.reduce((rest, prize) => rest - prize.probability, 1);
  }

  async #start(): Promise<void> {
    if (wantsSignIn(this) || this.#isOver) return;
    await (this.game === "wheel" ? this.#spin() : this.attempt(() => this.#draw()));
  }

  async #spin(): Promise<void> {
    await this.attempt(() => this.#draw());
    if (!this.result || this.problem) return;
    this.isDrawing = true;
    const title = titleOf(this.result.prize);
    const place = this.#sectors().findIndex((sector) => sector.title === title);
    await this.querySelector<Wheel>("rp-wheel")?.spinTo(Math.max(0, place));
    this.isDrawing = false;
    this.#show();
  }

  async #draw(): Promise<void> {
    if (this.isDrawing) return;
    this.isDrawing = true;
    this.isShown = this.isSaved = false;
    this.result = undefined;
    const { key } = session.writes.begin(this.#slot, session.person?.sub ?? "", {});
    try {
      this.result = await session.client.ask("POST", `${this.#path}/draws`, {
        key,
        repeats: REPEATS,
      });
      session.writes.end(this.#slot);
    } catch (error) {
      if (!problemOf(error).isUncertain) session.writes.end(this.#slot);
      throw error;
    } finally {
      this.isDrawing = false;
    }
  }

  #show(): void {
    this.isShown = true;
    this.attemptsLeft = this.result?.attempts_left ?? null;
    this.winsLeft = this.result?.wins_left_today ?? null;
    this.isTold = !this.result?.prize;
    if (!this.isTold) {
      playCoin(true);
      this.dispatchEvent(new Event("amount", { bubbles: true }));
      void this.updateComplete.then(() => this.querySelector("dialog")?.showModal());
    }
    void this.#readDraws("?cursor=newest").catch(() => undefined);
  }

  #result() {
    const { result } = this;
    if (!result || !this.isShown) return html`<p class="outcome" role="status"></p>`;
    return html`
      <div class="outcome ${result.prize ? "is-win" : ""}" role="status">
        <p class="title">${t(result.prize ? "won" : "missed")}</p>
        <p>${result.prize ? titleOf(result.prize) : t("missed_hint")}</p>
        ${codeView(result.code)}
      </div>
    `;
  }

  /** Renders the dialog about a won prize, with the winner's next step. */
  #prize() {
    const { prize, code, draw_id } = this.result!;
    if (!prize || !this.isShown) return nothing;
    const close = () => this.querySelector("dialog")?.close();
    const isOpen = prize.kind === "goods" && !this.isSaved;
    return html`
      <dialog
        class="won"
        aria-labelledby="won"
        @saved=${() => (this.isSaved = true)}
        @close=${() => (this.isTold = true)}
      >
        <h2 id="won">${t("won")}</h2>
        ${pictureView(prize)}
        <p class="title">${titleOf(prize)}</p>
        ${code ? html`<p class="hint">${t("code_hint")}</p>` : nothing} ${codeView(code)}
        ${prize.kind === "packet" ? html`<p class="hint">${t("cash_paid")} <a href="/">${t("see_balance")}</a></p>` : nothing}
        ${prize.kind === "goods" ? this.#address(draw_id) : nothing}
        <button class=${isOpen ? "quiet" : "primary"} @click=${close}>${t(isOpen ? "address_later" : "take_prize")}</button>
      </dialog>
    `;
  }

  /** Renders the won prizes with their states. */
  #won() {
    if (!this.won) return this.problem ? nothing : loadingView();
    if (this.won.length === 0) return html`<p class="card empty">${t("no_prizes")}</p>`;
    return html`<ul class="card items">
      ${this.won.map(
        ({ prize, code, draw_id, drawn_at_ms }) => html`<li>
          ${pictureView(prize!)}
          <span class="what">
            <b>${titleOf(prize)}</b><time>${clock(drawn_at_ms)}</time>
            ${prize!.kind === "packet" ? html`<span class="hint">${t("cash_paid")}</span>` : nothing}
            ${codeView(code)} ${prize!.kind === "goods" ? this.#address(draw_id) : nothing}
          </span>
        </li>`,
      )}
    </ul>`;
  }

  #prizes() {
    return html`
      <section class="card">
        <h2>${t("prizes")}</h2>
        <ul class="items">
          ${this.campaign.prizes.map(
            (prize) => html`<li>
              ${pictureView(prize)}
              <span class="what"><b>${titleOf(prize)}</b><small>${prize.description}</small></span>
              <span class="hint">
                ${prize.is_sold_out ? t("sold_out") : percent(prize.probability)}
              </span>
            </li>`,
          )}
          <li>
            <span class="what">${t("miss_odds")}</span><span class="hint">${percent(this.#missChance)}</span>
          </li>
        </ul>
      </section>
    `;
  }

  #askForHelp() {
    const link = `${location.origin}${this.#path}?inviter=${this.myToken}`;
    return html`
      <section class="card">
        <h2>${t("help")}</h2>
        <p class="hint">${t("help_hint")}</p>
        <div class="row link">
          <input readonly aria-label=${t("help_link")} .value=${link} />
          <rp-copy .text=${t("help_text", { title: this.campaign.title, link })}></rp-copy>
        </div>
      </section>
    `;
  }

  #helpFriend() {
    const inviter = new URLSearchParams(location.search).get("inviter");
    if (!inviter || inviter === this.myToken) return nothing;
    const help = (event: SubmitEvent) => {
      event.preventDefault();
      if (wantsSignIn(this)) return;
      const transcript = typed(event.target, "phrase");
      void this.attempt(async () => {
        const body = { inviter_token: inviter, transcript };
        const ask = { body, repeats: REPEATS };
        this.helped = (await session.client.ask("POST", `${this.#path}/helps`, ask)).outcome;
      });
    };
    return html`
      <form class="card" @submit=${help}>
        <h2>${t("help_friend")}</h2>
        ${this.helped
          ? html`<p role="status">${t(this.helped)}</p>`
          : html`
              <label class="hint" for="phrase">${t("help_say")}</label>
              <div class="row link">
                <input id="phrase" name="phrase" maxlength="200" required autocomplete="off" />
                ${canListen()
                  ? micView(this.listening !== undefined, () => void this.#listen())
                  : nothing}
                <button class="secondary">${t("help_go")}</button>
              </div>
            `}
      </form>
    `;
  }

  async #listen(): Promise<void> {
    if (this.listening) {
      this.listening.stop();
      return;
    }
    this.listening = listen();
    const heard = await this.listening.heard;
    this.listening = undefined;
    const field = this.querySelector<HTMLInputElement>("#phrase");
    if (!field || !heard) return;
    field.value = heard;
    field.form?.requestSubmit();
  }

  #mine() {
    if (this.draws.length === 0) return nothing;
    return html`
      <section class="card">
        <h2>${t("my_draws")}</h2>
        <ul class="items">
          ${this.draws.map((draw) => {
            const checked = this.checked[draw.draw_id];
            return html`<li>
              <span class="what">
                <b>${titleOf(draw.prize)}</b><time>${clock(draw.drawn_at_ms)}</time>
                ${codeView(draw.code)}
              </span>
              ${checked
                ? html`<span class="hint" role="status">${t(checked)}</span>`
                : html`<button class="quiet" @click=${() => void this.#check(draw)}>
                    ${t("check")}
                  </button>`}
            </li>`;
          })}
        </ul>
      </section>
    `;
  }

  /** Renders the address form for a winner of goods, and the delivery status. */
  #address(drawId: string) {
    if (!this.has("rp-address", () => import("./address.ts"))) return nothing;
    return html`<rp-address .campaignId=${this.campaign.campaign_id} .drawId=${drawId}></rp-address>`;
  }

  async #check(draw: Draw): Promise<void> {
    const { checkDraw } = await import("../verify/check-draw.ts");
    const result = await checkDraw(session.client, this.campaign.campaign_id, this.myToken, draw);
    this.checked = { ...this.checked, [draw.draw_id]: `check_${result}` };
  }
}

function titleOf(prize: { title: string; amount_fen: number | null } | null): string {
  if (!prize) return t("missed");
  return prize.amount_fen ? `${prize.title} ${money(prize.amount_fen)}` : prize.title;
}

/** Returns the picture of a prize if the deployment allows its host. */
function pictureOf({ image_url }: { image_url: string | null }): string | undefined {
  return image_url && (image_url.startsWith("/pictures/") || isCover(image_url, session.config?.cover_hosts ?? [])) ? image_url : undefined;
}

function pictureView(prize: { image_url: string | null }) {
  const picture = pictureOf(prize);
  return picture ? html`<img class="prize" src=${picture} alt="" loading="lazy" />` : nothing;
}

function codeView(code: string | null) {
  if (!code) return nothing;
  return html`<span class="row link">
    <input class="code" readonly aria-label=${t("code")} .value=${code} /><rp-copy .text=${code}></rp-copy>
  </span>`;
}

function percent(chance: number): string {
  return `${(100 * chance).toFixed(chance > 0.000_005 && chance < 0.01 ? 3 : 1)}%`;
}

customElements.define("rp-lottery", Lottery);

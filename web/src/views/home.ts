/** Home: the balance, received and sent packets, and transfers. */

import { html, nothing } from "lit";

import type { Schemas } from "../api/client.ts";
import { clock } from "../i18n/language.ts";
import { p } from "../i18n/packet.ts";
import { t, type Word } from "../i18n/user.ts";
import { money } from "../money.ts";
import { now } from "../now.ts";
import { sealView } from "../packet/cover.ts";
import { session } from "../session.ts";
import { balanceView, noteBalance } from "./balance.ts";
import "./copy.ts";
import "./user.css";
import { boneView, loadingView, problemView, View } from "./view.ts";

type Tab = "received" | "sent" | "transfers";
type Packets = Schemas["Sent"] | Schemas["Received"];
type Page = Packets | Schemas["Transfers"];

const TABS: Tab[] = ["received", "sent", "transfers"];
const FIRST_YEAR = 2026;
/** Transfer kinds with their own texts. Unknown kinds are shown as "other". */
const KINDS = "deposit send settle refund payment withdrawal withdrawal_returned campaign_money".split(" ");

export class Home extends View {
  static override properties = {
    ...View.properties,
    me: { state: true },
    tab: { state: true },
    page: { state: true },
  };
  declare me: Schemas["Me"] | undefined;
  declare tab: Tab;
  declare page: Page | undefined;
  #year = "";

  constructor() {
    super();
    this.tab = TABS.find((tab) => location.search === `?tab=${tab}`) ?? "received";
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#load();
  }

  #load(): void {
    void this.attempt(async () => {
      const page = this.#show(this.tab);
      this.me = await session.client.get("/me");
      noteBalance(this.me.balance_fen);
      session.noteFace(this.me);
      await page;
    });
  }

  override async refresh(): Promise<void> {
    const { tab, page } = this;
    const [me, first] = await Promise.all([session.client.get("/me"), this.#read(tab)]);
    this.me = me;
    noteBalance(me.balance_fen);
    // Keep a list to which the reader has added pages.
    if (this.page === page && (page?.items.length ?? 0) <= first.items.length) this.page = first;
  }

  #read(tab: Tab, cursor?: string): Promise<Page> {
    const query = new URLSearchParams();
    if (cursor) query.set("cursor", cursor);
    if (this.#year && tab !== "transfers") query.set("year", this.#year);
    return session.client.get<Page>(`/me/${tab}?${query}`);
  }

  async #show(tab: Tab, cursor?: string): Promise<void> {
    this.tab = tab;
    if (!cursor) this.page = undefined;
    const page = await this.#read(tab, cursor);
    if (this.tab !== tab) return;
    // Totals cover all pages, so only items are appended.
    const items = cursor && this.page ? [...this.page.items, ...page.items] : page.items;
    this.page = { ...page, items } as Page;
  }

  override render() {
    if (this.problem && !this.me) return problemView(this.problem, () => this.#load());
    const { me } = this;
    return html`
      <section class="wallet">
        <h1 tabindex="-1">${session.person?.nickname || t("home")}</h1>
        <p class="label">${t("balance")}</p>
        ${balanceView(me?.balance_fen)}
        <a class="primary" href="/send">${t("send_one")}</a>
        <nav class="ways">
          ${session.config?.channels?.length ? html`<a href="/wallet">${t("wallet")}</a>` : nothing}
          <a href="/notices">${t("notices")} ${me?.unread_notices ? badgeView(me.unread_notices) : nothing}</a>
        </nav>
      </section>
      <div class="tabs" role="tablist" @keydown=${this.#onKey}>
        ${TABS.map(
          (tab) => html`
            <button
              role="tab"
              id="tab-${tab}"
              aria-selected=${tab === this.tab ? "true" : "false"}
              aria-controls="panel"
              tabindex=${tab === this.tab ? 0 : -1}
              @click=${() => this.#choose(tab)}
            >
              ${t(tab)}
            </button>
          `,
        )}
      </div>
      <section id="panel" class="card" role="tabpanel" aria-labelledby="tab-${this.tab}">
        ${this.#panel()}
      </section>
      ${me ? this.#code(me.user_token) : nothing}
    `;
  }

  #choose(tab: Tab): void {
    // Store the tab in the URL for a reload and for Back.
    history.replaceState(history.state, "", `/?tab=${tab}`);
    void this.attempt(() => this.#show(tab));
  }

  readonly #onKey = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const tab = TABS[(TABS.indexOf(this.tab) + step + TABS.length) % TABS.length]!;
    this.#choose(tab);
    void this.updateComplete.then(() => this.querySelector<HTMLElement>(`#tab-${tab}`)?.focus());
  };

  #panel() {
    const { page, problem } = this;
    if (problem) return problemView(problem, () => this.#choose(this.tab));
    const isPackets = this.tab !== "transfers";
    return html`
      ${isPackets ? this.#sums(page as Packets | undefined) : nothing}
      ${page ? this.#list(page) : loadingView()}
      ${page?.next
        ? html`<button
            class="quiet"
            @click=${() => void this.attempt(() => this.#show(this.tab, page.next!))}
          >
            ${p("more")}
          </button>`
        : nothing}
    `;
  }

  #sums(page: Packets | undefined) {
    const years = [];
    for (let year = new Date(now()).getUTCFullYear(); year >= FIRST_YEAR; year--) years.push(year);
    const choose = (event: Event) => {
      this.#year = (event.target as HTMLSelectElement).value;
      this.#choose(this.tab);
    };
    const luckiest = page?.luckiest_count ?? 0;
    const word: Word = this.tab === "sent" ? "sent_sum" : "received_sum";
    return html`
      <div class="sums">
        <label class="year">
          <span>${t("year")}</span>
          <select @change=${choose}>
            <option value="" ?selected=${!this.#year}>${t("all_years")}</option>
            ${years.map(
              (year) =>
                html`<option value=${year} ?selected=${this.#year === String(year)}>${year}</option>`,
            )}
          </select>
        </label>
        <p class="label">${page ? t(word, { n: page.count }) : boneView()}</p>
        <p class="total">${page ? money(page.total_fen) : boneView()}</p>
        ${luckiest
          ? html`<p class="lucky">${t(luckiest === 1 ? "luckiest_once" : "luckiest_count", { n: luckiest })}</p>`
          : nothing}
        ${page?.count ? html`<button class="quiet" @click=${this.#saveYear}>${t("year_card")}</button>` : nothing}
      </div>
    `;
  }

  readonly #saveYear = () =>
    void this.attempt(async () => {
      const [{ drawYear, linesOf, loadYear }, { savePicture }] = await Promise.all([
        import("./year-card.ts"),
        import("./picture.ts"),
      ]);
      const lines = linesOf(await loadYear(session.client, this.#year));
      const title = this.#year ? t("year_title", { year: this.#year }) : t("year_all");
      await savePicture(this, drawYear(title, session.person?.nickname ?? "", lines), "red-packets.png");
    });

  #list(page: Page) {
    if (page.items.length === 0) {
      return html`<p class="empty">
        ${t("nothing_yet")}<br />${this.tab === "sent"
          ? html`<a href="/send">${t("first_packet")}</a>`
          : nothing}
      </p>`;
    }
    return html`<ul class="items">
      ${page.items.map((item) => ("transfer_id" in item ? transferView(item) : packetView(item)))}
    </ul>`;
  }

  #code(token: string) {
    return html`
      <section class="card code">
        <h2>${t("my_code")}</h2>
        <p class="hint">${t("my_code_hint")}</p>
        <div class="row">
          <code>${token}</code>
          <rp-copy .text=${token}></rp-copy>
        </div>
      </section>
    `;
  }
}

/** Renders the number of unread notices. The API counts only the notices on the first page. */
function badgeView(count: number) {
  const shown = count > 9 ? "9+" : String(count);
  return html`<i class="badge"><span aria-hidden="true">${shown}</span><span class="unseen">${t("unread", { n: shown })}</span></i>`;
}

function packetView(item: Packets["items"][number]) {
  const isSent = "total_fen" in item;
  const name = isSent ? "" : p("from", { name: item.sender.nickname ?? p("someone") });
  const state = isSent
    ? `${t(`status_${item.status}` as Word)} · ${p("taken", { n: item.claimed_count, m: item.count })}`
    : item.greeting + (item.is_luckiest ? ` · ${p("luckiest")}` : "");
  return html`
    <li>
      <a href="/packets/${item.packet_id}">
        ${isSent ? nothing : sealView(item.sender.nickname ?? "", item.sender.avatar_url)}
        <span class="what">
          <b>${name || item.greeting || p("default_greeting")}</b>
          <small>${state}</small>
          <time>${clock(item.at_ms)}</time>
        </span>
        <span class="fen">${money(isSent ? item.total_fen : item.amount_fen)}</span>
      </a>
    </li>
  `;
}

function transferView(item: Schemas["Transfer"]) {
  const kind = KINDS.includes(item.kind) ? item.kind : "other";
  const isIn = item.amount_fen > 0;
  return html`
    <li>
      <span class="what">
        <b>${t(`kind_${kind}` as Word)}</b>
        <time>${clock(item.at_ms)}</time>
      </span>
      <span class="fen ${isIn ? "is-in" : ""}">${isIn ? "+" : "-"}${money(Math.abs(item.amount_fen))}</span>
    </li>
  `;
}

customElements.define("rp-home", Home);

/** The operators' console: its frame, and the view for the current path. It shares modules with the page, but no built file. */

import { html, nothing, type TemplateResult } from "lit";
import { keyed } from "lit/directives/keyed.js";

import { languages } from "../i18n/choice.ts";
import { language } from "../i18n/language.ts";
import { useUnit } from "../money.ts";
import { here, navigate, onNavigate } from "../router.ts";
import { devUser, session } from "../session.ts";
import { isUp, loadingView, problemView, View } from "../views/view.ts";
import "./approvals.ts";
import "./campaign.ts";
import "./deposits.ts";
import "./list.ts";
import { auditLog, campaigns, withdrawals } from "./lists.ts";
import "./packets.ts";
import { ROLES } from "./roles.ts";
import { PLACES, routeOf, type Place } from "./routes.ts";
import "./switches.ts";
import { confirm, duties, ownToken } from "./view.ts";
import "./winners.ts";
import { o } from "./words.ts";

/** Navigation link to highlight for places that are not in the bar. */
const PARENT: Partial<Record<Place, Place>> = {
  ...{ new_campaign: "campaigns", campaign: "campaigns", edit_campaign: "campaigns", winners: "campaigns" },
  claims: "packets",
};

/** Views loaded on demand, because most visits don't need them. */
const LOADERS: Partial<Record<Place, () => Promise<unknown>>> = {
  new_campaign: () => import("./editor.ts"),
  edit_campaign: () => import("./editor.ts"),
  wall: () => import("./wall.ts"),
};

export class OperatorApp extends View {
  static override properties = { ...View.properties, isReady: { state: true } };
  declare isReady: boolean;

  constructor() {
    super();
    this.isReady = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    onNavigate(() => void this.#arrive());
    session.onChange(() => this.#greet());
    void this.attempt(async () => {
      const path = await session.begin();
      useUnit(session.config?.unit);
      if (path) navigate(path, true);
      await this.#load();
      this.isReady = true;
      this.#greet();
    });
  }

  #greet(): void {
    this.requestUpdate();
    if (session.person && duties().roles.length) void ownToken().catch(() => undefined);
  }

  #load(): Promise<unknown> | undefined {
    return LOADERS[routeOf(location.pathname).place]?.();
  }

  /** Whether the view's element is defined. An element rendered earlier would have no properties when it is connected. */
  get #isThere(): boolean {
    const { place } = routeOf(location.pathname);
    return !LOADERS[place] || customElements.get(place === "wall" ? "op-wall" : "op-editor") !== undefined;
  }

  async #retry(): Promise<void> {
    if (this.isReady) await this.#arrive();
    // Some browsers cache a module's failure until the page is reloaded.
    if (!this.isReady || (this.problem?.code === "not_loaded" && (await isUp()))) location.reload();
  }

  override updated(): void {
    if (this.isReady || this.problem) document.querySelector(".late")?.remove();
  }

  async #arrive(): Promise<void> {
    if (this.isReady) session.notice = undefined;
    await this.attempt(async () => {
      await this.#load();
      this.requestUpdate();
      await this.updateComplete;
      scrollTo(0, 0);
      setTimeout(() => this.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true }));
    });
  }

  override render() {
    document.documentElement.lang = language();
    document.title = `${o(routeOf(location.pathname).place)} · ${o("console")}`;
    const { person } = session;
    return html`
      <a class="skip" href="#main" @click=${this.#skip}>${o("skip")}</a>
      <header class="bar">
        <a class="brand" href="/operator"><span aria-hidden="true">福</span>${o("console")}</a>
        <span class="gap"></span>
        ${languages(o("language"))}
        ${person
          ? html`<button class="who" @click=${this.#signOut}>
              <span class="name">${person.nickname}</span> <small>${o("sign_out")}</small>
            </button>`
          : nothing}
      </header>
      ${person && duties().roles.length ? this.#places() : nothing}
      <main id="main" tabindex="-1">
        ${this.problem
          ? problemView(this.problem, () => void this.#retry())
          : this.isReady && this.#isThere
            ? // A change that affects only the query, such as the filters, keeps the view.
              keyed(`${location.pathname} ${person?.sub}`, person ? this.#view() : this.#signIn())
            : loadingView()}
      </main>
    `;
  }

  #places() {
    const { place } = routeOf(location.pathname);
    const open = PARENT[place] ?? place;
    const mine = duties();
    const hidden = PLACES.filter(({ duty }) => !mine.may(duty));
    const list = new Intl.ListFormat(language());
    const roles = list.format(mine.roles.map((role) => o(`role_${role}`)));
    return html`
      <nav aria-label=${o("places")}>
        ${PLACES.filter((entry) => !hidden.includes(entry)).map(
          (entry) =>
            html`<a href=${entry.path} aria-current=${entry.place === open ? "page" : nothing}>${o(entry.place)}</a>`,
        )}
        <p class="roles">
          ${o("your_role", { roles })}
          ${hidden.length ? o("hidden", { names: list.format(hidden.map((entry) => o(entry.place))) }) : nothing}
        </p>
      </nav>
    `;
  }

  #view(): TemplateResult {
    if (!duties().roles.length) return this.#message(o("no_role"));
    const { place, id } = routeOf(location.pathname);
    const current = PLACES.find((entry) => entry.place === place);
    if (current && !duties().may(current.duty)) return this.#message(o("not_your_role"));
    const heading = (name: string) => html`<h1 tabindex="-1">${name}</h1>`;
    switch (place) {
      case "campaigns":
        return html`${heading(o("campaigns"))}
          ${duties().may("plan")
            ? html`<p class="ways"><a class="secondary" href="/operator/new">${o("new_campaign")}</a></p>`
            : nothing}
          <op-list .list=${campaigns()}></op-list>`;
      case "new_campaign":
      case "edit_campaign":
        if (!duties().may(place === "new_campaign" ? "plan" : "edit_campaign")) return this.#message(o("not_your_role"));
        return html`<op-editor .campaignId=${id}></op-editor>`;
      case "wall":
        return html`<op-wall .campaignId=${id}></op-wall>`;
      case "withdrawals":
        return html`${heading(o("withdrawals"))}<op-list .list=${withdrawals()}></op-list>`;
      case "campaign":
        return html`<op-campaign .campaignId=${id}></op-campaign>`;
      case "winners":
        return html`<op-winners .campaignId=${id}></op-winners>`;
      case "packets":
      case "claims":
        return html`<op-packets .packetId=${id}></op-packets>`;
      case "approvals":
        return html`<op-approvals></op-approvals>`;
      case "deposits":
        return html`<op-deposits></op-deposits>`;
      case "switches":
        return html`<op-switches></op-switches>`;
      case "journal":
        return html`${heading(o("journal"))}<op-list .list=${auditLog()}></op-list>`;
      default:
        return this.#message(o("lost"));
    }
  }

  #message(text: string) {
    return html`<section class="welcome"><h1 tabindex="-1">${text}</h1></section>`;
  }

  #signIn() {
    const { notice } = session;
    const isDev = session.config?.auth.kind === "dev";
    return html`
      <section class="welcome">
        <h1 tabindex="-1">${o("console")}</h1>
        <p class=${notice ? "notice" : "unseen"} role="status">${notice && o(`notice_${notice}`)}</p>
        ${isDev
          ? html`<p class="lead">${o("dev_lead")}</p>
              <div class="people">${ROLES.map((role) => this.#developer(role))}</div>`
          : html`<p class="lead">${o("sign_in_lead")}</p>
              <button class="primary" @click=${() => void this.attempt(() => session.signIn(here()))}>
                ${o("sign_in")}
              </button>`}
      </section>
    `;
  }

  #developer(role: (typeof ROLES)[number]) {
    const user = { ...devUser(role === "admin" ? "operator" : role), nickname: o(`role_${role}`) };
    const become = () => void this.attempt(() => session.signInAs({ ...user, scope: `hongbao/${role}` }));
    return html`<button class="person" @click=${become}>${user.nickname}</button>`;
  }

  readonly #signOut = async () => {
    const body = html`<p>${o("sign_out_hint")}</p>`;
    if (await confirm(o("sign_out_title"), body, o("sign_out"))) session.signOut();
  };

  readonly #skip = (event: Event) => {
    event.preventDefault();
    this.querySelector<HTMLElement>("main")?.focus();
  };
}

customElements.define("op-app", OperatorApp);

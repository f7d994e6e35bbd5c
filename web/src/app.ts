/** The page: its frame, and the view for the current path. */

import { html, nothing, type TemplateResult } from "lit";
import { keyed } from "lit/directives/keyed.js";

import { begun } from "./begin.ts";
import { f, type FrameWord } from "./i18n/frame.ts";
import { languages } from "./i18n/choice.ts";
import { language } from "./i18n/language.ts";
import { problemText } from "./i18n/packet.ts";
import { useUnit } from "./money.ts";
import { here, navigate, onNavigate, scrollBeforeReload } from "./router.ts";
import { routeOf, type Route } from "./routes.ts";
import { sealView } from "./packet/cover.ts";
import { session, type Person } from "./session.ts";
import { device } from "./store.ts";
import { appHere, signInProvider } from "./providers/registry.ts";
import "./views/packet-view.ts";
import { isUp, loadingView, View, problemView } from "./views/view.ts";

/** Views that anyone can see. The other views require a sign-in. */
const PUBLIC: readonly Route["view"][] = ["packet", "campaign", "lost"];

/** Module of each view, loaded when the view is first shown. The packet's view needs no extra module. */
const LOADERS: Record<Route["view"], () => Promise<unknown>> = {
  home: () => import("./views/home.ts"),
  send: () => import("./views/send.ts"),
  packet: () => Promise.resolve(),
  share: () => import("./views/share.ts"),
  proof: () => import("./views/proof.ts"),
  campaign: () => import("./views/campaign.ts"),
  wallet: () => import("./views/wallet.ts"),
  notices: () => import("./views/notices.ts"),
  payment: () => import("./views/payment.ts"),
  lost: () => Promise.resolve(),
};

/** Document titles of views. The other views have only the page's title. */
const TITLES: Partial<Record<Route["view"], FrameWord>> = {
  send: "send_title",
  share: "share_title",
  proof: "proof_title",
  wallet: "wallet",
  notices: "notices",
  payment: "pay_title",
  lost: "lost",
};

/** Storage key of the flag that the page has already asked this device's user for a name. */
const OFFERED = "redpacket.face-offered";
/** Milliseconds between the user's first amount and the opening of the name sheet. */
const OFFER_MS = 1800;

export class App extends View {
  static override properties = {
    ...View.properties,
    isReady: { state: true },
    wantsSignIn: { state: true },
    name: { state: true },
  };
  declare isReady: boolean;
  declare wantsSignIn: boolean;
  /** Name of the view's subject, for the document's title. */
  declare name: string;

  constructor() {
    super();
    this.isReady = false;
    this.wantsSignIn = false;
    this.name = "";
  }

  override connectedCallback(): void {
    super.connectedCallback();
    onNavigate((scrollTop) => void this.#arrive(scrollTop));
    session.onChange(() => {
      this.wantsSignIn = false;
      this.requestUpdate();
      // Render the views again, because the user may have changed their name.
      for (const view of this.querySelectorAll("main > *")) if (view instanceof View) view.requestUpdate();
      void this.attempt(() => this.#load());
    });
    addEventListener("offline", () => this.requestUpdate());
    addEventListener("online", () => {
      this.requestUpdate();
      if (this.problem && this.isReady) void this.#retry();
    });
    void this.attempt(async () => {
      const wanted = this.#load();
      const app = appHere();
      const speech = app?.speech?.();
      const path = await begun;
      useUnit(session.config?.unit);
      if (path) navigate(path, true);
      if (app?.isSetUp(session.config!)) (await speech)?.offer(session.client);
      await wanted;
      await this.#load();
      this.isReady = true;
      await this.updateComplete;
      scrollDown(scrollBeforeReload());
      // The sign-in provider has redirected back to this page with a name.
      if (session.person && location.hash === "#face") this.#askFace();
    });
  }

  get #route(): Route {
    return routeOf(location.pathname);
  }

  get #needsSignIn(): boolean {
    return !session.person && (this.wantsSignIn || !PUBLIC.includes(this.#route.view));
  }

  /** Whether the view's element is defined. An element rendered earlier would have no properties when it is connected. */
  get #isThere(): boolean {
    const { view } = this.#route;
    const tag = this.#needsSignIn ? "rp-sign-in" : view === "packet" ? "rp-packet-view" : `rp-${view}`;
    return view === "lost" || customElements.get(tag) !== undefined;
  }

  async #retry(): Promise<void> {
    if (this.isReady) await this.#arrive(0);
    // Some browsers cache a module's failure until the page is reloaded.
    if (!this.isReady || (this.problem?.code === "not_loaded" && (await isUp()))) location.reload();
  }

  async #load(): Promise<void> {
    await LOADERS[this.#route.view]();
    if (this.isReady || session.config) {
      if (this.#needsSignIn) await import("./views/sign-in.ts");
      this.requestUpdate();
    }
  }

  async #arrive(scrollTop: number): Promise<void> {
    this.wantsSignIn = false;
    if (this.isReady) session.notice = undefined;
    await this.attempt(async () => {
      await this.#load();
      this.name = "";
      this.requestUpdate();
      await this.updateComplete;
      scrollDown(scrollTop);
      // Screen readers start at the heading, as after a page load.
      setTimeout(() => this.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true }));
    });
  }

  override render() {
    document.documentElement.lang = language();
    const title = TITLES[this.#route.view];
    const name = title ? f(title) : this.name;
    document.title = (name ? `${name} · ` : "") + f("brand");
    const notice = session.person ? undefined : session.notice;
    const isOffline = !navigator.onLine;
    return html`
      <a class="skip" href="#main" @click=${this.#skip}>${f("skip")}</a>
      <header class="bar">
        <a class="brand" href="/"><span aria-hidden="true">福</span>${f("brand")}</a>
        <span class="gap"></span>
        ${languages(f("language"))}
        ${session.person?.scope.includes("hongbao/")
          ? html`<a href="/operator" target="_self">${f("operator")}</a>`
          : nothing}
        ${session.person ? this.#person(session.person) : nothing}
      </header>
      <main
        id="main"
        tabindex="-1"
        @wants-sign-in=${() => this.#askForSignIn()}
        @amount=${this.#offerFace}
        @named=${({ detail }: CustomEvent<string>) => (this.name = detail)}
      >
        <p class=${notice ? "notice" : "unseen"} role="status">${notice && f(`notice_${notice}`)}</p>
        <p class=${isOffline ? "notice" : "unseen"} role="status">${isOffline ? problemText("offline") : nothing}</p>
        ${isOffline && this.problem?.code === "offline"
          ? html`<h1 class="unseen" tabindex="-1">${name || f("brand")}</h1>${loadingView()}`
          : this.problem
          ? problemView(this.problem, () => void this.#retry())
          : this.isReady && this.#isThere
            ? keyed(`${location.pathname} ${session.person?.sub}`, this.#view())
            : nothing}
      </main>
    `;
  }

  override updated(): void {
    if (this.isReady || this.problem) for (const each of document.querySelectorAll(".skeleton, .late")) each.remove();
  }

  #person({ nickname, avatarUrl }: Person) {
    return html`
      <button class="who" @click=${() => this.#askFace()}>
        ${sealView(nickname, avatarUrl)} <span class="name">${nickname || f("no_name")}</span>
      </button>
    `;
  }

  #askFace(isOffered = false): void {
    void this.attempt(async () => (await import("./views/face.ts")).askFace(isOffered));
  }

  /** Asks a user without a name for a name, once, after their first amount. */
  readonly #offerFace = () => {
    if (!session.person || session.person.nickname || device.getItem(OFFERED)) return;
    setTimeout(() => {
      // Don't interrupt a running rain or an open prize dialog.
      if (document.querySelector("dialog[open]")) this.#offerFace();
      else if (!device.getItem(OFFERED)) {
        device.setItem(OFFERED, "1");
        this.#askFace(true);
      }
    }, OFFER_MS);
  };

  #view(): TemplateResult {
    if (this.#needsSignIn) return html`<rp-sign-in></rp-sign-in>`;
    const { view, id } = this.#route;
    switch (view) {
      case "home":
        return html`<rp-home></rp-home>`;
      case "send":
        return html`<rp-send></rp-send>`;
      case "packet":
        return html`<rp-packet-view .packetId=${id}></rp-packet-view>`;
      case "share":
        return html`<rp-share .packetId=${id}></rp-share>`;
      case "proof":
        return html`<rp-proof .packetId=${id}></rp-proof>`;
      case "campaign":
        return html`<rp-campaign .campaignId=${id}></rp-campaign>`;
      case "wallet":
        return html`<rp-wallet></rp-wallet>`;
      case "notices":
        return html`<rp-notices></rp-notices>`;
      case "payment":
        return html`<rp-payment .paymentId=${id}></rp-payment>`;
      default:
        return html`<section class="welcome">
          <div class="emblem" aria-hidden="true"><span>福</span></div>
          <h1 tabindex="-1">${f("lost")}</h1>
          <p class="lead">${f("lost_hint")}</p>
          <a class="primary" href="/">${f("go_home")}</a>
        </section>`;
    }
  }

  #askForSignIn(): void {
    // The provider identifies the user, so ask nothing before it does.
    const isSilent = signInProvider(session.config)?.app?.isHere();
    if (session.config?.auth.kind === "oidc" || isSilent) void this.attempt(() => session.signIn(here()));
    else {
      void this.attempt(async () => {
        await import("./views/sign-in.ts");
        this.wantsSignIn = true;
      });
    }
  }

  readonly #skip = (event: Event) => {
    event.preventDefault();
    this.querySelector<HTMLElement>("main")?.focus();
  };
}

/** Milliseconds to wait for a long list, which loads after its view. */
const LIST_TIMEOUT_MS = 3000;

/** Scrolls to *top* as soon as the page is long enough. */
function scrollDown(top: number): void {
  scrollTo(0, top);
  if (scrollY >= top) return;
  const observer = new ResizeObserver(() => {
    scrollTo(0, top);
    if (scrollY >= top) observer.disconnect();
  });
  observer.observe(document.body);
  setTimeout(() => observer.disconnect(), LIST_TIMEOUT_MS);
}

customElements.define("rp-app", App);

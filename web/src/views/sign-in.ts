/** Sign-in: a choice of users on a local stack, otherwise a button to the issuer or a link for the provider's app. */

import { html, nothing, type TemplateResult } from "lit";

import { f } from "../i18n/frame.ts";
import { t } from "../i18n/page.ts";
import { signInProvider } from "../providers/registry.ts";
import { say } from "../providers/say.ts";
import { here } from "../router.ts";
import "./copy.ts";
import { devUser, session, type DevUser } from "../session.ts";
import { atMost, problemView, typed, View, WIDE } from "./view.ts";

const PEOPLE = ["Alice", "Bob", "Carol", "小明"];
const OPERATOR = { sub: "operator", nickname: "Operator", scope: "hongbao/admin" };

export class SignIn extends View {
  static override properties = { ...View.properties, code: { state: true } };
  /** QR code of this page, which a phone scans with the provider's app. */
  declare code: TemplateResult | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    if (this.#isElsewhere && matchMedia(WIDE).matches) void this.#drawCode().catch(() => undefined);
  }

  /** Whether users must sign in inside a provider's app, and this page is open outside of that app. */
  get #isElsewhere(): boolean {
    const app = signInProvider(session.config)?.app;
    return app !== undefined && !app.isHere();
  }

  async #drawCode(): Promise<void> {
    const { codeOf } = await import("./qr.ts");
    this.code = await codeOf(location.href, f("scan_to_open"));
  }

  override render() {
    return html`
      <section class="welcome">
        <div class="emblem" aria-hidden="true"><span>福</span></div>
        <h1 tabindex="-1">${t("sign_in_title")}</h1>
        <p class="lead">${t("sign_in_lead")}</p>
        ${this.problem ? problemView(this.problem) : ""}
        ${session.config?.auth.kind === "dev" ? this.#developers() : this.#issuer()}
      </section>
    `;
  }

  #issuer() {
    if (this.#isElsewhere) {
      return html`
        <p class="hint">${say(signInProvider(session.config)!, "open_in_app")}</p>
        ${this.code ? html`<div class="qr">${this.code}</div>` : nothing}
        <div class="row link">
          <input readonly aria-label=${t("link")} .value=${location.href} />
          <rp-copy .text=${location.href}></rp-copy>
        </div>
      `;
    }
    const leave = () => void this.attempt(() => session.signIn(here()));
    return html`<button class="primary" @click=${leave}>${t("sign_in")}</button>`;
  }

  #developers() {
    const enter = (event: SubmitEvent) => {
      event.preventDefault();
      const name = typed(event.target, "name");
      if (name) this.#become(devUser(name));
    };
    return html`
      <p class="hint">${t("dev_lead")}</p>
      <div class="people">
        ${PEOPLE.map((name) => {
          const become = () => this.#become(devUser(name));
          return html`<button class="person" @click=${become}>${name}</button>`;
        })}
        <button class="person" @click=${() => this.#become(OPERATOR)}>${t("operator")}</button>
      </div>
      <form class="inline" @submit=${enter}>
        <label for="name">${t("dev_name")}</label>
        <div class="row">
          <input id="name" name="name" @input=${atMost(32)} autocomplete="off" required />
          <button class="secondary">${t("dev_enter")}</button>
        </div>
      </form>
    `;
  }

  #become(user: DevUser): void {
    void this.attempt(() => session.signInAs(user));
  }
}

customElements.define("rp-sign-in", SignIn);

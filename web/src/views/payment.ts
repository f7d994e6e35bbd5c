/** One payment: how to pay, its status, and after a packet's payment a redirect to the packet. */

import { html, nothing } from "lit";

import type { Schemas } from "../api/client.ts";
import { duration } from "../i18n/packet.ts";
import { t } from "../i18n/user.ts";
import { now } from "../now.ts";
import { problemOf } from "../api/problems.ts";
import { Poll } from "../poll.ts";
import { PROVIDERS } from "../providers/registry.ts";
import { say } from "../providers/say.ts";
import { navigate } from "../router.ts";
import { session } from "../session.ts";
import "./copy.ts";
import { qrView } from "./qr.ts";
import { sumView } from "./money.ts";
import { loadingView, problemView, View, WIDE } from "./view.ts";

const ASK_MS = 2000;

export class PaymentView extends View {
  static override properties = {
    ...View.properties,
    paymentId: {},
    payment: { state: true },
    modules: { state: true },
  };
  declare paymentId: string;
  declare payment: Schemas["Payment"] | undefined;
  declare modules: boolean[][] | undefined;
  #clock: ReturnType<typeof setInterval> | undefined;
  readonly #poll = new Poll({
    ask: () => this.#look(),
    failed: (error) => {
      this.problem = problemOf(error);
      const { retryAfterS } = this.problem;
      return retryAfterS === undefined ? undefined : Math.max(ASK_MS, 1000 * retryAfterS);
    },
  });

  override connectedCallback(): void {
    super.connectedCallback();
    this.#poll.start();
    this.#clock = setInterval(() => this.requestUpdate(), 1000);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearInterval(this.#clock);
    this.#poll.stop();
  }

  async #look(): Promise<number | undefined> {
    const payment = await session.client.get(`/me/payments/${this.paymentId}`);
    if (!this.isConnected) return undefined;
    this.problem = undefined;
    const { app, payment: made } = PROVIDERS[payment.channel];
    const code = made?.codeOf(payment);
    if (code && !this.modules) {
      const { encode } = await import("uqr");
      this.modules = encode(code, { border: 0, ecc: "M" }).data;
    }
    const isFirst = !this.payment;
    this.payment = payment;
    if (isFirst && payment.status === "pending" && app?.isHere()) this.#pay();
    if (payment.status === "paid" && payment.packet_id) {
      navigate(`/packets/${payment.packet_id}/share`, true);
    }
    return payment.status === "pending" ? ASK_MS : undefined;
  }

  /** Opens the payment form of the provider's app, if the payment was created for it. */
  readonly #pay = () => {
    const payment = this.payment!;
    const made = PROVIDERS[payment.channel].payment;
    if (made?.isForApp(payment)) void made.pay(payment);
  };

  #how(payment: Schemas["Payment"]) {
    const provider = PROVIDERS[payment.channel];
    // The host's wallet may supply the URL of its payment page.
    const url = payment.host?.url?.startsWith("https:") ? payment.host.url : undefined;
    if (url) return html`<a class="gold" href=${url}>${t("pay_open", { way: say(provider, "name") })}</a>`;
    if (!provider.payment?.isForApp(payment)) {
      return html`<p>${say(provider, "pay")}</p>
        ${provider.app && !matchMedia(WIDE).matches ? this.#elsewhere(payment) : nothing}`;
    }
    if (!provider.app?.isHere()) return html`<p>${say(provider, "pay_in_app")}</p>`;
    return html`<button class="gold" @click=${this.#pay}>${say(provider, "pay_here")}</button>`;
  }

  /** Renders a link to pay on another device, because a phone can't scan its own screen. */
  #elsewhere({ packet_id }: Schemas["Payment"]) {
    const link = `${location.origin}${packet_id ? "/send" : "/wallet"}`;
    return html`
      <p>${t("pay_elsewhere")}</p>
      <div class="row link">
        <input readonly aria-label=${t("pay_link")} .value=${link} />
        <rp-copy .text=${link}></rp-copy>
      </div>
    `;
  }

  override render() {
    const { payment, problem } = this;
    const trouble = problem ? problemView(problem, () => this.#poll.start()) : nothing;
    if (!payment) return problem ? trouble : loadingView();
    const isPending = payment.status === "pending";
    return html`
      <section class="share">
        <h1 tabindex="-1">${t("pay_title")}</h1>
        <p class="lead" role="status">${t(`payment_${payment.status}`)}</p>
        ${isPending && payment.expires_at_ms > now()
          ? html`<p class="hint" role="timer">${t("pay_within", { time: duration(payment.expires_at_ms - now()) })}</p>`
          : nothing}
        ${trouble}
        <div class="ticket">
          <p class="greeting">${sumView(payment.amount_fen)}</p>
          ${isPending && this.modules ? html`<div class="qr">${qrView(this.modules, say(PROVIDERS[payment.channel], "pay"))}</div>` : nothing}
          ${isPending ? this.#how(payment) : nothing}
        </div>
        ${payment.status === "paid"
          ? html`<p><a href="/?tab=transfers">${t("money_history")}</a></p>
              <a class="primary" href="/send">${t("send_next")}</a>`
          : nothing}
        <div class="row spread"><span></span><a href="/wallet">${t("wallet")}</a></div>
      </section>
    `;
  }
}

customElements.define("rp-payment", PaymentView);

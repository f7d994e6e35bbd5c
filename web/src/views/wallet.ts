/** The wallet: put money in by a gateway, take it out, and follow both until they are over. */

import { html, nothing } from "lit";

import type { Schemas } from "../api/client.ts";
import { clock } from "../i18n/language.ts";
import { t, type Word } from "../i18n/people.ts";
import { parseYuan, yuan, yuanGrouped } from "../money.ts";
import { Poll } from "../poll.ts";
import { navigate } from "../router.ts";
import { session } from "../session.ts";
import { isInWeChat } from "../user-agent.ts";
import { checked, problemView, typed, View } from "./view.ts";

type Withdrawal = Schemas["Withdrawal"];
type Deed = "payment" | "withdrawal";

const PATHS = { payment: "/me/payments", withdrawal: "/me/withdrawals" } as const;
const REPEATS = 12;
const ASK_MS = 4000;
/** Whether a withdrawal changes later without the user. */
const IS_MOVING: Record<Withdrawal["status"], boolean> = {
  queued: true,
  processing: true,
  awaiting_confirmation: true,
  cancelling: true,
  paid: false,
  failed: false,
  cancelled: false,
};

interface Bridge {
  invoke(name: string, options: object, done: () => void): void;
}

export class Wallet extends View {
  static override properties = {
    ...View.properties,
    balanceFen: { state: true },
    page: { state: true },
    isBusy: { state: true },
    waitUntilMs: { state: true },
    link: { state: true },
  };
  declare balanceFen: number | undefined;
  declare page: Schemas["Withdrawals"] | undefined;
  declare isBusy: boolean;
  declare waitUntilMs: number;
  declare link: Schemas["Binding"] | undefined;
  readonly #poll = new Poll({
    ask: async () => {
      await this.#look();
      return this.#delayMs;
    },
    failed: () => ASK_MS,
  });

  constructor() {
    super();
    this.isBusy = false;
    this.waitUntilMs = 0;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    // What a reload has cut off is asked for again, before this page begins anything of its own:
    // the same key has no second effect.
    for (const deed of ["payment", "withdrawal"] as const) {
      const pending = session.writes.find<Schemas["PaymentBody"]>(deed, session.person?.sub ?? "");
      if (pending) void this.attempt(() => this.#start(deed, pending.body));
    }
    void this.attempt(async () => {
      await this.#look();
      // Only where there is a code: nothing of WeChat is loaded otherwise.
      if (location.search) await (await import("../wechat.ts")).bindWeChat();
      if (session.config?.channels?.includes("wechat")) {
        this.link = await session.client.get("/me/wechat");
      }
    });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#poll.stop();
  }

  /** Until the next look; undefined if nothing will change. */
  get #delayMs(): number | undefined {
    return this.page?.items.some((one) => IS_MOVING[one.status]) ? ASK_MS : undefined;
  }

  async #look(): Promise<void> {
    const [me, page] = await Promise.all([
      session.client.get("/me"),
      session.client.get("/me/withdrawals"),
    ]);
    this.balanceFen = me.balance_fen;
    this.page = page;
    if (this.isConnected && this.#delayMs) this.#poll.start(this.#delayMs);
  }

  override render() {
    return html`
      <section class="wallet">
        <h1 tabindex="-1">${t("wallet")}</h1>
        <p class="label">${t("balance")}</p>
        <p class="balance">${this.balanceFen === undefined ? "–" : yuanGrouped(this.balanceFen)}</p>
      </section>
      ${this.problem ? problemView(this.problem) : nothing} ${this.#binding()}
      ${this.#form("payment")} ${this.#form("withdrawal")} ${this.#list()}
    `;
  }

  #binding() {
    const wechat = session.config?.wechat;
    const { account, bound_at_ms, opens_at_ms } = this.link ?? {};
    if (account && bound_at_ms && opens_at_ms) {
      const opens = opens_at_ms > Date.now() ? t("wechat_opens", { time: clock(opens_at_ms) }) : "";
      const bound = t("wechat_bound", { no: account, time: clock(bound_at_ms) });
      return html`<p class="hint" role="status">${bound} ${opens}</p>`;
    }
    if (!wechat || this.problem?.code !== "payee_not_bound") return nothing;
    const bind = () => void import("../wechat.ts").then(({ askWeChat }) => askWeChat(wechat));
    return html`<button class="primary" @click=${bind}>${t("bind_wechat")}</button>`;
  }

  #form(deed: Deed) {
    const channels = session.config?.channels ?? [];
    const isOff = this.isBusy || Date.now() < this.waitUntilMs;
    const submit = (event: SubmitEvent) => {
      event.preventDefault();
      const amountFen = parseYuan(typed(event.target, "amount"));
      if (isOff || !checked(event.target, "amount", amountFen ? "" : t("amount_invalid"))) return;
      const channel = typed(event.target, "channel") as "host" | "wechat";
      const body = { amount_fen: amountFen!, channel };
      const isHere = channel === "wechat" && isInWeChat();
      const method = { method: isHere ? ("jsapi" as const) : ("native" as const) };
      void this.attempt(() => this.#start(deed, deed === "payment" ? { ...body, ...method } : body));
    };
    return html`
      <form class="card" @submit=${submit}>
        <h2>${t(`wallet_${deed}`)}</h2>
        <div class="row link">
          <input
            name="amount"
            inputmode="decimal"
            autocomplete="off"
            placeholder="0.00"
            required
            aria-label="${t(`wallet_${deed}`)}: ${t("amount_yuan")}"
          />
          <select name="channel" aria-label=${t("channel")}>
            ${channels.map(
              (channel) => html`<option value=${channel}>${t(`channel_${channel}`)}</option>`,
            )}
          </select>
        </div>
        <button class="secondary" aria-disabled=${isOff ? "true" : "false"}>
          ${t(`wallet_${deed}`)}
        </button>
      </form>
    `;
  }

  async #start(deed: Deed, body: object): Promise<void> {
    this.isBusy = true;
    const { key } = session.writes.begin(deed, session.person?.sub ?? "", body);
    try {
      const ask = { body, key, repeats: REPEATS };
      const made = await session.client.ask<Schemas["Payment"] | Withdrawal>("POST", PATHS[deed], ask);
      session.writes.end(deed);
      if ("payment_id" in made) navigate(`/payments/${made.payment_id}`);
      else await this.#look();
    } catch (error) {
      const { passesByItself, retryAfterS } = error as { passesByItself?: boolean; retryAfterS?: number };
      // An unknown outcome keeps its key.
      if (!passesByItself) session.writes.end(deed);
      if (retryAfterS) {
        this.waitUntilMs = Date.now() + 1000 * retryAfterS;
        setTimeout(() => this.requestUpdate(), 1000 * retryAfterS + 20);
      }
      throw error;
    } finally {
      this.isBusy = false;
    }
  }

  #list() {
    const items = this.page?.items ?? [];
    if (items.length === 0) return nothing;
    return html`
      <section class="card" aria-live="polite">
        <h2>${t("withdrawals")}</h2>
        <ul class="items">
          ${items.map((one) => this.#item(one))}
        </ul>
      </section>
    `;
  }

  #item(one: Withdrawal) {
    const act = (work: () => Promise<unknown>) => () =>
      void this.attempt(async () => {
        await work();
        await this.#look();
      });
    const path = `/me/withdrawals/${one.withdrawal_id}/cancel`;
    return html`
      <li>
        <span class="what">
          <b>${t(`withdrawal_${one.status}` as Word)}</b>
          <time>${clock(one.created_at_ms)}</time>
          ${one.wechat && !bridge() ? html`<small>${t("confirm_in_wechat")}</small>` : nothing}
        </span>
        ${one.wechat && bridge()
          ? html`<button class="quiet" @click=${act(() => confirm(one.wechat!))}>
              ${t("confirm")}
            </button>`
          : nothing}
        ${["queued", "processing", "awaiting_confirmation"].includes(one.status)
          ? html`<button class="quiet" @click=${act(() => session.client.ask("POST", path))}>
              ${t("cancel")}
            </button>`
          : nothing}
        <span class="fen">${yuan(one.amount_fen)}</span>
      </li>
    `;
  }
}

/** What WeChat's own browser offers to its pages. */
function bridge(): Bridge | undefined {
  return (globalThis as { WeixinJSBridge?: Bridge }).WeixinJSBridge;
}

/** Lets the user confirm a transfer in WeChat. */
function confirm({ mch_id, app_id, package: token }: Schemas["Confirmation"]): Promise<void> {
  const options = { mchId: mch_id, appId: app_id, package: token };
  return new Promise((done) => bridge()?.invoke("requestMerchantTransfer", options, done));
}

customElements.define("rp-wallet", Wallet);

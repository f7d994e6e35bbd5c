/** The wallet: pay in by a provider, withdraw, and follow both until they are over. */

import { html, nothing } from "lit";

import type { Schemas } from "../api/client.ts";
import { clock } from "../i18n/language.ts";
import { t, type Word } from "../i18n/user.ts";
import { parseYuan, yuan } from "../money.ts";
import { Poll } from "../poll.ts";
import { session } from "../session.ts";
import { balanceView, noteBalance } from "./balance.ts";
import { orderPayment, writeOnce } from "./order-payment.ts";
import { checked, problemView, typed, View } from "./view.ts";
import "./user.css";

type Withdrawal = Schemas["Withdrawal"];
type Deed = "payment" | "withdrawal";

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
    page: { state: true },
    isBusy: { state: true },
    waitUntilMs: { state: true },
    link: { state: true },
  };
  balanceFen: number | undefined;
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
    // A request that a reload cut off is sent again before this page begins another one:
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
    return this.page?.items.some((withdrawal) => IS_MOVING[withdrawal.status]) ? ASK_MS : undefined;
  }

  async #look(): Promise<void> {
    const [me, page] = await Promise.all([
      session.client.get("/me"),
      session.client.get("/me/withdrawals"),
    ]);
    this.balanceFen = noteBalance(me.balance_fen);
    this.page = page;
    if (this.isConnected && this.#delayMs) this.#poll.start(this.#delayMs);
  }

  override render() {
    return html`
      <section class="wallet">
        <h1 tabindex="-1">${t("wallet")}</h1>
        <p class="label">${t("balance")}</p>
        ${balanceView(this.balanceFen)}
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
      // An error of the last amount says nothing about this one.
      this.problem = undefined;
      const amountFen = parseYuan(typed(event.target, "amount"));
      if (isOff || !checked(event.target, "amount", this.#wrong(deed, amountFen))) return;
      const channel = typed(event.target, "channel") as "host" | "wechat";
      void this.attempt(async () => {
        await this.#start(deed, { amount_fen: amountFen!, channel });
        (event.target as HTMLFormElement).reset();
      });
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
            aria-describedby="${deed}-limits"
          />
          <select name="channel" aria-label=${t("channel")}>
            ${channels.map(
              (channel) => html`<option value=${channel}>${t(`channel_${channel}`)}</option>`,
            )}
          </select>
        </div>
        <p class="limit" id="${deed}-limits">${deed === "withdrawal" ? this.#limits() : nothing}</p>
        <div class="row">
          <button class="secondary" aria-disabled=${isOff ? "true" : "false"}>
            ${t(`wallet_${deed}`)}
          </button>
          ${deed === "withdrawal" && this.balanceFen
            ? html`<button type="button" class="quiet" @click=${this.#takeAll}>${t("withdraw_all")}</button>`
            : nothing}
        </div>
      </form>
    `;
  }

  #limits(): string {
    const limits = session.config?.limits;
    if (!limits) return "";
    return t("withdrawal_limits", {
      min: yuan(limits.withdrawal_fen_min),
      max: yuan(limits.withdrawal_fen_max),
      day: yuan(limits.withdrawal_fen_per_day),
    });
  }

  /** Error of an amount, before it is sent. */
  #wrong(deed: Deed, amountFen: number | undefined): string {
    if (!amountFen) return t("amount_invalid");
    const limits = session.config?.limits;
    if (deed === "payment" || !limits) return "";
    const { withdrawal_fen_min: minFen, withdrawal_fen_max: maxFen } = limits;
    const isOver = amountFen > (this.balanceFen ?? Infinity);
    if (isOver) return t("balance_is", { amount: yuan(this.balanceFen!) });
    return amountFen < minFen || amountFen > maxFen ? this.#limits() : "";
  }

  /** Types all that one withdrawal may take. */
  readonly #takeAll = (event: Event) => {
    const field = (event.target as HTMLElement).closest("form")!.elements.namedItem("amount") as HTMLInputElement;
    const fen = Math.min(this.balanceFen!, session.config?.limits?.withdrawal_fen_max ?? Infinity);
    field.value = yuan(fen);
    field.setCustomValidity("");
    this.problem = undefined;
  };

  async #start(deed: Deed, body: Pick<Schemas["PaymentBody"], "amount_fen" | "channel">): Promise<void> {
    this.isBusy = true;
    try {
      if (deed === "payment") await orderPayment(body);
      else {
        await writeOnce("withdrawal", "/me/withdrawals", body);
        await this.#look();
      }
    } catch (error) {
      const { retryAfterS } = error as { retryAfterS?: number };
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
          ${items.map((withdrawal) => this.#item(withdrawal))}
        </ul>
      </section>
    `;
  }

  #item(withdrawal: Withdrawal) {
    const act = (work: () => Promise<unknown>) => () =>
      void this.attempt(async () => {
        await work();
        await this.#look();
      });
    const path = `/me/withdrawals/${withdrawal.withdrawal_id}/cancel`;
    return html`
      <li>
        <span class="what">
          <b>${t(`withdrawal_${withdrawal.status}` as Word)}</b>
          <time>${clock(withdrawal.created_at_ms)}</time>
          ${IS_MOVING[withdrawal.status] && withdrawal.expected_at_ms > Date.now()
            ? html`<small>${t("expected_at", { time: clock(withdrawal.expected_at_ms) })}</small>`
            : nothing}
          ${withdrawal.wechat && !bridge() ? html`<small>${t("confirm_in_wechat")}</small>` : nothing}
        </span>
        ${withdrawal.wechat && bridge()
          ? html`<button class="quiet" @click=${act(() => confirm(withdrawal.wechat!))}>
              ${t("confirm")}
            </button>`
          : nothing}
        ${["queued", "processing", "awaiting_confirmation"].includes(withdrawal.status)
          ? html`<button class="quiet" @click=${act(() => session.client.ask("POST", path))}>
              ${t("cancel")}
            </button>`
          : nothing}
        <span class="fen">${yuan(withdrawal.amount_fen)}</span>
      </li>
    `;
  }
}

/** Interface of WeChat's own browser for its pages. */
function bridge(): Bridge | undefined {
  return (globalThis as { WeixinJSBridge?: Bridge }).WeixinJSBridge;
}

/** Lets the user confirm a transfer in WeChat. */
function confirm({ mch_id, app_id, package: token }: Schemas["Confirmation"]): Promise<void> {
  const options = { mchId: mch_id, appId: app_id, package: token };
  return new Promise((done) => bridge()?.invoke("requestMerchantTransfer", options, done));
}

customElements.define("rp-wallet", Wallet);

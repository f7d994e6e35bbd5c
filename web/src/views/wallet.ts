/** The wallet: payments through a provider, withdrawals, and the status of both. */

import { html, nothing } from "lit";

import type { Schemas } from "../api/client.ts";
import type { Problem } from "../api/problems.ts";
import type { Channel } from "../config.ts";
import { clock } from "../i18n/language.ts";
import { t, type Word } from "../i18n/user.ts";
import { amountProblem, digits, money, parseAmount, plainAmount, spoken, unitWord } from "../money.ts";
import { now } from "../now.ts";
import { Poll } from "../poll.ts";
import type { Account } from "../providers/provider.ts";
import { channelsOf, PROVIDERS } from "../providers/registry.ts";
import { say } from "../providers/say.ts";
import { session } from "../session.ts";
import { balanceView, noteBalance } from "./balance.ts";
import { confirmedBody } from "./confirm.ts";
import { move, showReceipt, type Rows } from "./money.ts";
import { orderPayment, writeOnce } from "./order-payment.ts";
import { checked, loadingView, problemView, typed, View } from "./view.ts";
import "./user.css";

type Withdrawal = Schemas["Withdrawal"];
type Deed = "payment" | "withdrawal";
type Order = Pick<Schemas["PaymentBody"], "amount_fen" | "channel">;

const ASK_MS = 4000;
/** Whether a withdrawal's status can still change. */
const IS_MOVING: Record<Withdrawal["status"], boolean> = {
  queued: true,
  processing: true,
  awaiting_confirmation: true,
  cancelling: true,
  paid: false,
  failed: false,
  cancelled: false,
};

export class Wallet extends View {
  static override properties = {
    ...View.properties,
    page: { state: true },
    isBusy: { state: true },
    waitUntilMs: { state: true },
    links: { state: true },
    amounts: { state: true },
  };
  balanceFen: number | undefined;
  declare page: Schemas["Withdrawals"] | undefined;
  declare isBusy: boolean;
  declare waitUntilMs: number;
  declare links: Partial<Record<Channel, Schemas["Binding"]>>;
  /** Amounts in the fields, which the buttons show formatted. */
  declare amounts: Partial<Record<Deed, string>>;
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
    this.links = {};
    this.amounts = {};
  }

  override connectedCallback(): void {
    super.connectedCallback();
    // First resend a request that a reload interrupted. Its key prevents a second effect.
    for (const deed of ["payment", "withdrawal"] as const) {
      const pending = session.writes.find<Order>(deed, session.person?.sub ?? "");
      if (pending) void this.attempt(() => this.#start(deed, pending.body, true));
    }
    const confirmed = confirmedBody("withdrawal") as Order | undefined;
    if (confirmed) void this.attempt(() => this.#start("withdrawal", confirmed, true));
    void this.attempt(async () => {
      await this.#look();
      await this.updateComplete;
      this.querySelector(".is-named")?.scrollIntoView({ block: "center" });
      for (const { channel, account } of this.#accounts()) {
        // Link an account only if there is a query, because `bind` loads the provider's module.
        if (location.search) await account.bind(session.client, session.config!);
        this.links = { ...this.links, [channel]: await account.find(session.client) };
      }
    });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#poll.stop();
  }

  override refresh(): Promise<void> {
    return this.#look();
  }

  /** Milliseconds until the next poll. Undefined if no withdrawal can change. */
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
      ${this.problem ? problemView(this.problem) : nothing}
      ${this.#accounts().map((each) => this.#binding(each))}
      ${this.#form("payment")} ${this.#form("withdrawal")} ${this.#list()}
    `;
  }

  #accounts() {
    return channelsOf(session.config).flatMap((channel) => {
      const { account } = PROVIDERS[channel];
      return account ? [{ channel, account }] : [];
    });
  }

  #binding({ channel, account }: { channel: Channel; account: Account }) {
    const provider = PROVIDERS[channel];
    const { account: no, bound_at_ms, opens_at_ms } = this.links[channel] ?? {};
    if (no && bound_at_ms && opens_at_ms) {
      const opens = opens_at_ms > now() ? say(provider, "opens", { time: clock(opens_at_ms) }) : "";
      const bound = say(provider, "bound", { no, time: clock(bound_at_ms) });
      return html`<p class="hint" role="status">${bound} ${opens}</p>`;
    }
    const config = session.config!;
    if (!provider.app?.isSetUp(config) || this.problem?.code !== "payee_not_bound") return nothing;
    const bind = () => void account.ask(config);
    return html`<button class="primary" @click=${bind}>${say(provider, "bind")}</button>`;
  }

  #form(deed: Deed) {
    const channels = channelsOf(session.config);
    const isOff = this.isBusy || performance.now() < this.waitUntilMs;
    const submit = (event: SubmitEvent) => {
      event.preventDefault();
      // An error about the previous amount does not apply to the new amount.
      this.problem = undefined;
      const amount = typed(event.target, "amount");
      const amountFen = parseAmount(amount);
      if (isOff || !checked(event.target, "amount", this.#wrong(deed, amount))) return;
      const channel = typed(event.target, "channel") as Channel;
      const form = event.target as HTMLFormElement;
      void this.attempt(async () => {
        if (!(await this.#start(deed, { amount_fen: amountFen!, channel }))) return;
        form.reset();
        this.amounts = {};
      });
    };
    const type = (event: InputEvent) =>
      (this.amounts = { ...this.amounts, [deed]: typed(event.currentTarget, "amount") });
    const fen = parseAmount(this.amounts[deed] ?? "");
    return html`
      <form class="card" @submit=${submit} @input=${type}>
        <h2>${t(`wallet_${deed}`)}</h2>
        <div class="row link">
          <input
            name="amount"
            data-api="amount_fen"
            inputmode="decimal"
            autocomplete="off"
            placeholder=${digits(0)}
            required
            aria-label="${t(`wallet_${deed}`)}: ${t("amount_label", { unit: unitWord() })}"
            aria-describedby="${deed}-limits"
          />
          <select name="channel" aria-label=${t("channel")}>
            ${channels.map(
              (channel) => html`<option value=${channel}>${say(PROVIDERS[channel], "name")}</option>`,
            )}
          </select>
        </div>
        <p class="limit" id="${deed}-limits">${deed === "withdrawal" ? this.#limits() : nothing}</p>
        <div class="row">
          <button class="secondary" aria-disabled=${isOff ? "true" : "false"}>
            ${t(`wallet_${deed}`)} ${fen ? money(fen) : nothing}
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
      min: digits(limits.withdrawal_fen_min),
      max: spoken(limits.withdrawal_fen_max),
      day: spoken(limits.withdrawal_fen_per_day),
    });
  }

  /** Returns the error in *amount*, or "" if it is valid. */
  #wrong(deed: Deed, amount: string): string {
    const problem = amountProblem(amount);
    if (problem) return t(problem, { text: plainAmount(amount) });
    const amountFen = parseAmount(amount)!;
    const limits = session.config?.limits;
    if (deed === "payment" || !limits) return "";
    const { withdrawal_fen_min: minFen, withdrawal_fen_max: maxFen } = limits;
    const isOver = amountFen > (this.balanceFen ?? Infinity);
    if (isOver) return t("balance_is", { amount: spoken(this.balanceFen!) });
    return amountFen < minFen || amountFen > maxFen ? this.#limits() : "";
  }

  /** Fills in the maximum amount of one withdrawal. */
  readonly #takeAll = (event: Event) => {
    const field = (event.target as HTMLElement).closest("form")!.elements.namedItem("amount") as HTMLInputElement;
    const fen = Math.min(this.balanceFen!, session.config?.limits?.withdrawal_fen_max ?? Infinity);
    field.value = digits(fen);
    field.dispatchEvent(new Event("input", { bubbles: true }));
    this.problem = undefined;
  };

  /** Starts a payment or withdrawal. *isAgreed* continues an order that a reload interrupted or the host confirmed. */
  async #start(deed: Deed, body: Order, isAgreed = false): Promise<boolean> {
    this.isBusy = true;
    try {
      return await (deed === "payment" ? orderPayment(body, isAgreed) : this.#withdraw(body, isAgreed));
    } catch (error) {
      const { retryAfterS, code } = error as Partial<Problem>;
      // Another write has used the balance in the meantime, so reload it.
      if (code === "insufficient_funds") void this.#look().catch(() => undefined);
      if (retryAfterS) {
        this.waitUntilMs = performance.now() + 1000 * retryAfterS;
        setTimeout(() => this.requestUpdate(), 1000 * retryAfterS + 20);
      }
      throw error;
    } finally {
      this.isBusy = false;
    }
  }

  async #withdraw(body: Order, isAgreed: boolean): Promise<boolean> {
    const [title, fen] = [t("wallet_withdrawal"), body.amount_fen];
    const to: Rows[number] = [t("money_to"), say(PROVIDERS[body.channel], "name")];
    const free: Rows[number] = [t("money_fee"), t("money_free")];
    const rows: Rows = [to, free, [t("money_limits"), this.#limits()], [t("money_time"), t("money_soon")]];
    const work = (onRepeat: () => void) => writeOnce("withdrawal", "/me/withdrawals", body, onRepeat);
    const made = await move({ name: "withdrawal", body, title, fen, rows, work }, isAgreed);
    if (!made) return false;
    await this.#look().catch(() => undefined);
    const arrival: Rows[number] = [t("money_time"), t("expected_at", { time: clock(made.expected_at_ms) })];
    const receipt = { title: t("money_withdrawn"), fen, rows: [to, free, arrival] };
    showReceipt(receipt, { href: `/wallet#${made.withdrawal_id}`, text: t("money_follow") });
    return true;
  }

  #list() {
    const items = this.page?.items;
    if (items?.length === 0 || (!items && this.problem)) return nothing;
    return html`
      <section class="card" aria-live="polite">
        <h2>${t("withdrawals")}</h2>
        ${items
          ? html`<ul class="items">
              ${items.map((withdrawal) => this.#item(withdrawal))}
            </ul>`
          : loadingView()}
      </section>
    `;
  }

  #item(withdrawal: Withdrawal) {
    const act = (work: () => Promise<unknown>) => () => {
      if (this.isBusy) return;
      this.isBusy = true;
      void this.attempt(async () => {
        await work();
        await this.#look();
      }).finally(() => (this.isBusy = false));
    };
    const isOff = this.isBusy ? "true" : "false";
    const path = `/me/withdrawals/${withdrawal.withdrawal_id}/cancel`;
    const provider = PROVIDERS[withdrawal.channel];
    const { transfer } = provider;
    const awaitsUser = transfer?.awaitsUser(withdrawal);
    const id = withdrawal.withdrawal_id;
    return html`
      <li id=${id} class=${location.hash === `#${id}` ? "is-named" : ""}>
        <span class="what">
          <b>${t(`withdrawal_${withdrawal.status}` as Word)}</b>
          <time>${clock(withdrawal.created_at_ms)}</time>
          ${IS_MOVING[withdrawal.status] && withdrawal.expected_at_ms > now()
            ? html`<small>${t("expected_at", { time: clock(withdrawal.expected_at_ms) })}</small>`
            : nothing}
          ${awaitsUser && !transfer!.canConfirm()
            ? html`<small>${say(provider, "confirm_in_app")}</small>`
            : nothing}
        </span>
        ${awaitsUser && transfer!.canConfirm()
          ? html`<button class="quiet" aria-disabled=${isOff} @click=${act(() => transfer!.confirm(withdrawal))}>
              ${t("confirm")}
            </button>`
          : nothing}
        ${["queued", "processing", "awaiting_confirmation"].includes(withdrawal.status)
          ? html`<button class="quiet" aria-disabled=${isOff} @click=${act(() => session.client.ask("POST", path))}>
              ${t("cancel")}
            </button>`
          : nothing}
        <span class="fen">${money(withdrawal.amount_fen)}</span>
      </li>
    `;
  }
}

customElements.define("rp-wallet", Wallet);

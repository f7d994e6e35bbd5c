/** The sheet that asks for consent to a money movement, and then shows its progress and receipt. */

import { html, nothing } from "lit";

import { problemOf } from "../api/problems.ts";
import { t } from "../i18n/user.ts";
import { affixes, grouped, spoken } from "../money.ts";
import { channelsOf, PROVIDERS } from "../providers/registry.ts";
import { say } from "../providers/say.ts";
import { session } from "../session.ts";
import { noteBalance } from "./balance.ts";
import { askHost } from "./confirm.ts";
import type { Order } from "./order-payment.ts";
import { Sheet } from "./sheet.ts";
import { View } from "./view.ts";

export type Rows = (readonly [label: string, text: string])[];

interface Shown {
  title: string;
  fen: number;
  rows: Rows;
}

export interface Deed<Made> extends Shown {
  /** Name of the write. All except a payment take money from the balance. */
  name: "send" | "payment" | "withdrawal";
  body: object;
  work: (onRepeat: () => void) => Promise<Made>;
  /** Tops up the missing amount. Only a send from the balance has this function. */
  topUp?: (order: Order) => Promise<unknown>;
}

/** Renders an amount with its symbol in small type. */
export function sumView(fen: number) {
  const [before, after] = affixes();
  return html`<small>${before}</small>${grouped(fen)}<small>${after}</small>`;
}

/**
 * Asks for consent, then shows progress. Returns the result, or undefined if the user went back.
 *
 * If the balance is too low, the sheet shows the missing amount and offers to top it up instead.
 */
export async function move<Made>(deed: Deed<Made>, isAgreed = false, balanceFen = Infinity): Promise<Made | undefined> {
  const { topUp } = deed;
  const isShort = topUp && deed.fen > balanceFen;
  const sheet = show(deed, isShort ? "short" : isAgreed ? "repeating" : "asking");
  sheet.balanceFen = balanceFen;
  try {
    if (isShort) {
      await lack(sheet, topUp);
      return undefined;
    }
    if (!isAgreed && !(await sheet.agreed)) return undefined;
    const { confirm_url: url } = session.config ?? {};
    if (url && !isAgreed && deed.name !== "payment") {
      await askHost(url, deed.name, deed.body, deed.fen);
      return undefined;
    }
    return await deed.work(() => (sheet.state = "repeating"));
  } catch (error) {
    if (!topUp || problemOf(error).code !== "insufficient_funds") throw error;
    // Another write has used the balance in the meantime, so offer a top-up.
    sheet.balanceFen = noteBalance((await session.client.get("/me")).balance_fen);
    sheet.state = "short";
    await lack(sheet, topUp);
    return undefined;
  } finally {
    sheet.remove();
  }
}

/** Waits for the user to choose a way to top up. Afterward, the original write is not sent. */
async function lack(sheet: MoneySheet, topUp: (order: Order) => Promise<unknown>): Promise<void> {
  const order = await sheet.chosen;
  if (order) await topUp(order);
}

/** Shows the receipt of a money movement, with *link*. */
export function showReceipt(shown: Shown, link: { href: string; text: string }): void {
  show(shown, "done").link = link;
}

function show(shown: Shown, state: MoneySheet["state"]): MoneySheet {
  document.querySelector("rp-money")?.remove();
  const sheet = new MoneySheet();
  Object.assign(sheet, { shown, state });
  document.body.append(sheet);
  return sheet;
}

class MoneySheet extends Sheet {
  static override properties = { ...View.properties, state: { state: true } };
  declare state: "asking" | "short" | "working" | "repeating" | "done";
  shown!: Shown;
  link: { href: string; text: string } | undefined;
  balanceFen = Infinity;
  readonly agreed: Promise<boolean>;
  readonly chosen: Promise<Order | undefined>;
  #agree!: (isAgreed: boolean) => void;
  #choose!: (order?: Order) => void;

  constructor() {
    super();
    this.agreed = new Promise((done) => (this.#agree = done));
    this.chosen = new Promise((done) => (this.#choose = done));
  }

  override render() {
    const { title, fen, rows } = this.shown;
    const isBusy = this.state === "working" || this.state === "repeating";
    return html`
      <dialog class="ask sheet money" aria-labelledby="money-title" @cancel=${this.#onCancel} @close=${this.#onClose}>
        <h2 id="money-title">${title}</h2>
        <p class="sum">${sumView(fen)}</p>
        <dl>
          ${rows.map(([label, text]) => html`<div><dt>${label}</dt><dd>${text}</dd></div>`)}
        </dl>
        <p class="hint center" role="status">${isBusy ? t(`money_${this.state}` as "money_working") : nothing}</p>
        ${this.state === "done" ? this.#done() : this.state === "short" ? this.#short() : this.#ask(isBusy)}
      </dialog>
    `;
  }

  #ask(isBusy: boolean) {
    return html`
      <button class="primary ${isBusy ? "is-busy" : ""}" aria-disabled=${isBusy ? "true" : "false"} @click=${this.#go}>
        ${t(isBusy ? "money_busy" : "money_go")}
      </button>
      ${isBusy ? nothing : html`<button class="quiet" @click=${this.close}>${t("money_back")}</button>`}
    `;
  }

  #short() {
    const amount_fen = this.shown.fen - this.balanceFen;
    const channels = channelsOf(session.config);
    return html`
      <div class="shortage" role="status">
        <p>${t("short_of", { amount: spoken(amount_fen) })}</p>
        <p class="hint">${t(channels.length ? "short_kept" : "short_less")}</p>
      </div>
      ${channels.map((channel, at) => {
        const way = say(PROVIDERS[channel], "name");
        return html`<button class=${at ? "secondary" : "primary"} @click=${() => this.#choose({ amount_fen, channel })}>
          ${t("top_up_by", { amount: spoken(amount_fen), way })}
        </button>`;
      })}
      <button class="quiet" @click=${this.close}>${t("money_back")}</button>
    `;
  }

  #done() {
    const { href, text } = this.link!;
    return html`
      <a class="primary" href=${href} @click=${this.close}>${text}</a>
      <button class="quiet" @click=${this.close}>${t("money_done")}</button>
    `;
  }

  readonly #go = () => {
    if (this.state !== "asking") return;
    this.state = "working";
    this.#agree(true);
  };

  readonly #onCancel = (event: Event) => {
    // Keep the sheet open to show the outcome.
    if (this.state === "working" || this.state === "repeating") event.preventDefault();
  };

  readonly #onClose = () => {
    this.#agree(false);
    this.#choose();
    this.remove();
  };
}

customElements.define("rp-money", MoneySheet);

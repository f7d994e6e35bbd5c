/** The sheet before and while money moves, and its receipt. */

import { html, nothing } from "lit";

import { t } from "../i18n/user.ts";
import { affixes, grouped } from "../money.ts";
import { session } from "../session.ts";
import { askHost } from "./confirm.ts";
import { Sheet } from "./sheet.ts";
import { View } from "./view.ts";

export type Rows = (readonly [label: string, text: string])[];

interface Shown {
  title: string;
  fen: number;
  rows: Rows;
}

export interface Deed<Made> extends Shown {
  /** Name of the write; money leaves the balance by all but a payment. */
  name: "send" | "payment" | "withdrawal";
  body: object;
  work: (onRepeat: () => void) => Promise<Made>;
}

/** An amount with its symbol in small type. */
export function sumView(fen: number) {
  const [before, after] = affixes();
  return html`<small>${before}</small>${grouped(fen)}<small>${after}</small>`;
}

/** Asks for consent, then shows the work. Returns its result, or undefined if the user went back. */
export async function move<Made>(deed: Deed<Made>, isAgreed = false): Promise<Made | undefined> {
  const sheet = show(deed, isAgreed ? "repeating" : "asking");
  try {
    if (!isAgreed && !(await sheet.agreed)) return undefined;
    const { confirm_url: url } = session.config ?? {};
    if (url && !isAgreed && deed.name !== "payment") {
      await askHost(url, deed.name, deed.body, deed.fen);
      return undefined;
    }
    return await deed.work(() => (sheet.state = "repeating"));
  } finally {
    sheet.remove();
  }
}

/** Shows the result, with a link to it. */
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
  declare state: "asking" | "working" | "repeating" | "done";
  shown!: Shown;
  link: { href: string; text: string } | undefined;
  readonly agreed: Promise<boolean>;
  #agree!: (isAgreed: boolean) => void;

  constructor() {
    super();
    this.agreed = new Promise((done) => (this.#agree = done));
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
        ${this.state === "done" ? this.#done() : this.#ask(isBusy)}
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
    // The outcome is about to be shown here.
    if (this.state === "working" || this.state === "repeating") event.preventDefault();
  };

  readonly #onClose = () => {
    this.#agree(false);
    this.remove();
  };
}

customElements.define("rp-money", MoneySheet);

/** Deposits to users, and movements of campaign money. Amounts above the limit and first campaign deposits need approval. */

import { html, nothing } from "lit";

import type { Schemas } from "../api/client.ts";
import { money, parseAmount } from "../money.ts";
import { session } from "../session.ts";
import { typed } from "../views/view.ts";
import { awaitingView, awaits, type Awaiting, confirm, ConsoleView, duties, facts, reading, write } from "./view.ts";
import { o } from "./words.ts";

export class OperatorDeposits extends ConsoleView {
  static override properties = { ...ConsoleView.properties, isWrong: { state: true } };
  declare isWrong: boolean;
  amount = "";

  override render() {
    return html`
      <h1 tabindex="-1">${o("deposits")}</h1>
      <p class="hint">${o("deposits_hint")}</p>
      ${this.news()} ${duties().may("deposit") ? this.#form() : html`<p class="empty">${o("not_your_role")}</p>`}
    `;
  }

  #form() {
    return html`
      <form class="card" @submit=${(event: SubmitEvent) => this.#submit(event)}>
        <label class="field tall"><span>${o("user")}</span><input name="user" required autocomplete="off" /></label>
        <label class="field tall ${this.isWrong ? "is-wrong" : ""}">
          <span>${o("amount")}</span>
          <input
            name="amount"
            data-api="amount_fen"
            inputmode="decimal"
            required
            autocomplete="off"
            aria-invalid=${this.isWrong}
            aria-describedby="amount-wrong"
          />
        </label>
        <p class="wrong" id="amount-wrong" role="alert">${this.isWrong ? reading(this.amount) || o("bad_amount") : ""}</p>
        <label class="field switch">
          <span>${o("for_campaigns")}</span><input type="checkbox" name="campaigns" data-api="is_for_campaigns" />
        </label>
        <button class="primary" ?disabled=${this.isBusy}>${o("deposit")}</button>
      </form>
      <h2>${o("campaign_money")}</h2>
      <p class="hint">${o("campaign_money_hint")}</p>
      <form class="card" @submit=${(event: SubmitEvent) => this.#move(event)}>
        ${["from", "to", "reason"].map(
          (name) =>
            html`<label class="field tall">
              <span>${o(`money_${name}` as "money_from")}</span><input name=${name} data-api=${name === "to" ? "user" : nothing} required autocomplete="off" />
            </label>`,
        )}
        <button class="primary" ?disabled=${this.isBusy}>${o("move")}</button>
      </form>
    `;
  }

  async #move(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const form = (this.form = event.target as HTMLFormElement);
    const [from = "", to = "", reason = ""] = ["from", "to", "reason"].map((name) => typed(form, name));
    if (!from || !to || !reason || this.isBusy) return;
    const body = facts([o("money_from"), from], [o("money_to"), to], [o("money_reason"), reason]);
    if (!(await confirm(o("move_title"), body, o("move")))) return;
    await this.act("deposit", async () => {
      const sent = { user: to, reason };
      const answer = await this.#once(`/admin/accounts/${encodeURIComponent(from)}/campaign-money`, sent);
      form.reset();
      return answer ? o("deposited", { n: money(answer.balance_fen), user: from }) : awaitingView();
    });
  }

  /** Sends a write with a key that survives a reload. Returns undefined if the write waits for approval. */
  async #once(path: string, sent: object): Promise<Schemas["Deposit"] | undefined> {
    const { key } = session.writes.begin(path, session.person?.sub ?? "", sent);
    const answer = await write<Schemas["Deposit"] | Awaiting>("POST", path, sent, key);
    session.writes.end(path);
    return awaits(answer) ? undefined : answer;
  }

  async #submit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const form = (this.form = event.target as HTMLFormElement);
    const user = typed(form, "user");
    this.amount = typed(form, "amount");
    const amountFen = parseAmount(this.amount);
    this.isWrong = !amountFen;
    if (!user || !amountFen || this.isBusy) return;
    const isForCampaigns = new FormData(form).has("campaigns");
    const body = facts(
      [o("user"), user],
      [o("amount"), money(amountFen)],
      ...(isForCampaigns ? ([[o("for_campaigns"), "✓"]] satisfies [string, string][]) : []),
    );
    if (!(await confirm(o("deposit_title"), body, o("deposit")))) return;
    await this.act("deposit", async () => {
      const sent = { user, amount_fen: amountFen, ...(isForCampaigns && { is_for_campaigns: true }) };
      const answer = await this.#once("/admin/deposits", sent);
      form.reset();
      return answer ? o("deposited", { n: money(answer.balance_fen), user }) : awaitingView();
    });
  }
}

customElements.define("op-deposits", OperatorDeposits);

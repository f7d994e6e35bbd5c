/** Winners of goods and codes. Goods are handed over or forfeited, and the decision is final. */

import { html, nothing } from "lit";

import type { Schemas } from "../api/client.ts";
import { atMost } from "../views/view.ts";
import type { OperatorList } from "./list.ts";
import { winners, type Winner } from "./lists.ts";
import { confirm, ConsoleView, duties, facts, when, write } from "./view.ts";
import { o } from "./words.ts";

export class OperatorWinners extends ConsoleView {
  static override properties = { ...ConsoleView.properties, campaignId: {} };
  declare campaignId: string;

  override render() {
    const actions = (row: Winner) => this.#actions(row);
    return html`<h1 tabindex="-1">${o("winners")}</h1>
      <p><a href="/operator/campaigns/${this.campaignId}">${this.campaignId}</a></p>
      ${this.news()}<op-list .list=${{ ...winners(this.campaignId), actions }}></op-list>`;
  }

  #actions(row: Winner) {
    if (row.status !== "won" || !duties().may("decide_winner")) return nothing;
    return html`
      <button class="secondary" @click=${() => this.#decide(row, "handed_over")}>${o("hand_over")}</button>
      <button class="secondary" @click=${() => this.#decide(row, "forfeited")}>${o("forfeit")}</button>
    `;
  }

  async #decide(row: Winner, status: "handed_over" | "forfeited"): Promise<void> {
    const verb = status === "forfeited" ? "forfeit" : "hand_over";
    const body = html`
      ${facts(
        [o("unit"), html`<code>${row.unit}</code>`],
        [o("user"), `${row.user ?? row.user_token} ${row.nickname ?? ""}`],
        [o("won_at"), when(row.won_at_ms)],
      )}
      <label class="field tall"><span>${o("note")}</span><input name="note" @input=${atMost(100)} autocomplete="off" /></label>
      <p class="hint">${o("note_hint")}</p>
      <p class="hint">${o(`${verb}_hint`)}</p>
    `;
    const agreed = await confirm(o(`${verb}_title`), body, o(verb));
    if (!agreed) return;
    await this.act("decide_winner", async () => {
      const note = agreed.get("note");
      const path = `/admin/campaigns/${this.campaignId}/winners/${row.unit}`;
      const list = this.querySelector<OperatorList>("op-list");
      try {
        const noted = typeof note === "string" && note.trim() ? { note: note.trim() } : {};
        const decided = await write<Schemas["DecidedWinner"]>("PUT", path, { status, ...noted });
        list?.rows.replace((winner: Winner) => winner.unit === row.unit, decided);
        list?.requestUpdate();
      } catch (error) {
        // Another operator may have decided, so reload the list.
        list?.reload();
        throw error;
      }
      return o("done");
    });
  }
}

customElements.define("op-winners", OperatorWinners);
